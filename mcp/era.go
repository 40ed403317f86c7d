package mcp

// Era tells which family of rules a request is judged by (2026-07-28
// basic/versioning, "Terminology").
type Era uint8

const (
	EraUnknown Era = iota
	EraLegacy      // handshake and sessions: revisions to 2025-11-25
	EraModern      // per-request metadata: 2026-07-28 on
)

func (e Era) String() string {
	switch e {
	case EraLegacy:
		return "legacy"
	case EraModern:
		return "modern"
	}
	return "unknown"
}

// FirstModern is the first revision without sessions.
const FirstModern = "2026-07-28"

// RevisionEra returns the era of a protocol revision such as "2025-06-18".
// Text that is no revision gives EraUnknown.
func RevisionEra(revision string) Era {
	if !isRevision(revision) {
		return EraUnknown
	}
	if revision >= FirstModern {
		return EraModern
	}
	return EraLegacy
}

func isRevision(s string) bool {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return false
	}
	for _, i := range []int{0, 1, 2, 3, 5, 6, 8, 9} {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
