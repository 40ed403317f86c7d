package logs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/document"
	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/source"
)

// export gives the events of an export.
func export(t *testing.T, b []byte, inOrder bool) ([]string, *source.Stats) {
	t.Helper()
	in := &source.Input{Opener: exchangetest.Bytes(b)}
	r, err := openDocument([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []string
	last := int64(0)
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if inOrder && e.Kind != event.Gap && e.Time.To < last {
			t.Errorf("line %d goes back in time", e.At.N)
		}
		last = max(last, e.Time.From)
		out = append(out, describe(e))
	}
	if s := &in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
		t.Errorf("%d records are not %d used + %d ignored + %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
	}
	return out, &in.Stats
}

// TestExports holds the events of an export of each kind against a golden file.
func TestExports(t *testing.T) {
	for _, k := range document.All() {
		if k.Exchanges {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			paths, _ := filepath.Glob("testdata/exports/" + k.Name + ".[^g]*")
			if len(paths) != 1 {
				t.Fatalf("files are %v, want one", paths)
			}
			b, err := os.ReadFile(paths[0])
			if err != nil {
				t.Fatal(err)
			}
			if found := document.Find(b); found == nil || found.Name != k.Name {
				t.Fatalf("taken for %+v", found)
			}
			events, stats := export(t, b, true)
			if stats.Malformed > 0 {
				t.Errorf("problems: %v", stats.Problems)
			}
			got := fmt.Sprintf("%s\nin %v, %d records, %d used, %d ignored, gaps %d\n%s\n", strings.Join(events, "\n"),
				stats.Wrappers, stats.Records, stats.Used, stats.Ignored, stats.Gaps, strings.Join(stats.Notes, "\n"))
			golden := "testdata/exports/" + k.Name + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("events of %s differ (-want +got):\n%s", paths[0], diff)
			}
		})
	}
}

// exporters write lines as exports of log stores do.
var exporters = map[string]func(lines []string) string{
	"gcloud, newest first": func(lines []string) string {
		var out []string
		for i, s := range lines {
			out = append([]string{fmt.Sprintf("  {\n    \"insertId\": \"%d\",\n    \"logName\": \"x\",\n    \"textPayload\": %s,\n    \"timestamp\": \"%s\"\n  }", i, text(s), tick(i))}, out...)
		}
		return "[\n" + strings.Join(out, ",\n") + "\n]\n"
	},
	"filter-log-events": func(lines []string) string {
		out := `{"events":[`
		for i, s := range lines {
			out += fmt.Sprintf(`%s{"logStreamName":"a/b","timestamp":%d,"message":%s,"ingestionTime":1,"eventId":"%d"}`, comma(i), 1784502000000+i, text(s), i)
		}
		return out + `]}`
	},
	"subscription": func(lines []string) (out string) {
		for i, s := range lines {
			out += fmt.Sprintf(`{"logGroup":"g","logStream":"a/b","logEvents":[{"id":"%d","timestamp":%d,"message":%s}]}`, i, 1784502000000+i, text(s))
		}
		return out
	},
	"query_range, newest first": func(lines []string) (out string) {
		for i, s := range lines {
			out = fmt.Sprintf(`["%d",%s]%s`, 1784502000000000000+i, text(s), comma(len(out))) + out
		}
		return `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"pod":"p-0"},"values":[` + out + `]}]}}`
	},
	"hits, any order": func(lines []string) string {
		var out []string
		for i, s := range lines {
			hit := fmt.Sprintf(`{"_index":"x","_id":"%d","_source":{"@timestamp":"%s","agent":{"type":"filebeat"},"message":%s}}`, i, tick(i), text(s))
			out = slices.Insert(out, (i*7)%(len(out)+1), hit)
		}
		return `{"hits":{"hits":[` + strings.Join(out, ",") + `]}}`
	},
	"OTLP": func(lines []string) (out string) {
		for i, s := range lines {
			out += fmt.Sprintf("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[\n{\"timeUnixNano\":\"%d\",\"body\":{\"stringValue\":%s}}]}]}]}", 1784502000000000000+i, text(s))
		}
		return out
	},
	"Insights CSV, newest first": func(lines []string) (out string) {
		for i, s := range lines {
			out = fmt.Sprintf("2026-07-19 23:00:00.%03d,%s\n", i, quote(s)) + out
		}
		return "@timestamp,@message\n" + out
	},
	"Grafana CSV": func(lines []string) string {
		out := "Date,Line,tsNs\r\n"
		for i, s := range lines {
			out += fmt.Sprintf("x,%s,%d\r\n", quote(s), 1784502000000000000+i)
		}
		return out
	},
}

