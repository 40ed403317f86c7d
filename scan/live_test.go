package scan_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// A log that is followed says what a scan of it says.

// written is one line as it comes in, or a mark before it.
type written struct {
	index       int32
	path        string
	text        []byte
	n, offset   int64
	idle, turns bool // before the line
}

// linesOf takes a log apart as a follower does.
func linesOf(t testing.TB, index int32, path string, data []byte) (out []written) {
	t.Helper()
	r := lines.New(bytes.NewReader(data), 64<<20)
	for {
		b, err := r.Next()
		if err != nil {
			return out
		}
		out = append(out, written{index: index, path: path, text: bytes.Clone(b), n: r.N(), offset: r.Offset()})
	}
}

// follower feeds lines through a Live, which keep may put away and restore between any two of them.
type follower struct {
	t    testing.TB
	opt  parsers.Options
	live *parsers.Live
	keep func() bool // whether to put it away after a line, nil = never
	late int64
	take func(*event.Event)
}

// modified is after every stamp of the recorded logs, and on a later day.
var modified = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixNano()

func newFollower(t testing.TB, opt parsers.Options, take func(*event.Event)) *follower {
	opt.Lag = -1 // a test says itself what time went by
	return &follower{t: t, opt: opt, live: parsers.NewLive(opt), take: take}
}

func (f *follower) drain() {
	for e := f.live.Next(); e != nil; e = f.live.Next() {
		f.take(e)
	}
}

func (f *follower) line(l written) {
	f.t.Helper()
	if l.idle {
		f.live.Idle(l.index)
		f.drain()
	}
	if l.turns {
		f.live.Turned(l.index)
	}
	if err := f.live.Line(l.index, l.path, l.text, l.n, l.offset, modified); err != nil {
		f.t.Fatal(err)
	}
	if f.keep != nil && f.keep() {
		f.live = restored(f.t, f.live, f.opt)
	}
}

func (f *follower) end() {
	f.t.Helper()
	f.live.Flush()
	f.drain()
	for _, in := range f.live.Inputs() {
		if s := in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
			f.t.Errorf("%s: %d records, but %d used, %d ignored, %d malformed", in.Path, s.Records, s.Used, s.Ignored, s.Malformed)
		}
		f.late += in.Stats.Late
	}
}

// restored puts a Live away and makes it anew.
func restored(t testing.TB, l *parsers.Live, opt parsers.Options) *parsers.Live {
	t.Helper()
	var b bytes.Buffer
	if err := l.Snapshot(&b); err != nil {
		t.Fatal(err)
	}
	l, err := parsers.RestoreLive(&b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// extent is what is compared of what an engine says.
type extent int

const (
	everything extent = iota
	unlocated         // everything but where it stands
	findings          // and where they stand
)

// told is what an engine says at the end.
func told(eng *rules.Engine, what extent) string {
	eng.End()
	res := verdict.Judge(eng, verdict.Options{})
	out := located(res)
	switch what {
	case findings:
		return out
	case unlocated:
		out = found(res)
	}
	return out + conclusion(res)
}

// conclusion is what a verdict says beside its findings.
func conclusion(res *verdict.Result) string {
	out := "\n" + res.Why
	for _, d := range res.Domains {
		for _, s := range d.Signals {
			out += "\n" + d.ID + " " + s.Signal + " " + s.State + " " + s.Why
		}
		for _, c := range d.Conditions {
			out += "\n" + c.Name + " " + c.State + " " + c.Why
		}
	}
	for _, n := range res.Notes {
		out += "\n" + n.Kind + " " + n.Text
	}
	return out
}

// followed feeds lines to a new engine.
func followed(t testing.TB, opt parsers.Options, all []written, what extent) string {
	t.Helper()
	_, run := newEngine(t, opt)
	return run(all, what)
}

// newEngine returns a follower, and what feeds it with lines and says what an engine makes of them.
func newEngine(t testing.TB, opt parsers.Options) (*follower, func(all []written, what extent) string) {
	eng := rules.NewEngine(rules.Options{})
	f := newFollower(t, opt, func(e *event.Event) { eng.Apply(e) })
	return f, func(all []written, what extent) string {
		t.Helper()
		for _, l := range all {
			f.line(l)
			f.drain()
		}
		f.end()
		if f.late > 0 {
			t.Errorf("%d late events %v", f.late, all[0].path)
		}
		return told(eng, what)
	}
}

// scanOf is what a scan of the events of files says.
func scanOf(all []event.Event, what extent) string {
	eng := rules.NewEngine(rules.Options{})
	for i := range all {
		eng.Apply(&all[i])
	}
	return told(eng, what)
}

// log is one log with the name that a scan gives it.
type log struct {
	name, path string
	data       []byte
	scanned    []event.Event
}

// logs returns the recorded logs and wire recordings, those of tools, and every scenario that is one.
func logs(t *testing.T) (all []log) {
	t.Helper()
	add := func(name string, data []byte) {
		path := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(0, modified), time.Unix(0, modified)); err != nil {
			t.Fatal(err)
		}
		all = append(all, log{name, path, data, events(t, parsers.Options{}, path)})
	}
	for _, in := range inputs(t, 1<<20, ".jsonl", ".log") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		add(in.path, data)
	}
	for name, data := range toolLogs(t) {
		add(name, data)
	}
	for name, data := range acts(t) {
		if ext := filepath.Ext(name); ext == ".jsonl" || ext == ".log" {
			add(name, data)
		}
	}
	slices.SortFunc(all, func(a, b log) int { return strings.Compare(a.name, b.name) })
	return all
}

