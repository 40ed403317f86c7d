package scenario

import (
	"encoding/json"
	"fmt"
	"time"
)

// play holds the state while a scenario is acted out.
type play struct {
	s       *Scenario
	t       *Trace
	sdk     shape
	parties map[string]*Party
	labels  map[string]*Exchange
	conns   []*Conn
	now     time.Duration
	step    *Step
}

// Run acts a scenario out. Errors name the line.
func (s *Scenario) Run() (*Trace, error) {
	p := &play{s: s, t: &Trace{}, parties: map[string]*Party{}, labels: map[string]*Exchange{}}
	name := s.Server.Get("sdk", "go")
	sdk, ok := shapes[name]
	if !ok {
		return nil, fmt.Errorf("cannot run scenario %s: unknown sdk %q", s.Name, name)
	}
	p.sdk = sdk
	p.t.Start = startOf(s.Name)
	p.t.Creator = s.Server.Get("creator", defaultCreator)
	if m := s.Server.Get("mode", ""); m != "" {
		p.sdk.mode = m
	}
	if s.Server.Flag("echo") {
		p.sdk.echo = true
	}
	for i := range s.Steps {
		p.step = &s.Steps[i]
		p.now = p.step.At
		if err := p.one(p.step); err != nil {
			return nil, fmt.Errorf("cannot run scenario %s.txt:%d: %w", s.Name, p.step.Line, err)
		}
	}
	p.t.settle()
	return p.t, nil
}

// startOf spreads the scenarios over a day, so that their stamps differ.
func startOf(name string) time.Time {
	sum := seed(name)
	day := time.Date(2026, 3, 9, 8, 0, 0, 0, time.UTC)
	return day.Add(time.Duration(sum%36000) * time.Second).Add(time.Duration(sum%977) * time.Microsecond)
}

func (p *play) one(st *Step) error {
	switch st.Subject {
	case "window":
		if st.Verb == "start" {
			p.t.From = st.At
		} else {
			p.t.End = st.At
		}
		return nil
	case "log":
		p.t.add(&Happening{At: st.At, Kind: KLine, Text: st.Words[0]})
		return nil
	case "server":
		return p.serverStep(st)
	}
	if c := st.Subject[0]; c >= 'A' && c <= 'Z' {
		return p.partyStep(p.party(st.Subject), st)
	}
	x := p.labels[st.Subject]
	if x == nil {
		return fmt.Errorf("no exchange is called %q yet", st.Subject)
	}
	return p.exchangeStep(x, st)
}

func (p *play) party(name string) *Party {
	if q := p.parties[name]; q != nil {
		return q
	}
	n := len(p.t.Parties)
	q := &Party{Name: name, Index: n, nextID: p.sdk.first, Caps: "{}", Opt: Step{Opt: map[string]string{}},
		Addr: fmt.Sprintf("10.42.%d.%d", 7+n/3, 11+7*n), Host: "10.42.0.5:8080"}
	q.planned = p.sdk.session(p.s.Name + "/" + name)
	p.parties[name] = q
	p.t.Parties = append(p.t.Parties, q)
	return q
}

// connFor finds a connection of the party that is idle, or opens one. A named
// connection may be shared between parties, as behind a proxy.
func (p *play) connFor(q *Party, st *Step) (*Conn, error) {
	name := st.Get("conn", "")
	host := q.Host
	for _, c := range p.conns {
		if c.dead || c.Host != host {
			continue
		}
		if name != "" && c.Name == name {
			if c.until > p.now {
				return nil, fmt.Errorf("connection %s still carries another exchange; HTTP/1.1 has one at a time", name)
			}
			return c, nil
		}
		if name == "" && c.Name == "" && c.owner == q && c.until <= p.now {
			return c, nil
		}
	}
	addr := st.Get("peer", q.Addr)
	port := 34000 + int(seed(fmt.Sprint(p.s.Name, addr, len(p.conns)))%25000)
	c := &Conn{ID: fmt.Sprintf("%s:%d", addr, port), Host: host, Name: name, owner: q, opened: p.now}
	p.conns = append(p.conns, c)
	return c, nil
}

const forever = time.Duration(1<<62 - 1)

// open starts an exchange of a party: the request head and its body.
func (p *play) open(q *Party, st *Step, method string, label string, body json.RawMessage) (*Exchange, error) {
	c, err := p.connFor(q, st)
	if err != nil {
		return nil, err
	}
	x := &Exchange{N: len(p.t.Exchanges) + 1, Label: label, Party: q, Conn: c, Method: method, Body: body,
		Mode: st.Get("mode", p.sdk.mode), Opened: p.now, CutHead: st.Get("headers", "") == "cut", Unrecorded: st.Flag("unrecorded")}
	x.ID, x.RPC = firstOf(body)
	c.until = forever
	if label != "" {
		if p.labels[label] != nil {
			return nil, fmt.Errorf("there is an exchange %q already", label)
		}
		p.labels[label] = x
	}
	if err := p.address(x, q, st); err != nil {
		return nil, err
	}
	p.t.Exchanges = append(p.t.Exchanges, x)
	p.t.add(&Happening{At: p.now, Kind: KReq, X: x, Data: body})
	return x, nil
}

