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
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
)

// logCase is a log, in which files it lies, and how it is read.
type logCase struct {
	files [][]byte
	opt   source.Options
	known bool // when the files were last written, which completes times without a date
}

// open opens the log as it is opened for reading.
func (l *logCase) open(tb testing.TB) (*reader, []*source.Input) {
	tb.Helper()
	var in []*source.Input
	for i, b := range l.files {
		f := exchangetest.Input(b)
		f.Index = int32(i)
		if l.known {
			f.Modified = 1784500000e9 + int64(i)*3600e9
		}
		in = append(in, f)
	}
	r, err := open(in, l.opt)
	if err != nil {
		tb.Fatal(err)
	}
	return r.(*reader), in
}

// plainly reads a log line by line, without a look ahead and without remembering
// anything of the lines before but what counts: what the quick reading is held against.
func plainly(tb testing.TB, l *logCase) string {
	tb.Helper()
	r, in := l.open(tb)
	defer r.Close()
	if r.skim = nil; r.lines != nil {
		r.lines.skim = nil
	}
	var out strings.Builder
	for {
		p := r.parser
		p.rec.fronts, p.rec.again, p.rec.clock, p.told = fronts{}, keyMemo{}, timeMemo{}, phraseMemo{}
		err := r.more()
		for r.next < len(p.queue) {
			e, _ := r.Next()
			fmt.Fprintf(&out, "%+v\n", *e)
		}
		if err == io.EOF {
			return out.String() + counted(in)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// quickly reads a log as it is read.
func quickly(tb testing.TB, l *logCase) string {
	tb.Helper()
	r, in := l.open(tb)
	defer r.Close()
	var out strings.Builder
	for {
		e, err := r.Next()
		if err == io.EOF {
			return out.String() + counted(in)
		}
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&out, "%+v\n", *e)
	}
}

func counted(in []*source.Input) (out string) {
	for _, f := range in {
		out += fmt.Sprintf("%+v\n", f.Stats)
	}
	return out
}

func equalReading(tb testing.TB, l logCase) {
	tb.Helper()
	equalLines(tb, l.files[0])
	var proposed [2]pattern.Suggestions
	asked := l.opt.Suggest != nil
	if asked {
		l.opt.Suggest = &proposed[0]
	}
	quick := strings.Split(quickly(tb, &l), "\n")
	if asked {
		l.opt.Suggest = &proposed[1]
	}
	plain := strings.Split(plainly(tb, &l), "\n")
	for i := range max(len(quick), len(plain)) {
		if i >= len(quick) || i >= len(plain) || quick[i] != plain[i] {
			tb.Fatalf("reading quickly and plainly differ in event %d of %q:\n%s\n%s", i, l.files, at(quick, i), at(plain, i))
		}
	}
	a, n := proposed[0].Propose()
	if b, m := proposed[1].Propose(); n != m || !bytes.Equal(a, b) {
		tb.Fatalf("proposals differ:\n%s\n%s", a, b)
	}
}

// equalLines holds that the lines that come from ahead are those of the input.
func equalLines(tb testing.TB, b []byte) {
	tb.Helper()
	a := newAhead(bytes.NewReader(b), newSkimmer(source.Options{}))
	defer a.stop()
	for l := lines.New(bytes.NewReader(b), source.MaxRecord); ; {
		want, err := l.Next()
		got, failed := a.next()
		if err != nil || failed != nil {
			if err != failed {
				tb.Fatalf("lines end with %v, want %v, in %q", failed, err, b)
			}
			return
		}
		if !bytes.Equal(got, want) || a.n != l.N() || a.line.offset != l.Offset() || a.line.read != l.Read() {
			tb.Fatalf("line %d at %d up to %d is %q, want %d, %d, %d, %q", a.n, a.line.offset, a.line.read, got, l.N(), l.Offset(), l.Read(), want)
		}
	}
}

func at(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "nothing"
}

// ways is how many ways there are in which a log is read.
const ways = 16

// inWay is a log that is read in one of the ways: by patterns of the user or with
// proposals, in two files of which the second repeats the end of the first, with
// times that are completed.
func inWay(tb testing.TB, b []byte, way, cut uint) logCase {
	l := logCase{files: [][]byte{b}}
	switch way & 3 {
	case 1:
		l.opt.Patterns = patterns(tb, wayPatterns)
	case 2:
		l.opt.Suggest = &pattern.Suggestions{}
	case 3:
		l.opt.AssumeUTCOffset, l.opt.ZoneGiven = 7200, true
	}
	if way&4 != 0 && len(b) > 0 {
		end := int(cut % uint(len(b)))
		from := end - min(end, 300)
		from += bytes.IndexByte(b[from:], '\n') + 1
		l.files = [][]byte{b[:end], b[min(from, end):]}
	}
	l.known = way&8 != 0
	return l
}

// wayPatterns claims lines that carry nothing else, and some that do.
const wayPatterns = `- {name: f, line: 'httpx - DEBUG - {}', event: session_closed, fields: {session: s-3}}
- {name: a, line: 'indexed {id} documents in {} ms for the nightly job', event: request, fields: {session: s-1, method: tools/call}}
- {name: b, line: 'Processing request of type {}', event: session_closed, fields: {session: abcdefgh}}
- {name: c, line: '{session} - "POST /mcp HTTP/1.1" {}', event: session_created}
- {name: d, keys: {msg: cache refreshed, entries: '{id}'}, event: request, fields: {session: s-2, method: tools/call}}
- {name: e, line: 'Response {}', event: session_closed, fields: {session: s-1}}`

// allLogs returns every log here.
func allLogs(tb testing.TB) (all [][]byte) {
	tb.Helper()
	for _, pattern := range [...]string{"testdata/*.*", "testdata/*/*.*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if strings.HasSuffix(path, ".golden") || strings.HasSuffix(path, ".md") {
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, b)
		}
	}
	if len(all) < 100 {
		tb.Fatalf("there are %d logs", len(all))
	}
	for i := range timedLogs {
		all = append(all, timedLogs[i].bytes(400))
	}
	return all
}