// A log that is followed line by line gives the very events of a scan.
func TestFollowedLogsAreScanned(t *testing.T) {
	for _, l := range logs(t) {
		all := linesOf(t, 0, l.path, l.data)
		same(t, l.name, followed(t, parsers.Options{}, all, everything), scanOf(l.scanned, everything))
	}
}

// turned marks some lines as the first of another file.
func turned(all []written, rng *rand.Rand) []written {
	all = slices.Clone(all)
	n, offset := int64(0), int64(0)
	for i := range all {
		if i > 0 && rng.IntN(8) == 0 {
			all[i].turns, n, offset = true, 0, 0
		}
		n++
		all[i].n, all[i].offset = n, offset
		offset += int64(len(all[i].text)) + 1
	}
	return all
}

// calm returns the lines before which a mark of so much silence says nothing that is not so:
// no later event is earlier, and no record goes on.
func calm(t *testing.T, all []written, silence time.Duration, rng *rand.Rand) (out []int) {
	opt := parsers.Options{Idle: silence}
	reached, soonest := make([]int64, len(all)), make([]int64, len(all)+1)
	soonest[len(all)] = 1 << 62
	latest, given := int64(0), 0
	f := newFollower(t, opt, func(e *event.Event) {
		if e.Kind != event.Idle {
			latest = max(latest, e.Time.From)
			soonest[given] = min(soonest[given], e.Time.To)
		}
	})
	for i, l := range all {
		reached[i], given, soonest[i] = latest, i, 1<<62
		f.line(l)
		f.drain()
	}
	given = len(all)
	f.end()
	for i := len(all) - 1; i >= 0; i-- {
		soonest[i] = min(soonest[i], soonest[i+1])
	}
	want := heard(t, opt, all, nil)
	for i := range all {
		if reached[i] > 0 && reached[i]+int64(silence) <= soonest[i] {
			out = append(out, i)
		}
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	out = out[:min(len(out), 4)]
	return slices.DeleteFunc(out, func(i int) bool {
		marked := slices.Clone(all)
		marked[i].idle = true
		return heard(t, opt, marked, nil) != want
	})
}

// heard writes down the events of lines, without marks of time.
func heard(t *testing.T, opt parsers.Options, all []written, keep func() bool) string {
	var b strings.Builder
	f := newFollower(t, opt, func(e *event.Event) {
		if e.Kind != event.Idle {
			fmt.Fprintf(&b, "%+v\n", *e)
		}
	})
	f.keep = keep
	for _, l := range all {
		f.line(l)
		f.drain()
	}
	f.end()
	return b.String()
}

// A Live that was put away after any line and restored gives out the same events.
func TestFollowingGoesOnAfterAnyLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, l := range logs(t) {
		all := turned(linesOf(t, 0, l.path, l.data), rng)
		for i := range all {
			all[i].idle = rng.IntN(10) == 0
		}
		keep := func() bool { return rng.IntN(len(all)) < 8 }
		if got, want := heard(t, parsers.Options{}, all, keep), heard(t, parsers.Options{}, all, nil); got != want {
			t.Errorf("%s: other events\n--- got\n%.3000s\n--- want\n%.3000s", l.name, got, want)
		}
	}
}

