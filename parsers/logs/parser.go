package logs

import (
	"bytes"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
)

// fate is what became of a line.
type fate uint8

const (
	ignored fate = iota
	used
	malformed
)

// parser turns lines into events. Beside the line it keeps what a file has shown
// so far about itself, never anything about sessions.
type parser struct {
	opt      source.Options  `snapshot:"-"`
	stats    *source.Stats   `snapshot:"-"` // of the file that is read
	source   int32           // its index
	files    []*source.Input // all that were read so far, of one log
	row      int64           // number of the last line in it
	modified int64           // when that file was last written, ns; 0 = not known
	dates    dates           // what times without a date mean in it
	queue    []event.Event
	rec      record      `snapshot:"-"`
	strip    []byte      `snapshot:"-"`
	names    names       `snapshot:"-"`
	told     phraseMemo  `snapshot:"-"` // what the messages before say
	domain   domainCache `snapshot:"-"`

	mcp     bool // a line of this file spoke of MCP for certain: a bare session key counts
	headers bool // request headers that hold a session id are logged: a dump without one had none
	targets bool // lines about deliveries name their target
	native  nativeState
	forms   formState // of the lines of running text

	user   *userPatterns   `snapshot:"-"` // nil = the user gave none
	shapes *pattern.Shapes `snapshot:"-"` // of the lines that were not understood, nil = nobody asks

	seen   glance      `snapshot:"-"` // what the current line showed ahead
	shape  *shape      `snapshot:"-"` // of the current line, where seen is pairs; nil = not known
	values []valueSpan `snapshot:"-"` // where its values stand
	peeler *envelope.Peeler
	wrap   wrap   `snapshot:"-"` // what the envelopes of the current line tell
	outer  outer  `snapshot:"-"` // the physical line, and what becomes of it
	shown  []byte `snapshot:"-"` // what of it stands in excerpts instead of it: a record of a document; nil = the line

	// Of the current line.
	base     event.Event `snapshot:"-"` // time, address, domain, loss; nothing else is ever set
	zoneless bool        `snapshot:"-"` // and in no zone that is known
	stamped  int64       `snapshot:"-"` // when it was written or received, ns; 0 = not known
	began    int         // its first event in queue
	said     phrase      `snapshot:"-"`
	msg      []byte      `snapshot:"-"`
}

func newParser(stats *source.Stats, opt source.Options) *parser {
	return &parser{stats: stats, opt: opt, user: newUserPatterns(opt.Patterns, stats)}
}

// turn goes on to a file of the log.
func (p *parser) turn(in *source.Input) {
	p.stats, p.source, p.modified = &in.Stats, in.Index, in.Modified
	p.dates = dates{in: in}
	p.files = append(p.files, in)
	p.renumber()
	if p.opt.Suggest != nil {
		p.shapes = p.opt.Suggest.Input(in.Index, in.Path)
	}
}

// statsOf is the counters of a file of the log.
func (p *parser) statsOf(index int32) *source.Stats {
	for i := len(p.files) - 1; i >= 0; i-- {
		if p.files[i].Index == index {
			return &p.files[i].Stats
		}
	}
	return p.stats
}

// used moves lines that were counted as ignored, because only later ones told what
// they were part of.
func (p *parser) used(shares []envelope.Share) {
	for _, s := range shares {
		st := p.statsOf(s.Source)
		st.Ignored -= s.N
		st.Used += s.N
	}
}

// single reads one line that is a record of its own.
func (p *parser) single(b []byte, at event.Address) (f fate, why string) {
	r, before := &p.rec, len(p.queue)
	r.reset()
	p.began = before
	p.forms.begin(b)
	if p.user != nil {
		p.user.begin()
	}
	if len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		if trimmed := bytes.TrimLeft(b, " \t"); len(trimmed) > 0 && trimmed[0] == '{' {
			b = trimmed
		}
	}
	switch {
	case len(b) == 0:
		return ignored, ""
	case b[0] == '{' && len(b) > 2:
		if f, why, ok := p.object(b); !ok {
			return f, why
		}
		if p.user != nil && !r.native {
			p.claimJSON(b)
		}
	default:
		if !p.text(b) {
			p.unread(b, at)
			return ignored, ""
		}
	}
	if r.twice != "" {
		p.stats.Note("a record has the key " + mcp.Cut(r.twice, 64) + " twice; " + map[bool]string{false: "the last value counts", true: "the first value counts"}[r.textual])
	}
	claimed := p.user != nil && p.user.hit != nil
	if claimed {
		p.user.fill(p)
	}
	p.stamp(at)
	switch {
	case claimed:
		p.userEvents()
	case r.native:
		p.nativeEvent()
	default:
		p.record()
	}
	if len(p.queue) == before {
		if !claimed {
			p.unread(b, at)
		}
		return ignored, ""
	}
	p.noteTime()
	p.kinds(p.queue[before:])
	excerpt := p.excerpt(b)
	for i := before; i < len(p.queue); i++ {
		p.queue[i].Excerpt = excerpt
	}
	return used, ""
}

