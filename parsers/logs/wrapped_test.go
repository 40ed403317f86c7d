package logs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/parsers/envelope"
	"github.com/isodetect/isodetect/parsers/source"
)

// TestWrapped holds the events of lines in each envelope against a golden file.
func TestWrapped(t *testing.T) {
	for _, e := range envelope.All() {
		t.Run(e.Name, func(t *testing.T) {
			path := "testdata/wrapped/" + e.Name + ".log"
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			events, stats := scan(t, b, source.Options{})
			if stats.Records != stats.Used+stats.Ignored+stats.Malformed || stats.Malformed > 0 {
				t.Errorf("%d records are not %d used + %d ignored + %d malformed, or some are: %v", stats.Records, stats.Used, stats.Ignored, stats.Malformed, stats.Problems)
			}
			if lines := int64(strings.Count(string(b), "\n")); stats.Records != lines {
				t.Errorf("%d records, want %d", stats.Records, lines)
			}
			if !strings.Contains(strings.Join(stats.Wrappers, " "), e.Name) {
				t.Errorf("wrappers are %v", stats.Wrappers)
			}
			got := fmt.Sprintf("%s\nin %v, %d used, %d ignored, gaps %d, notes %q\n", strings.Join(events, "\n"), stats.Wrappers, stats.Used, stats.Ignored, stats.Gaps, stats.Notes)
			if *update {
				if err := os.WriteFile(path+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("events of %s differ (-want +got):\n%s", path, diff)
			}
		})
	}
}

// TestReal holds the events in what journalctl and rsyslogd wrote: the same few
// messages, one with colour, one of two lines, one over 4096 bytes, in every format.
func TestReal(t *testing.T) {
	paths, err := filepath.Glob("testdata/daemons/*.log")
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		events, stats := scan(t, b, source.Options{})
		if stats.Records != stats.Used+stats.Ignored || len(stats.Wrappers) == 0 {
			t.Errorf("%s: %d records are not %d used + %d ignored; in %v", path, stats.Records, stats.Used, stats.Ignored, stats.Wrappers)
		}
		got := fmt.Sprintf("%s\nin %v, %d used, %d ignored, gaps %d, notes %q\n", strings.Join(events, "\n"), stats.Wrappers, stats.Used, stats.Ignored, stats.Gaps, stats.Notes)
		if *update {
			if err := os.WriteFile(path+".golden", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path + ".golden")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("events of %s differ (-want +got):\n%s", path, diff)
		}
	}
}

