package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// What happens to logs on their way, done to the logs that real tools wrote.

// leaks are those of them whose tool leaks.
var leaks = map[string]bool{"supergateway-sse.log": true, "supergateway-debug.log": true}

func toolLogs(t *testing.T) map[string][]byte {
	t.Helper()
	logs := map[string][]byte{}
	for _, ext := range []string{"*.log", "*.jsonl"} {
		paths, _ := filepath.Glob("../parsers/logs/testdata/tools/" + ext)
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			logs[filepath.Base(path)] = b
		}
	}
	if len(logs) < 40 {
		t.Fatalf("only %d logs", len(logs))
	}
	return logs
}

// scanned reads one log.
func scanned(t *testing.T, name string, log []byte) *verdict.Result {
	res, _ := read(t, name, log)
	return res
}

// read also returns how many events there were.
func read(t *testing.T, name string, log []byte) (*verdict.Result, int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	opt := scan.Options{Paths: []string{path}, CancelWindow: 500 * time.Millisecond}
	res, ins, err := scan.Run(context.Background(), opt)
	if err != nil {
		t.Fatalf("%s: %s", name, err)
	}
	s := &ins[0].Stats
	if s.Records != s.Used+s.Ignored+s.Malformed {
		t.Errorf("%s: %d records, but %d used, %d ignored, %d malformed", name, s.Records, s.Used, s.Ignored, s.Malformed)
	}
	return res, s.Events
}

// spoken writes down the findings without what depends on the bytes of the file.
func spoken(res *verdict.Result) string {
	var out []string
	for _, f := range res.Findings {
		var parties []string
		for _, p := range f.Parties {
			parties = append(parties, p.Role.String()+" "+p.Session)
		}
		out = append(out, f.Signal.Name+" "+f.Strength.String()+" "+strings.Join(parties, ", ")+" "+strings.Join(f.RequestIDs, ","))
	}
	return strings.Join(out, "\n")
}

// TestToolLogs holds that the servers of the tools' logs, which keep sessions
// apart, stay without a finding, and that the one that does not is found.
func TestToolLogs(t *testing.T) {
	for name, log := range toolLogs(t) {
		found := map[string]bool{}
		for _, f := range scanned(t, name, log).Findings {
			if f.Strength >= signals.Possible {
				found[f.Signal.Name] = true
			}
		}
		if len(found) > 0 != leaks[name] {
			t.Errorf("%s: %v", name, found)
		}
		if name == "supergateway-sse.log" && (!found["response_crossing"] || !found["token_collision"] || !found["subscription_bleed"]) {
			t.Errorf("%s: only %v", name, found)
		}
	}
}

// TestLineEndsAndEncodingsChangeNothing holds that a log says the same however its
// lines end and whichever encoding its text has.
func TestLineEndsAndEncodingsChangeNothing(t *testing.T) {
	units := func(order binary.AppendByteOrder) func([]byte) []byte {
		return func(log []byte) (b []byte) {
			for _, u := range utf16.Encode([]rune("\ufeff" + string(log))) {
				b = order.AppendUint16(b, u)
			}
			return b
		}
	}
	ways := map[string]func([]byte) []byte{
		"CRLF":                 func(log []byte) []byte { return bytes.ReplaceAll(log, []byte("\n"), []byte("\r\n")) },
		"CR":                   func(log []byte) []byte { return bytes.ReplaceAll(log, []byte("\n"), []byte("\r")) },
		"no last newline":      func(log []byte) []byte { return bytes.TrimRight(log, "\n") },
		"byte order mark":      func(log []byte) []byte { return append([]byte("\xef\xbb\xbf"), log...) },
		"UTF-16LE":             units(binary.LittleEndian),
		"UTF-16BE":             units(binary.BigEndian),
		"NUL run in front":     func(log []byte) []byte { return append(make([]byte, 1<<20), log...) },
		"NUL runs in between":  func(log []byte) []byte { return bytes.ReplaceAll(log, []byte("\n"), append(make([]byte, 100), '\n')) },
		"NUL run at the end":   func(log []byte) []byte { return append(bytes.Clone(log), make([]byte, 1<<20)...) },
		"read as Windows-1252": mojibake,
	}
	for name, log := range toolLogs(t) {
		log = bytes.ReplaceAll(log, []byte("\r"), nil)
		want, events := read(t, name, log)
		for way, change := range ways {
			got, n := read(t, name, change(log))
			if same(t, name+" "+way, spoken(got), spoken(want)); n != events {
				t.Errorf("%s %s: %d events, want %d", name, way, n, events)
			}
		}
	}
}

