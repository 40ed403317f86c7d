package rotation

import (
	"fmt"
	"testing"
)

func TestPartOf(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		p := PartOf(name)
		got := fmt.Sprintf("%s %s %d", p.Log, p.Date, p.Number)
		if p.Unsure {
			got += " unsure"
		}
		if got != want {
			t.Errorf("PartOf(%q) = %s, want %s", name, got, want)
		}
	}
	f("d/x.log", "d/x.log  0")
	f("d/x.log.gz", "d/x.log  0")
	f("d/x.log.1", "d/x.log  2")
	f("d/x.log.0", "d/x.log  1")
	f("d/x.log.2.gz", "d/x.log  3")
	f("d/x.log.old", "d/x.log  1")
	f("d/x.log.old.3", "d/x.log  4")
	f("x.log-20260719", "x.log 20260719 0")
	f("x.log-20260719.zst", "x.log 20260719 0")
	f("x.log.2026-07-19", "x.log 20260719 0")
	f("x.log.2026-07-19.1", "x.log 20260719 2")
	f("x.log-2026-07-19_22.gz", "x.log 2026071922 0")
	f("x-20260719.log.zst", "x.log 20260719 0")
	f("x.2026-07-19.log", "x.log 20260719 0")
	f("2026-07-19-x.log", "x.log 20260719 0")
	f("2026-07-19.log", "*.log 20260719 0")
	f("0.log.20260719-222000.gz", "0.log 20260719222000 0")
	f("0.log", "0.log  0")
	f("1.log", "1.log  0")
	f("9f86d081-json.log.1.gz", "9f86d081-json.log  2")
	f("data-2026-07-19T22-20-00.000.json", "data.json 20260719222000000 0")
	f("data.json", "data.json  0")
	f("x.1.log", "x.log  2 unsure")
	f("web.1", "web  2 unsure")
	f("syslog.1", "syslog  2")
	// No rotation gives these names.
	f("server.debug.log", "server.debug.log  0")
	f("server-1.log", "server-1.log  0")
	f("x.log.1234", "x.log.1234  0")
	f("x-20269919.log", "x-20269919.log  0")
	f("x-202607191.log", "x-202607191.log  0")
	f("call-20260719-4711.pcap", "call-20260719-4711.pcap  0")
	f("", "  0")
	f(".gz", ".gz  0")
	f("1", "1  0")
	f("2026-07-19", "2026-07-19  0")
	f(".1", ".1  0")
	f("-20260719.log", "-20260719.log  0")
}

func TestOlder(t *testing.T) {
	f := func(a, b string) {
		t.Helper()
		x, y := PartOf(a), PartOf(b)
		if Older(x, y) >= 0 || Older(y, x) <= 0 {
			t.Errorf("%s is not older than %s", a, b)
		}
	}
	f("x.log.10", "x.log.9")
	f("x.log.1", "x.log")
	f("x.log-20260719", "x.log-20260720")
	f("x.log-20260720.gz", "x.log")
	f("0.log.20260719-222000.gz", "0.log.20260719-232000")
}

func FuzzPartOf(f *testing.F) {
	f.Add("d/x.log-2026-07-19.1.gz")
	f.Fuzz(func(t *testing.T, name string) {
		if p := PartOf(name); p.Rotated() && p.Log == name {
			t.Fatalf("PartOf(%q) is its own log: %+v", name, p)
		}
	})
}
