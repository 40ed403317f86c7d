// Package tshark reads what tshark and Wireshark export of a capture: -T json, -T ek
// and -T pdml. An export is packets that were dissected already; what the dissector
// does not tell (the time of a single event in an HTTP/1.1 stream, who closed) is
// unknown here, so the capture itself is the better input.
package tshark

import (
	"bytes"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange"
	"github.com/isodetect/isodetect/parsers/source"
)

const carries = "all signals; no time of single SSE messages over HTTP/1.1, not who closed; the capture itself says more"

// JSON is the export of tshark -T json, an array of packets whose keys stand repeatedly.
var JSON = source.Format{
	Name: "tshark-json", Title: "packets exported with tshark -T json", Checked: "real", Carries: carries,
	Sniff: sniffJSON,
	Open: func(in []*source.Input, _ source.Options) (source.Reader, error) {
		return open(in[0], "tshark-json", newJSON)
	},
}

// EK is the export of tshark -T ek, a pair of lines for each packet.
var EK = source.Format{
	Name: "tshark-ek", Title: "packets exported with tshark -T ek, for Elasticsearch", Checked: "real", Carries: carries,
	Sniff: sniffEK,
	Open: func(in []*source.Input, _ source.Options) (source.Reader, error) {
		return open(in[0], "tshark-ek", newEK)
	},
}

// PDML is the export of tshark -T pdml.
var PDML = source.Format{
	Name: "tshark-pdml", Title: "packets exported with tshark -T pdml", Checked: "real", Carries: carries,
	Sniff: sniffPDML,
	Open: func(in []*source.Input, _ source.Options) (source.Reader, error) {
		return open(in[0], "tshark-pdml", newPDML)
	},
}

func sniffJSON(head []byte, _ bool) int {
	s := bytes.TrimLeft(head, " \t\r\n")
	if len(s) > 0 && s[0] == '[' && bytes.Contains(s, []byte(`"_source"`)) && bytes.Contains(s, []byte(`"layers"`)) &&
		(bytes.Contains(s, []byte(`"frame.`)) || bytes.Contains(s, []byte(`"filtered": "`))) { // by -j and -J
		return 98
	}
	return 0
}

func sniffEK(head []byte, _ bool) int {
	s := bytes.TrimLeft(head, " \t\r\n")
	if len(s) > 0 && s[0] == '{' && bytes.Contains(s, []byte(`"layers":`)) &&
		(bytes.Contains(s, []byte(`"frame_frame_`)) || bytes.Contains(s, []byte(`{"filtered":"`))) {
		return 98
	}
	return 0
}

func sniffPDML(head []byte, _ bool) int {
	s := bytes.TrimLeft(head, " \t\r\n")
	if len(s) > 0 && s[0] == '<' && bytes.Contains(s, []byte("<pdml")) {
		return 99
	}
	return 0
}

// packets yields the packets of an export.
type packets interface {
	// next fills p and returns its place. io.EOF ends the input; a defect of one
	// packet is counted by next itself, which then goes on with the following one.
	next(p *packet) (event.Address, error)
}

func open(in *source.Input, name string, make func(*reader, io.Reader) packets) (source.Reader, error) {
	rc, err := in.Stream()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", in.Path, err)
	}
	in.Stats.Format = name
	r := &reader{
		in: in, stats: &in.Stats, rc: rc, b: exchange.New(in.Index, &in.Stats),
		unread: unread{sealed: map[string]int{}, servers: map[string]bool{}},
		open:   map[key]*live{}, waiting: map[string][]*live{}, askedIn: map[int64]*live{}, servers: map[string]string{},
	}
	r.packets = make(r, rc)
	return r, nil
}

// reader reads one export.
type reader struct {
	in      *source.Input
	stats   *source.Stats
	rc      io.ReadCloser
	b       *exchange.Builder
	packets packets
	packet  packet
	unread  unread

	open    map[key]*live      // HTTP/2 streams
	waiting map[string][]*live // HTTP/1.1 requests without an answer, by connection
	askedIn map[int64]*live    // the same by the frame that they are in
	order   []*live            // all of them as they were opened
	lives   int
	servers map[string]string
	last    int64
	ended   bool
	err     error
}

// Next returns the next event.
func (r *reader) Next() (*event.Event, error) {
	for {
		if e := r.b.Pop(); e != nil {
			return e, nil
		}
		if r.ended {
			if r.err != nil {
				return nil, r.err
			}
			return nil, io.EOF
		}
		r.step()
	}
}

// Close ends the reading.
func (r *reader) Close() error { return r.rc.Close() }

func (r *reader) step() {
	r.packet.reset()
	at, err := r.packets.next(&r.packet)
	if err != nil {
		r.finish(at, err)
		return
	}
	if r.play(&r.packet, at) {
		r.stats.Used++
	} else {
		r.stats.Ignored++
	}
}

// finish ends what is still open. tshark shows an answer over HTTP/1.1 when it is
// complete: what a stream carried that was still open is not in the export.
func (r *reader) finish(at event.Address, err error) {
	r.ended = true
	if err != io.EOF {
		r.err = fmt.Errorf("cannot read %s: %w", r.in.Path, err)
	}
	for _, l := range r.order {
		if l.done {
			continue
		}
		loss := event.Loss(0)
		if l.h1 {
			loss = event.LossResponseBody
		}
		l.x.Close(event.At(r.last), at, event.ByUnknown, loss)
	}
	r.tellSealed(at)
	if r.stats.Used == 0 {
		r.explain()
	} else {
		r.stats.Note("an export of tshark: over HTTP/1.1 an answer stands where it was complete, so that the times of single events, streams that were still open, and who closed are not known; scan the capture itself to know them")
	}
}
