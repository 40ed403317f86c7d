// Package har reads archives of finished exchanges: HTTP Archives (HAR 1.2) as
// browsers, proxies and tools really write them, and the archives of other tools that
// hold the same: mitmproxy's flow dumps, Burp's XML, Fiddler's SAZ. Exchanges
// come in any order, so a file is read twice: once for the times, once to emit facts in time order.
package har

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

const name = "har"

// Format is the HTTP Archive as an input format.
var Format = source.Format{
	Name:    name,
	Title:   "HTTP Archive of a browser, proxy or test tool",
	Checked: "real",
	Carries: "all signals where bodies were kept; no time of single SSE messages, no client address, not who closed",
	Sniff:   sniff,
	Open: func(in []*source.Input, opt source.Options) (source.Reader, error) {
		return open(in[0], opt, container{name: name, survey: surveyHAR, parse: parseHAR, again: readHAR})
	},
}

// container is one kind of file that holds finished exchanges.
type container struct {
	name string
	// spool makes the bytes that records lie in of the input, where those are not the input itself.
	spool func(r *reader, size int64) (source.RandomReader, int64, error)
	// survey calls entry for each record of the file; io.ErrUnexpectedEOF says that the file is cut.
	survey func(r *reader, size int64, v *surveyor) error
	// parse reads one record strictly, again reads it the second time.
	parse, again func(r *reader, raw []byte, e *entry) error
}

func parseHAR(r *reader, raw []byte, e *entry) error {
	return parseEntry(r.b, raw, r.opt.AssumeUTCOffset, e)
}

func readHAR(r *reader, raw []byte, e *entry) error {
	return readEntry(r.b, raw, r.opt.AssumeUTCOffset, e)
}

// sniff looks for the object log with what HAR 1.2 puts at its beginning.
func sniff(head []byte, _ bool) int {
	s := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), " \t\r\n")
	if len(s) == 0 || s[0] != '{' {
		return 0
	}
	s = bytes.TrimLeft(s[1:], " \t\r\n")
	if !bytes.HasPrefix(s, []byte(`"log"`)) {
		return 0
	}
	s = bytes.TrimLeft(s[len(`"log"`):], " \t\r\n:")
	if len(s) == 0 || s[0] != '{' {
		return 0
	}
	for _, key := range []string{`"entries"`, `"creator"`} {
		if bytes.Contains(s, []byte(key)) {
			return 98
		}
	}
	return 40
}

func open(i *source.Input, opt source.Options, kind container) (source.Reader, error) {
	ra, size, err := i.Random()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", i.Path, err)
	}
	i.Stats.Format = kind.name
	i.Stats.Bytes = size
	r := &reader{
		kind: kind, in: i, stats: &i.Stats, ra: ra, opt: opt,
		b: exchange.New(i.Index, &i.Stats), live: map[int32]*live{}, only: map[string]string{},
	}
	if kind.spool != nil {
		spooled, n, err := kind.spool(r, size)
		if err != nil {
			ra.Close()
			return nil, fmt.Errorf("cannot read %s: %w", i.Path, err)
		}
		r.ra, r.input, size = spooled, ra, n
	}
	if err := r.survey(size); err != nil {
		r.Close()
		return nil, fmt.Errorf("cannot read %s: %w", i.Path, err)
	}
	return r, nil
}

// reader reads one HAR file.
type reader struct {
	kind  container
	in    *source.Input
	stats *source.Stats
	ra    source.RandomReader // the records
	input source.RandomReader // the file where ra is not the file itself
	files *files              // bodies that lie beside the entries, nil = none
	opt   source.Options
	b     *exchange.Builder

	records []record          // entries about MCP in order of their start
	only    map[string]string // the one server address of an origin, "" if it has several
	paired  bool              // the writer put answers to requests by their ids
	noTime  bool              // the stamps are not those of the exchanges

	started int // records[:started] have begun
	due     due
	live    map[int32]*live
	kept    int // bytes of entries kept in memory between their moments

	room  []byte      // for the text of one body
	held  event.Event // an answer that may be the end of its POST stream
	holds bool
	out   event.Event // an answer that another one has taken the place of
	after *event.Event
	err   error
}

// record is what the first reading keeps of an entry.
type record struct {
	start int64
	off   int64
	size  int32
	n     int32 // index in log.entries
}

// Next returns the next event.
func (r *reader) Next() (*event.Event, error) {
	if e := r.after; e != nil {
		r.after = nil
		return e, nil
	}
	for {
		e := r.b.Pop()
		if e == nil {
			if !r.step() {
				if r.err != nil {
					return nil, r.err
				}
				return nil, io.EOF
			}
			continue
		}
		if r.holds {
			return r.release(e), nil
		}
		if !r.mayEnd(e) {
			return e, nil
		}
		r.held, r.holds = *e, true
	}
}

// mayEnd reports an answer on a POST stream whose time is an interval: if it is
// the last message, the end of the entry is its time (DESIGN, "HAR").
func (r *reader) mayEnd(e *event.Event) bool {
	return e.Kind == event.Message && e.Dir == event.ToClient && e.Stream == event.StreamPost &&
		e.Time.From != e.Time.To && answer(e)
}

// release gives out the answer that waited; e is the event behind it.
func (r *reader) release(e *event.Event) *event.Event {
	r.holds = false
	if e.Kind == event.Closed && e.Exchange == r.held.Exchange {
		r.held.Time.From = r.held.Time.To
	}
	if r.mayEnd(e) {
		// A batch or a second answer: e waits in turn.
		out := r.held
		r.held, r.holds = *e, true
		r.out = out
		return &r.out
	}
	r.after = e
	return &r.held
}

// Close ends the reading.
func (r *reader) Close() error {
	err := r.ra.Close()
	if r.input != nil {
		err = errors.Join(err, r.input.Close())
	}
	return err
}

// pairing reports writers that match answers to requests by their ids, after which
// a crossing cannot be seen any more.
func pairing(creator string) bool {
	c := strings.ToLower(creator)
	return strings.Contains(c, "mcpsnoop") || strings.Contains(c, "reticle")
}
