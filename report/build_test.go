package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

func TestBuildShow(t *testing.T) {
	res, in := incident()
	res.Findings[1].Strength, res.Findings[1].Fails = signals.Possible, false
	f := func(words string, findings, notes int) {
		t.Helper()
		show, err := ParseShow(strings.Split(words, ","))
		if err != nil {
			t.Fatal(err)
		}
		r := Build(res, in, Options{Show: show})
		hidden := 0
		for _, n := range r.Hidden {
			hidden += n
		}
		if len(r.Findings) != findings || len(r.Notes) != notes || findings+notes+hidden != 5 {
			t.Errorf("--show %s: %d findings, %d notes, hidden %v", words, len(r.Findings), len(r.Notes), r.Hidden)
		}
	}
	f("", 1, 0)
	f("possible", 2, 0)
	f("hazard", 2, 0)
	f("rejected", 2, 0)
	f("notes", 1, 1)
	f("possible,hazard,rejected,notes", 4, 1)
	for i := range res.Findings { // what fails the run is shown
		res.Findings[i].Fails = res.Findings[i].Strength >= signals.Possible && res.Findings[i].Rejected == ""
	}
	f("", 2, 0)
	if _, err := ParseShow([]string{"everything"}); err == nil {
		t.Error("an unknown word was accepted")
	}
}

func TestJSONHasNoNull(t *testing.T) {
	res := &verdict.Result{Domains: []verdict.Domain{{}}, Findings: []signals.Finding{{Signal: signals.SharedSession, Strength: signals.Probable, Evidence: []signals.Evidence{{}}}}}
	var b bytes.Buffer
	if err := JSON(&b, Build(res, []*source.Input{{}}, Options{})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "null") {
		t.Errorf("null in %s", b.String())
	}
	if !json.Valid(b.Bytes()) {
		t.Error("no JSON")
	}
}

func TestLocate(t *testing.T) {
	f := func(path string, wrappers []string, unit event.Unit, n int64, want string) {
		t.Helper()
		in := &source.Input{Path: path, Stats: source.Stats{Wrappers: wrappers}}
		if got := locate(in, event.Address{Unit: unit, N: n}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f("logs/a.log", nil, event.UnitLine, 12, "sed -n 12p logs/a.log")
	f("a.har", nil, event.UnitEntry, 4, "jq '.log.entries[4]' a.har")
	f("a.pcap", nil, event.UnitFrame, 7, "frame.number == 7")
	f("-", nil, event.UnitLine, 7, "")
	f("a b.log", nil, event.UnitLine, 1, "sed -n 1p 'a b.log'")
	f("it's $(rm -rf x).log", nil, event.UnitLine, 1, `sed -n 1p 'it'\''s $(rm -rf x).log'`)
	f("-n", nil, event.UnitLine, 1, "sed -n 1p './-n'")
	f("-n x", nil, event.UnitLine, 1, "sed -n 1p './-n x'")
	f("a\x1b'b", nil, event.UnitLine, 1, `sed -n 1p $'a\x1b\'b'`)
	f("a\x01\\';touch x;#", nil, event.UnitLine, 1, `sed -n 1p $'a\x01\\\';touch x;#'`)
	f("\xff\u202eé", nil, event.UnitLine, 1, `sed -n 1p $'\xff\xe2\x80\xaeé'`)
	f("\x01f", nil, event.UnitLine, 1, `sed -n 1p $'\x01'$'f'`) // not \x01f
	f("a.log.gz", []string{"docker", "gzip"}, event.UnitLine, 3, "gzip -dc a.log.gz | sed -n 3p")
	f("a.har.zst", []string{"zstd"}, event.UnitEntry, 3, "zstd -dc a.har.zst | jq '.log.entries[3]'")
	f("a.log.gz.bz2", []string{"bzip2", "gzip"}, event.UnitLine, 3, "bzip2 -dc a.log.gz.bz2 | gzip -dc | sed -n 3p")
	f("w.log", []string{"utf-16le"}, event.UnitLine, 3, "iconv -f utf-16 w.log | sed -n 3p")
}

func TestNaturally(t *testing.T) {
	if naturally("S2 x", "S10 a") >= 0 || naturally("S10", "S2") <= 0 || naturally("S2", "S2") != 0 || naturally("P1", "S1") >= 0 {
		t.Error("S2 does not come before S10")
	}
}
