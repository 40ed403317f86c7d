package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/lines"
	"github.com/isodetect/isodetect/parsers/source"
)

// plainly reads a log line by line, without a look ahead and without remembering
// anything of the lines before but what counts: what the quick reading is held against.
func plainly(b []byte) string {
	in := exchangetest.Input(b)
	p := newParser(&in.Stats, source.Options{})
	r := &reader{in: in, parser: p}
	p.peel(in.Path)
	var out strings.Builder
	put := func() {
		for i := range p.queue {
			in.Stats.Events++
			fmt.Fprintf(&out, "%+v\n", p.queue[i])
		}
		p.queue = p.queue[:0]
	}
	for l := lines.New(bytes.NewReader(b), source.MaxRecord); ; put() {
		line, err := l.Next()
		if err != nil {
			break
		}
		p.rec.fronts, p.rec.again, p.rec.clock, p.told = fronts{}, keyMemo{}, timeMemo{}, phraseMemo{}
		at := event.Address{Unit: event.UnitLine, N: l.N(), Offset: l.Offset()}
		in.Stats.Bytes = l.Read()
		in.Stats.Records++
		fate, why := p.line(bytes.Clone(line), at)
		r.count(fate, why, at, 1)
	}
	p.flush()
	put()
	fmt.Fprintf(&out, "%+v", in.Stats)
	return out.String()
}

// quickly reads a log as it is read.
func quickly(tb testing.TB, b []byte) string {
	tb.Helper()
	in := exchangetest.Input(b)
	r, err := open([]*source.Input{in}, source.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var out strings.Builder
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&out, "%+v\n", *e)
	}
	fmt.Fprintf(&out, "%+v", in.Stats)
	return out.String()
}

func equalReading(tb testing.TB, b []byte) {
	tb.Helper()
	if bytes.HasPrefix(b, []byte("__")) || bytes.Contains(b[:min(len(b), 64)], []byte("__CURSOR=")) {
		return // a journal export is no text of lines
	}
	quick, plain := strings.Split(quickly(tb, b), "\n"), strings.Split(plainly(b), "\n")
	for i := range max(len(quick), len(plain)) {
		if i >= len(quick) || i >= len(plain) || quick[i] != plain[i] {
			tb.Fatalf("reading quickly and plainly differ in event %d of %q:\n%s\n%s", i, b, at(quick, i), at(plain, i))
		}
	}
}

func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}

// TestQuickEqualsPlain holds that what is told ahead or remembered changes nothing:
// over every log here, and over mixtures of their lines with torn ones and wrong bytes.
func TestQuickEqualsPlain(t *testing.T) {
	var pool [][]byte
	for _, pattern := range [...]string{"testdata/*.log", "testdata/*.jsonl"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			equalReading(t, b)
			for line := range bytes.Lines(b) {
				pool = append(pool, bytes.TrimRight(line, "\n"))
			}
		}
	}
	for i := range timedLogs {
		b := timedLogs[i].bytes(400)
		equalReading(t, b)
		for line := range bytes.Lines(b[:min(len(b), 4000)]) {
			pool = append(pool, bytes.TrimRight(line, "\n"))
		}
	}
	for seed := range uint64(60) {
		equalReading(t, mixed(pool, rand.New(rand.NewPCG(seed, 1))))
	}
}

// mixed is a log of lines that stand near each other in pool and of some from elsewhere.
func mixed(pool [][]byte, rng *rand.Rand) (out []byte) {
	near := rng.IntN(len(pool))
	for range 300 {
		l := bytes.Clone(pool[(near+rng.IntN(40))%len(pool)])
		other := pool[rng.IntN(len(pool))]
		switch rng.IntN(6) {
		case 0:
			l = l[:rng.IntN(len(l)+1)]
		case 1:
			for range 3 {
				if len(l) > 0 {
					l[rng.IntN(len(l))] = " -:=[]{}\"'TZ019aIsS|.,\x1b\t/"[rng.IntN(25)]
				}
			}
		case 2:
			l = append(l[:rng.IntN(len(l)+1)], other[rng.IntN(len(other)+1):]...)
		case 3:
			l = bytes.Clone(other)
		}
		out = append(append(out, l...), '\n')
	}
	return out
}

