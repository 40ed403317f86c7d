package parsers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

const (
	first  = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
	second = "1b2c3d4e5f60718293a4b5c6d7e8f90a"
)

// recorded reads what a test says of a recording: words such as "made:ID@SERVER",
// "named:ID@SERVER" (by an answer) and "asked:ID/REQUEST@SERVER", a second after each other.
func recorded(text string, from int64) (out []event.Event) {
	for i, w := range strings.Fields(text) {
		what, server, _ := strings.Cut(w, "@")
		kind, id, _ := strings.Cut(what, ":")
		id, request, _ := strings.Cut(id, "/")
		e := event.Event{Kind: event.Head, Time: event.At(from + int64(i)*sec), Exchange: event.ExchangeID{N: uint64(i + 1)}, Domain: event.Domain{Server: server, Path: "/mcp"}}
		switch kind {
		case "made":
			e.Asked, e.Answered, e.Status = event.Session{State: event.Absent}, event.Named(id), 200
		case "named":
			e.Asked, e.Answered, e.Status = event.Named(id), event.Named(id), 200
		case "asked":
			e.Kind, e.Dir, e.Asked, e.RPC = event.Message, event.ToServer, event.Named(id), event.RPC{Kind: mcp.KindRequest, ID: mcp.ID(request), Method: "tools/call"}
		}
		out = append(out, e)
	}
	return out
}

// surveyed decides over recordings and returns what was joined and the notes.
func surveyed(starts []int64, texts ...string) (joins *Joins, notes string) {
	v := &survey{at: map[placed]*place{}, alias: map[placed]*place{}}
	for i, text := range texts {
		in := &source.Input{Path: fmt.Sprintf("r%d", i+1)}
		events := recorded(text, starts[i])
		for k := range events {
			events[k].View = int32(i)
			v.see(placed{in.Path, events[k].Domain}, in, &events[k])
		}
	}
	joins = v.decide()
	var all []string
	for _, n := range joins.notes {
		all = append(all, n...)
	}
	slices.Sort(all)
	return joins, strings.Join(all, "\n")
}

func TestWhatIsJoined(t *testing.T) {
	f := func(want string, texts ...string) {
		t.Helper()
		starts := make([]int64, len(texts))
		for i := range starts {
			starts[i] = sec
		}
		joins, notes := surveyed(starts, texts...)
		var got []string
		for from, to := range joins.to {
			got = append(got, from.recording+" "+from.domain.Server+"="+to.Server)
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("got %q, want %q\n%s", got, want, notes)
		}
	}
	// A session that both show to be made.
	f("r2 http://b:1=http://a:1", "made:"+first+"@http://a:1", "made:"+first+"@http://b:1")
	f("r2 http://b:1=http://a:1, r3 http://c:1=http://a:1", "made:"+first+"@http://a:1", "made:"+first+"@http://b:1", "made:"+first+"@http://c:1")
	// Another one in each.
	f("", "made:"+first+"@http://a:1", "made:"+second+"@http://b:1")
	// Two processes with one store: no request stands in both.
	f("", "made:"+first+"@http://a:1 asked:"+first+"/1@http://a:1", "named:"+first+"@http://b:1 asked:"+first+"/2@http://b:1")
	// A recording that began later.
	f("r2 http://b:1=http://a:1", "made:"+first+"@http://a:1 asked:"+first+"/2@http://a:1", "named:"+first+"@http://b:1 asked:"+first+"/2@http://b:1")
	// A number that counts up names a session at every server, but not twice at one address.
	f("", "made:1@http://a:1", "made:1@http://b:1")
	f("", "made:0000000012@http://a:1", "made:0000000012@http://b:1")
	f("r2 http://a:1=http://a:1", "made:1@http://a:1 asked:1/1@http://a:1", "made:1@http://a:1 asked:1/1@http://a:1")
	// A proxy between two captures that gives requests ids of its own.
	f("", "made:"+first+"@http://a:1 asked:"+first+"/1@http://a:1 asked:"+first+"/2@http://a:1 asked:"+first+"/3@http://a:1",
		"made:"+first+"@http://b:1 asked:"+first+"/91@http://b:1 asked:"+first+"/92@http://b:1 asked:"+first+"/3@http://b:1")
	// Both sides of one in one capture, and somebody else who knows the session.
	f("", "made:"+first+"@http://a:1 made:"+first+"@http://b:1", "made:"+first+"@http://c:1")
	// Over a third recording two domains of one would be one.
	f("", "made:"+first+"@http://a:1 made:"+second+"@http://b:1", "made:"+first+"@http://c:1", "made:"+first+"@http://d:1 made:"+second+"@http://d:1")
}

// Clocks are compared over several recordings; days are no clock that is wrong.
func TestClocksOfJoinedRecordings(t *testing.T) {
	all := "made:" + first + "@http://a:1 asked:" + first + "/1@http://a:1 asked:" + first + "/2@http://a:1"
	joins, _ := surveyed([]int64{sec, 301 * sec, 1}, all, all, "made:"+second+"@http://a:1")
	if got := joins.ahead("r2") - joins.ahead("r1"); got != 300*sec {
		t.Errorf("the second clock is %d ns ahead", got)
	}
	joins, notes := surveyed([]int64{sec, int64(72 * time.Hour)}, all, strings.ReplaceAll(all, "//a", "//b"))
	if len(joins.to) != 0 || !strings.Contains(notes, "72h0m0s apart") {
		t.Errorf("three days apart: %s", notes)
	}
}

// However long two recordings are and wherever they begin, they keep the same entries.
func TestSketchesKeepTheSame(t *testing.T) {
	var a, b sketch
	for i := range uint64(40_000) {
		if i < 30_000 {
			a.add(i, sighting{})
		}
		if i > 10_000 {
			b.add(i, sighting{})
		}
	}
	if len(a.kept) >= 2*maxSketch || len(b.kept) >= 2*maxSketch {
		t.Fatalf("%d and %d entries are kept", len(a.kept), len(b.kept))
	}
	if n := a.common(&b); n < maxSketch/2 {
		t.Errorf("only %d entries are in both", n)
	}
}

// As many domains as are compared, all with the same sessions, take no long time.
func TestManyDomainsWithTheSameSessions(t *testing.T) {
	var texts []string
	for i := range maxPlaces + 10 {
		texts = append(texts, fmt.Sprintf("made:%s@http://h%d:1", first, i))
	}
	joins, notes := surveyed(make([]int64, len(texts)), texts...)
	if len(joins.to) != maxPlaces-1 || !strings.Contains(notes, "beyond the first 256") {
		t.Errorf("%d domains were joined", len(joins.to))
	}
}
