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
	x := d.Exchanges[ev.Exchange]
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
	if x.Era != mcp.EraModern || rpc.ClientInfo == "" || x.Sender.ClientInfo != "" {
		return
	}
	x.Sender.ClientInfo = rpc.ClientInfo
	if x.Asked.State == event.Absent && (x.Party == nil || x.Party.Kind == ByAddress) {
		s.belong(x, x.Domain.senderParty(x.Sender, ev))
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

// remember keeps the marks that occurred in a message.
func (d *Domain) remember(marks []uint64) {
	for _, v := range marks {
		if event.Telling(v) {
			d.Seen.Add(v)
		}
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
	if len(p.Early) >= maxEarly {
		p.Early = append(p.Early[:0], p.Early[1:]...)
	}
	p.Early = append(p.Early, EarlyAnswer{ID: ev.RPC.ID, Kind: ev.RPC.Kind, Code: ev.RPC.Code, Ref: refOf(ev)})
}

// claim takes the first early answer to a server request with this id.
func (p *Party) claim(id mcp.ID) (EarlyAnswer, bool) {
	if p == nil {
		return EarlyAnswer{}, false
	}
	for i, a := range p.Early {
		if a.ID == id {
			p.Early = slices.Delete(p.Early, i, i+1)
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
		r.OwnCancel, r.CancelRef = m.Event.Time, ref
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
		BodyHash: rpc.BodyHash, Trace: rpc.Trace, ClientInfo: rpc.ClientInfo, Args: rpc.Args, Era: rpc.Era,
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
			d.unknownStarts()
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
// are overlap enough (DETECTION §4).
func (d *Domain) unknownStarts() {
	d.Nameless++
	if d.Nameless > 1 && !d.Overlap {
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
		p.Hole[r.Dir] = m.Event.Time.To
		s.end(m, r, Lost, Ref{At: r.Sent.At, Time: m.Event.Time})
	}
	p.drop(r)
}

// markers finds the argument values of a request that occurred nowhere before
// it: one of their tokens is new in the domain. A value that occurs again is a
// marker of nobody.
func (d *Domain) markers(r *Request) {
	for i := range r.Args {
		run, anchor := r.Args[i].Run, -1
		for k, v := range run {
			if v == 0 || !event.Telling(v) {
				continue
			}
			if d.Seen.Has(v) {
				d.unmark(v, r)
			} else if anchor < 0 {
				anchor = k
			}
		}
		if anchor < 0 || r.Args[i].Class != event.ArgMarker {
			continue
		}
		if m := (Marker{run, anchor}); !slices.Contains(r.Markers, m) {
			r.Markers = append(r.Markers, m)
		}
	}
	for i := range r.Args {
		d.remember(r.Args[i].Run[:])
	}
}

// unmark takes the markers with this anchor off every other request: it occurred again.
func (d *Domain) unmark(v uint64, by *Request) {
	k := Key{ByMark, v}
	if !d.Index.MayHold(v) {
		return
	}
	for _, o := range slices.Clone(d.Index.Find(k)) {
		if o == by {
			continue
		}
		o.Markers = slices.DeleteFunc(o.Markers, func(m Marker) bool { return m.Run[m.Anchor] == v })
		d.Index.remove(k, o)
	}
}

func (d *Domain) index(r *Request) {
	r.indexed = true
	for _, k := range r.keys() {
		d.Index.add(k, r)
	}
}

func (r *Request) keys() []Key {
	if r.Dir == event.ToClient {
		return []Key{IDKey(ByServer, r.ID)}
	}
	keys := make([]Key, 0, 2+len(r.Markers))
	keys = append(keys, IDKey(ByID, r.ID))
	if r.Token != "" {
		keys = append(keys, IDKey(ByToken, r.Token))
	}
	for _, m := range r.Markers {
		keys = append(keys, Key{ByMark, m.Run[m.Anchor]})
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
		if r := x.Party.openServer(ev.RPC.ID); r != nil && r.Method == ev.RPC.Method && x.Resumed() {
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

// answeredEarly narrows the time of a server request by the client's answer: it
// is not later than that, and -32601 is sent at once (DETECTION §3, capability_drift).
func (s *State) answeredEarly(m *Moment, r *Request, a EarlyAnswer) {
	r.Sent.Time.To = min(r.Sent.Time.To, a.Ref.Time.To)
	r.Sent.Time.From = min(r.Sent.Time.From, r.Sent.Time.To)
	if a.Code == CodeMethodNotFound {
		r.Sent.Time.From = r.Sent.Time.To
	}
	r.Answer, r.Code = a.Kind, a.Code
	s.end(m, r, Answered, a.Ref)
}

// CodeMethodNotFound is JSON-RPC's error code for a method the receiver does not serve.
const CodeMethodNotFound = -32601

// serverAnswer finds the request that an answer on this exchange belongs to.
func (s *State) serverAnswer(m *Moment, x *Exchange) {
	id := m.Event.RPC.ID
	r := x.own(id)
	if r == nil && (x.Stream == event.StreamGet || x.Stream == event.StreamSSE) {
		if r = x.Party.openClient(id); r == nil {
			r = x.Party.Recent(id)
		}
	}
	if r == nil && id.Placeholder() && m.Event.RPC.Kind == mcp.KindError && len(x.Requests) == 1 {
		r = x.Requests[0]
	}
	if r == nil {
		return
	}
	m.Request = r
	if p := r.Party; p.IsSession() && m.Event.RPC.Kind == mcp.KindResult && r.Exchange != nil && r.Exchange.Asked.State == event.Present {
		m.Domain.use(p, m.Event.Time)
	}
	if r.Ended() && r.Fate == Answered {
		r.Extra++
		m.Extra = true
		return
	}
	s.answer(m, r)
	s.initialized(m, x, r)
}

// own returns the request of the exchange's own body with this id: typed,
// then folded; an open one before an answered one.
func (x *Exchange) own(id mcp.ID) *Request {
	var best *Request
	rank := 0
	for _, r := range x.Requests {
		n := 0
		switch {
		case r.ID == id:
			n = 3
		case r.ID.Fold() == id.Fold():
			n = 1
		default:
			continue
		}
		if !r.Ended() {
			n++
		}
		if n > rank {
			best, rank = r, n
		}
	}
	return best
}

// answer decides the fate of a request by a message.
func (s *State) answer(m *Moment, r *Request) {
	rpc := &m.Event.RPC
	r.Answer, r.Code, r.IsError, r.ErrorText, r.Shape = rpc.Kind, rpc.Code, rpc.IsError, rpc.ErrorText, rpc.Shape
	r.Echo = r.OwnValue(rpc.Marks)
	if r.Fate == GivenUp || r.Fate == Cut || r.Fate == Lost {
		// It had been given up before; the late answer is its answer all the same.
		r.Fate, r.End = Answered, refOf(m.Event)
		m.Ended = append(m.Ended, r)
	} else {
		s.end(m, r, Answered, refOf(m.Event))
	}
	if r.Party != nil && r.Succeeded() {
		r.Party.LastResult = m.Event.Time.To
	}
	if x := r.Exchange; x != nil && r.Dir == event.ToServer {
		r.Status = x.Status
		if rpc.Kind == mcp.KindResult {
			x.Results++
		} else {
			x.Errors++
		}
	}
	m.Domain.subscribed(r, m.Event.Time)
}

// initialized takes the answer to an initialize where the response head did not
// settle the session: no session header, HTTP+SSE, or a refusal.
func (s *State) initialized(m *Moment, x *Exchange, r *Request) {
	if r.Method != mcp.Initialize {
		return
	}
	d, p := m.Domain, r.Party
	origin := r.Exchange
	if m.Event.RPC.Kind == mcp.KindError {
		m.Refused = true
		if p.IsSession() && p.Issued && p.BornAt == r.Sent.Time && p.Live {
			d.endLive(p, m.Event.Time)
			p.LiveTo = p.LiveFrom
			d.Issued--
		}
		return
	}
	switch {
	case x.Stream == event.StreamSSE && p.IsSession():
		d.Inits++
		if p.InitOrder != 0 {
			p.Rekeyed, p.CapsKnown = true, false
			return
		}
		p.InitOrder, p.Caps, p.CapsKnown, p.ClientInfo = d.Inits, r.Need, true, r.ClientInfo
		p.CapsRef = r.Sent
		d.Newest = p
	case origin != nil && origin.Answered.State == event.Absent && origin.Asked.State != event.Present:
		d.Unissued++
	case origin != nil && origin.Asked.State == event.Present && origin.Answered.State != event.Present && p.IsSession():
		if p.Issued || p.InitOrder != 0 {
			p.Rekeyed, p.CapsKnown = true, false
		}
	}
}

// end decides the fate of a request.
func (s *State) end(m *Moment, r *Request, fate Fate, ref Ref) {
	if r.Ended() {
		return
	}
	r.Fate, r.End = fate, ref
	switch {
	case r.Dir != event.ToServer:
	case r.Party != nil:
		m.Domain.finish(r.Party)
	default:
		m.Domain.Nameless--
	}
	m.Domain.Ended = append(m.Domain.Ended, r)
	m.Ended = append(m.Ended, r)
}

// closed ends an exchange and decides what became of its requests.
func (s *State) closed(m *Moment) {
	ev, d := m.Event, m.Domain
	x := d.Exchanges[ev.Exchange]
	if x == nil {
		return
	}
	m.Exchange, m.Party = x, x.Party
	if ev.EventID != "" {
		x.Resumable = true
	}
	x.Whole = x.Conn == nil || !x.Conn.Unpaired
	x.Done, x.By, x.Bytes, x.ClosedAt = true, ev.By, ev.Bytes, ev.Time
	x.Loss |= ev.Loss
	if ev.Status != 0 {
		x.Status = ev.Status
	}
	d.noteLoss(x, ev)
	for _, r := range x.Requests {
		if !r.Ended() {
			s.abandon(m, x, r)
		}
	}
	if x.Stream == event.StreamSSE && x.Party.IsSession() && ev.By != event.ByWindow {
		s.endSession(m, x.Party)
	}
	if x.Party != nil {
		x.Party.Streams--
		d.vacate(x.Party)
	}
	delete(d.Exchanges, ev.Exchange)
	if x.Interval {
		d.Intervals--
		if x.Opened.Time.From <= d.Oldest {
			d.Oldest = 0
		}
	}
}

// abandon decides the fate of a request whose exchange closed without an answer.
func (s *State) abandon(m *Moment, x *Exchange, r *Request) {
	ref := refOf(m.Event)
	switch {
	case x.Loss&(event.LossResponseBody|event.LossPairing) != 0 || r.Party != nil && !r.Party.Complete(event.ToClient, r.Sent.Time.From):
		s.end(m, r, Lost, ref)
	case x.Status >= 400:
		r.Status = x.Status
		x.Errors++
		s.end(m, r, Refused, ref)
	case x.Status == 202 || x.By == event.ByWindow:
		// The answer comes on another stream, or the window ended first.
	case r.OwnCancel != (event.Time{}):
		s.end(m, r, GivenUp, ref)
	case x.Resumable && x.By != event.ByClient:
		// The client may resume the stream and get the answer there.
	case x.By == event.ByClient, x.By == event.ByUnknown:
		r.Left = true
		s.end(m, r, GivenUp, ref)
	default:
		s.end(m, r, Cut, ref)
	}
}
