package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/scenario"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// The engine's promise: the same events give the same findings, however the
// bytes came in. These tests hold recorded traffic against it.

// input is one recorded input with what it may show.
type input struct {
	path string
	want expectation
}

// inputs returns the recorded inputs that end in one of the suffixes and are at most max bytes long.
func inputs(t testing.TB, max int64, suffixes ...string) []input {
	t.Helper()
	files, _ := filepath.Glob("../testdata/cases/*/expect.json")
	var all []input
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		for name, want := range r.Inputs {
			path := filepath.Join(filepath.Dir(file), name)
			st, err := os.Stat(path)
			fits := slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
			if err == nil && st.Size() <= max && fits {
				all = append(all, input{path, want})
			}
		}
	}
	slices.SortFunc(all, func(a, b input) int { return strings.Compare(a.path, b.path) })
	for i := range (len(all) + thin - 1) / thin {
		all[i] = all[i*thin]
	}
	all = all[:(len(all)+thin-1)/thin]
	if len(all) == 0 {
		t.Fatal("no recorded input fits")
	}
	return all
}

// options says how the input is read, whatever its bytes come from.
func (in input) options(opt scan.Options) scan.Options {
	if len(in.want.Args) == 2 && in.want.Args[0] == "--tls-keylog" {
		opt.TLSKeyLog = filepath.Join(filepath.Dir(in.path), in.want.Args[1])
	}
	return opt
}

func run(t testing.TB, opt scan.Options) *verdict.Result {
	t.Helper()
	opt.CancelWindow = 500 * time.Millisecond
	res, ins, err := scan.Run(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range ins {
		if s := in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
			t.Errorf("%s: %d records, but %d used, %d ignored, %d malformed", in.Path, s.Records, s.Used, s.Ignored, s.Malformed)
		}
	}
	return res
}

// found writes down the findings with everything but where their evidence stands.
func found(res *verdict.Result) string {
	var lines []string
	for _, f := range res.Findings {
		s := fmt.Sprintf("%s.%s %s ×%d %v ids=%v tokens=%v uris=%v %d-%d %q %q", f.Signal.Name, f.Variant, f.Strength, f.Count, f.Parties,
			f.RequestIDs, f.Tokens, f.URIs, f.First, f.Last, f.Summary, f.Because)
		for _, e := range f.Evidence {
			s += fmt.Sprintf("\n   %s %s %v %q", e.Role, e.Party, e.Time, e.Excerpt)
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n")
}

// located adds the addresses.
func located(res *verdict.Result) string {
	s := found(res)
	for _, f := range res.Findings {
		for _, e := range f.Evidence {
			s += fmt.Sprintf("\n%d %d %d", e.At.Unit, e.At.N, e.At.Offset)
		}
	}
	return s
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: findings differ\n--- got\n%s\n--- want\n%s", what, got, want)
	}
}

// pieces reads n bytes at most a call.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

func TestReadSizeChangesNothing(t *testing.T) {
	for _, in := range inputs(t, 200<<10, ".har", ".pcap", ".jsonl", ".log") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		want := located(run(t, in.options(scan.Options{Paths: []string{in.path}})))
		for _, n := range []int{1, 7, 4093} {
			got := located(run(t, in.options(scan.Options{Paths: []string{"-"}, Stdin: pieces{bytes.NewReader(data), n}})))
			same(t, fmt.Sprintf("%s in pieces of %d", in.path, n), strings.ReplaceAll(got, "-\n", "\n"), want)
		}
	}
}

// TestNewestFirstChangesNothing holds that a log as log stores download it, the newest
// line first, gives the findings of the log itself.
func TestNewestFirstChangesNothing(t *testing.T) {
	for _, in := range inputs(t, 200<<10, ".log") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n")+"\n", "\n")
		slices.Reverse(lines)
		path := filepath.Join(t.TempDir(), "download.log")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		same(t, in.path+" reversed", judged(run(t, scan.Options{Paths: []string{path}})), judged(run(t, scan.Options{Paths: []string{in.path}})))
	}
}

