package pcap

import (
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// reader merges the captures of a recording by time and yields their events.
//
// Every packet is a record. Used are the packets whose payload was read as part
// of an HTTP/1.1 exchange; handshakes, bare acknowledgements, repeated segments and
// everything else count as ignored.
type reader struct {
	in    []*source.Input
	files []*file // all, for Close
	queue merge   // those with a packet left

	keys  keyring
	asm   *assembler
	out   *emitter
	inner source.Stats // what the exchanges count; their defects are told by the inputs
	told  int          // problems of inner that were handed on
	dec   decoder
	seg   segment
	done  bool
	err   error // ends the reading
}

func (r *reader) start() {
	r.out = &emitter{b: exchange.New(r.in[0].Index, &r.inner), paths: map[string]string{}}
	r.asm = newAssembler(r.out, &r.keys, r.input)
	for _, f := range r.files {
		r.advance(f)
		if f.ready {
			r.queue = append(r.queue, f)
		}
	}
	heap.Init(&r.queue)
}

// input returns the input that an address names.
func (r *reader) input(src int32) *source.Input {
	if i := int(src - r.in[0].Index); i >= 0 && i < len(r.in) && r.in[i].Index == src {
		return r.in[i]
	}
	for _, in := range r.in {
		if in.Index == src {
			return in
		}
	}
	return r.in[0]
}

// Next returns the next event; see source.Reader.
func (r *reader) Next() (*event.Event, error) {
	for {
		if ev := r.out.next(); ev != nil {
			stats := &r.input(ev.At.Source).Stats
			stats.Events++
			if ev.Kind == event.Gap {
				stats.Gaps++
			}
			r.tell()
			return ev, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if !r.step() {
			r.tell()
			return nil, io.EOF
		}
	}
}

// tell hands on the defects that the exchanges found.
func (r *reader) tell() {
	for ; r.told < len(r.inner.Problems); r.told++ {
		p := r.inner.Problems[r.told]
		r.input(p.At.Source).Stats.Flaw(p.At, p.Text)
	}
	for _, n := range r.inner.Notes {
		r.in[0].Stats.Note(n)
	}
	r.inner.Notes = r.inner.Notes[:0]
}

// step reads one packet, or closes one connection after the last packet. It
// reports whether there is more to do.
func (r *reader) step() bool {
	if len(r.queue) == 0 {
		if !r.done {
			r.done = true
			r.asm.endOfInput()
			r.countFragments()
		}
		if r.asm.closeNext() {
			return true
		}
		r.asm.noteFates()
		return r.out.waiting()
	}
	f := r.queue[0]
	r.packet(f, &f.head)
	r.advance(f)
	if f.ready {
		heap.Fix(&r.queue, 0)
	} else {
		heap.Pop(&r.queue)
	}
	return true
}

// packet decodes one frame and gives it to the assembler.
func (r *reader) packet(f *file, fr *frame) {
	stats := &f.in.Stats
	stats.Records++
	stats.Stamp(fr.ns)
	s := &r.seg
	s.spot = spot{fr.ns, fr.at}
	got := r.dec.decode(fr, s)
	if got == isBroken {
		stats.Bad(fr.at, brokenText(fr))
		return
	}
	stats.Ignored++ // until its payload is used
	switch got {
	case isTCP:
		r.asm.packet(s)
	case isQUIC:
		server := r.asm.serverName(s.dst, true)
		r.asm.unreadable("QUIC", s.spot, server, "", "", "")
		r.asm.shadeServer(server, "", event.DirUnknown, s.spot)
	case isTunnel:
		stats.Note(fmt.Sprintf("more than %d tunnels stand in one another; what they carry is missing", maxTunnels))
	case isLink:
		stats.Note(fmt.Sprintf("link type %d is not decoded; capture on an Ethernet, loopback or `any` interface", fr.link))
	}
}

// countFragments tells of datagrams that never came together.
func (r *reader) countFragments() {
	if n := r.dec.fragments.lost + int64(len(r.dec.fragments.order)); n > 0 {
		r.in[0].Stats.Note(fmt.Sprintf("of %d fragmented IP packets not every fragment was captured; what they carried is missing", n))
	}
}

func brokenText(fr *frame) string {
	if fr.wire > len(fr.data) {
		return fmt.Sprintf("the snap length of %d bytes cuts the headers of this packet; it was left out", len(fr.data))
	}
	return "the headers of this packet are cut or impossible; it was left out"
}

// advance reads the next packet of a file into f.head, counting what is broken.
func (r *reader) advance(f *file) {
	err := f.next(&f.head)
	for err != nil && r.skip(f, err) {
		err = f.next(&f.head)
	}
	if f.ready = err == nil; f.ready {
		r.clamp(f)
	}
}

// skip counts what stands in the place of a packet. It reports whether more packets can follow.
func (r *reader) skip(f *file, err error) bool {
	var bad *flaw
	var end *cut
	switch {
	case errors.As(err, &bad):
		f.in.Stats.Records++
		f.in.Stats.Bad(bad.at, bad.text)
		return true
	case errors.As(err, &end):
		r.breakOff(f, end)
	}
	return false
}

// breakOff tells that the rest of a file is missing, in every domain seen so far.
func (r *reader) breakOff(f *file, end *cut) {
	if end.err != nil && !errors.Is(end.err, io.EOF) && !errors.Is(end.err, io.ErrUnexpectedEOF) {
		if len(r.files) == 1 {
			r.err = fmt.Errorf("cannot read capture %s: %w", f.in.Path, end.err)
			return
		}
		f.in.Stats.Err = end.err.Error()
	}
	f.in.Stats.Records++
	f.in.Stats.Bad(end.at, end.text)
	if r.out.drain(); len(r.out.domains) == 0 {
		f.in.Stats.Gaps++
	}
	for _, d := range r.out.domains {
		r.out.own(event.Event{Kind: event.Gap, Time: event.At(f.last), At: end.at, Domain: d, Loss: event.LossRest, Note: "the rest of the capture is missing: " + end.text})
	}
}

// clamp keeps the time of one file from running back; the order of the file counts.
func (r *reader) clamp(f *file) {
	switch {
	case f.head.ns == 0:
		f.head.ns = f.last
	case f.head.ns < f.last:
		f.in.Stats.BackSteps++
		f.head.ns = f.last
	}
	f.last = f.head.ns
}

// Close closes all files of the recording.
func (r *reader) Close() error {
	var errs []error
	for _, f := range r.files {
		if err := f.body.Close(); err != nil {
			errs = append(errs, fmt.Errorf("cannot close %s: %w", f.in.Path, err))
		}
	}
	r.files = nil
	return errors.Join(errs...)
}

// merge is a heap of files by the time of their next packet.
type merge []*file

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	if m[i].head.ns != m[j].head.ns {
		return m[i].head.ns < m[j].head.ns
	}
	return m[i].index < m[j].index
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*file)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}