// text is a value as a member of a JSON envelope.
func text(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const pod = "notes-7d9f8b6c5d-x2x4k"

// wrappers put an envelope around a line, as the tools do.
var wrappers = map[string]func(line string) string{
	"docker": func(s string) string {
		return `{"log":` + text(s+"\n") + `,"stream":"stdout","time":"2026-07-19T23:00:00.000000001Z"}`
	},
	"cri":     func(s string) string { return "2026-07-19T23:00:00.000000001Z stdout F " + s },
	"kubectl": func(s string) string { return "[pod/" + pod + "/notes] " + s },
	"compose": func(s string) string { return "\x1b[36mnotes-1  |\x1b[0m " + s },
	"stern":   func(s string) string { return pod + " notes " + s },
	"stern-json": func(s string) string {
		return `{"message":` + text(s) + `,"nodeName":"n","namespace":"prod","podName":"` + pod + `","containerName":"notes"}`
	},
	"journald-json": func(s string) string {
		message := text(s)
		if strings.ContainsRune(s, 0x1b) {
			numbers := make([]int, len(s))
			for i := range len(s) {
				numbers[i] = int(s[i])
			}
			b, _ := json.Marshal(numbers)
			message = string(b)
		}
		return `{"MESSAGE":` + message + `,"_PID":"7","__REALTIME_TIMESTAMP":"1784502000000000","_HOSTNAME":"vm","SYSLOG_IDENTIFIER":"notes"}`
	},
	"syslog-5424":   func(s string) string { return "<134>1 2026-07-19T23:00:00.000001Z vm notes 7 - - " + octals(s) },
	"syslog-3164":   func(s string) string { return "Jul 19 23:00:00 vm notes[7]: " + octals(s) },
	"syslog-iso":    func(s string) string { return "2026-07-19T23:00:00.000001+00:00 vm notes[7]: " + octals(s) },
	"journald-full": func(s string) string { return "Sun 2026-07-19 23:00:00 UTC vm notes[7]: " + s },
	"gcp": func(s string) string {
		return `{"insertId":"a","textPayload":` + text(s) + `,"resource":{"labels":{"pod_name":"` + pod + `"}},"timestamp":"2026-07-19T23:00:00.000000001Z"}`
	},
	"loki": func(s string) string {
		return `{"labels":{"pod":"` + pod + `"},"line":` + text(s) + `,"timestamp":"2026-07-19T23:00:00.000000001Z"}`
	},
	"victorialogs": func(s string) string {
		return `{"_time":"2026-07-19T23:00:00Z","_stream":"{}","_msg":` + text(s) + `,"kubernetes.pod_name":"` + pod + `"}`
	},
	"elastic": func(s string) string {
		return `{"@timestamp":"2026-07-19T23:00:00Z","agent":{"type":"filebeat"},"message":` + text(s) + `}`
	},
	"fluent": func(s string) string {
		return `{"log":` + text(s) + `,"stream":"stdout","kubernetes":{"pod_name":"` + pod + `"},"time":"2026-07-19T23:00:00.000000001Z"}`
	},
	"cloudwatch": func(s string) string { return "2026-07-19T23:00:00.000000+00:00 ecs/notes/1 " + s },
	"otlp": func(s string) string {
		return `{"resourceLogs":[{"resource":{"attributes":[]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1784502000000000001","body":{"stringValue":` + text(s) + `}}]}]}]}`
	},
	"klog":           func(s string) string { return "I0719 23:00:00.000001       7 server.go:12] " + s },
	"heroku":         func(s string) string { return "2026-07-19T23:00:00.000001+00:00 app[web.1]: " + s },
	"github-actions": func(s string) string { return "2026-07-19T23:00:00.0000001Z " + s },
	"timestamps":     func(s string) string { return "2026-07-19T23:00:00.000000001Z " + s },
}

// noLines are envelopes that do not hold any line of a log.
var noLines = map[string]bool{"jaeger": true, "zipkin": true, "otel-console": true, "mcp-inspector": true, "mcpsnoop": true}

func octals(s string) string {
	return strings.NewReplacer("\x1b", "#033", "\t", "#011").Replace(s)
}

// ofReceipt are the parts of an event that an envelope may fill.
var ofReceipt = regexp.MustCompile(` (t|server|epoch|moment)=\S+| loss=time\b`)

// TestChains holds that a log in any two envelopes gives the events of the log
// itself, but for times and domains.
func TestChains(t *testing.T) {
	for _, e := range envelope.All() {
		if wrappers[e.Name] == nil && e.Name != envelope.Export && !noLines[e.Name] {
			t.Errorf("no wrapper for %s", e.Name)
		}
	}
	for _, name := range []string{"pino.jsonl", "slog.logfmt", "python.log", "native.jsonl", "rich_folded.log", "dotnet.log"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		plain, stats := scan(t, b, source.Options{})
		want := ofReceipt.ReplaceAllString(strings.Join(plain, "\n"), "")
		for outer, around := range wrappers {
			for inner, inside := range wrappers {
				var log strings.Builder
				for _, line := range lines {
					log.WriteString(around(inside(line)) + "\n")
				}
				got, s := scan(t, []byte(log.String()), source.Options{})
				if diff := cmp.Diff(want, ofReceipt.ReplaceAllString(strings.Join(got, "\n"), "")); diff != "" {
					t.Errorf("%s in %s in %s differs (-want +got):\n%s", name, inner, outer, diff)
					continue
				}
				if s.Used != stats.Used || s.Malformed != stats.Malformed {
					t.Errorf("%s in %s in %s: %d used, %d malformed, want %d, %d", name, inner, outer, s.Used, s.Malformed, stats.Used, stats.Malformed)
				}
			}
		}
	}
}

// TestStacks holds that a log in any stack of up to five envelopes gives the events of
// the log itself, but for times and domains. The stacks are the same in every run.
func TestStacks(t *testing.T) {
	var names []string
	for _, e := range envelope.All() {
		if wrappers[e.Name] != nil {
			names = append(names, e.Name)
		}
	}
	random := rand.New(rand.NewPCG(3, 3))
	for _, name := range []string{"pino.jsonl", "slog.logfmt", "python.log", "native.jsonl", "rich_folded.log"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		plain, stats := scan(t, b, source.Options{})
		want := ofReceipt.ReplaceAllString(strings.Join(plain, "\n"), "")
		for range 60 {
			stack := make([]string, 1+random.IntN(envelope.MaxDepth))
			for i := range stack {
				stack[i] = names[random.IntN(len(names))]
			}
			var log strings.Builder
			for _, line := range lines {
				for _, w := range stack {
					line = wrappers[w](line)
				}
				log.WriteString(line + "\n")
			}
			got, s := scan(t, []byte(log.String()), source.Options{})
			if diff := cmp.Diff(want, ofReceipt.ReplaceAllString(strings.Join(got, "\n"), "")); diff != "" {
				t.Errorf("%s in %v differs (-want +got):\n%s", name, stack, diff)
			} else if s.Used != stats.Used || s.Malformed != stats.Malformed {
				t.Errorf("%s in %v: %d used, %d malformed, want %d, %d", name, stack, s.Used, s.Malformed, stats.Used, stats.Malformed)
			}
		}
	}
}

// TestNotWrapped holds that no envelope is seen where there is none.
func TestNotWrapped(t *testing.T) {
	logs, err := filepath.Glob("testdata/*[lgt]")
	if err != nil || len(logs) < 30 {
		t.Fatalf("%d logs: %v", len(logs), err)
	}
	for _, path := range logs {
		if strings.HasSuffix(path, "/text.log") || strings.HasSuffix(path, "/clients.log") { // have lines of every kind
			continue
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, s := scan(t, b, source.Options{}); len(s.Wrappers) > 0 {
			t.Errorf("%s is not wrapped in %v", path, s.Wrappers)
		}
	}
}

// TestDomains holds whose record a wrapped line is.
func TestDomains(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		events, _ := scan(t, []byte(log), source.Options{})
		var got []string
		for _, e := range events {
			who := regexp.MustCompile(`(server|epoch)=(\S+)`).FindAllStringSubmatch(e, -1)
			s := ""
			for _, w := range who {
				s += w[2] + " "
			}
			got = append(got, strings.TrimSpace(s))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s\nis of %q, want %q", log, got, want)
		}
	}
	created := `{"msg":"session created","mcp_session_id":"a"`
	f("[pod/a-0/x] "+created+"}\n[pod/a-1/x] "+created+"}\n[pod/a-0/x] "+created+"}", "a-0/x, a-1/x, a-0/x")
	f("[pod/a-0/x] "+created+`,"instance":"notes-0"}`, "notes-0")
	f("[pod/a-0/x] "+created+`,"hostname":"h","pid":7}`, "h:7")
	f("[pod/a-0/x] "+created+`,"pid":7}`, "a-0/x 7")
	f("Jul 19 22:20:43 h x[7]: "+created+`,"pid":7}`, "h/x 7")
	f("Jul 19 22:20:43 h x[7]: "+created+"}\nJul 19 22:20:43 h x[8]: "+created+"}", "h/x 7, h/x 8")
	f("Jul 19 22:20:43 h1 x[7]: c-1  | "+created+"}\nJul 19 22:20:43 h2 x[7]: c-1  | "+created+"}", "h1/x/c-1 7, h2/x/c-1 7")
	f(`{"__REALTIME_TIMESTAMP":"1","CONTAINER_NAME":"c","CONTAINER_ID":"0123456789abcdef","MESSAGE":`+text(created+`,"pid":7}`)+"}", "c 0123456789ab.7")
	rows := strings.TrimSuffix(richRecord("Created new transport with session ID: "+idA, 80, false), "\n")
	f("[pod/a-0/x] "+rows+"\n[pod/a-1/x] nothing", "a-0/x") // read at the end, behind a line of another pod
}

// TestReceived holds when the time of receipt counts: where the record has none, or
// one without a zone that nobody named.
func TestReceived(t *testing.T) {
	f := func(line, want string, opt source.Options) {
		t.Helper()
		events, _ := scan(t, []byte(line), opt)
		if got := strings.Join(events, "\n"); !strings.Contains(got, " t="+want+" ") {
			t.Errorf("%s gives %s, want %s", line, got, want)
		}
	}
	around := func(s string) string { return "2026-07-19T23:00:00.5Z stdout F " + s }
	f(around(`{"msg":"session created","mcp_session_id":"a"}`), "23:00:00.5", source.Options{})
	f(around(`{"time":"2026-07-19T22:00:00Z","msg":"session created","mcp_session_id":"a"}`), "22:00:00", source.Options{})
	f(around(`{"time":"2026-07-19 22:00:00","msg":"session created","mcp_session_id":"a"}`), "23:00:00.5", source.Options{})
	f(around(`{"time":"2026-07-19 22:00:00","msg":"session created","mcp_session_id":"a"}`), "20:00:00", source.Options{ZoneGiven: true, AssumeUTCOffset: 7200})
	f(`<13>Jul 19 22:20:43 h x[7]: `+around(`{"msg":"session created","mcp_session_id":"a"}`), "23:00:00.5", source.Options{})
	f(`2026-07-19T23:00:01Z h x[7]: <13>Jul 19 22:20:43 h x[7]: {"msg":"session created","mcp_session_id":"a"}`, "23:00:01", source.Options{})
}

// TestExcerpt holds that evidence shows the physical line, and where a line in
// parts begins.
func TestWrappedExcerpt(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		in := &source.Input{Opener: memory(log)}
		r, err := open([]*source.Input{in}, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d@%d %s", e.At.N, e.At.Offset, e.Excerpt); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		for err == nil {
			_, err = r.Next()
		}
		if s := in.Stats; s.Records != s.Used+s.Ignored || s.Ignored != 1 {
			t.Errorf("%d records, %d used, %d ignored", s.Records, s.Used, s.Ignored)
		}
	}
	const at, record = "2026-07-19T23:00:00Z stdout ", `{"msg":"session created","mcp_session_id":"a"}`
	f("x\n"+at+"F "+record, "2@2 "+at+"F "+record)
	f("x\n"+at+"P "+record[:20]+"\n"+at+"F "+record[20:]+"\n", "2@2 "+at+"P "+record[:20])
	f("x\n"+`{"data":{"result":[{"stream":{},"values":[["1784502000000000000",`+text(record)+`]]}]}}`, "2@2 "+record)
}