// Silence and rotation change nothing, whenever they come.
func TestMarksChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	marks, files := 0, 0
	for _, l := range logs(t) {
		want, all := scanOf(l.scanned, unlocated), linesOf(t, 0, l.path, l.data)
		files++
		same(t, l.name+" in several files", followed(t, parsers.Options{}, turned(all, rng), unlocated), want)
		for _, silence := range []time.Duration{2 * time.Second, 20 * time.Millisecond} {
			at := calm(t, all, silence, rng)
			marks += len(at)
			every, some := slices.Clone(all), turned(all, rng)
			for _, i := range at {
				every[i].idle, some[i].idle = true, rng.IntN(2) == 0
			}
			same(t, fmt.Sprintf("%s with %d marks of %s", l.name, len(at), silence), followed(t, parsers.Options{Idle: silence}, every, unlocated), want)
			same(t, l.name+" with some marks, in several files", followed(t, parsers.Options{Idle: silence}, some, unlocated), want)
		}
	}
	if thin == 1 && (marks < 500 || files < 100) {
		t.Errorf("only %d marks in %d logs", marks, files)
	}
}

// What only waits for time is told when time goes on without traffic, and before the end.
func TestSilenceTellsWhatWaits(t *testing.T) {
	told := 0
	for name, data := range acts(t) {
		if !strings.HasSuffix(name, "wire.jsonl") || !strings.HasPrefix(name, "cancellation_crosstalk") {
			continue
		}
		eng := rules.NewEngine(rules.Options{})
		f := newFollower(t, parsers.Options{}, func(e *event.Event) { eng.Apply(e) })
		for _, l := range linesOf(t, 0, "x.log", data) {
			f.line(l)
			f.drain()
		}
		f.live.Idle(0)
		f.live.Pass(10 * time.Second)
		f.drain()
		first, last := eng.State.Domains[0].First, eng.State.Domains[0].Last
		before := strong(eng)
		f.end()
		eng.End()
		if after := strong(eng); before != after {
			t.Errorf("%s: told\n%s\nbut at the end\n%s", name, before, after)
		} else if before != "" {
			told++
		}
		if d := eng.State.Domains[0]; d.First != first || d.Last != last {
			t.Errorf("%s: silence counts as time that was watched: %d to %d, then %d to %d", name, first, last, d.First, d.Last)
		}
	}
	if thin == 1 && told < 10 {
		t.Errorf("only %d", told)
	}
}

// strong writes down the findings that raise an alarm.
func strong(eng *rules.Engine) string {
	var out []string
	for _, s := range eng.Sinks {
		for _, f := range s.Findings {
			if f.Strength >= signals.Probable {
				out = append(out, f.Signal.Name+" "+f.Strength.String()+" "+f.Summary)
			}
		}
	}
	return strings.Join(out, "\n")
}

// A log that is followed from its middle on says what a scan of the rest says.
func TestFollowedFromTheMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	all := acted(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		data := all[name]
		if ext := filepath.Ext(name); ext != ".jsonl" && ext != ".log" {
			continue
		}
		opt := parsers.Options{}
		if strings.HasSuffix(name, "wire.jsonl") {
			opt.Format = "wire" // few lines of it may pass for those of a log
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		rest := bytes.Join(lines[rng.IntN(len(lines)):], nil)
		if len(bytes.TrimSpace(rest)) == 0 {
			continue
		}
		path := filepath.Join(t.TempDir(), "x.log")
		if err := os.WriteFile(path, rest, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(0, modified), time.Unix(0, modified)); err != nil {
			t.Fatal(err)
		}
		f, run := newEngine(t, opt)
		f.live.Lost(0, int64(len(data)-len(rest)), "reading begins here")
		same(t, name, run(linesOf(t, 0, path, rest), everything), scanOf(events(t, opt, path), everything))
	}
}