// judged writes down the findings without their evidence: lines that several writers
// wrote at about one time may have changed places.
func judged(res *verdict.Result) string {
	var lines []string
	for _, f := range res.Findings {
		var parties []string
		for _, p := range f.Parties {
			parties = append(parties, fmt.Sprintf("%s %s", p.Role, p.Text))
		}
		slices.Sort(parties)
		lines = append(lines, fmt.Sprintf("%s.%s %s ×%d %v", f.Signal.Name, f.Variant, f.Strength, f.Count, parties))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestArgumentOrderAndRepetitionChangeNothing(t *testing.T) {
	var paths []string
	for _, in := range inputs(t, 200<<10, ".har", ".jsonl", ".log") {
		paths = append(paths, in.path)
	}
	want := located(run(t, scan.Options{Paths: paths}))
	same(t, "a second run", located(run(t, scan.Options{Paths: paths})), want)
	slices.Reverse(paths)
	same(t, "in reverse", located(run(t, scan.Options{Paths: paths})), want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	same(t, "shuffled", located(run(t, scan.Options{Paths: paths})), want)
}

func TestDuplicatedInputChangesNothing(t *testing.T) {
	for _, in := range inputs(t, 150<<10, ".har", ".pcap", ".jsonl") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		twin := filepath.Join(t.TempDir(), "zz-copy")
		if err := os.WriteFile(twin, data, 0o600); err != nil {
			t.Fatal(err)
		}
		res := run(t, in.options(scan.Options{Paths: []string{in.path, twin}}))
		same(t, in.path+" twice", found(res), found(run(t, in.options(scan.Options{Paths: []string{in.path}}))))
		if !slices.ContainsFunc(res.Notes, func(n signals.Note) bool { return n.Kind == signals.NoteSameInputTwice }) {
			t.Errorf("%s: the copy is not noted", in.path)
		}
	}
}

// archive is a HAR whose entries can be rearranged.
type archive struct {
	doc     map[string]map[string]json.RawMessage
	entries []json.RawMessage
}

func readArchive(t testing.TB, path string) *archive {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{}
	if err := json.Unmarshal(data, &a.doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.doc["log"]["entries"], &a.entries); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *archive) with(entries []json.RawMessage) io.Reader {
	a.doc["log"]["entries"], _ = json.Marshal(entries)
	data, _ := json.Marshal(a.doc)
	return bytes.NewReader(data)
}

func TestShuffledEntriesChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, in := range inputs(t, 1<<20, ".har") {
		a := readArchive(t, in.path)
		// Entries that carry one stamp have no order but that of the file.
		seen := map[string]bool{}
		var entries []json.RawMessage
		for _, e := range a.entries {
			var s struct{ StartedDateTime string }
			_ = json.Unmarshal(e, &s)
			if !seen[s.StartedDateTime] {
				seen[s.StartedDateTime] = true
				entries = append(entries, e)
			}
		}
		want := found(run(t, scan.Options{Paths: []string{"-"}, Stdin: a.with(entries)}))
		rng.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		same(t, in.path+" shuffled", found(run(t, scan.Options{Paths: []string{"-"}, Stdin: a.with(entries)})), want)
	}
}

// capture is a classic pcap whose packets can be rearranged.
type capture struct {
	header []byte
	order  interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	packets []packet
}

type packet struct {
	sec, frac, length uint32
	data              []byte
}

func readCapture(t testing.TB, path string) *capture {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{header: b[:24], order: binary.LittleEndian}
	if b[0] == 0xa1 {
		c.order = binary.BigEndian
	}
	for b = b[24:]; len(b) >= 16; {
		n := int(c.order.Uint32(b[8:]))
		if len(b) < 16+n {
			break
		}
		c.packets = append(c.packets, packet{c.order.Uint32(b), c.order.Uint32(b[4:]), c.order.Uint32(b[12:]), b[16 : 16+n]})
		b = b[16+n:]
	}
	return c
}

func (c *capture) with(packets []packet) []byte {
	out := slices.Clone(c.header)
	for _, p := range packets {
		for _, v := range []uint32{p.sec, p.frac, uint32(len(p.data)), p.length} {
			out = c.order.AppendUint32(out, v)
		}
		out = append(out, p.data...)
	}
	return out
}

func TestSplitCaptureChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, in := range inputs(t, 400<<10, ".pcap") {
		c := readCapture(t, in.path)
		dir := t.TempDir()
		a := rng.IntN(len(c.packets))
		b := a + rng.IntN(len(c.packets)-a)
		var paths []string
		for i, part := range [][]packet{c.packets[:a], c.packets[a:b], c.packets[b:]} {
			p := filepath.Join(dir, fmt.Sprintf("part-%d.pcap", i))
			if err := os.WriteFile(p, c.with(part), 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, p)
		}
		same(t, in.path+" in three files", found(run(t, in.options(scan.Options{Paths: paths}))), found(run(t, in.options(scan.Options{Paths: []string{in.path}}))))
	}
}

