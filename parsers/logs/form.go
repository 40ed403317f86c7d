package logs

import (
	"bytes"
	"math"

	"github.com/isodetect/isodetect/event"
)

// verdict is what a form or a template makes of a line.
type verdict uint8

const (
	unclaimed verdict = iota // not its line
	silent                   // its line, and all that it says is said
	filled                   // its line; the record is filled and read on
)

// textForm is one way in which servers, loggers and proxies write a line of text.
type textForm struct {
	name    string
	title   string
	yields  string                         // what its lines say
	checked string                         // real: held against output of the tool itself; docs: against its documentation
	probe   func(b []byte, quote int) bool // a quick look; quote is where the first quote of the line stands, -1 = not at its beginning
	read    func(p *parser, b []byte) verdict
}

// textForms holds the forms in the order in which they are tried; the one that
// read the last line is tried first. Running text is what no form claims.
var textForms = [...]textForm{
	{"tracing", "tracing-subscriber full, compact and pretty (rmcp)", "sessions, methods, ids, cancels of a session", "real", tracingProbe, readTracing},
	{"agentgateway", "agentgateway request log, tab separated", "session and method of each request, end and status", "docs", agentProbe, readAgent},
	{"haproxy", "HAProxy httplog with captured headers", "session header of request and response, start and end", "real", haproxyProbe, readHAProxy},
	{"envoy", "Envoy and Istio access log, text", "what the operator added: session headers, method, id; start and end", "real", envoyProbe, readEnvoy},
	{"alb", "AWS Application Load Balancer access log", "session of HTTP+SSE in the query", "docs", albProbe, readALB},
	{"uvicorn", "uvicorn access line, also under gunicorn", "session of HTTP+SSE in the query, status", "real", uvicornProbe, readUvicorn},
	{"clf", "nginx, gunicorn, hypercorn and morgan: common log format with fields behind it", "what the operator added: session headers, method, id", "real", clfProbe, readCLF},
	{"morgan-dev", "morgan dev and tiny, or a format of its tokens", "session of HTTP+SSE in the query; what the operator added", "real", morganProbe, readMorgan},
	{"vscode", "VS Code MCP output", "messages with their direction; no session", "docs", vscodeProbe, readVSCode},
	{"claude-desktop", "Claude Desktop MCP log", "messages with their direction; no session", "docs", desktopProbe, readDesktop},
	{"supergateway", "supergateway", "behind HTTP+SSE messages with their session, and answers to all open ones", "real", supergatewayProbe, readSupergateway},
	{"go-middleware", "go-sdk logging middleware of its examples", "session, method, outcome", "real", goMiddlewareProbe, readGoMiddleware},
	{"fastmcp", "fastmcp logging middleware", "methods", "real", fastmcpProbe, readFastmcp},
	{"litellm-text", "LiteLLM, text", "nothing: its session_id is none of MCP", "docs", liteLLMProbe, readNothing},
	{"nginx-error", "nginx error log", "nothing", "real", nginxErrorProbe, readNothing},
}

// formState is what the reading of text keeps between lines. None of it is about sessions
// but what a console printed in two lines.
type formState struct {
	last     int        // the form that read the last line, counted from 1; 0 = none yet
	waiting  []*pending // records of several lines, by stream
	stream   string     // whose line is read now, where several writers are mixed; set by who peels the wrappers
	strip    []byte     `snapshot:"-"` // the line without colour codes
	richTime []byte     // rich: the time column last seen
	shift    int64      // ns to add to the time of this line: it stamps the start of a request of known duration
	second   int64      // the last stamp of whole seconds, ns
	moment   event.Moment
	line     []byte `snapshot:"-"` // the line that is read
	captures [2]int // HAProxy: which captures are the session header, counted from 1; 0 = not known yet

	named [64]uint64 // hashes of the last lines that gave a session to a request without one
	names int

	told struct { // what the lines of one writer said a moment ago
		stream  string
		python  pythonState
		console consoleState
		super   superState
	}
}

// begin is called for every line.
func (s *formState) begin(line []byte) {
	s.line, s.shift, s.moment = line, 0, event.MomentExact
	if s.told.stream != s.stream { // two lines of two writers say nothing together
		s.told.python, s.told.console, s.told.super = pythonState{}, consoleState{}, superState{}
		s.told.stream = s.stream
	}
	s.told.super.all = false
}

// readText takes a line apart that is no JSON object.
func (p *parser) readText(b []byte) bool {
	if p.seen == pairs {
		p.seen = unclear
		if p.shape != nil {
			p.rec.fill(b, p.shape, p.values)
			return true
		}
		return p.rec.readMessage(b, 0)
	}
	if b = systemd(b); len(b) > maxText || wrapped(b) {
		return false
	}
	s := &p.forms
	quote := bytes.IndexByte(b[:min(len(b), 512)], '"')
	latest := s.last - 1
	if latest >= 0 {
		switch textForms[latest].claim(p, b, quote) {
		case silent:
			return false
		case filled:
			return true
		}
	}
	for _, k := range formsOf(b, quote) {
		if int(k) == latest {
			continue
		}
		switch textForms[k].claim(p, b, quote) {
		case silent:
			s.last = int(k) + 1
			return false
		case filled:
			s.last = int(k) + 1
			return true
		}
	}
	if requestLine(b) {
		return false // an access line of a form that is not known: what stands in it may be anybody's
	}
	return p.running(inlineObject(p, b))
}

