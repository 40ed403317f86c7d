package logs

import (
	"bytes"
	"strconv"

	"github.com/isodetect/isodetect/event"
)

// haproxyProbe: IP:PORT [19/Jul/2026:22:20:43.472] frontend backend/server t/t/t/t/t ….
func haproxyProbe(b []byte, quote int) bool {
	if quote < 64 && len(b) < 512 || b[len(b)-1] != '"' {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 160)], '[')
	return k > 3 && len(b) > k+26 && digits(b, k+1, 2) && b[k+3] == '/' && b[k+21] == '.' && b[k-1] == ' '
}

// readHAProxy reads httplog. Its time is the start, the last of the five timers
// the whole duration. Captured headers stand in braces, the request's before the
// response's; which header is which shows only in their values.
func readHAProxy(p *parser, b []byte) verdict {
	a, ok := splitAccess(b)
	if !ok {
		return unclaimed
	}
	open := bytes.IndexByte(b, '[')
	end := bytes.IndexByte(b, ']')
	if end < open || end > len(a.pre) {
		return unclaimed
	}
	words := bytes.Fields(a.pre[end+1:])
	if len(words) < 9 {
		return unclaimed
	}
	p.rec.set(slotTime, nil, value{b[open+1 : end], formBare})
	p.forms.moment = event.MomentStart
	timers := bytes.TrimPrefix(words[2][bytes.LastIndexByte(words[2], '/')+1:], []byte("+"))
	if ms, err := strconv.ParseInt(string(timers), 10, 32); err == nil && ms >= 0 {
		p.forms.shift, p.forms.moment = ms*1e6, event.MomentEnd
	}
	p.captures(a.pre[end+1:])
	return p.accessLine(&a, words[3])
}

// captures reads {request|headers} {response|headers}. A place that holds a session
// id in one of the two is the session header's; empty there means absent.
func (p *parser) captures(b []byte) {
	var groups [2][]byte
	n := 0
	for n < 2 {
		k := bytes.IndexByte(b, '{')
		if k < 0 {
			break
		}
		end := bytes.IndexByte(b[k:], '}')
		if end < 0 {
			return
		}
		groups[n] = b[k+1 : k+end]
		b = b[k+end+1:]
		n++
	}
	if n < 2 {
		return // only one side is captured: which one cannot be told
	}
	asked, answered := splitCaptures(groups[0]), splitCaptures(groups[1])
	at := p.forms.captures
	if at[0] == 0 {
		for i, v := range answered {
			for k, w := range asked {
				if len(v) >= 4 && bytes.Equal(v, w) {
					at = [2]int{k + 1, i + 1}
					p.forms.captures = at
				}
			}
		}
	}
	if at[0] == 0 {
		at = guessCaptures(asked, answered)
	}
	if at[0] == 0 || at[0] > len(asked) || at[1] > len(answered) {
		return
	}
	p.rec.set(slotMCPSession, nil, value{asked[at[0]-1], formBare})
	p.rec.set(slotResponseHeader, nil, value{answered[at[1]-1], formBare})
}

// guessCaptures places the session header in a line where the request had none:
// one capture of the response looks like an id, and one of the request is empty.
func guessCaptures(asked, answered [][]byte) (at [2]int) {
	for i, v := range answered {
		if id := firstID(v, 16); len(id) == len(v) && len(v) > 0 {
			if at[1] > 0 {
				return [2]int{}
			}
			at[1] = i + 1
		}
	}
	for k, w := range asked {
		if len(w) == 0 {
			if at[0] > 0 {
				return [2]int{}
			}
			at[0] = k + 1
		}
	}
	if at[1] == 0 {
		return [2]int{}
	}
	return at
}

func splitCaptures(b []byte) [][]byte { return bytes.Split(mustCut(b, 4096), []byte("|")) }
