package traffic

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// step lets one session say the next thing: initialize, call a tool, subscribe, cancel or leave.
func (s *server) step() {
	s.now += int64(200+s.rng.IntN(1800)) * int64(time.Microsecond)
	i := s.rng.IntN(len(s.sessions))
	c := s.sessions[i]
	switch {
	case c == nil:
		s.sessions[i] = s.initialize()
	case s.now < c.ready:
	case c.left == 0:
		if c.busy(s.now) {
			return
		}
		x := s.open(c, s.now, "DELETE", "", false, 200)
		s.add(x, s.now+s.ms(1, 3), headed, "")
		s.add(x, s.now+s.ms(3, 4), closed, "")
		s.sessions[i] = nil
	default:
		c.left--
		switch p := s.rng.IntN(100); {
		case p < 60:
			s.call(c)
		case p < 85:
			s.short(c)
		case p < 92:
			s.subscribe(c)
		default:
			s.cancelled(c)
		}
	}
}

func (s *server) ms(from, to int) int64 {
	return int64(from)*int64(time.Millisecond) + s.rng.Int64N(int64(to-from)*int64(time.Millisecond))
}

func (s *server) initialize() *session {
	s.made++
	c := &session{
		id: fmt.Sprintf("%016x%016x", s.rng.Uint64(), s.rng.Uint64()),
		ip: 256 + s.made%60000, next: 1, left: 100 + s.rng.IntN(200), made: s.made,
	}
	caps := []string{`{}`, `{"sampling":{}}`, `{"roots":{"listChanged":true}}`, `{"elicitation":{}}`}[s.rng.IntN(4)]
	x := s.open(c, s.now, "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":`+caps+
		`,"clientInfo":{"name":"`+[]string{"planner", "coder", "reviewer"}[s.rng.IntN(3)]+`","version":"1.4.0"}}}`, false, 200)
	x.answers = true
	t := s.now + s.ms(1, 4)
	s.add(x, t, headed, "")
	s.add(x, t, body, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"notes","version":"2.1.0"}}}`)
	s.add(x, t, closed, "")
	c.ready = t + s.ms(5, 9)
	s.accepted(c, t+s.ms(1, 3), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// accepted is a notification, which is answered 202 without a body.
func (s *server) accepted(c *session, at int64, msg string) {
	x := s.open(c, at, "POST", msg, false, 202)
	s.add(x, at+s.ms(0, 1), headed, "")
	s.add(x, at+s.ms(1, 2), closed, "")
}

// call is a tool call with progress on its event stream; the token is the id, as SDKs do it.
func (s *server) call(c *session) {
	id := strconv.Itoa(c.next)
	c.next++
	tool := []string{"search_notes", "export_board", "index_repo", "summarize"}[s.rng.IntN(4)]
	x := s.open(c, s.now, "POST", `{"method":"tools/call","params":{"name":"`+tool+`","arguments":{"query":"`+s.words(4)+`","ref":"`+s.ref()+
		`","limit":`+strconv.Itoa(5+s.rng.IntN(50))+`},"_meta":{"progressToken":`+id+`}},"jsonrpc":"2.0","id":`+id+`}`, true, 200)
	t := s.now + s.ms(1, 5)
	s.add(x, t, headed, "")
	steps := s.rng.IntN(4)
	for i := 1; i <= steps; i++ {
		t += s.ms(5, 60)
		s.add(x, t, event, fmt.Sprintf(`{"method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d,"message":"%s"},"jsonrpc":"2.0"}`, id, i, steps, s.words(2)))
	}
	t += s.ms(5, 60)
	s.add(x, t, event, `{"result":{"content":[{"type":"text","text":"`+s.words(20+s.rng.IntN(60))+`"}]},"jsonrpc":"2.0","id":`+id+`}`)
	s.add(x, t+1000, closed, "")
}

// short is a request with a plain JSON answer.
func (s *server) short(c *session) {
	id := strconv.Itoa(c.next)
	c.next++
	x := s.open(c, s.now, "POST", `{"jsonrpc":"2.0","id":`+id+`,"method":"resources/read","params":{"uri":"notes://`+s.ref()+`"}}`, false, 200)
	t := s.now + s.ms(1, 20)
	s.add(x, t, headed, "")
	s.add(x, t, body, `{"jsonrpc":"2.0","id":`+id+`,"result":{"contents":[{"uri":"notes://n","mimeType":"text/plain","text":"`+s.words(15+s.rng.IntN(80))+`"}]}}`)
	s.add(x, t+1000, closed, "")
}

func (s *server) subscribe(c *session) {
	id := strconv.Itoa(c.next)
	c.next++
	x := s.open(c, s.now, "POST", `{"jsonrpc":"2.0","id":`+id+`,"method":"resources/subscribe","params":{"uri":"notes://board/`+strconv.Itoa(s.rng.IntN(200))+`"}}`, false, 200)
	t := s.now + s.ms(1, 5)
	s.add(x, t, headed, "")
	s.add(x, t, body, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
	s.add(x, t+1000, closed, "")
}

// cancelled is a call that its own client cancels; the server says so and ends it.
func (s *server) cancelled(c *session) {
	id := strconv.Itoa(c.next)
	c.next++
	x := s.open(c, s.now, "POST", `{"method":"tools/call","params":{"name":"index_repo","arguments":{"ref":"`+s.ref()+`"}},"jsonrpc":"2.0","id":`+id+`}`, true, 200)
	t := s.now + s.ms(1, 5)
	s.add(x, t, headed, "")
	cancel := t + s.ms(30, 120)
	t = cancel + s.ms(1, 6)
	s.add(x, t, event, `{"error":{"code":-32800,"message":"request cancelled"},"jsonrpc":"2.0","id":`+id+`}`)
	s.add(x, t+1000, closed, "")
	s.accepted(c, cancel, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`,"reason":"user asked"}}`)
}

var vocabulary = strings.Fields(`alpha board cache delta event frame graph index join keeper ledger metric note offset party queue
record scope stream token update vector window yield zone answer buffer cursor detail engine filter`)

func (s *server) words(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[s.rng.IntN(len(vocabulary))])
	}
	return b.String()
}

func (s *server) ref() string { return fmt.Sprintf("%08x", s.rng.Uint32()) }
