package scan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Several recordings of the same traffic, joined to one domain, are several views of
// it: no request collides with itself, and nobody new is accused.
func TestTwoViewsOfOneTrafficRaiseNoFalseAlarm(t *testing.T) {
	joined := 0
	files, _ := filepath.Glob("../testdata/cases/*/expect.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		var paths []string
		var want expectation
		for name, in := range r.Inputs {
			if path := filepath.Join(filepath.Dir(file), name); in.Needs == "" && exists(path) {
				paths = append(paths, path)
				want.Must, want.May = append(want.Must, in.Must...), append(want.May, in.May...)
			}
		}
		slices.Sort(paths)
		if severalServers(t, paths) {
			continue
		}
		joined++
		shared := slices.ContainsFunc(paths, func(p string) bool { return sharesSession(run(t, scan.Options{Paths: []string{p}})) })
		for i, a := range paths {
			for _, b := range paths[i+1:] {
				res := run(t, scan.Options{Paths: []string{a, b}, Domains: []string{"one=*"}})
				for _, w := range wrong(res, want) {
					t.Errorf("%s joined with %s: %s", a, filepath.Base(b), w)
				}
				// A log takes nothing from a capture. Of two captures one takes the other's
				// markers: what stands in two requests is no marker.
				if strings.HasSuffix(a+b, ".log") {
					for _, must := range slices.Concat(r.Inputs[filepath.Base(a)].Must, r.Inputs[filepath.Base(b)].Must) {
						if !slices.ContainsFunc(res.Findings, func(f signals.Finding) bool { return f.Signal.Name == must && f.Strength >= signals.Probable }) {
							t.Errorf("%s joined with %s: %s is lost", a, filepath.Base(b), must)
						}
					}
				}
				if !shared && sharesSession(res) {
					t.Errorf("%s joined with %s: a session is said to be shared", a, filepath.Base(b))
				}
			}
		}
		if len(paths) > 2 {
			res := run(t, scan.Options{Paths: paths, Domains: []string{"one=*"}})
			for _, w := range wrong(res, want) {
				t.Errorf("all of %s: %s", filepath.Dir(file), w)
			}
		}
	}
	if joined < 10 {
		t.Errorf("only %d recordings were joined", joined)
	}
}

func sharesSession(res *verdict.Result) bool {
	return slices.ContainsFunc(res.Findings, func(f signals.Finding) bool { return f.Signal == signals.SharedSession })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// severalServers reports that a recording shows more than one process, which --domain
// must not make one of.
func severalServers(t *testing.T, paths []string) bool {
	for _, p := range paths {
		if res := run(t, scan.Options{Paths: []string{p}}); len(res.Domains) > 1 {
			return true
		}
	}
	return false
}

// Orders that the stamps of two logs of one domain do not give cost one strength, and
// what one log alone tells does not get weaker by the other.
func TestOrderAcrossTwoLogs(t *testing.T) {
	f := func(want string, logs ...string) {
		t.Helper()
		dir := t.TempDir()
		var paths []string
		for i, text := range logs {
			path := put(t, filepath.Join(dir, []string{"app.log", "access.log"}[i]), []byte(text))
			written := time.Date(2026, 7, 19, 22, 21, 0, 0, time.UTC)
			if err := os.Chtimes(path, written, written); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		res := run(t, scan.Options{Paths: paths, Domains: []string{"one=*"}})
		var got []string
		for _, f := range res.Findings {
			if f.Strength > signals.Hazard {
				got = append(got, f.Signal.Name+" "+f.Strength.String())
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	made := func(at, id string) string {
		return `{"time":"2026-07-19T22:20:` + at + `Z","level":"INFO","msg":"session_created","session_id":"` + id + `"}` + "\n"
	}
	access := func(second, asked, answered, method string) string {
		return `10.0.0.7 - - [19/Jul/2026:22:20:` + second + ` +0000] "POST /mcp HTTP/1.1" 200 228 "-" "curl" rt=0.000 mcp_sid=` + asked + ` resp_sid=` + answered + ` mcp_method=` + method + "\n"
	}
	const a, b = "0a1b2c3d4e5f60718293a4b5c6d7e8f9", "1b2c3d4e5f60718293a4b5c6d7e8f90a"
	// Both sessions are live long before the request: the stamps give the order.
	f("fallback_resolution confirmed", made("10.000", a)+made("11.000", b), access("43", "-", a, "tools/call"))
	// The other session is made in the second of the request, before it or after.
	f("fallback_resolution probable", made("10.000", a)+made("43.500", b), access("43", "-", a, "tools/call"))
	// It is made after it.
	f("", made("10.000", a)+made("44.500", b), access("43", "-", a, "tools/call"))
	// The access log tells of both sessions itself: its own order counts.
	f("fallback_resolution confirmed", made("43.500", a), access("43", "-", a, "initialize")+access("43", "-", b, "initialize")+access("43", "-", a, "tools/call"))
	// The answer to an initialize names a new session in both logs.
	f("", made("43.500", a)+made("43.600", b), access("43", "-", a, "initialize")+access("43", "-", b, "initialize"))
	f("", made("43.500", a)+made("43.600", b), access("43", "-", a, "-")+access("43", "-", b, "-"))
	f("", made("43.500", a)+made("43.600", b), access("44", "-", a, "-")+access("44", "-", b, "-"))

	// A session that the server makes for a call without one stands in both logs.
	f("", made("10.000", a)+made("43.500", b), access("44", "-", b, "tools/call"))
	// The clock of the access log is 5 s ahead, as its line about the initialize of A
	// shows: the request came before B was made, or after.
	f("fallback_resolution probable", made("10.000", a)+made("20.000", b), access("15", "-", a, "initialize")+access("23", "-", a, "tools/call"))
	f("fallback_resolution confirmed", made("10.000", a)+made("11.000", b), access("15", "-", a, "initialize")+access("23", "-", a, "tools/call"))
	// The day of a clock without a date is a guess, and gives no order.
	f("fallback_resolution probable", made("10.000", a)+made("11.000", b),
		`22:20:43.500 INFO session_resolved mcp_session_id=`+a+` source=fallback`+"\n")

	// An update goes to B, whose subscription stands in another log, in the same second.
	subscribes := func(at, id string) string {
		return `{"time":"2026-07-19T22:20:` + at + `Z","level":"INFO","msg":"resource subscribed","uri":"file:///a","session_id":"` + id + `"}` + "\n"
	}
	updates := func(at, id string) string {
		return `{"time":"2026-07-19T22:20:` + at + `Z","level":"DEBUG","msg":"rpc send","session_id":"` + id + `","kind":"notification","rpc_method":"notifications/resources/updated","uri":"file:///a"}` + "\n"
	}
	other := made("09.000", "2c3d4e5f60718293a4b5c6d7e8f90a1b") // so that the second log is about MCP
	both := made("10.000", a) + made("11.000", b) + subscribes("12.000", a)
	f("subscription_bleed confirmed", both+updates("43.500", a)+updates("43.500", b))
	f("subscription_bleed confirmed", both+updates("43.500", a)+updates("43.500", b), other+subscribes("50", b))
	f("", both+updates("43.500", a)+updates("43.500", b), other+subscribes("43", b))
	f("", both+updates("43.500", a)+updates("43.500", b), other+subscribes("20", b))
	many := strings.Repeat(updates("43.500", b), 3000) // more than are kept waiting
	f("subscription_bleed confirmed", both+many, other+subscribes("50", b))
	f("", both+many, other+subscribes("20", b))
}