// TestInterleaved holds that records of several lines of two pods do not run into each other.
func TestInterleaved(t *testing.T) {
	var log strings.Builder
	for _, line := range []string{"Request body: {", "  jsonrpc: '2.0', method: 'ping',", "  id: %d", "}"} {
		for i := range 2 {
			fmt.Fprintf(&log, "[pod/a-%d/x] %s\n", i, strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
		}
	}
	events, s := scan(t, []byte(log.String()), source.Options{})
	got := strings.ReplaceAll(strings.Join(events, "\n"), " loss=time", "")
	want := "1 message server=a-0/x dir=client→server kind=request method=ping id=0\n2 message server=a-1/x dir=client→server kind=request method=ping id=1"
	if got != want || s.Used != 8 {
		t.Errorf("%s\nwant %s; %d lines used", got, want, s.Used)
	}
}

// TestForgedInside holds that no envelope makes a native event of what a field only quotes.
func TestForgedInside(t *testing.T) {
	forged := text(`{"isodetect":"1","event.name":"mcp.session.resolved","isodetect.session.source":"fallback","mcp.session.id":"a"}`)
	f := func(line string) {
		t.Helper()
		events, _ := scan(t, []byte(line), source.Options{})
		for _, e := range events {
			if strings.Contains(e, "session_resolved") {
				t.Errorf("%s gives %s", line, e)
			}
		}
	}
	f(`{"level":"info","msg":` + forged + `}`)
	f(`{"time":"2026-07-19T22:20:43Z","stream":"stdout","log":` + forged + `,"level":"info"}`)
	f(`{"@timestamp":"2026-07-19T22:20:43Z","log.level":"info","ecs":{"version":"8"},"host":{"name":"h"},"message":` + forged + `}`)
	f(`{"_time":"2026-07-19T22:20:43Z","_stream":"{}","_msg":` + forged + `,"level":"info"}`)
	f(`{"insertId":"a","timestamp":"2026-07-19T22:20:43Z","jsonPayload":{"message":` + forged + `,"a":{"isodetect":"1"}}}`)
	f("Jul 19 22:20:43 h x[7]: said\n                        {" + strings.ReplaceAll(forged[2:len(forged)-1], `\"`, `"`))
	f("Jul 19 22:20:43 h x[7]: said#012{" + strings.ReplaceAll(forged[2:len(forged)-1], `\"`, `"`))
	f(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":` + forged + `},"attributes":[{"key":"level","value":{"stringValue":"info"}}]}]}]}]}`)
}

// TestManyInside holds that one line cannot make any number of events at once, and
// that what is left out leaves a gap.
func TestManyInside(t *testing.T) {
	value := `,["1784502000000000000",` + text(`{"msg":"session created","mcp_session_id":"a"}`) + `]`
	log := `{"data":{"result":[{"stream":{},"values":[` + strings.Repeat(value, maxQueue+100)[1:] + `]}]}}`
	events, s := scan(t, []byte(log), source.Options{})
	if len(events) != maxQueue+1 || !strings.HasPrefix(events[maxQueue], "1 gap ") || len(s.Problems) != 1 || s.Used != 1 {
		t.Errorf("%d events, the last is %q; %d used, problems %v", len(events), events[len(events)-1], s.Used, s.Problems)
	}
}
