package logs

import (
	"bytes"
	"strconv"

	"github.com/isodetect/isodetect/event"
)

// The dialects of access logs whose fields stand behind the request.

// clfProbe: host ident user [19/Jul/2026:22:20:43 +0000] "REQUEST", and the line of
// hypercorn, which has a time, pid and level in front.
func clfProbe(b []byte, quote int) bool {
	if quote < 24 || b[quote-1] != ' ' {
		return false
	}
	from := quote - min(quote, 40) // Apache can be made to write a fraction of the second too
	k := bytes.LastIndexByte(b[from:quote], '[')
	return k >= 0 && quote-from-k >= 22 && digits(b, from+k+1, 2) && b[from+k+3] == '/'
}

func readCLF(p *parser, b []byte) verdict {
	a, ok := splitAccess(b)
	if !ok {
		return unclaimed
	}
	open := bytes.LastIndexByte(a.pre, '[')
	if open < 0 {
		return unclaimed
	}
	at := bytes.TrimRight(a.pre[open+1:], "] ")
	if st, ok := parseTime(at, 0); !ok || !st.dated {
		return unclaimed
	}
	p.rec.set(slotTime, nil, value{at, formBare})
	p.forms.moment = event.MomentEnd
	return p.accessLine(&a, p.fields(a.post, 1))
}

// uvicornProbe: [INFO:     ]ADDR:PORT - "REQUEST" STATUS. It is written when the
// response begins and has no time.
func uvicornProbe(b []byte, quote int) bool {
	return quote > 4 && quote < 256 && b[quote-1] == ' ' && b[quote-2] == '-' && b[quote-3] == ' ' && isDigit(b[quote-4]) && bytes.LastIndexByte(b[:quote], ':') > 0
}

func readUvicorn(p *parser, b []byte) verdict {
	a, ok := splitAccess(b)
	if !ok {
		return unclaimed
	}
	status, _, _ := bytes.Cut(bytes.TrimSpace(a.post), []byte(" "))
	if !digits(status, 0, 3) {
		return unclaimed
	}
	p.refusedCreation(a.method, status)
	if st, ok := parseTime(b, p.opt.AssumeUTCOffset); ok { // an epoch or a time that somebody put in front
		p.rec.set(slotTime, nil, value{b[:st.length], formBare})
	}
	p.forms.moment = event.MomentFirstByte
	if v := p.accessLine(&a, status); p.forms.told.python.refused == "" {
		return v
	}
	return filled
}

// envoyProbe: [2026-07-19T22:20:43.689Z] "REQUEST" CODE FLAGS RX TX DUR ….
func envoyProbe(b []byte, quote int) bool {
	if quote < 24 || b[0] != '[' || !digits(b, 1, 4) || b[11] != 'T' {
		return false
	}
	return b[quote-2] == ']' && quote < 42
}

// readEnvoy reads the default format, whose time is the start: the fifth field
// behind the request is the duration in ms. Operators put key=value behind it.
func readEnvoy(p *parser, b []byte) verdict {
	a, ok := splitAccess(b)
	if !ok {
		return unclaimed
	}
	p.rec.set(slotTime, nil, value{bytes.Trim(a.pre, "[] "), formBare})
	words, before := bytes.Fields(mustCut(a.post, 512)), 0
	p.forms.moment = event.MomentStart
	if k := durationAt(words); k > 0 {
		for _, w := range words[:k+1] {
			if w[0] != '"' {
				before++
			}
		}
		if ms, err := strconv.ParseInt(string(words[k]), 10, 32); err == nil && ms >= 0 {
			p.forms.shift, p.forms.moment = ms*1e6, event.MomentEnd
		}
	}
	return p.accessLine(&a, p.fields(a.post, before))
}

// durationAt finds DUR in CODE FLAGS [details …] RX TX DUR UPSVC: Istio puts more
// words between flags and bytes, of which the last are numbers.
func durationAt(words [][]byte) int {
	for i := 2; i+3 < len(words); i++ {
		if integer(words[i]) && integer(words[i+1]) && integer(words[i+2]) {
			return i + 2
		}
	}
	return 0
}

// albProbe: http 2026-07-19T22:20:43.472113Z app/lb/… client:port target:port ….
func albProbe(b []byte, quote int) bool {
	k := bytes.IndexByte(b[:min(len(b), 8)], ' ')
	if k < 2 || len(b) < k+30 || !digits(b, k+1, 4) || b[k+11] != 'T' {
		return false
	}
	switch string(b[:k]) {
	case "http", "https", "h2", "grpcs":
		return true
	}
	return false
}

// readALB reads lines of AWS load balancers. They never hold headers, so only the
// query of the HTTP+SSE transport names a session.
func readALB(p *parser, b []byte) verdict {
	a, ok := splitAccess(b)
	if !ok {
		return unclaimed
	}
	words := bytes.Fields(a.pre)
	if len(words) < 12 {
		return unclaimed
	}
	p.rec.set(slotTime, nil, value{words[1], formBare})
	p.forms.moment = event.MomentEnd
	if ua := bytes.TrimSpace(a.post); len(ua) > 2 && ua[0] == '"' {
		if end := quoteEnd(ua, 0); end > 0 {
			p.agent(ua[1 : end-1])
		}
	}
	return p.accessLine(&a, words[8])
}

// morganProbe: POST /mcp 200 1.705 ms - 2, without a time.
func morganProbe(b []byte, quote int) bool {
	k := bytes.IndexByte(b[:min(len(b), 8)], ' ')
	return k > 2 && verb(b[:k]) && len(b) > k+1 && b[k+1] == '/'
}

func readMorgan(p *parser, b []byte) verdict {
	words := bytes.Fields(mustCut(b, 4096))
	if len(words) < 3 || len(words[2]) != 3 || !digits(words[2], 0, 3) {
		return unclaimed
	}
	a := accessLine{method: words[0], path: words[1], post: b[bytes.Index(b, words[2]):]}
	p.forms.moment = event.MomentEnd
	return p.accessLine(&a, p.fields(a.post, 1))
}

// nginxErrorProbe: 2026/07/19 22:20:43 [info] 14071#14071: *1 client ….
func nginxErrorProbe(b []byte, quote int) bool {
	if len(b) < 30 || b[4] != '/' || !digits(b, 0, 4) || b[20] != '[' {
		return false
	}
	k := bytes.IndexByte(b[:min(len(b), 48)], ']')
	return k > 20 && bytes.IndexByte(b[k:min(len(b), k+12)], '#') > 0
}