// mojibake reads the text as Windows-1252 and writes it as UTF-8.
func mojibake(log []byte) []byte {
	high := []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
	var b strings.Builder
	for _, c := range log {
		if c >= 0x80 && c < 0xa0 {
			b.WriteRune(high[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return []byte(b.String())
}

// TestDoubledLinesRaiseNoFalseAlarm holds that a log whose every line was written
// twice, by a collector or a doubled instance, or that was read twice, accuses nobody new.
func TestDoubledLinesRaiseNoFalseAlarm(t *testing.T) {
	for name, log := range toolLogs(t) {
		var twice, thrice []byte
		for line := range bytes.Lines(log) {
			twice = append(append(twice, line...), line...)
		}
		thrice = append(append(append(thrice, log...), log...), log...)
		for what, b := range map[string][]byte{"each line twice": twice, "the whole again and again": thrice} {
			if got := scanned(t, name, b); !leaks[name] && got.ExitCode == verdict.ExitFindings {
				t.Errorf("%s, %s: %s", name, what, spoken(got))
			}
		}
	}
}

// TestTornLogsRaiseNoFalseAlarm holds that a log that lost lines, or whose lines
// were torn by another writer, accuses nobody.
func TestTornLogsRaiseNoFalseAlarm(t *testing.T) {
	for name, log := range toolLogs(t) {
		if leaks[name] {
			continue
		}
		lines := bytes.SplitAfter(log, []byte("\n"))
		for _, n := range [...]int{2, 5} {
			var without, torn, late []byte
			for i, line := range lines {
				if i%n != 1 {
					without = append(without, line...)
				}
				if i%n == 1 && i+1 < len(lines) { // the next line breaks in, the rest comes behind it
					torn = append(append(append(torn, line[:len(line)/2]...), lines[i+1]...), line[len(line)/2:]...)
				} else {
					torn = append(torn, line...)
				}
				if i >= len(lines)/n {
					late = append(late, line...)
				}
			}
			for what, b := range map[string][]byte{"lines are missing": without, "lines are torn": torn, "the beginning is missing": late} {
				if got := scanned(t, name, b); got.ExitCode == verdict.ExitFindings {
					t.Errorf("%s, %s (%d): %s", name, what, n, spoken(got))
				}
			}
		}
	}
}

// TestInterleavedWriters holds that lines of two servers that wrote into one file
// are not taken for one conversation where the lines name their process.
func TestInterleavedWriters(t *testing.T) {
	logs := toolLogs(t)
	for _, pair := range [][2]string{{"pino.jsonl", "bunyan.jsonl"}, {"python-logurujson.jsonl", "pino-iso.jsonl"}, {"python-structlog.log", "gosdk-text.log"}} {
		a, b := bytes.SplitAfter(logs[pair[0]], []byte("\n")), bytes.SplitAfter(logs[pair[1]], []byte("\n"))
		var both []byte
		for i := range max(len(a), len(b)) {
			if i < len(a) {
				both = append(both, a[i]...)
			}
			if i < len(b) {
				both = append(both, b[i]...)
			}
		}
		if got := scanned(t, pair[0], both); got.ExitCode == verdict.ExitFindings {
			t.Errorf("%s: %s", pair, spoken(got))
		}
	}
}

// TestToolCallsWithoutSessionKey holds that a healthy server whose log names
// sessions where they begin and leaves them out of every tool call stays silent:
// mcp-victoriametrics, with lines of 8 MB.
func TestToolCallsWithoutSessionKey(t *testing.T) {
	args := strings.Repeat("x", 8<<20)
	ids := []string{"5d0c1f7e-9a3b-4c6d-8e2f-10213243a5b6", "c3b8a1d2-e4f5-4a6b-9c7d-0e1f2a3b4c5d"}
	var text, object strings.Builder
	for i, id := range ids {
		fmt.Fprintf(&text, "time=2026-07-19T22:20:4%d.472Z level=INFO msg=\"Session registered\" sessionID=%s\n", i, id)
		fmt.Fprintf(&object, `{"time":"2026-07-19T22:20:4%d.472Z","level":"INFO","msg":"Session registered","sessionID":"%s"}`+"\n", i, id)
	}
	for i := range 2 {
		fmt.Fprintf(&text, "time=2026-07-19T22:20:5%d.472Z level=INFO msg=\"Tool called\" tool=query args=\"%s\"\n", i, args)
		fmt.Fprintf(&object, `{"time":"2026-07-19T22:20:5%d.472Z","level":"INFO","msg":"Tool called","tool":"query","args":"%s"}`+"\n", i, args)
	}
	for name, log := range map[string]string{"x.log": text.String(), "x.jsonl": object.String()} {
		res, events := read(t, name, []byte(log))
		if len(res.Findings) > 0 || res.ExitCode == verdict.ExitFindings || events != 2 {
			t.Errorf("%s: %d events, exit %d, %s", name, events, res.ExitCode, spoken(res))
		}
	}
}
