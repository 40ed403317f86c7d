package logs

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/envelope"
)

// outer is a physical line: what it counts as, and what of it stands in excerpts.
type outer struct {
	at   event.Address
	text []byte // nil where a record is not shown by its line
	fate fate
	why  string
	over bool // it holds more than may be read of one line
}

// wrap is what the envelopes around a line tell. The zero value is a line without any.
type wrap struct {
	server, epoch string
	at            stamp // when the line was received
	written       []byte
	guess         bool // its year was guessed
}

// maxQueue bounds the events of one physical line, which may hold many records.
const maxQueue = 20_000

// peel makes the parser take envelopes off. path is that of the input.
func (p *parser) peel(path string) { p.peeler = envelope.New(path, p.inside) }

// line reads one physical line. Its events are in p.queue until the next line,
// behind those of a record of several lines that ends with it or before it.
func (p *parser) line(b []byte, at event.Address) (f fate, why string) {
	if p.peeler == nil {
		p.peel("")
	}
	p.outer = outer{at: at, text: b}
	if p.shown != nil {
		p.outer.text = p.shown
	}
	if p.seen != unclear {
		return p.single(b, at)
	}
	overlong, unended := p.peeler.Overlong, p.peeler.Unended
	p.peeler.Peel(b, envelope.Address{N: at.N, Offset: at.Offset, Source: at.Source})
	return p.became(overlong, unended)
}

// entry reads an entry of a journal export.
func (p *parser) entry(r *envelope.ExportReader, at event.Address) (f fate, why string) {
	p.outer = outer{at: at}
	overlong, unended := p.peeler.Overlong, p.peeler.Unended
	p.peeler.PeelExport(r)
	return p.became(overlong, unended)
}

// became says what became of a physical line: it is used if anything inside was.
func (p *parser) became(overlong, unended int) (f fate, why string) {
	p.wrappers()
	if p.peeler.Unended > unended {
		p.unended()
	}
	if p.peeler.Overlong > overlong {
		return malformed, "the parts of a line are longer than 64 MiB together and were skipped"
	}
	return p.outer.fate, p.outer.why
}

func (p *parser) unended() {
	p.stats.Note("lines in parts without their last part were not read: the log begins or ends inside them, or parts are missing")
}

// inside reads a line whose envelopes were taken off.
func (p *parser) inside(b []byte, m *envelope.Meta) {
	o := &p.outer
	at := o.at
	switch {
	case m.Parts > 0:
		at.Source, at.N, at.Offset = m.First.Source, m.First.N, m.First.Offset
		o.text = m.Head
	case !m.Single && p.shown == nil:
		o.text = nil
	}
	if len(p.queue) >= maxQueue {
		if !o.over {
			o.over = true
			p.stats.Flaw(at, "a line holds more than 20,000 events; what stands behind them was not read")
			p.stats.Gaps++
			p.emit(event.Gap).Note = "the rest of a line with more than 20,000 events was not read"
		}
		return
	}
	p.tell(m)
	f, why := used, ""
	if m.Lost != "" {
		p.missing(at, m.Lost)
	} else if f, why = p.inner(b, at); f == used && m.Parts > 0 {
		p.used(m.Shares)
	}
	if f == used || o.fate == ignored {
		o.fate, o.why = f, why
	}
}

// inner reads one line that has no envelope.
func (p *parser) inner(b []byte, at event.Address) (f fate, why string) {
	if f, done := p.join(b, at); done {
		return f, ""
	}
	return p.single(b, at)
}

// missing reports a line whose text the log does not hold.
func (p *parser) missing(at event.Address, why string) {
	p.rec.reset()
	p.forms.begin(nil)
	p.stamp(at)
	p.noteTime()
	p.stats.Gaps++
	p.stats.Note(why)
	p.emit(event.Gap).Note = why
}

// tell keeps what the envelopes of a line tell.
func (p *parser) tell(m *envelope.Meta) {
	if m.Depth == 0 {
		p.wrap, p.forms.stream = wrap{}, ""
		return
	}
	p.wrap = wrap{server: p.name(m.Server), epoch: p.name(m.Epoch)}
	p.forms.stream = p.name(m.Writer)
	w := &p.wrap
	for i := m.Depth - 1; i >= 0; i-- { // the innermost was the nearest to the process
		st, ok := parseTime(m.Times[i], p.opt.AssumeUTCOffset)
		if ok && st.month > 0 {
			st, ok = p.complete(st, 0)
			w.guess = ok
		}
		if ok && st.dated && (!w.at.dated || st.zoned && !w.at.zoned) {
			w.at, w.written = st, m.Times[i]
		}
	}
}

// kept is a wrap that stays valid.
func (w wrap) kept() wrap {
	w.written = append([]byte(nil), w.written...)
	return w
}

// place is the domain of a record: what it says itself counts where it names a process.
func (w *wrap) place(d event.Domain) event.Domain {
	if d.Server != "" || w.server == "" && w.epoch == "" {
		return d
	}
	switch {
	case d.Epoch == "" || d.Epoch == w.epoch:
		d.Epoch = w.epoch
	case w.epoch != "":
		d.Epoch = w.epoch + "." + d.Epoch
	}
	d.Server = w.server
	return d
}

// surer reports that the time of receipt tells more than the one in the record:
// that one has no zone, and nobody said which it is in.
func (w *wrap) surer(st stamp, given bool) bool {
	return !st.zoned && !given && w.at.dated && w.at.zoned
}

// received gives the current line the time at which it was received, if that is known.
func (p *parser) received() bool {
	w := &p.wrap
	if !w.at.dated {
		return false
	}
	p.zoneless = !w.at.zoned && !p.opt.ZoneGiven
	p.forms.shift = 0 // a line is written when its request ends, whatever its own stamp means
	if p.forms.moment == event.MomentStart {
		p.forms.moment = event.MomentEnd
	}
	if w.guess {
		p.base.Loss |= event.LossTime
	}
	p.base.Time = p.when(w.written, w.at)
	p.stamped = w.at.ns
	return true
}

// kinds says of which kind the session ids of a record are, and on which connection
// it was seen, where it tells.
func (p *parser) kinds(events []event.Event) {
	if conn := p.rec.get(slotConn); conn.form != formNone && !p.rec.native {
		name := p.name(p.rec.text(conn))
		for i := range events {
			events[i].Sender.Conn = name
		}
	}
	kind := ""
	if p.rec.has(slotSessionKind) {
		kind = string(p.rec.text(p.rec.get(slotSessionKind)))
	}
	switch {
	case p.rec.native:
	case kind == "telemetry":
		markKind(events, event.IDTelemetry)
	case kind == "proxy":
		markKind(events, event.IDProxy)
	case p.gateway():
		markKind(events, event.IDGateway)
	}
}

// excerpt is the beginning of the physical line, or of the record that is read
// where the line holds others too.
func (p *parser) excerpt(record []byte) string {
	if p.outer.text != nil {
		return cutLine(p.outer.text)
	}
	return cutLine(record)
}

// wrappers adds the envelopes met to those that the input has already.
func (p *parser) wrappers() {
	all := &p.stats.Wrappers
	for _, name := range p.peeler.Wrappers() {
		known := false
		for _, w := range *all {
			known = known || w == name
		}
		if !known {
			*all = append(*all, name)
		}
	}
}
