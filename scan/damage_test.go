package scan_test

import (
	"bytes"
	"flag"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Captures are lossy. These tests take recorded traffic apart in every way that
// captures suffer from and demand that nobody new is accused, and that a finding
// stays whose evidence and whose proof of absence are untouched.

var damageSeeds = flag.Int("damage", 1, "how often every recorded capture is damaged in every way, each time by other chances")

// damage is one way in which a capture suffers.
type damage struct {
	name string
	do   func(rng *rand.Rand, p []packet) []packet
	mild bool // nothing is missing: what is found stays
}

func lose(share float64) func(*rand.Rand, []packet) []packet {
	return func(rng *rand.Rand, p []packet) []packet {
		return slices.DeleteFunc(slices.Clone(p), func(packet) bool { return rng.Float64() < share })
	}
}

func snap(n int) func(*rand.Rand, []packet) []packet {
	return func(_ *rand.Rand, p []packet) []packet {
		p = slices.Clone(p)
		for i := range p {
			p[i].data = p[i].data[:min(n, len(p[i].data))]
		}
		return p
	}
}

var damages = []damage{
	{"1 % lost", lose(0.01), false},
	{"5 % lost", lose(0.05), false},
	{"20 % lost", lose(0.2), false},
	{"snap length 96", snap(96), false},
	{"snap length 200", snap(200), false},
	{"snap length 400", snap(400), false},
	{"late start", func(rng *rand.Rand, p []packet) []packet { return p[rng.IntN(len(p)):] }, false},
	{"early end", func(rng *rand.Rand, p []packet) []packet { return p[:1+rng.IntN(len(p)-1)] }, false},
	{"late start and loss", func(rng *rand.Rand, p []packet) []packet { return lose(0.03)(rng, p[rng.IntN(len(p)/2):]) }, false},
	{"a hole", func(rng *rand.Rand, p []packet) []packet {
		a := rng.IntN(len(p))
		return slices.Delete(slices.Clone(p), a, min(len(p), a+1+rng.IntN(40)))
	}, false},
	{"one direction", func(rng *rand.Rand, p []packet) []packet { return oneSided(p, rng.IntN(2) == 0) }, false},
	{"one direction of some connections", func(rng *rand.Rand, p []packet) []packet {
		return deleteFlows(p, func(flow) bool { return rng.IntN(6) == 0 })
	}, false},
	{"some connections only", func(rng *rand.Rand, p []packet) []packet {
		gone := map[flow]bool{}
		return deleteFlows(p, func(f flow) bool {
			if v, ok := gone[f.back()]; ok {
				return v
			}
			gone[f] = rng.IntN(4) == 0
			return gone[f]
		})
	}, false},
	{"handshakes lost", func(_ *rand.Rand, p []packet) []packet {
		return slices.DeleteFunc(slices.Clone(p), func(q packet) bool { f, ok := q.tcp(); return ok && f.flags&2 != 0 })
	}, false},
	{"repeated", func(rng *rand.Rand, p []packet) (out []packet) {
		for _, q := range p {
			out = append(out, q)
			if rng.IntN(3) == 0 {
				out = append(out, q)
			}
		}
		return out
	}, true},
	{"sent again later", func(rng *rand.Rand, p []packet) []packet {
		type late struct {
			packet
			behind int
		}
		var again []late
		var out []packet
		for i, q := range p {
			out = append(out, q)
			again = slices.DeleteFunc(again, func(l late) bool {
				if l.behind > i {
					return false
				}
				l.sec, l.frac = q.sec, q.frac
				out = append(out, l.packet)
				return true
			})
			if f, ok := q.tcp(); ok && f.flags&3 == 0 && rng.IntN(8) == 0 {
				again = append(again, late{q, i + rng.IntN(12)})
			}
		}
		return out
	}, true},
	{"swapped", func(_ *rand.Rand, p []packet) []packet {
		p = slices.Clone(p)
		for i := 0; i+1 < len(p); i += 3 {
			if p[i+1].sec == p[i].sec && p[i+1].frac-p[i].frac < 2000 { // 2 ms: what changes places in a capture is close together
				p[i].data, p[i+1].data = p[i+1].data, p[i].data
				p[i].length, p[i+1].length = p[i+1].length, p[i].length
			}
		}
		return p
	}, true},
	{"acknowledgements lost", func(rng *rand.Rand, p []packet) []packet {
		return slices.DeleteFunc(slices.Clone(p), func(q packet) bool {
			f, ok := q.tcp()
			return ok && f.payload == 0 && f.flags == 0x10 && rng.IntN(4) == 0
		})
	}, true},
}

// Every recorded capture, damaged in every way.
func TestDamagedCaptureRaisesNoFalseAlarm(t *testing.T) {
	eachCapture(t, func(t *testing.T, in input) {
		c := readCapture(t, in.path)
		whole := run(t, in.options(scan.Options{Paths: []string{in.path}}))
		for seed := range *damageSeeds {
			for _, d := range damages {
				rng := chances(in.path+d.name, seed)
				res := run(t, in.options(scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(c.with(d.do(rng, c.packets)))}))
				for _, b := range wrong(res, in.want) {
					t.Errorf("%s, %s, seed %d: %s", in.path, d.name, seed, b)
				}
				for _, f := range worse(whole, res, in.want) {
					t.Errorf("%s, %s, seed %d: %s", in.path, d.name, seed, f)
				}
				if d.mild {
					if lost := lostOf(whole, res); lost != "" {
						t.Errorf("%s, %s, seed %d: lost %s", in.path, d.name, seed, lost)
					}
				}
			}
		}
	})
}

