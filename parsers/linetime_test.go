package parsers

import (
	"testing"
	"time"
)

func TestLineTime(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		written := time.Date(2026, 7, 20, 1, 0, 0, 0, time.UTC).UnixNano()
		got := ""
		if ns := LineTime("x.log", written, []byte(line), Options{}); ns != 0 {
			got = time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.999")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	f(`{"time":"2026-07-19T22:20:43.1Z","msg":"x"}`, "2026-07-19T22:20:43.1")
	f(`{"isodetect":"1","time":"2026-07-19T22:20:43.1Z","event.name":"mcp.session.created"}`, "2026-07-19T22:20:43.1")
	f(`{"ts":"2026-07-19T22:20:43.2Z","x":"x1","k":"close","by":"server"}`, "2026-07-19T22:20:43.2")
	f(`{"k":"close","x":"x1","by":"server","ts":"2026-07-19T22:20:43.2Z"}`, "2026-07-19T22:20:43.2")
	f(`level=info ts=2026-07-19T22:20:43.3Z msg=x`, "2026-07-19T22:20:43.3")
	f(`2026-07-19 22:20:43,400 - mcp - INFO - x`, "2026-07-19T22:20:43.4")
	f(`2026-07-19T22:20:43.5Z stdout F hello`, "2026-07-19T22:20:43.5")
	f(`10.0.0.1 - - [19/Jul/2026:22:20:43 +0000] "POST /mcp HTTP/1.1" 200 5 "-" "node"`, "2026-07-19T22:20:43")
	f(`Jul 19 22:20:43 host notes[1]: hello`, "2026-07-19T22:20:43")
	f(`Traceback (most recent call last):`, "")
	f(`{"schema":"isodetect/wire/v1","creator":"x"}`, "")
	f(``, "")
}
