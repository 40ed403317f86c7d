package correlate

import (
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// message takes one JSON-RPC message of the wire or of a log.
func (s *State) message(m *Moment) {
	ev, d := m.Event, m.Domain
	if ev.Exchange.N == 0 {
		s.loggedMessage(m)
		return
	}
	x := d.exchange(ev.Exchange)
	if x == nil {
		return
	}
	m.Exchange, m.Party = x, x.Party
	if ev.Dir == event.ToServer {
		s.identify(x, ev)
		m.Party = x.Party
		s.fromClient(m, x)
	} else {
		if ev.EventID != "" {
			x.Resumable = true
		}
		s.toClient(m, x)
		d.remember(ev.RPC.Marks)
	}
	d.noteEra(x.Era, &ev.RPC)
}

// identify settles era and party of an exchange from the first message of its body.
func (s *State) identify(x *Exchange, ev *event.Event) {
	rpc := &ev.RPC
	if rpc.Era != mcp.EraUnknown {
		x.Era = rpc.Era
	}
	if x.Era != mcp.EraModern || rpc.ClientInfo == "" || x.From().ClientInfo != "" {
		return
	}
	from := x.From()
	from.ClientInfo = rpc.ClientInfo
	x.Sender = x.Domain.senderOf(from)
	if x.Asked.State == event.Absent && (x.Party == nil || x.Party.Kind == ByAddress) {
		s.belong(x, x.Domain.senderParty(event.Sender{Principal: from.Principal, ClientInfo: from.ClientInfo}, ev))
	}
}

func (d *Domain) noteEra(e mcp.Era, rpc *event.RPC) {
	if rpc.Method == mcp.Discover || (rpc.Method == "" && rpc.Kind == mcp.KindError) {
		return // a refused server/discover is no modern traffic
	}
	switch e {
	case mcp.EraModern:
		d.Modern = true
	case mcp.EraLegacy:
		d.Legacy = true
	}
}

func (s *State) fromClient(m *Moment, x *Exchange) {
	ev, d := m.Event, m.Domain
	switch ev.RPC.Kind {
	case mcp.KindRequest:
		r := s.request(m, x.Party, x)
		x.Requests = append(x.Requests, r)
		if r.Method == mcp.Initialize && x.Initial == nil {
			x.Initial = r
		}
		d.subscribe(r, ev)
	case mcp.KindNotification:
		s.clientNotification(m, x.Party)
	case mcp.KindResult, mcp.KindError:
		if r := x.Party.openServer(ev.RPC.ID); r != nil {
			m.Request = r
			s.answer(m, r)
		} else if x.Party != nil {
			x.Party.early(ev)
		}
	}
}

// early keeps a client's answer to a server request that was not applied yet:
// the messages of a HAR stream are applied at its end.
func (p *Party) early(ev *event.Event) {
	rare := p.rare()
	if len(rare.Early) >= maxEarly {
		rare.Early = append(rare.Early[:0], rare.Early[1:]...)
	}
	rare.Early = append(rare.Early, EarlyAnswer{ID: ev.RPC.ID, Kind: ev.RPC.Kind, Code: ev.RPC.Code, Ref: refOf(ev)})
}

// claim takes the first early answer to a server request with this id.
func (p *Party) claim(id mcp.ID) (EarlyAnswer, bool) {
	if p == nil || p.Rare == nil {
		return EarlyAnswer{}, false
	}
	for i, a := range p.Rare.Early {
		if a.ID == id {
			p.Rare.Early = slices.Delete(p.Rare.Early, i, i+1)
			return a, true
		}
	}
	return EarlyAnswer{}, false
}

func (s *State) clientNotification(m *Moment, p *Party) {
	ev := m.Event
	switch ev.RPC.Method {
	case mcp.Initialized, mcp.RootsListChanged:
		if p != nil {
			if len(p.Ready) >= maxReady {
				p.Ready = slices.Delete(p.Ready, 0, 1)
			}
			p.Ready = append(p.Ready, ev.Time)
		}
	case mcp.Cancelled:
		if p == nil || p.Kind == ByAddress {
			return // an address may be a proxy's: whose request is meant does not show
		}
		m.Cancels = p.openClient(ev.RPC.CancelID)
		if m.Cancels != nil {
			s.giveUp(m, p)
		}
	}
}

// giveUp ends the requests that a party cancels. Where two conversations of a
// session have the id in flight, either may be meant, so silence proves nothing about both.
func (s *State) giveUp(m *Moment, p *Party) {
	ref := refOf(m.Event)
	for _, r := range slices.Clone(p.Open) {
		if r.Dir != event.ToServer || r.Ended() || r.ID.Fold() != m.Event.RPC.CancelID.Fold() {
			continue
		}
		r.OwnCancel = m.Event.Time
		s.end(m, r, GivenUp, ref)
	}
}

// request makes the request that this event carries.
func (s *State) request(m *Moment, p *Party, x *Exchange) *Request {
	ev, d := m.Event, m.Domain
	rpc := &ev.RPC
	d.Requests++
	r := &Request{
		Seq: d.Requests, Dir: ev.Dir, ID: rpc.ID, Method: rpc.Method, Tool: rpc.Tool, URI: rpc.URI, Token: rpc.Token,
		Need: rpc.Caps, Party: p, Exchange: x, FoldOnly: ev.Loss&event.LossIDType != 0, Sent: refOf(ev),
		BodyHash: rpc.BodyHash, ClientInfo: rpc.ClientInfo, Args: rpc.Args, Era: rpc.Era,
	}
	if x != nil {
		r.Era = x.Era
	}
	m.Request = r
	if ev.Dir == event.ToServer {
		d.markers(r)
		if r.Token != "" {
			d.Tokens.Add(r.Token)
		}
	}
	d.index(r)
	if p == nil {
		if ev.Dir == event.ToServer {
			d.unknownStarts(ev.Loss&event.LossTime == 0)
		}
		return r
	}
	if len(p.Open) >= s.Limits.OpenPerParty {
		s.forget(m, p)
	}
	p.Requests++
	p.Open = append(p.Open, r)
	if ev.Dir == event.ToServer {
		d.begin(p)
		p.Given.Add(r.ID)
		if r.Token != "" {
			p.Tokens.Add(r.Token)
		}
	}
	return r
}

// unknownStarts counts requests of unknown senders: two exchanges open at once
// are overlap enough (DETECTION §4), if it is known when they were open.
func (d *Domain) unknownStarts(timed bool) {
	d.Nameless++
	if d.Nameless > 1 && timed && !d.Overlap {
		d.Overlap, d.OverlapWhy = true, "two exchanges of unknown senders were open at once"
	}
}

// forget makes room for a request of a party that holds too many: ended ones go
// first, then the oldest open one, which is a hole.
func (s *State) forget(m *Moment, p *Party) {
	for i, r := range p.Open {
		if r.Ended() && r.Fate != GivenUp {
			p.Open = slices.Delete(p.Open, i, i+1)
			return
		}
	}
	r := p.Open[0]
	if !r.Ended() {
		m.Domain.Evicted++
		p.Lose(r.Dir, m.Event.Time.To)
		s.end(m, r, Lost, Ref{At: r.Sent.At, Time: m.Event.Time})
	}
	p.drop(r)
}

func (d *Domain) index(r *Request) {
	r.indexed = true
	var room [8]Key
	for _, k := range r.keys(room[:0]) {
		d.Index.add(k, r)
	}
}

// keys appends the keys under which the request stands in the index.
func (r *Request) keys(keys []Key) []Key {
	if r.Dir == event.ToClient {
		return append(keys, IDKey(ByServer, r.ID))
	}
	keys = append(keys, IDKey(ByID, r.ID))
	if r.Token != "" {
		keys = append(keys, IDKey(ByToken, r.Token))
	}
	for _, m := range r.Markers {
		keys = append(keys, MarkKey(m.Run[m.Anchor]))
	}
	return keys
}

// openClient returns the party's client request with this id that is open, the
// newest if there are several, typed before folded; nil if there is none.
func (p *Party) openClient(id mcp.ID) *Request { return p.find(event.ToServer, id, true) }

// openServer returns the server request with this id that the party has to answer.
func (p *Party) openServer(id mcp.ID) *Request {
	return p.find(event.ToClient, id, true)
}

// Recent returns the party's newest client request with this id, ended or not.
func (p *Party) Recent(id mcp.ID) *Request { return p.find(event.ToServer, id, false) }

func (p *Party) find(dir event.Dir, id mcp.ID, open bool) *Request {
	if p == nil || id == "" {
		return nil
	}
	var folded *Request
	for i := len(p.Open) - 1; i >= 0; i-- {
		r := p.Open[i]
		if r.Dir != dir || (open && r.Ended()) {
			continue
		}
		if r.ID == id {
			return r
		}
		if folded == nil && r.ID.Fold() == id.Fold() {
			folded = r
		}
	}
	return folded
}

// toClient takes a message that the server sent.
func (s *State) toClient(m *Moment, x *Exchange) {
	ev := m.Event
	switch ev.RPC.Kind {
	case mcp.KindRequest:
		if r := x.Party.openServer(ev.RPC.ID); r != nil && r.Method == ev.RPC.Method && x.Resumed {
			m.Request = r // replayed
			return
		}
		r := s.request(m, x.Party, x)
		if a, ok := x.Party.claim(r.ID); ok && !exact(m.Event.Time) {
			s.answeredEarly(m, r, a)
		}
	case mcp.KindResult, mcp.KindError:
		s.serverAnswer(m, x)
	}
}