// claim reads a line if it is one of this form.
func (f *textForm) claim(p *parser, b []byte, quote int) verdict {
	if !f.probe(b, quote) {
		return unclaimed
	}
	return f.read(p, b)
}

// formsOf returns the indexes of the forms that a line may be of, by its first byte
// and whether there is a quote at its beginning.
func formsOf(b []byte, quote int) []uint8 {
	if quote < 0 {
		return formsBy[0][b[0]]
	}
	return formsBy[1][b[0]]
}

// formsBy holds what formsOf returns, without and with a quote. It is read only.
var formsBy = func() (by [2][256][]uint8) {
	for k, f := range textForms {
		for c := range by[0] {
			if !mayBegin(f.name, byte(c)) {
				continue
			}
			by[1][c] = append(by[1][c], uint8(k))
			if f.name != "uvicorn" && f.name != "clf" {
				by[0][c] = append(by[0][c], uint8(k))
			}
		}
	}
	return by
}()

// mayBegin reports whether a line of a form may begin with c. It saves probes that
// look at the first byte only to say no; of a form that is not named here they all run.
func mayBegin(form string, c byte) bool {
	switch form {
	case "tracing", "agentgateway", "vscode", "claude-desktop", "nginx-error":
		return isDigit(c)
	case "envoy", "supergateway":
		return c == '['
	case "go-middleware":
		return c == '[' || isDigit(c)
	case "alb":
		return c == 'h' || c == 'g'
	case "litellm-text":
		return isDigit(c)
	case "morgan-dev": // a verb, or a date in front of it
		return 'A' <= c && c <= 'Z' || isDigit(c)
	}
	return true
}

// running reads running text: the prefixes of loggers, and a message.
func (p *parser) running(b []byte) bool {
	r := &p.rec
	i := r.prefix(b, p.opt.AssumeUTCOffset)
	t := templateOf(b[i:])
	if t != nil && t.read == nil || t == nil && b[len(b)-1] != '}' && bytes.Count(b[i:], []byte("=")) < 2 && !telling(b[i:]) {
		return false // most lines: whatever it says, it says nothing here
	}
	if t == nil || t.pairs {
		return r.readMessage(b, i) || t != nil
	}
	r.front, r.textual = b[:i], true
	v := value{bytes.TrimRight(b[i:], " "), formBare}
	r.set(slotMessage, nil, v)
	r.findBody(v, nil)
	return true
}

// inlineObject turns an object at the end of a line, as Node prints small ones,
// into JSON.
func inlineObject(p *parser, b []byte) []byte {
	if b[len(b)-1] != '}' {
		return b
	}
	k := bytes.Index(b, []byte("{ "))
	if k <= 0 || b[k-1] != ' ' {
		return b
	}
	j := inspect{in: b[k:], out: append(p.forms.strip[len(p.forms.strip):], b[:k]...)}
	if !j.value(0) || j.i != len(j.in) {
		return b
	}
	return j.out
}

// requestLine reports the version of HTTP, as it ends a request line.
func requestLine(b []byte) bool {
	for {
		k := bytes.IndexByte(b, 'H')
		if k < 0 {
			return false
		}
		if k > 0 && b[k-1] == ' ' && bytes.HasPrefix(b[k:], []byte("HTTP/")) {
			return true
		}
		b = b[k+1:]
	}
}

func readNothing(*parser, []byte) verdict { return silent }

// when is the time of the current line. A stamp of whole seconds means some
// moment within its second, so that orders inside it stay open.
func (p *parser) when(text []byte, st stamp) event.Time {
	t := event.Time{From: st.ns, To: st.ns, Moment: p.forms.moment}
	s := &p.forms
	switch {
	case st.minutes:
		t.To += 60e9 - 1
	case wholeSeconds(text[:min(st.length, len(text))]) && st.ns < math.MaxInt64-2e9:
		t.To += 1e9 - 1
		s.second = t.From
	case s.second > 0 && st.ns >= s.second && st.ns-s.second < 1e9: // its source's order counts: it is no step back
		t.To = s.second + 1e9 - 1
	}
	if d := s.shift; d != 0 && t.From > 0 && t.To < math.MaxInt64-d {
		t.From, t.To = t.From+d, t.To+d
	}
	return t
}

// wholeSeconds reports a written time of day, or an epoch in seconds, without a fraction.
func wholeSeconds(text []byte) bool {
	if len(text) < 12 && digits(text, 0, len(text)) {
		return len(text) > 0
	}
	k := bytes.LastIndexByte(text, ':')
	return k > 0 && bytes.IndexByte(text, '.') < 0 && bytes.IndexByte(text, ',') < 0
}