// object reads a JSON line. ok is false if it is done with.
func (p *parser) object(b []byte) (f fate, why string, ok bool) {
	r := &p.rec
	if !r.readJSON(b) {
		if b[1] == '"' && b[len(b)-1] == '}' {
			return malformed, "line is no valid JSON object and was skipped", false
		}
		if b[1] == '"' {
			return malformed, "line begins as a JSON object that does not end and was skipped", false
		}
		return ignored, "", false // an object as JavaScript prints it, or the beginning of an indented one
	}
	if r.native && string(r.version.raw) != "1" {
		p.stats.Note("native events of version " + mcp.Cut(string(r.version.raw), 16) + " are not read; this isodetect knows version 1")
		return ignored, "", false
	}
	if r.get(slotLog).form == formString && !r.has(slotMessage) && bytes.Contains(b[:min(len(b), 8)], []byte(`"log"`)) {
		p.stats.Note("lines are wrapped by a container log driver and were not looked into")
		return ignored, "", false
	}
	if r.has(slotVendor) {
		p.vendor()
	}
	return used, "", true
}

// text reads a line that is no JSON object.
func (p *parser) text(b []byte) bool {
	if bytes.IndexByte(b, 0x1b) >= 0 {
		p.strip = stripANSI(p.strip[:0], b)
		if b = bytes.TrimLeft(p.strip, " "); len(b) == 0 {
			return false
		}
	}
	return p.user != nil && p.claimText(b) || p.readText(b)
}

// stamp fills what all events of the line have in common.
func (p *parser) stamp(at event.Address) {
	p.stamped, p.zoneless = 0, false
	p.base.At, p.base.Domain, p.base.Time, p.base.Loss = at, p.wrap.place(p.domain.of(&p.rec)), event.Time{}, 0
	p.base.Form = 0
	if t := p.rec.get(slotTime); t.form != formNone {
		st, ok := p.rec.time(t, p.opt.AssumeUTCOffset)
		if ok && !st.dated && !p.wrap.at.dated {
			if st, ok = p.complete(st, at.N); ok {
				p.base.Loss |= event.LossTime
			}
		}
		if ok && st.dated && !p.wrap.surer(st, p.opt.ZoneGiven) {
			p.zoneless = !st.zoned && !p.opt.ZoneGiven
			p.base.Time = p.when(p.rec.text(t), st)
			p.stamped = st.ns
			return
		}
	}
	if !p.received() {
		p.base.Loss |= event.LossTime
	}
}

// noteTime counts the time of a line that gave events.
func (p *parser) noteTime() {
	p.stats.Stamp(p.stamped)
	if p.zoneless {
		p.stats.Note("times have no zone and were read as UTC; --assume-tz says which zone they are in")
	}
}

// emit queues an event of the current line. The pointer is valid until the next call.
func (p *parser) emit(k event.Kind) *event.Event {
	p.queue = append(p.queue, p.base)
	e := &p.queue[len(p.queue)-1]
	e.Kind = k
	return e
}

// name returns a text that stays valid, cut to a bound.
func (p *parser) name(b []byte) string { return p.names.of(b) }

// names keeps short texts that come again and again.
type names struct {
	seen   map[string]string
	latest [256]string // some of them, where they are found sooner
}

const maxNames = 8192

func (n *names) of(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxID {
		return mcp.Cut(string(b), maxID)
	}
	latest := &n.latest[spread(b)%uint64(len(n.latest))]
	if *latest == string(b) {
		return *latest
	}
	if s, ok := n.seen[string(b)]; ok {
		*latest = s
		return s
	}
	if n.seen == nil || len(n.seen) >= maxNames {
		n.seen = make(map[string]string, 64)
	}
	s := string(b)
	if !utf8.Valid(b) {
		s = string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
	}
	n.seen[string(b)] = s
	return s
}

// cutLine copies a line up to MaxExcerpt bytes, at a rune boundary.
func cutLine(b []byte) string {
	n := len(b)
	if n > event.MaxExcerpt {
		for n = event.MaxExcerpt; n > 0 && !utf8.RuneStart(b[n]); n-- {
		}
	}
	if !utf8.Valid(b[:n]) {
		return string(bytes.ToValidUTF8(b[:n], []byte("\uFFFD")))
	}
	return string(b[:n])
}

// domainCache makes the domain of a record. Neighbouring lines mostly have the same.
type domainCache struct {
	raw    [4][]byte
	domain event.Domain
	set    bool
	empty  bool // nothing names the process
}

// of names the process that wrote a record: its instance, else its pod, else host
// and process id. Without any it is the input, which the registry fills in.
func (c *domainCache) of(r *record) event.Domain {
	if c.empty && !r.has(slotInstance) && !r.has(slotPod) && !r.has(slotHost) && !r.has(slotPID) {
		return c.domain
	}
	now := [4][]byte{r.text(r.get(slotInstance)), r.text(r.get(slotPod)), r.text(r.get(slotHost)), r.text(r.get(slotPID))}
	if c.set && bytes.Equal(now[0], c.raw[0]) && bytes.Equal(now[1], c.raw[1]) && bytes.Equal(now[2], c.raw[2]) && bytes.Equal(now[3], c.raw[3]) {
		return c.domain
	}
	for i := range now {
		if nothing(now[i]) {
			now[i] = nil
		}
		now[i] = now[i][:min(len(now[i]), maxID)]
		c.raw[i] = append(c.raw[i][:0], now[i]...)
	}
	pid := string(now[3])
	d := event.Domain{Epoch: pid}
	switch {
	case len(now[0]) > 0:
		d.Server = string(now[0])
	case len(now[1]) > 0:
		d.Server = string(now[1])
	case len(now[2]) > 0 && pid != "":
		d.Server = string(now[2]) + ":" + pid
	}
	if pid != "" && bytes.HasSuffix([]byte(d.Server), []byte(":"+pid)) {
		d.Epoch = ""
	}
	c.domain, c.set = d, true
	c.empty = len(now[0])+len(now[1])+len(now[2])+len(now[3]) == 0
	return d
}