// address fills target, session and header fields of a request.
func (p *play) address(x *Exchange, q *Party, st *Step) error {
	session, source := q.Session, "header"
	switch v := st.Get("session", ""); {
	case v == "":
	case v == "none":
		session = ""
	case p.parties[v] != nil:
		session = p.parties[v].Session
	default:
		session = v
	}
	if session == "" {
		source = "none"
	}
	if x.RPC == "initialize" {
		session, source = "", "initialize"
	}
	if q.Opt.Flag("modern") {
		session, source = "", "stateless"
	}
	x.Asked, x.Session, x.Source = session, session, source
	if b := st.Get("bound", ""); b != "" {
		other := p.parties[b]
		if other != nil && other.Session != "" { // a mutation may have taken it away
			x.Session, x.Source = other.Session, "fallback"
		}
	}
	x.Echo = st.Get("echo", "")
	if other := p.parties[x.Echo]; other != nil {
		x.Echo = other.Session
	} else if x.Echo == "" && p.sdk.echo && !q.Opt.Flag("sse") {
		x.Echo = x.Session
	}
	p.headers(x, q, st)
	return nil
}

func (p *play) headers(x *Exchange, q *Party, st *Step) {
	path := q.Opt.Get("path", "/mcp")
	host := q.Host
	sse := q.Opt.Flag("sse")
	if sse && x.Method == "POST" {
		path = "/message"
		if x.Asked != "" {
			path += "?sessionId=" + x.Asked
		} else if q.Session == "" && q.SSE != nil && st.Get("session", "") == "" {
			path += "?sessionId=" + q.planned
		}
	} else if sse {
		path = "/sse"
	}
	x.Target = path
	name := p.sdk.header
	h := []Field{{"Host", host}, {name("User-Agent"), st.Get("ua", q.Opt.Get("ua", p.sdk.ua))}}
	add := func(k, v string) {
		if v != "" {
			h = append(h, Field{name(k), v})
		}
	}
	if x.Method == "POST" {
		add("Accept", "application/json, text/event-stream")
		add("Content-Type", "application/json")
	} else if x.Method == "GET" {
		add("Accept", "text/event-stream")
	}
	if q.Opt.Flag("modern") {
		add("Mcp-Protocol-Version", "2026-07-28")
		add("Mcp-Method", x.RPC)
	} else if x.RPC != "initialize" && !sse {
		add("Mcp-Protocol-Version", p.s.Server.Get("version", "2025-11-25"))
	}
	if !sse {
		add("Mcp-Session-Id", x.Asked)
	}
	if a := st.Get("auth", q.Opt.Get("auth", "")); a != "" {
		add("Authorization", "Bearer "+a)
	}
	if a := st.Get("sub", q.Opt.Get("sub", "")); a != "" {
		add("Authorization", "Bearer "+jwt(a, st.Get("issued", "1")))
	}
	add("Cookie", st.Get("cookie", q.Opt.Get("cookie", "")))
	add("Last-Event-Id", st.Get("resume", ""))
	x.Header = h
}

// firstOf returns id and method of a body's first request.
func firstOf(body []byte) (id, method string) {
	type rpc struct {
		ID     json.RawMessage
		Method string
	}
	var one rpc
	var many []rpc
	if json.Unmarshal(body, &one) == nil {
		return string(one.ID), one.Method
	}
	if json.Unmarshal(body, &many) == nil && len(many) > 0 {
		return string(many[0].ID), many[0].Method
	}
	return "", ""
}

// head answers the exchange, if that did not happen yet.
func (p *play) head(x *Exchange, at time.Duration, status int, kind string) {
	if x.headDone {
		return
	}
	x.headDone, x.Status, x.FirstByte = true, status, at
	name := p.sdk.header
	if kind != "" {
		x.RespHeader = append(x.RespHeader, Field{name("Content-Type"), kind})
	}
	if x.Echo != "" && status == 200 {
		x.RespHeader = append(x.RespHeader, Field{name("Mcp-Session-Id"), x.Echo})
	}
	if c := p.s.Server.Get("setcookie", ""); c != "" && x.RPC == "initialize" {
		x.RespHeader = append(x.RespHeader, Field{name("Set-Cookie"), c + "; Path=/"})
	}
	p.t.add(&Happening{At: at, Kind: KHead, X: x})
}

// close ends an exchange.
func (p *play) close(x *Exchange, at time.Duration, by string) {
	if x.closed {
		return
	}
	x.closed, x.By, x.Closed = true, by, at
	x.Conn.until = at
	if by == "client" || p.step.Flag("fin") {
		x.Conn.dead = true
	}
	p.t.add(&Happening{At: at, Kind: KClose, X: x, By: by})
}

// reply answers with one whole body and ends the exchange.
func (p *play) reply(x *Exchange, at time.Duration, status int, kind string, body []byte) {
	p.head(x, at, status, kind)
	if len(body) > 0 {
		p.t.add(&Happening{At: at, Kind: KBody, X: x, Data: body})
	}
	p.close(x, at, "server")
}

func (p *play) serverStep(st *Step) error {
	if st.Verb != "restart" {
		return fmt.Errorf("unknown verb %q of the server", st.Verb)
	}
	for _, x := range p.t.Exchanges {
		if !x.closed {
			p.close(x, p.now, "server")
			x.Conn.dead = true
		}
	}
	p.t.add(&Happening{At: p.now, Kind: KFact, Facts: map[string]any{"event.name": "isodetect.meta"}})
	return nil
}
