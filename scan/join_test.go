package scan_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// All recordings of one server that --join finds to be so are one domain: nobody new is
// accused, everything that one of them must show is still shown, with the same parties,
// and with records of each recording that shows it.
func TestJoinedRecordingsShowWhatEachShows(t *testing.T) {
	joined := 0
	for _, file := range recordedCases(t) {
		r, paths := recordingOf(t, file)
		for _, set := range subsets(paths) {
			res, inputs := runJoined(t, set)
			joined += checkJoined(t, r, set, res, inputs)
		}
	}
	if joined < 60 {
		t.Errorf("only %d sets of recordings were joined", joined)
	}
}

func recordedCases(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../testdata/cases/*/expect.json")
	if len(files) == 0 {
		t.Fatal("there are no recorded cases")
	}
	return files
}

// recordingOf returns a case and the inputs of it that are there and readable in the clear.
func recordingOf(t *testing.T, file string) (r recording, paths []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for name, in := range r.Inputs {
		if path := filepath.Join(filepath.Dir(file), name); in.Needs == "" && exists(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return r, paths
}

// subsets returns every pair of paths, and all of them.
func subsets(paths []string) (out [][]string) {
	for i, a := range paths {
		for _, b := range paths[i+1:] {
			out = append(out, []string{a, b})
		}
	}
	if len(paths) > 2 {
		out = append(out, paths)
	}
	return out
}

func runJoined(t *testing.T, paths []string) (*verdict.Result, []*source.Input) {
	t.Helper()
	res, inputs, err := scan.Run(t.Context(), scan.Options{Paths: paths, Join: true, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatalf("cannot scan %v: %s", paths, err)
	}
	return res, inputs
}

// checkJoined holds a verdict over several recordings against what each must and may
// show, and returns 1 if they were joined.
func checkJoined(t *testing.T, r recording, set []string, res *verdict.Result, inputs []*source.Input) int {
	t.Helper()
	call := strings.Join(set, " + ")
	var want expectation
	for _, path := range set {
		in := r.Inputs[filepath.Base(path)]
		want.Must, want.May = append(want.Must, in.Must...), append(want.May, in.May...)
	}
	for _, w := range wrong(res, want) {
		t.Errorf("%s: %s", call, w)
	}
	checkPairs(t, call, res)
	for _, path := range set {
		in := r.Inputs[filepath.Base(path)]
		for _, must := range in.Must {
			var found []signals.Finding
			for _, f := range res.Findings {
				if f.Signal.Name == must && f.Strength >= signals.Probable && f.Rejected == "" {
					found = append(found, f)
				}
			}
			if len(found) == 0 {
				t.Errorf("%s: %s of %s is lost", call, must, filepath.Base(path))
				continue
			}
			if want := in.Sessions[must]; len(want) > 0 && !slices.ContainsFunc(want, func(parties []string) bool {
				return slices.ContainsFunc(found, func(f signals.Finding) bool { return namesParties(&f, parties) })
			}) {
				t.Errorf("%s: %s names %s", call, must, partiesOf(&found[0]))
			}
			if !slices.ContainsFunc(found, func(f signals.Finding) bool { return restsOn(&f, inputs, path) }) {
				t.Errorf("%s: no %s shows a record of %s", call, must, filepath.Base(path))
			}
		}
	}
	if slices.ContainsFunc(inputs, func(in *source.Input) bool {
		return slices.ContainsFunc(in.Stats.Notes, func(n string) bool { return strings.HasPrefix(n, "joined: ") })
	}) {
		return 1
	}
	return 0
}

// checkPairs holds what is said to be shown by another recording as well against the record
// that it stands behind: another recording, and the same id, token, step or resource.
func checkPairs(t *testing.T, call string, res *verdict.Result) {
	t.Helper()
	for _, f := range res.Findings {
		var told *signals.Evidence
		for i := range f.Evidence {
			e := &f.Evidence[i]
			if !strings.HasSuffix(e.Says, "(as another recording shows it)") {
				told = e
				continue
			}
			if e.View == told.View {
				t.Errorf("%s: %s: a record of the same recording stands for another: %s", call, f.Signal.Name, e.Excerpt)
			}
			for _, what := range sameIn {
				if a, b := what.FindStringSubmatch(told.Excerpt), what.FindStringSubmatch(e.Excerpt); a != nil && b != nil && a[1] != b[1] {
					t.Errorf("%s: %s: %q is said to be\n%s\nas another recording shows it:\n%s", call, f.Signal.Name, told.Says, told.Excerpt, e.Excerpt)
				}
			}
		}
	}
}

// sameIn finds what two records of one message may not differ in.
var sameIn = []*regexp.Regexp{
	regexp.MustCompile(`"progress":\s*(\d+)`),
	regexp.MustCompile(`"progressToken":\s*(\d+)`),
	regexp.MustCompile(`"(?:method|rpc_method)":\s*"([a-z]+/[a-z/]+)"`),
	regexp.MustCompile(`"uri":\s*"([^"]+)"`),
	regexp.MustCompile(`(?:"jsonrpc":\s*"2.0",\s*"id"|"rpcId"|"rpc_id"):\s*"?(\w+)`),
	regexp.MustCompile(`"(?:name|tool)":\s*"(\w+)"`),
}

func restsOn(f *signals.Finding, inputs []*source.Input, path string) bool {
	return slices.ContainsFunc(f.Evidence, func(e signals.Evidence) bool { return inputs[e.At.Source].Path == path })
}

// A capture whose clock is minutes off shows with the other recordings what it shows
// without, and its evidence keeps the times that stand in it.
func TestJoinedClocksDiffer(t *testing.T) {
	joined := 0
	for i, file := range recordedCases(t) {
		r, paths := recordingOf(t, file)
		pcap := slices.IndexFunc(paths, func(p string) bool { return filepath.Base(p) == "capture.pcap" })
		if pcap < 0 || len(paths) < 2 {
			continue
		}
		before, inputs := runJoined(t, paths)
		want := placesOf(before, inputs)
		shift := []int64{40, -95, 600}[i%3] // s
		paths[pcap] = put(t, filepath.Join(t.TempDir(), "capture.pcap"), shifted(t, paths[pcap], shift))
		res, inputs := runJoined(t, paths)
		joined += checkJoined(t, r, paths, res, inputs)
		if got := placesOf(res, inputs); got != want {
			t.Errorf("%s: with another clock the recordings tell\n%swithout\n%s", file, got, want)
		}
		for _, f := range res.Findings {
			for _, e := range f.Evidence {
				in := inputs[e.At.Source]
				if at := e.Time.To; at != 0 && in.Path == paths[pcap] && (at < in.Stats.First-1e9 || at > in.Stats.Last+1e9) {
					t.Errorf("%s: evidence has a time that is not in the capture", file)
				}
			}
		}
	}
	if joined < 15 {
		t.Errorf("only %d recordings were joined", joined)
	}
}

// What a capture lost and another recording saw is seen: packets that are missing take
// nothing from what the others show, and accuse nobody.
func TestJoinedHolesAreFilled(t *testing.T) {
	joined, complete := 0, 0
	for i, file := range recordedCases(t) {
		r, paths := recordingOf(t, file)
		pcap := slices.IndexFunc(paths, func(p string) bool { return filepath.Base(p) == "capture.pcap" })
		if pcap < 0 || len(paths) < 2 {
			continue
		}
		paths[pcap] = put(t, filepath.Join(t.TempDir(), "capture.pcap"), holey(t, paths[pcap], i%2 == 0))
		in := r.Inputs["capture.pcap"]
		in.May, in.Must = append(in.May, in.Must...), nil
		r.Inputs["capture.pcap"] = in
		res, inputs := runJoined(t, paths)
		joined += checkJoined(t, r, paths, res, inputs)
		for _, d := range res.Domains {
			for _, c := range d.Conditions {
				if c.Name == "complete" && c.State == verdict.Met {
					complete++
				}
			}
		}
	}
	if joined < 15 || complete < 10 {
		t.Errorf("%d recordings were joined, %d of them complete", joined, complete)
	}
}

// holey returns a pcap file without its first half, or without every twentieth packet.
func holey(t *testing.T, path string, begin bool) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.Clone(data[:24])
	for at, n := 24, 0; at+16 <= len(data); n++ {
		next := at + 16 + int(binary.LittleEndian.Uint32(data[at+8:]))
		if begin && at > len(data)/2 || !begin && n%20 != 7 {
			out = append(out, data[at:min(next, len(data))]...)
		}
		at = next
	}
	return out
}

// What comes on standard input or through a pipe is read twice, too.
func TestJoinReadsAPipeTwice(t *testing.T) {
	dir := "../testdata/cases/ts-f03_drift_shared_server/"
	har, err := os.ReadFile(dir + "capture.har")
	if err != nil {
		t.Fatal(err)
	}
	res, inputs, err := scan.Run(t.Context(), scan.Options{Paths: []string{"-", dir + "capture.pcap"}, Stdin: bytes.NewReader(har), Join: true, CancelWindow: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Domains) != 1 || len(res.Findings) == 0 {
		t.Fatalf("%d domains, %d findings: %s", len(res.Domains), len(res.Findings), res.Why)
	}
	for _, f := range res.Findings {
		if f.Strength >= signals.Probable && !restsOn(&f, inputs, "-") {
			t.Errorf("%s shows nothing of standard input", f.Signal.Name)
		}
	}
}

// told lists the findings that count, each with the inputs whose records it shows.
func placesOf(res *verdict.Result, inputs []*source.Input) string {
	var lines []string
	for _, f := range res.Findings {
		if f.Strength < signals.Probable {
			continue
		}
		var from []string
		for _, e := range f.Evidence {
			from = append(from, filepath.Base(inputs[e.At.Source].Path))
		}
		slices.Sort(from)
		lines = append(lines, fmt.Sprintln(f.Signal.Name, f.Variant, f.Strength, partiesOf(&f), slices.Compact(from)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// shifted returns a little-endian pcap file with all its stamps moved by seconds.
func shifted(t *testing.T, path string, seconds int64) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 24; at+16 <= len(data); {
		sec := binary.LittleEndian.Uint32(data[at:])
		binary.LittleEndian.PutUint32(data[at:], uint32(int64(sec)+seconds))
		at += 16 + int(binary.LittleEndian.Uint32(data[at+8:]))
	}
	return data
}

// The two sides of a proxy stay two domains, and so does a log of which it does not
// show on which side it was written.
func TestProxySidesStayApart(t *testing.T) {
	sides := 0
	for _, file := range recordedCases(t) {
		dir := filepath.Dir(file)
		if !exists(filepath.Join(dir, "capture_upstream.pcap")) {
			continue
		}
		sides++
		res, _ := runJoined(t, []string{filepath.Join(dir, "capture.pcap"), filepath.Join(dir, "capture_upstream.pcap")})
		if len(res.Domains) != 2 {
			t.Errorf("%s: %d domains, want the 2 sides of the gateway", dir, len(res.Domains))
		}
	}
	if sides == 0 {
		t.Error("no recorded case has both sides of a proxy")
	}
	const id = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
	wire := ""
	for x, port := range []string{"8080", "9090"} {
		wire += fmt.Sprintf(`{"ts":"2026-07-19T22:20:43.%d00Z","k":"req","x":"%d","http_method":"POST","url":"http://10.0.0.5:%s/mcp","h":{},"body":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}}
{"ts":"2026-07-19T22:20:43.%d50Z","k":"head","x":"%d","status":200,"h":{"Mcp-Session-Id":"%s","Content-Type":"application/json"}}
{"ts":"2026-07-19T22:20:43.%d51Z","k":"body","x":"%d","body":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}}
{"ts":"2026-07-19T22:20:43.%d52Z","k":"close","x":"%d","by":"server"}
`, x, x, port, x, x, id, x, x, x, x)
	}
	dir := t.TempDir()
	paths := []string{
		put(t, filepath.Join(dir, "both.jsonl"), []byte(wire)),
		put(t, filepath.Join(dir, "app.log"), []byte(`{"time":"2026-07-19T22:20:43.010Z","level":"INFO","msg":"session_created","session_id":"`+id+`"}`+"\n")),
	}
	res, inputs := runJoined(t, paths)
	if len(res.Domains) != 3 {
		t.Errorf("%d domains, want both sides and the log", len(res.Domains))
	}
	notes := ""
	for _, in := range inputs {
		notes += strings.Join(in.Stats.Notes, "\n")
	}
	if strings.Contains(notes, "\njoined") || !strings.Contains(notes, "which of the two it is does not show") {
		t.Errorf("the notes do not say why nothing was joined: %s", notes)
	}
}

// What a log and a capture say of one set of requests is one finding: whom it hit by the
// log, who sent it by the capture, and as often as it happened.
func TestJoinedFactsCountOnce(t *testing.T) {
	f := func(dir, log, want string) {
		t.Helper()
		dir = filepath.Join("../testdata/cases", dir)
		for _, set := range [][]string{{log, "capture.pcap"}, {"capture.pcap", log}} {
			res, _ := runJoined(t, []string{filepath.Join(dir, set[0]), filepath.Join(dir, set[1])})
			var lines []string
			for _, f := range res.Findings {
				if f.Strength < signals.Probable {
					continue
				}
				line := fmt.Sprintf("%s ×%d", f.Signal.Name, f.Count)
				for _, p := range f.Parties {
					if p.Role == signals.Cause || p.Role == signals.Victim {
						line += " " + p.Alias
					}
				}
				for _, e := range f.Evidence {
					if e.Role == signals.Candidate && f.Signal == signals.FallbackResolution {
						t.Errorf("%s: evidence of %s names a candidate, where it is known who it was", dir, f.Signal.Name)
					}
					if e.Party == "?" {
						t.Errorf("%s: evidence of %s names nobody, where a party is known", dir, f.Signal.Name)
					}
				}
				if f.Signal == signals.FallbackResolution {
					line += " " + f.Method + " " + f.Tool + " " + strings.Join(f.RequestIDs, ",")
				}
				lines = append(lines, line)
			}
			slices.Sort(lines)
			if got := strings.Join(lines, "\n"); got != want {
				t.Errorf("%s %v: got\n%s\nwant\n%s", dir, set, got, want)
			}
		}
	}
	f("go-f12-combined-incident-60s", "server.debug.log", `cancellation_crosstalk ×2 S7 S8
capability_drift ×1 S4 S1
capability_drift ×1 S4 S2
fallback_resolution ×8 S3 S6 tools/call journal_append 8,9,10,11,12,13,14,15
subscription_bleed ×3 S1 S4
subscription_bleed ×3 S2 S4
subscription_bleed ×3 S3 S4
subscription_bleed ×3 S5 S4
subscription_bleed ×3 S6 S4
subscription_bleed ×3 S7 S4
subscription_bleed ×3 S8 S4
token_collision ×1 S5 S1`)
	f("ts-f17_mix_all", "server.log", `cancellation_crosstalk ×1 S1 S2
capability_drift ×1 S4 S2
fallback_resolution ×1 P1 S4 tools/call journal_append "cron-17"
response_crossing ×1 S5·a S5·b
subscription_bleed ×1 S1 S3
subscription_bleed ×1 S2 S3
subscription_bleed ×1 S4 S3
token_collision ×5 S4 S3`)
}
