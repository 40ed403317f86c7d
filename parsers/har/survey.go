package har

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"github.com/buger/jsonparser"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

// survey is the first reading: it finds the entries about MCP and their times.
func (r *reader) survey(size int64) error {
	v := surveyor{r: r, seen: map[uint64]struct{}{}}
	err := r.kind.survey(r, size, &v)
	if r.err != nil {
		return r.err
	}
	var syntax *syntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.lost(v.n, size, "the file is cut: what followed is not recorded")
	case errors.As(err, &syntax):
		r.lost(v.n, syntax.off, fmt.Sprintf("the text from byte %d on is no %s: it is skipped", syntax.off, syntax.what))
	case err != nil:
		return err
	}
	r.oneTime()
	slices.SortFunc(r.records, func(a, b record) int {
		if a.start != b.start {
			if a.start < b.start {
				return -1
			}
			return 1
		}
		return int(a.n) - int(b.n)
	})
	if v.bad > 0 {
		r.gap(fmt.Sprintf("%d entries could not be read", v.bad), 0)
	}
	return nil
}

// syntaxError tells from where on a file is not what it should be.
type syntaxError struct {
	off  int64
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("no %s at byte %d", e.what, e.off) }

func surveyHAR(r *reader, size int64, v *surveyor) error {
	s := newSplitter(io.NewSectionReader(r.ra, 0, size))
	err := s.split(source.MaxRecord, v.member, v.entry)
	if errors.Is(err, errSyntax) {
		return &syntaxError{s.off, "HTTP Archive"}
	}
	return err
}

// lost records that the end of the file is missing. What is missing may have
// happened at any time, so the gap stands before everything.
func (r *reader) lost(n int32, off int64, why string) {
	at := event.Address{Source: r.in.Index, Unit: event.UnitEntry, N: int64(n), Offset: off}
	r.stats.Flaw(at, why)
	r.stats.Note(why)
	r.gap(why, event.LossRest)
}

func (r *reader) gap(why string, loss event.Loss) {
	var from int64
	for _, rec := range r.records {
		if from == 0 || rec.start < from {
			from = rec.start
		}
	}
	at := event.Address{Source: r.in.Index, Unit: event.UnitEntry, Offset: -1}
	r.b.Gap(event.At(from), at, event.Sender{}, event.DirUnknown, loss, why)
}

// oneTime notices writers that stamp every entry with the time of the export, and
// those whose stamps have no fraction of a second.
func (r *reader) oneTime() {
	if len(r.records) < 3 {
		return
	}
	one, whole := true, true
	for _, rec := range r.records {
		one = one && rec.start == r.records[0].start
		whole = whole && rec.start%1e9 == 0
	}
	switch {
	case one:
		r.noTime = true
		r.stats.Note("all entries carry one time: the order of the exchanges is not known")
	case whole && !r.noTime:
		r.noTime = true
		r.stats.Note("all stamps are whole seconds: the order of exchanges that lie closer together is not known")
	}
}

// surveyor counts and keeps entries.
type surveyor struct {
	r    *reader
	n    int32
	bad  int
	seen map[uint64]struct{}
	e    entry
	hash maphash.Hash
}

func (v *surveyor) member(key string, p part) {
	if key != "creator" {
		return
	}
	creator, _ := jsonparser.GetString(p.raw, "name")
	if pairing(creator) {
		v.r.pairedByID()
	}
	if strings.Contains(strings.ToLower(creator), "insomnia") {
		v.r.noTime = true
		v.r.stats.Note("all entries carry the time of the export: the order of the exchanges is not known")
	}
}

func (r *reader) pairedByID() {
	r.paired = true
	r.stats.Note("paired_by_id: the writer matched answers to requests by their ids, so that an answer in the wrong exchange cannot be seen")
}

func (v *surveyor) entry(p part) {
	r := v.r
	n := v.n
	v.n++
	r.stats.Records++
	at := event.Address{Source: r.in.Index, Unit: event.UnitEntry, N: int64(n), Offset: p.off}
	if p.cut {
		r.stats.Bad(at, "entry is cut by the end of the file: skipped")
		return
	}
	if p.raw == nil {
		v.bad++
		r.stats.Bad(at, "entry over 64 MiB: skipped")
		return
	}
	if err := r.parse(p.raw, &v.e); err != nil {
		v.bad++
		r.stats.Bad(at, err.Error())
		return
	}
	if strings.EqualFold(v.e.version, "JSON-RPC/2.0") && !r.paired {
		r.pairedByID()
	}
	if !v.e.aboutMCP(&r.room) {
		r.stats.Ignored++
		return
	}
	key := v.identity()
	if _, twice := v.seen[key]; twice {
		r.stats.Ignored++
		r.stats.Note("an exchange stands twice in the file (service worker, retry by the recorder): the copy is ignored")
		return
	}
	v.seen[key] = struct{}{}
	r.stats.Used++
	if v.e.address != "" {
		origin, _ := splitURL(v.e.url)
		if have, ok := r.only[origin]; ok && have != v.e.address {
			r.only[origin] = ""
		} else if !ok && len(r.only) < 1<<12 {
			r.only[origin] = v.e.address
		}
	}
	r.records = append(r.records, record{start: v.e.start, off: p.off, size: int32(p.size), n: n})
}

// aboutMCP tells whether an exchange can be MCP: it has a header or a media type
// of the transport, or JSON-RPC in a body.
func (e *entry) aboutMCP(room *[]byte) bool {
	if e.method == "OPTIONS" || e.kind == "preflight" {
		return false
	}
	for _, h := range e.reqHeader {
		l := strings.ToLower(h.Name)
		if strings.HasPrefix(l, "mcp-") || l == "accept" && strings.Contains(h.Value, eventStream) {
			return true
		}
	}
	for _, h := range e.resHeader {
		l := strings.ToLower(h.Name)
		if l == "mcp-session-id" || l == "content-type" && strings.HasPrefix(strings.ToLower(h.Value), eventStream) {
			return true
		}
	}
	return strings.HasPrefix(e.body.mime, eventStream) || e.post.holdsRPC(room) || e.body.holdsRPC(room)
}

const eventStream = "text/event-stream"

func (c *content) holdsRPC(room *[]byte) bool {
	raw := c.text
	if c.base64 || c.file != "" {
		raw, _ = c.bytes(room)
	}
	return bytes.Contains(raw, []byte("jsonrpc"))
}

// identity is equal for the copies of one exchange (FORMATS D1): connection,
// URL, start and request.
func (v *surveyor) identity() uint64 {
	e, h := &v.e, &v.hash
	h.Reset()
	text := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	text(e.conn)
	text(e.method)
	text(e.url)
	maphash.WriteComparable(h, e.start)
	maphash.WriteComparable(h, e.status)
	for _, f := range e.reqHeader {
		if exchange.SessionHeader(f.Name) {
			text(f.Value)
		}
	}
	h.Write(e.post.text)
	h.WriteByte(0)
	h.Write(e.body.text)
	text(e.post.file)
	text(e.body.file)
	text(e.peer)
	return h.Sum64()
}