func tick(i int) string { return fmt.Sprintf("2026-07-19T23:00:00.%03dZ", i) }

func comma(i int) string {
	if i > 0 {
		return ","
	}
	return ""
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// TestExportsHoldLines holds that a log that was exported gives the events of the log
// itself, in the same order, but for times, domains and addresses.
func TestExportsHoldLines(t *testing.T) {
	place := regexp.MustCompile(`(?m)^\d+ `)
	for _, name := range []string{"pino.jsonl", "slog.logfmt", "python.log", "native.jsonl", "rich_folded.log", "dotnet.log"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		plain, stats := scan(t, b, source.Options{})
		bare := func(events []string) string {
			return place.ReplaceAllString(ofReceipt.ReplaceAllString(strings.Join(events, "\n"), ""), "")
		}
		for exporter, write := range exporters {
			text := []byte(write(lines))
			if len(lines) > 900 || documentFormat().Sniff(text, true) != 96 {
				t.Fatalf("%s by %s is not recognised: %.300s", name, exporter, text)
			}
			got, s := export(t, text, false)
			got = slices.DeleteFunc(got, func(e string) bool { return strings.Contains(e, "note=the export ") })
			if diff := cmp.Diff(bare(plain), bare(got)); diff != "" {
				t.Errorf("%s by %s differs (-want +got):\n%s", name, exporter, diff)
			} else if s.Used != stats.Used || s.Malformed != stats.Malformed {
				t.Errorf("%s by %s: %d used, %d malformed, want %d, %d", name, exporter, s.Used, s.Malformed, stats.Used, stats.Malformed)
			}
		}
	}
}

// FuzzExport holds that no export breaks the reading, and that every record counts.
func FuzzExport(f *testing.F) {
	paths, _ := filepath.Glob("testdata/exports/*.[^g]*")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &source.Input{Opener: exchangetest.Bytes(b)}
		r, err := openDocument([]*source.Input{in}, source.Options{})
		if err != nil {
			return
		}
		defer r.Close()
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			t.Fatal(err)
		}
		if s := in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
			t.Fatalf("%d records are not %d used + %d ignored + %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
		}
	})
}

// TestTied holds that of two records of one time in an export of any order none is
// the first, and that the order of the export counts where it has one.
func TestTied(t *testing.T) {
	f := func(want string, order ...int) {
		t.Helper()
		text := ""
		for _, i := range order {
			text += fmt.Sprintf(`{"_time":"2026-07-19T23:00:0%d.5Z","_stream":"{}","_msg":"{\"msg\":\"session created\",\"mcp_session_id\":\"s\"}"}`, i)
		}
		r, err := openDocument([]*source.Input{{Opener: exchangetest.Bytes(text)}}, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for e, err := r.Next(); err == nil; e, err = r.Next() {
			got += fmt.Sprint(e.Time.To-e.Time.From, " ")
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%v: widths are %s, want %s", order, got, want)
		}
	}
	f("0 0 0 0", 1, 2, 2, 3)
	f("0 0 0 0", 3, 2, 2, 1)
	f("0 1 1 0", 2, 1, 3, 2)
}

// TestHoles holds that an export that was cut off leaves a gap before and behind what
// it holds, in every domain.
func TestHoles(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, `{"labels":{"pod":"p-0"},"line":"session created mcp_session_id=s%d","timestamp":"2026-07-19T23:00:%02dZ"}`+"\n", i, 59-i)
	}
	events, s := export(t, []byte(text.String()), true)
	if len(events) != 32 || !strings.Contains(events[0], " gap ") || !strings.Contains(events[31], " gap ") || s.Gaps != 2 || !strings.Contains(strings.Join(s.Notes, " "), "exactly 30") {
		t.Errorf("%d events, from %s to %s; %d gaps, notes %v", len(events), events[0], events[len(events)-1], s.Gaps, s.Notes)
	}
}
