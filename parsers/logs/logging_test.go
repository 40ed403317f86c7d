package logs

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers/source"
)

// TestLoggedTraffic holds what is read of the logs that proxies and servers wrote with
// the configurations and emitters of docs/logging.md. Behind each was the same traffic:
// two sessions that list tools and call one, a call that names none and is given the
// second one, and the end of both.
func TestLoggedTraffic(t *testing.T) {
	const clock = "15:04:05.999999999"
	f := func(file string, methods, ids bool) {
		t.Helper()
		log, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		events, _ := scan(t, log, source.Options{})
		var sessions, at []string
		stray := 0
		for _, e := range events {
			at = append(at, regexp.MustCompile(` t=(\S+)`).FindStringSubmatch(e)[1])
			if id := regexp.MustCompile(` answered=(\S+)`).FindStringSubmatch(e); id != nil && id[1] != "absent" && !slices.Contains(sessions, id[1]) {
				sessions = append(sessions, id[1])
			}
			if !strings.Contains(e, " ua=e2e-stray/1") || !strings.Contains(e, " request_done ") {
				continue
			}
			stray++
			if !strings.Contains(e, " asked=absent answered="+sessions[1]+" ") ||
				strings.Contains(e, " method=tools/call") != methods || regexp.MustCompile(` id="?9"? `).MatchString(e+" ") != ids {
				t.Errorf("%s: the call without a session is read as %s", file, e)
			}
		}
		if stray != 1 || len(sessions) != 2 {
			t.Errorf("%s: %d calls without a session, sessions %q", file, stray, sessions)
		}
		if methods {
			for _, m := range []string{"initialize", "notifications/initialized", "tools/list"} {
				if !strings.Contains(strings.Join(events, "\n"), " method="+m+" ") {
					t.Errorf("%s: no %s", file, m)
				}
			}
		}
		slices.Sort(at)
		first, _ := time.Parse(clock, at[0])
		last, _ := time.Parse(clock, at[len(at)-1])
		if d := last.Sub(first); d < 800*time.Millisecond || d > 2*time.Second { // two rounds of calls, 400 ms each
			t.Errorf("%s: it lasted %v", file, d)
		}
	}
	f("docs_nginx.jsonl", true, false)
	f("docs_nginx_body.jsonl", true, true)
	f("docs_apache.log", false, false)
	f("docs_haproxy.jsonl", true, true)
	f("docs_caddy.jsonl", false, false)
	f("docs_traefik.jsonl", false, false)
	f("docs_envoy.jsonl", true, true)
	f("envoy.log", true, true)
	f("emitter_asgi.jsonl", true, true)
	f("emitter_express.jsonl", true, true)
	f("emitter_nethttp.jsonl", true, true)
}