func FuzzQuickEqualsPlain(f *testing.F) {
	for i := range timedLogs {
		f.Add(timedLogs[i].bytes(8))
	}
	f.Add([]byte("2026-07-19 00:00:00,012 - a.b - INFO - x\n2026-07-19 00:00:00,012 - a.b - INFO - session 5d0c1f7e9a3b closed\n"))
	f.Fuzz(func(t *testing.T, b []byte) { equalReading(t, b) })
}

// TestNothingIsNotAllocated holds that lines that carry nothing cost no memory.
func TestNothingIsNotAllocated(t *testing.T) {
	f := func(line string) {
		t.Helper()
		skim := newSkimmer(source.Options{})
		p := newParser(&source.Stats{}, source.Options{})
		p.peel("test")
		b, n := []byte(line), int64(0)
		read := func() {
			n++
			at := event.Address{Unit: event.UnitLine, N: n}
			if p.pass(b, skim.look(b), at) {
				return
			}
			p.queue = p.queue[:0]
			if fate, why := p.line(b, at); fate != ignored {
				t.Fatalf("%q is not ignored: %d %s", line, fate, why)
			}
		}
		read()
		if got := testing.AllocsPerRun(100, read); got != 0 {
			t.Errorf("%v allocations for %q", got, line)
		}
		plain := func() {
			p.queue = p.queue[:0]
			p.line(b, event.Address{N: 1})
		}
		if got := testing.AllocsPerRun(100, plain); got != 0 {
			t.Errorf("%v allocations for %q without a look ahead", got, line)
		}
	}
	f("")
	f("2026-07-19 00:00:00,015 - mcp.server.lowlevel.server - DEBUG - Response sent")
	f("2026-07-19 00:00:00,009 - httpx - DEBUG - send_request_headers.complete return_value=None")
	f("2026-07-19 22:20:43.472 | INFO     | notes.app:index:12 - indexed 7 documents")
	f(`INFO:     10.0.4.1:40001 - "POST /mcp HTTP/1.1" 200 OK`)
	f(`10.0.4.7 - - [19/Jul/2026:22:20:43 +0000] "POST /mcp HTTP/1.1" 200 412 "-" "python-httpx/0.28.1"`)
	f("[07/19/26 22:20:43] INFO     Response sent                          server.py:780")
	f("time=2026-07-19T22:20:43.009Z level=DEBUG msg=\"cache refreshed\" entries=3 took=1.2ms")
	f("2026-07-19T22:20:43.472113Z DEBUG notes::store: refreshed 4 boards")
	f(`{"time":"2026-07-19T22:20:43.472Z","level":"INFO","msg":"query done","rows":4,"wait_us":12}`)
	f("2026/07/19 22:20:43 [info] 14071#14071: *1 client closed keepalive connection")
	f("I0719 22:20:43.472113       1 store.go:12] refreshed 4 boards")
}

// TestAheadStops holds that a reader that is closed early leaves nothing running
// and says that it is at its end.
func TestAheadStops(t *testing.T) {
	raw := timedLogs[0].bytes(50_000)
	for _, before := range [...]int{0, 1, 500} {
		r, err := open([]*source.Input{exchangetest.Input(raw)}, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range before {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		a := r.(*reader).lines
		if _, err := a.next(); err != io.EOF {
			t.Errorf("after Close the next line is %v, want io.EOF", err)
		}
		if a.full != nil {
			if _, open := <-a.full; open {
				t.Errorf("the reading goes on after Close")
			}
		}
	}
}

// TestAheadDoesNotWait holds that a line that was written is read before the one
// behind it comes.
func TestAheadDoesNotWait(t *testing.T) {
	from, to := io.Pipe()
	a := newAhead(from, newSkimmer(source.Options{}))
	for i := range 3 {
		want := fmt.Sprintf("line %d", i)
		go fmt.Fprintf(to, "%s\n", want)
		if b, err := a.next(); err != nil || string(b) != want {
			t.Fatalf("next is %q, %v, want %q", b, err, want)
		}
	}
	broken := errors.New("disk gone")
	to.CloseWithError(broken)
	if _, err := a.next(); !errors.Is(err, broken) {
		t.Errorf("next is %v, want the error of the input", err)
	}
	a.stop()
}