// Two servers in one recording are judged as if each had its own.
func TestInterleavedDomainsChangeNothing(t *testing.T) {
	for _, in := range inputs(t, 1<<20, ".jsonl") {
		data, err := os.ReadFile(in.path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimRight(string(data), "\n"), "\n")
		other := func(s string) string {
			return strings.NewReplacer("10.0.0.1:8080", "10.0.0.2:8080", `"x":"`, `"x":"z`).Replace(s)
		}
		dir := t.TempDir()
		both, second := "", ""
		for _, l := range lines {
			l = strings.TrimRight(l, "\n") + "\n"
			both += l + other(l)
			second += other(l)
		}
		write := func(name, text string) string {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}
		mixed := run(t, scan.Options{Paths: []string{write("mixed", both)}})
		apart := run(t, scan.Options{Paths: []string{in.path, write("second", second)}})
		same(t, in.path+" beside its twin", found(mixed), found(apart))
	}
}

// wrong returns the signals that an input shows and may not.
func wrong(res *verdict.Result, want expectation) (bad []string) {
	for _, f := range res.Findings {
		name := f.Signal.Name
		if f.Strength >= signals.Probable && f.Rejected == "" && !slices.Contains(want.Must, name) && !slices.Contains(want.May, name) {
			bad = append(bad, name+": "+f.Summary)
		}
	}
	return bad
}

// A recording that begins late, ends early or lost its order accuses nobody new.
func TestPartOfAnArchiveRaisesNoFalseAlarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, in := range inputs(t, 300<<10, ".har") {
		a := readArchive(t, in.path)
		slices.SortStableFunc(a.entries, func(x, y json.RawMessage) int {
			var p, q struct{ StartedDateTime string }
			_, _ = json.Unmarshal(x, &p), json.Unmarshal(y, &q)
			return strings.Compare(p.StartedDateTime, q.StartedDateTime)
		})
		for range 6 {
			from := rng.IntN(len(a.entries))
			to := from + 1 + rng.IntN(len(a.entries)-from)
			if rng.IntN(2) == 0 {
				from = 0
			}
			res := run(t, scan.Options{Paths: []string{"-"}, Stdin: a.with(a.entries[from:to])})
			for _, b := range wrong(res, in.want) {
				t.Errorf("%s, entries %d to %d: %s", in.path, from, to, b)
			}
		}
	}
}

// An archive whose writer keeps no times does not show what was open beside what: nobody is
// accused by it, and nothing passes.
func TestArchiveWithoutTimesDoesNotPass(t *testing.T) {
	for _, in := range inputs(t, 1<<20, ".har") {
		a := readArchive(t, in.path)
		a.doc["log"]["creator"] = json.RawMessage(`{"name": "Insomnia REST Client", "version": "1"}`)
		res := run(t, scan.Options{Paths: []string{"-"}, Stdin: a.with(a.entries)})
		for _, b := range wrong(res, in.want) {
			t.Errorf("%s: %s", in.path, b)
		}
		if res.Outcome == verdict.OutcomeClean {
			t.Errorf("%s passes", in.path)
		}
	}
}

// HTTP/2 and TLS are read to the last event: the proxy in front, which wrote a HAR
// of the same traffic, saw as many.
func TestCaptureHoldsWhatItsProxySaw(t *testing.T) {
	n := 0
	for _, in := range inputs(t, 400<<10, ".pcap", ".pcapng") {
		archive := filepath.Join(filepath.Dir(in.path), "capture.har")
		if _, err := os.Stat(archive); in.want.Needs == "" || err != nil {
			continue
		}
		events := func(opt scan.Options) int64 {
			_, ins, err := scan.Run(context.Background(), opt)
			if err != nil {
				t.Fatal(err)
			}
			return ins[0].Stats.Events
		}
		got := events(in.options(scan.Options{Paths: []string{in.path}, CancelWindow: time.Second}))
		if want := events(scan.Options{Paths: []string{archive}, CancelWindow: time.Second}); got != want {
			t.Errorf("%s: %d events, the HAR gives %d", in.path, got, want)
		}
		n++
	}
	if thin == 1 && n < 3 {
		t.Errorf("%d captures were compared, want 3", n)
	}
}

