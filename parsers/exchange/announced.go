package exchange

import (
	"path"
	"strings"

	"github.com/isodetect/isodetect/event"
)

// announced remembers the targets that endpoint events named, for servers whose
// session is neither in a header nor in a parameter with a usual name
// (2024-11-05 basic/transports names no parameter: the whole URI is opaque).
type announced struct {
	sessions map[string]event.Session
	order    []string // oldest first
}

const maxAnnounced = 1 << 14

func (a *announced) add(server, path, query string, s event.Session) {
	if _, ok := sessionParameter(query); ok {
		return // every request names it itself
	}
	key := announcedKey(server, path, query)
	if a.sessions == nil {
		a.sessions = map[string]event.Session{}
	}
	if _, ok := a.sessions[key]; !ok {
		if len(a.order) >= maxAnnounced {
			delete(a.sessions, a.order[0])
			a.order = a.order[1:]
		}
		a.order = append(a.order, key)
	}
	a.sessions[key] = s
}

func (a *announced) find(server, path, query string) (event.Session, bool) {
	if len(a.sessions) == 0 {
		return event.Session{}, false
	}
	s, ok := a.sessions[announcedKey(server, path, query)]
	return s, ok
}

func announcedKey(server, path, query string) string {
	return server + " " + path + "?" + cutText(query, 1024)
}

// announcedSession returns the session of an announced target: the value of a
// session parameter, else a last path segment that looks like an id, else the whole target.
func announcedSession(b *Builder, path, query string) event.Session {
	if v, ok := sessionParameter(query); ok {
		return namedSession(b, v)
	}
	if query == "" {
		if last := path[strings.LastIndexByte(path, '/')+1:]; looksLikeID(last) {
			return namedSession(b, last)
		}
		return namedSession(b, path)
	}
	return namedSession(b, path+"?"+query)
}

func looksLikeID(s string) bool {
	digits := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return digits >= 2 && len(s) >= 12
}

// resolve makes an announced URI a target on the server of the GET (RFC 3986 §5.2).
func resolve(base, target string) string {
	switch {
	case strings.Contains(target, "://"), strings.HasPrefix(target, "/"):
		return target
	case strings.HasPrefix(target, "?"):
		return base + target
	}
	p, query, has := strings.Cut(target, "?")
	p = path.Join("/", base[:strings.LastIndexByte(base, '/')+1], p)
	if has {
		return p + "?" + query
	}
	return p
}