// eachCapture calls f for every recorded capture, several at a time.
func eachCapture(t *testing.T, f func(*testing.T, input)) {
	t.Helper()
	for _, in := range inputs(t, 400<<10, ".pcap") {
		name := filepath.Join(filepath.Base(filepath.Dir(in.path)), filepath.Base(in.path))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, in)
		})
	}
}

// chances are the random numbers of one damage. Every one has its own, so that
// another one beside it changes nothing.
func chances(what string, seed int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), uint64(crc32.ChecksumIEEE([]byte(what)))))
}

// worse returns findings about victims that neither the recording names nor the
// whole capture shows. Who did it may be in a hole, and another be taken for the one.
func worse(whole, res *verdict.Result, want expectation) (bad []string) {
	for _, f := range res.Findings {
		incidents := want.Sessions[f.Signal.Name]
		if f.Strength < signals.Probable || f.Rejected != "" || len(incidents) == 0 {
			continue
		}
		for _, p := range f.Parties {
			if p.Role != signals.Victim || p.Session == "" {
				continue
			}
			known := slices.ContainsFunc(whole.Findings, func(g signals.Finding) bool {
				return g.Signal == f.Signal && slices.ContainsFunc(g.Parties, func(q signals.Party) bool { return q.Session == p.Session })
			})
			if !known && !slices.ContainsFunc(incidents, func(parties []string) bool { return slices.Contains(parties, p.Session) }) {
				bad = append(bad, fmt.Sprintf("%s names %s", f.Signal.Name, partiesOf(&f)))
			}
		}
	}
	return bad
}

// lostOf returns a finding that is at probable or above in whole and not in res.
func lostOf(whole, res *verdict.Result) string {
	for _, f := range whole.Findings {
		if f.Strength >= signals.Probable && f.Rejected == "" && !shows(res, &f) {
			return f.Signal.Name + " " + partiesOf(&f)
		}
	}
	return ""
}

// shows reports whether res holds a finding: its signal, variant and sessions.
func shows(res *verdict.Result, f *signals.Finding) bool {
	return slices.ContainsFunc(res.Findings, func(g signals.Finding) bool {
		return g.Signal == f.Signal && g.Variant == f.Variant && g.Strength >= signals.Probable && sessionsOf(&g) == sessionsOf(f)
	})
}

func sessionsOf(f *signals.Finding) string {
	var all []string
	for _, p := range f.Parties {
		if p.Role != signals.Candidate {
			all = append(all, p.Role.String()+" "+p.Session)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