// emitter is the queue of events: those of exchanges and our own, in one order.
type emitter struct {
	b       *exchange.Builder
	pending []event.Event // older than everything in b
	at      int
	openers []*conn        // of the exchanges whose Opened is still in b, in order
	domains []event.Domain // the first maxDomains seen
	paths   map[string]string
	// paths holds the one path that was asked of a server so far; "" = several.
}

const maxDomains = 64

// pop takes the next event of the builder and remembers, for gaps to come, which
// exchange and domain a connection spoke of last.
func (e *emitter) pop() *event.Event {
	ev := e.b.Pop()
	if ev == nil || ev.Kind != event.Opened || len(e.openers) == 0 {
		return ev
	}
	c := e.openers[0]
	n := copy(e.openers, e.openers[1:])
	e.openers[n] = nil
	e.openers = e.openers[:n]
	c.exchange = ev.Exchange
	if c.h2 != nil && c.domain.Server != "" && c.domain != ev.Domain && !slices.Contains(c.domains, ev.Domain) && len(c.domains) < maxOfConn {
		c.domains = append(c.domains, c.domain)
	}
	if ev.Loss&event.LossRequest == 0 {
		c.domain = ev.Domain
		e.learn(ev.Domain)
	} else if c.domain.Server == "" {
		c.domain = ev.Domain // which path it was about is not known
	}
	if len(e.domains) < maxDomains && !slices.Contains(e.domains, ev.Domain) {
		e.domains = append(e.domains, ev.Domain)
	}
	return ev
}

func (e *emitter) learn(d event.Domain) {
	path, ok := e.paths[d.Server]
	switch {
	case !ok && len(e.paths) < 1<<12:
		e.paths[d.Server] = d.Path
	case ok && path != d.Path && path != "":
		e.paths[d.Server] = ""
	}
}

// drain moves the events of the builder to our own queue.
func (e *emitter) drain() {
	for ev := e.pop(); ev != nil; ev = e.pop() {
		e.pending = append(e.pending, *ev)
		ev.RPC.Marks = nil // they go with the event
	}
}

// own queues an event that no exchange makes, behind everything queued so far.
func (e *emitter) own(ev event.Event) {
	e.drain()
	e.pending = append(e.pending, ev)
}

func (e *emitter) next() *event.Event {
	if e.at < len(e.pending) {
		e.at++
		return &e.pending[e.at-1]
	}
	if e.at > 0 {
		e.pending, e.at = e.pending[:0], 0
		if cap(e.pending) > 1024 {
			e.pending = nil
		}
	}
	return e.pop()
}

// waiting reports whether events of our own are queued; the builder's are found by next.
func (e *emitter) waiting() bool { return e.at < len(e.pending) }
