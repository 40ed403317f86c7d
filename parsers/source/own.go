package source

import "bytes"

// IsReport reports whether a file that begins with head is a report in JSON that
// an earlier run wrote, perhaps beside its inputs. Its excerpts are no traffic.
func IsReport(head []byte) bool {
	if !bytes.HasPrefix(head, []byte("{")) {
		return false
	}
	head = head[:min(len(head), 96)]
	for _, mark := range []string{`"isodetect/report/`, `"isodetect/trail/`, `/sarif-2.1.0.json"`} {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}