// Secrets of some connections only accuse nobody: what the others carried is missing.
func TestKeysOfSomeConnectionsRaiseNoFalseAlarm(t *testing.T) {
	n := 0
	for _, in := range inputs(t, 400<<10, ".pcap") {
		all := in.options(scan.Options{Paths: []string{in.path}})
		if all.TLSKeyLog == "" {
			continue
		}
		keys, err := os.ReadFile(all.TLSKeyLog)
		if err != nil {
			t.Fatal(err)
		}
		byConn := map[string]string{}
		var conns []string
		for l := range strings.Lines(string(keys)) {
			if f := strings.Fields(l); len(f) == 3 {
				if byConn[f[1]] == "" {
					conns = append(conns, f[1])
				}
				byConn[f[1]] += l
			}
		}
		for subset := 1; subset < 1<<len(conns)-1; subset++ {
			some := ""
			for i, c := range conns {
				if subset>>i&1 == 1 {
					some += byConn[c]
				}
			}
			opt := all
			opt.TLSKeyLog = filepath.Join(t.TempDir(), "keys.log")
			if err := os.WriteFile(opt.TLSKeyLog, []byte(some), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, b := range wrong(run(t, opt), in.want) {
				t.Errorf("%s with keys of the connections %b: %s", in.path, subset, b)
			}
			n++
		}
	}
	if thin == 1 && n == 0 {
		t.Error("no recorded TLS was tried")
	}
}

// acted returns every scenario in every format it can be compiled to.
func acted(t *testing.T) map[string][]byte {
	t.Helper()
	all, err := scenario.Load("../testdata/scenarios")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, s := range all {
		tr, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range scenario.Formats {
			if _, ok := s.ExpectIn(f); !ok {
				continue
			}
			if data, ok := tr.Compile(f); ok {
				out[s.Name+" "+f.FileName()] = data
			}
		}
	}
	return out
}

// acts goes over acted in one order, so that seeded tests do the same each time.
func acts(t *testing.T) iter.Seq2[string, []byte] {
	t.Helper()
	all := acted(t)
	return func(yield func(string, []byte) bool) {
		for i, name := range slices.Sorted(maps.Keys(all)) {
			if i%thin == 0 && !yield(name, all[name]) {
				return
			}
		}
	}
}

// Every scenario gives the same report however its bytes arrive, and again.
func TestScenariosReadInPieces(t *testing.T) {
	whole := func(r io.Reader) string { return located(run(t, scan.Options{Paths: []string{"-"}, Stdin: r})) }
	for name, data := range acts(t) {
		want := whole(bytes.NewReader(data))
		same(t, name+" again", whole(bytes.NewReader(data)), want)
		same(t, name+" byte by byte", whole(pieces{bytes.NewReader(data), 1}), want)
		same(t, name+" in pieces of 61", whole(pieces{bytes.NewReader(data), 61}), want)
	}
}

// Scenarios that a log, a capture or an archive holds are judged in any order of the inputs.
func TestScenariosInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for name, data := range acts(t) {
		p := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	slices.Sort(paths)
	rng := rand.New(rand.NewPCG(11, 12))
	for range 12 {
		some := make([]string, 0, 6)
		for range 6 {
			some = append(some, paths[rng.IntN(len(paths))])
		}
		slices.Sort(some)
		some = slices.Compact(some)
		want := document(t, some)
		rng.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		same(t, fmt.Sprint(some), document(t, some), want)
	}
}

// document returns the whole JSON report over inputs.
func document(t *testing.T, paths []string) string {
	t.Helper()
	res, ins, err := scan.Run(context.Background(), scan.Options{Paths: paths, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var doc bytes.Buffer
	if err := report.JSON(&doc, report.Build(res, ins, report.Options{Version: "test", Show: report.Show{Possible: true, Hazard: true, Rejected: true, Notes: true}})); err != nil {
		t.Fatal(err)
	}
	return doc.String()
}
