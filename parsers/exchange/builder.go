package exchange

import (
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// Builder makes events of the exchanges of one source and queues them in the
// order of the calls. It keeps no exchange; whoever reads a source does.
type Builder struct {
	src       int32
	stats     *source.Stats `snapshot:"-"`
	exchanges uint64

	// Resumable keeps of encoded bodies what decoding them goes on from after a
	// snapshot was restored.
	Resumable bool
	kept      int // bytes of them

	queue []event.Event
	head  int
	held  int64 // bytes that queued events hold, about

	domain    *event.Domain // of the exchange that was opened last
	names     interner      `snapshot:"-"`
	announced announced
	hosts     hosts
	lines     [2048]headLine `snapshot:"-"` // some that heads repeat, where place puts them

	// Scratch that one message at a time uses.
	msg       mcp.Message `snapshot:"-"`
	walk      walker      `snapshot:"-"`
	inner     walker      `snapshot:"-"` // of JSON text inside a string
	args      []event.Arg `snapshot:"-"`
	text      []byte      `snapshot:"-"`
	innerText []byte      `snapshot:"-"`
	line      []byte      `snapshot:"-"`
	buffers   [][]byte    `snapshot:"-"`
	spare     *intake     `snapshot:"-"` // for the next response that is read
}

// New returns a Builder whose events and problems count in stats.
func New(src int32, stats *source.Stats) *Builder {
	return &Builder{src: src, stats: stats}
}

// Resume gives a Builder that was restored from a snapshot what the snapshot does not hold.
func (b *Builder) Resume(stats *source.Stats) { b.stats = stats }

// Pop returns the next queued event, valid until the following call to Pop, and nil if there is none.
func (b *Builder) Pop() *event.Event {
	if b.head == len(b.queue) {
		if cap(b.queue) > keepQueue {
			b.queue = nil
		}
		for i := range b.queue { // the slots keep their room for marks and nothing else
			b.queue[i] = event.Event{RPC: event.RPC{Marks: b.queue[i].RPC.Marks[:0]}}
		}
		b.queue, b.head, b.held = b.queue[:0], 0, 0
		return nil
	}
	e := &b.queue[b.head]
	b.head++
	return e
}

const (
	keepQueue = 1 << 10   // events of queue memory that are kept between bursts
	maxHeld   = 128 << 20 // bytes of events that may wait for Pop
	eventSize = 1 << 10   // bytes that an event without marks holds, about
)

// push appends an empty event.
func (b *Builder) push(t event.Time) *event.Event {
	if n := len(b.queue); n < cap(b.queue) {
		b.queue = b.queue[:n+1]
	} else {
		b.queue = append(b.queue, event.Event{})
	}
	b.held += eventSize
	b.stats.Events++
	b.stats.Stamp(t.From)
	b.stats.Stamp(t.To)
	return &b.queue[len(b.queue)-1]
}

// drop takes back the event that push gave last.
func (b *Builder) drop() {
	last := len(b.queue) - 1
	b.queue[last] = event.Event{RPC: event.RPC{Marks: b.queue[last].RPC.Marks[:0]}}
	b.queue = b.queue[:last]
	b.held -= eventSize
	b.stats.Events--
}

// full reports that one piece of input held so many messages that the rest of
// it must be skipped: a decompressed piece can hold millions.
func (b *Builder) full() bool { return b.held > maxHeld }

// buffer returns an empty buffer that release takes back.
func (b *Builder) buffer() []byte {
	if n := len(b.buffers); n > 0 {
		buf := b.buffers[n-1]
		b.buffers = b.buffers[:n-1]
		return buf[:0]
	}
	return make([]byte, 0, 4<<10)
}

// release keeps a few small buffers for the next exchanges.
func (b *Builder) release(buf []byte) {
	if cap(buf) > 0 && cap(buf) <= 256<<10 && len(b.buffers) < 16 {
		b.buffers = append(b.buffers, buf)
	}
}

// interner makes equal texts share one string, so that a thousand events of a
// session hold its id once. It forgets everything when it is full.
type interner struct {
	seen map[string]string
	near [2048]string // some of them, by a sum that is cheaper than the map's
}

// place returns where a text may stand in near.
func place(s string) int {
	n := len(s)
	if n < 8 {
		return (n*31 + int(s[0])*7 + int(s[n-1])) & 2047
	}
	// Ids, stamps and numbers differ at their ends.
	a := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	e := s[n-8:]
	b := uint64(e[0]) | uint64(e[1])<<8 | uint64(e[2])<<16 | uint64(e[3])<<24 | uint64(e[4])<<32 | uint64(e[5])<<40 | uint64(e[6])<<48 | uint64(e[7])<<56
	return int((a*0x9e3779b97f4a7c15 ^ b*0xc2b2ae3d27d4eb4f ^ uint64(n)*0xff51afd7ed558ccd) >> 53)
}

const (
	maxNames = 1 << 13
	maxName  = 512
)

func (n *interner) bytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := n.have(b); ok {
		return s
	}
	return n.keep(string(b))
}

// have returns the string of a text that was seen before.
func (n *interner) have(b []byte) (string, bool) {
	if len(b) == 0 {
		return "", true
	}
	at := place(view(b))
	if s := n.near[at]; s == string(b) {
		return s, true
	}
	s, ok := n.seen[string(b)]
	if ok {
		n.near[at] = s
	}
	return s, ok
}

// text copies s on its first sight, so that it does not hold the text it was cut from.
func (n *interner) text(s string) string {
	if s == "" {
		return ""
	}
	at := place(s)
	if t := n.near[at]; t == s {
		return t
	}
	t, ok := n.seen[s]
	if !ok {
		return n.keep(strings.Clone(s))
	}
	n.near[at] = t
	return t
}

func (n *interner) keep(s string) string {
	if len(s) > maxName {
		return s
	}
	if n.seen == nil || len(n.seen) >= maxNames {
		n.seen = make(map[string]string)
	}
	n.seen[s] = s
	return s
}

// cutText shortens s to at most n bytes at a rune boundary without copying.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Gap queues a Gap that belongs to a connection or to the whole source, not to one exchange.
func (b *Builder) Gap(t event.Time, at event.Address, who event.Sender, dir event.Dir, loss event.Loss, why string) {
	b.stats.Gaps++
	e := b.push(t)
	e.Kind, e.Time, e.At, e.Sender, e.Dir, e.Loss, e.Note = event.Gap, t, at, who, dir, loss, why
}

// Unreadable queues that n connections to a server cannot be read, since they carry what.
func (b *Builder) Unreadable(t event.Time, at event.Address, server, what string, n int) {
	e := b.push(t)
	e.Kind, e.Time, e.At, e.Domain.Server, e.Note, e.N = event.Unreadable, t, at, server, what, n
}
