package parsers

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// survey is a first reading of all inputs, which keeps of every domain of every
// recording what another recording of its traffic shows, too: the sessions that its
// server made, and the requests. Of each kind it keeps those with the smallest hashes,
// so that two recordings keep the same ones, however long they are and whenever they began.
type survey struct {
	places []*place
	at     map[placed]*place
	alias  map[placed]*place // POST paths that an HTTP+SSE stream announced
	beyond int               // domains that were not looked at
}

// placed names a domain of a recording.
type placed struct {
	recording string // path of its first input
	domain    event.Domain
}

// place is a domain as one recording shows it.
type place struct {
	placed
	input   string // path of the input that told of it first
	index   int    // among the places
	order   int    // of the recording
	unit    event.Unit
	wire    bool           // a capture, not a log
	aliases []event.Domain // under which the recording knows it, too
	made    sketch         // sessions that its server made, by id
	told    sketch         // sessions that its answers name
	asked   sketch         // requests, by session, id and method
	clock   sketch         // happenings that have a time in both
	short   sketch         // as made, of ids that say nothing but at one address
}

const (
	maxPlaces = 256
	maxSketch = 1 << 9
	leastID   = 8 // characters of a session id that names one session in the world
)

// Survey reads all inputs and finds out which of their domains are one server.
func (s *Set) Survey() (*Joins, error) {
	m := s.Reader()
	defer m.Close()
	v := &survey{at: map[placed]*place{}, alias: map[placed]*place{}}
	for {
		e, err := m.Next()
		if errors.Is(err, io.EOF) {
			return v.decide(), nil
		}
		if err != nil {
			return nil, err
		}
		h := m.all[e.View]
		v.see(placed{h.Inputs[0].Path, e.Domain}, h.input(e.At.Source), e)
	}
}

// see takes one event.
func (v *survey) see(at placed, in *source.Input, e *event.Event) {
	if e.Kind == event.Gap || e.Kind == event.Unreadable || e.Kind == event.Stdio {
		return
	}
	p := v.place(at, in, e)
	if p == nil {
		return
	}
	p.wire = p.wire || e.Exchange.N != 0
	if e.Kind == event.Endpoint {
		v.announced(p, e)
	}
	now := sighting{at: e.Time.From + (e.Time.To-e.Time.From)/2, half: (e.Time.To - e.Time.From) / 2}
	timed := e.Time.To != 0 && e.Loss&event.LossTime == 0
	key, end := shared(e, event.Domain{})
	if now.end = end; key != 0 && timed {
		p.clock.add(key, now)
	}
	if e.Answered.State == event.Present {
		id := hash(0).of("session", event.Domain{}, e.Answered).sum()
		switch {
		case !telling(e.Answered.ID) && makes(e):
			p.short.add(id, now)
		case !telling(e.Answered.ID):
		case makes(e):
			p.made.add(id, now)
			fallthrough
		default:
			p.told.add(id, now)
		}
	}
	if e.RPC.Kind == mcp.KindRequest && e.Dir != event.ToClient && e.Kind == event.Message && key != 0 {
		p.asked.add(key, now)
	}
}

// makes reports whether an event says that the server made the session that it names.
func makes(e *event.Event) bool {
	switch e.Kind {
	case event.SessionCreated, event.Endpoint:
		return true
	case event.Head:
		return e.Asked.State == event.Absent && e.Status < 300
	case event.RequestDone:
		return e.Asked.State == event.Absent && e.Status < 300 && (e.RPC.Method == "" || e.RPC.Method == mcp.Initialize)
	}
	return false
}

// telling reports whether a session id is long enough to be one session's only: a number
// that counts up names a session at every server.
func telling(id string) bool {
	digits := 0
	for i := range len(id) {
		if id[i] >= '0' && id[i] <= '9' {
			digits++
		}
	}
	return len(id) >= leastID && (digits < len(id) || len(id) >= 2*leastID)
}

func (v *survey) place(at placed, in *source.Input, e *event.Event) *place {
	if p := v.at[at]; p != nil {
		return p
	}
	if p := v.alias[at]; p != nil {
		return p
	}
	if len(v.places) == maxPlaces {
		v.beyond++
		return nil
	}
	p := &place{placed: at, index: len(v.places), input: at.recording, order: int(e.View), unit: e.At.Unit}
	if in != nil {
		p.input = cmp.Or(in.Log, in.Path)
	}
	v.at[at], v.places = p, append(v.places, p)
	return p
}

// announced notes under which path the messages of an HTTP+SSE endpoint are sent.
func (v *survey) announced(p *place, e *event.Event) {
	alias := placed{p.recording, e.Domain}
	alias.domain.Path = event.EndpointPath(e.Note)
	if alias.domain.Path == "" || v.at[alias] != nil || v.alias[alias] != nil || len(p.aliases) == maxAliases {
		return
	}
	v.alias[alias], p.aliases = p, append(p.aliases, alias.domain)
}

const maxAliases = 16

// sketch keeps the entries with the smallest keys, at most twice maxSketch of them.
type sketch struct {
	kept map[uint64]sighting
	max  uint64 // keys from here on are not kept; 0 = all are
}

// add keeps an entry, with the time at which it came first.
func (s *sketch) add(key uint64, at sighting) {
	key = mix(key)
	if s.max != 0 && key >= s.max {
		return
	}
	if _, known := s.kept[key]; known {
		return
	}
	if s.kept == nil {
		s.kept = map[uint64]sighting{}
	}
	if s.kept[key] = at; len(s.kept) == 2*maxSketch {
		s.max = s.keys()[maxSketch]
		for k := range s.kept {
			if k >= s.max {
				delete(s.kept, k)
			}
		}
	}
}

func (s *sketch) keys() []uint64 {
	keys := make([]uint64, 0, len(s.kept))
	for k := range s.kept {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// common counts the entries of both.
func (s *sketch) common(o *sketch) (n int) {
	for k := range s.kept {
		if _, both := o.kept[k]; both {
			n++
		}
	}
	return n
}

// mix spreads a hash, since FNV of texts that end alike is not evenly spread.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