// TestQuickEqualsPlain holds that what is told ahead or remembered changes nothing:
// over every log here, in several ways of reading it, and over mixtures of their lines
// with torn ones and wrong bytes.
func TestQuickEqualsPlain(t *testing.T) {
	var pool [][]byte
	for i, b := range allLogs(t) {
		for way := uint(i); way < uint(i)+ways; way += 5 {
			equalReading(t, inWay(t, b, way, uint(i+1)*7919))
		}
		for line := range bytes.Lines(b[:min(len(b), 20_000)]) {
			pool = append(pool, bytes.TrimRight(line, "\n"))
		}
	}
	for _, b := range pairsOfLines {
		equalReading(t, inWay(t, []byte(b), 0, 0))
	}
	for seed := range uint(160) {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		equalReading(t, inWay(t, mixed(pool, rng), seed, uint(rng.Uint32())))
	}
}

// TestQuickWrappers holds that a file has the wrappers of the log's files before it,
// also where all of its lines are told ahead.
func TestQuickWrappers(t *testing.T) {
	l := logCase{files: [][]byte{[]byte("2026-07-19T22:20:43.5Z stdout F up\n"), []byte("INFO:notes.app:indexed 7 documents\n")}}
	equalReading(t, l)
	if got := quickly(t, &l); strings.Count(got, "Wrappers:[cri]") != 2 {
		t.Errorf("both files are not said to have wrappers:\n%s", got)
	}
}

// pairsOfLines are logs in which a line that carries nothing stands between two that
// would say something together.
var pairsOfLines = [...]string{
	"2026-07-19T22:20:43.5Z stdout F INFO:mcp.server.streamable_http_manager:Created new transport with session ID: 5d0c1f7e9a3b4c6d8e2f10213243a5b6\n" +
		"INFO:notes.app:indexed 7 documents\n" +
		"2026-07-19T22:20:43.6Z stdout F INFO:     10.0.4.1:40001 - \"POST /mcp HTTP/1.1\" 400 Bad Request\n",
	"INFO:mcp.server.streamable_http_manager:Created new transport with session ID: 5d0c1f7e9a3b4c6d8e2f10213243a5b6\n" +
		"INFO:notes.app:indexed 7 documents\n" +
		"INFO:     10.0.4.1:40001 - \"POST /mcp HTTP/1.1\" 400 Bad Request\n",
	"Jul 19 22:20:43 host notes[42]: up\n" +
		"INFO:notes.app:indexed 7 documents\n" +
		"   {\"msg\":\"session_created\",\"session_id\":\"0a1b2c3d-0001\"}\n",
	"Session initialized with ID: 1360e027-8a87-4281-8c98-0e44cb786954\n" +
		"INFO:notes.app:indexed 7 documents\n" +
		"Request body: {\n  jsonrpc: '2.0',\nINFO:notes.app:indexed 7 documents\n  id: 7,\n  method: 'tools/call',\n  params: { name: 'x' }\n}\n",
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
		f.Add(timedLogs[i].bytes(8), uint(i), uint(700))
	}
	for i, b := range allLogs(f) {
		if len(b) < 6000 {
			f.Add(b, uint(i), uint(i*7919))
		}
	}
	f.Add([]byte("2026-07-19 00:00:00,012 - a.b - INFO - x\n2026-07-19 00:00:00,012 - a.b - INFO - session 5d0c1f7e9a3b closed\n"), uint(0), uint(0))
	f.Fuzz(func(t *testing.T, b []byte, way, cut uint) { equalReading(t, inWay(t, b, way, cut)) })
}

// TestNothingIsNotAllocated holds that lines that carry nothing cost no memory.
func TestNothingIsNotAllocated(t *testing.T) {
	f := func(text string) {
		t.Helper()
		skim := newSkimmer(source.Options{})
		p := newParser(&source.Stats{}, source.Options{})
		p.peel("test")
		b, n := []byte(text), int64(0)
		read := func() {
			n++
			at := event.Address{Unit: event.UnitLine, N: n}
			if p.pass(b, &line{seen: skim.look(b)}, nil) {
				return
			}
			p.queue = p.queue[:0]
			if fate, why := p.line(b, at); fate != ignored {
				t.Fatalf("%q is not ignored: %d %s", text, fate, why)
			}
		}
		read()
		if got := testing.AllocsPerRun(100, read); got != 0 {
			t.Errorf("%v allocations for %q", got, text)
		}
		plain := func() {
			p.queue = p.queue[:0]
			p.line(b, event.Address{N: 1})
		}
		if got := testing.AllocsPerRun(100, plain); got != 0 {
			t.Errorf("%v allocations for %q without a look ahead", got, text)
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
