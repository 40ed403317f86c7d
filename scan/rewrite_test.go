package scan_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// A capture can be written in many ways. Recorded traffic is written in each, and
// has to give the very same findings.

// time is when a packet was captured, ns since 1970.
func (c *capture) time(p packet) int64 {
	unit := int64(1000)
	if c.order.Uint32(c.header) == 0xa1b23c4d {
		unit = 1
	}
	return int64(p.sec)*1e9 + int64(p.frac)*unit
}

// written is a capture as the test writer takes it, its times in whole µs, which every format holds.
func (c *capture) written() []pcaptest.Packet {
	var out []pcaptest.Packet
	for _, p := range c.packets {
		net := p.network()
		cut := int(p.length) - len(p.data)
		if n := int(binary.BigEndian.Uint16(net[2:])); net[0]>>4 == 4 && n <= len(net) && cut == 0 {
			net = net[:n] // without the padding of short frames
		}
		out = append(out, pcaptest.Packet{NS: c.time(p) / 1000 * 1000, Raw: net, Cut: cut})
	}
	return out
}

// rewrites are the ways to write a capture.
func rewrites() map[string]func(p []pcaptest.Packet) [][]byte {
	type file = pcaptest.File
	one := func(f file) func([]pcaptest.Packet) [][]byte {
		return func(p []pcaptest.Packet) [][]byte { return [][]byte{f.Encode(p)} }
	}
	all := map[string]func(p []pcaptest.Packet) [][]byte{
		"nanoseconds, big-endian":     one(file{Link: pcaptest.Ethernet, Nano: true, Big: true}),
		"modified":                    one(file{Link: pcaptest.Ethernet, Mod: true}),
		"modified, big-endian":        one(file{Link: pcaptest.Raw, Mod: true, Big: true}),
		"SLL":                         one(file{Link: pcaptest.SLL}),
		"SLL with VLAN":               one(file{Link: pcaptest.SLL, VLAN: []uint16{0x8100}}),
		"SLL2":                        one(file{Link: pcaptest.SLL2, Nano: true}),
		"NULL":                        one(file{Link: pcaptest.Null}),
		"NULL, big-endian":            one(file{Link: pcaptest.Null, Big: true}),
		"LOOP":                        one(file{Link: pcaptest.Loop}),
		"RAW":                         one(file{Link: pcaptest.RawBSD}),
		"IPv4":                        one(file{Link: pcaptest.IPv4}),
		"pcapng":                      one(file{Link: pcaptest.Ethernet, NG: true, Nano: true}),
		"pcapng, big-endian":          one(file{Link: pcaptest.SLL2, NG: true, Nano: true, Big: true}),
		"pcapng of sections":          sections,
		"every packet on two devices": twoDevices,
		"fragments": func(p []pcaptest.Packet) [][]byte {
			var out []pcaptest.Packet
			for i, q := range p {
				if q.Cut > 0 {
					out = append(out, q) // what was cut is not there to be put in fragments
					continue
				}
				for _, b := range pcaptest.Fragments(q.Raw, 552, uint32(i)) {
					out = append(out, pcaptest.Packet{NS: q.NS, Raw: b})
				}
			}
			return [][]byte{file{Link: pcaptest.Ethernet}.Encode(out)}
		},
		"a ring of files": func(p []pcaptest.Packet) (files [][]byte) {
			for part := range slices.Chunk(p, len(p)/6+1) {
				files = append(files, file{Link: pcaptest.Ethernet, Nano: true}.Encode(part))
			}
			return files
		},
		"a ring of files of several kinds": func(p []pcaptest.Packet) (files [][]byte) {
			kinds := []file{{Link: pcaptest.Ethernet, Nano: true}, {Link: pcaptest.SLL2, NG: true, Nano: true}, {Link: pcaptest.Raw, Nano: true, Big: true}}
			for part := range slices.Chunk(p, len(p)/6+1) {
				files = append(files, kinds[len(files)%len(kinds)].Encode(part))
			}
			return files
		},
		"one file per direction": func(p []pcaptest.Packet) [][]byte {
			var up, down []pcaptest.Packet
			for _, q := range p {
				if be := binary.BigEndian; be.Uint16(q.Raw[20:]) > be.Uint16(q.Raw[22:]) {
					up = append(up, q)
				} else {
					down = append(down, q)
				}
			}
			f := file{Link: pcaptest.Ethernet, Nano: true}
			return [][]byte{f.Encode(down), f.Encode(up)}
		},
	}
	for _, w := range pcaptest.Wraps() {
		all[w.Name] = func(p []pcaptest.Packet) [][]byte {
			out := slices.Clone(p)
			for i := range out {
				b := w.Put(p[i].Raw, p[i].Cut)
				if w.Link {
					out[i].Raw, out[i].Link = nil, b
				} else {
					out[i].Raw = b
				}
			}
			return [][]byte{file{Link: pcaptest.Ethernet}.Encode(out)}
		}
	}
	return all
}

// sections writes pcapng sections of different byte order and link type behind one another.
func sections(p []pcaptest.Packet) [][]byte {
	var b []byte
	for i, part := range slices.Collect(slices.Chunk(p, len(p)/3+1)) {
		f := pcaptest.File{NG: true, Nano: true, Big: i%2 == 1, Link: []int{pcaptest.Ethernet, pcaptest.SLL, pcaptest.Raw}[i%3]}
		b = append(b, f.Encode(part)...)
	}
	return [][]byte{b}
}

// twoDevices writes every packet twice, as a capture on "any" sees it on a bridge
// and on its port.
func twoDevices(p []pcaptest.Packet) [][]byte {
	var twice []pcaptest.Packet
	for _, q := range p {
		again := q
		again.NS += 3000
		twice = append(twice, q, again)
	}
	slices.SortStableFunc(twice, func(a, b pcaptest.Packet) int { return int(a.NS - b.NS) })
	return [][]byte{pcaptest.File{Link: pcaptest.SLL2, Nano: true}.Encode(twice)}
}

func TestHowACaptureIsWrittenChangesNothing(t *testing.T) {
	ways := rewrites()
	eachCapture(t, func(t *testing.T, in input) {
		packets := readCapture(t, in.path).written()
		plain := pcaptest.File{Link: pcaptest.Ethernet}.Encode(packets)
		again := run(t, in.options(scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(plain)}))
		same(t, in.path+" written again", judged(again), judged(run(t, in.options(scan.Options{Paths: []string{in.path}}))))
		want := found(again)
		for name, write := range ways {
			files := write(packets)
			opt := in.options(scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(files[0])})
			if len(files) > 1 {
				opt = in.options(scan.Options{Paths: ring(t, files)})
			}
			same(t, in.path+" as "+name, found(run(t, opt)), want)
		}
	})
}

// ring writes the files of a recording.
func ring(t *testing.T, files [][]byte) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for i, b := range files {
		path := filepath.Join(dir, fmt.Sprintf("capture-%d.pcap", len(files)-i)) // their names tell no order
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// A finding stays when packets are lost on which it does not rest: those of its
// evidence, and those that could hide what it says never happened.
func TestFindingsSurviveLossElsewhere(t *testing.T) {
	tried := 0
	for _, in := range inputs(t, 400<<10, ".pcap") {
		c := readCapture(t, in.path)
		whole := run(t, in.options(scan.Options{Paths: []string{in.path}}))
		for _, f := range whole.Findings {
			if f.Strength < signals.Probable || f.Rejected != "" {
				continue
			}
			free := c.spare(&f, in.want.Needs == "")
			for seed := range *damageSeeds {
				tried += survives(t, in, c, &f, free, seed)
			}
		}
	}
	if thin == 1 && tried < 20 {
		t.Errorf("only %d findings were tried", tried)
	}
}

// survives drops half of the packets that are free and looks for the finding.
func survives(t *testing.T, in input, c *capture, f *signals.Finding, free []bool, seed int) int {
	t.Helper()
	rng := chances(in.path+f.Signal.Name, seed)
	var kept []packet
	for i, p := range c.packets {
		if !free[i] || rng.IntN(2) == 0 {
			kept = append(kept, p)
		}
	}
	if len(kept) == len(c.packets) {
		return 0
	}
	res := run(t, in.options(scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(c.with(kept))}))
	if !shows(res, f) {
		t.Errorf("%s, seed %d, %d of %d packets dropped: lost %s %s %s", in.path, seed, len(c.packets)-len(kept), len(c.packets), f.Signal.Name, f.Variant, sessionsOf(f))
	}
	return 1
}

// spare tells which packets a finding does not rest on: acknowledgements without
// payload, and, where the test can read who speaks, what answers say on connections
// that carried none of its parties, and all that came well after it.
func (c *capture) spare(f *signals.Finding, readable bool) []bool {
	packets := c.packets
	evidence := map[int64]bool{}
	for _, e := range f.Evidence {
		evidence[e.At.N] = true
	}
	concerned := map[flow]bool{}
	for i, p := range packets {
		t, ok := p.tcp()
		if !ok {
			continue
		}
		touches := evidence[int64(i+1)]
		for _, q := range f.Parties {
			touches = touches || q.Session != "" && bytes.Contains(t.body, []byte(q.Session))
		}
		if touches {
			concerned[t.flow], concerned[t.flow.back()] = true, true
		}
	}
	free := make([]bool, len(packets))
	for i, p := range packets {
		t, ok := p.tcp()
		late := c.time(p) > f.Last+10e9
		switch {
		case !ok || t.flags&7 != 0:
		case t.payload == 0:
			free[i] = true
		case !readable:
		case late:
			free[i] = true
		case !concerned[t.flow] && !bytes.Contains(t.body, []byte("HTTP/1.1")):
			free[i] = true
		}
	}
	return free
}

// One capture that holds both sides of a proxy shows what two captures show, in two domains.
func TestBothSidesOfAProxyAreTwoDomains(t *testing.T) {
	tried := 0
	for _, in := range inputs(t, 400<<10, ".pcap") {
		other := filepath.Join(filepath.Dir(in.path), "capture_upstream.pcap")
		if _, err := os.Stat(other); err != nil || in.path == other {
			continue
		}
		front, back := readCapture(t, in.path).written(), readCapture(t, other).written()
		f := pcaptest.File{Link: pcaptest.SLL2}
		both := slices.Concat(front, back)
		slices.SortStableFunc(both, func(a, b pcaptest.Packet) int { return int(a.NS - b.NS) })
		read := func(p []pcaptest.Packet) *verdict.Result {
			return run(t, in.options(scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(f.Encode(p))}))
		}
		one, a, b := read(both), read(front), read(back)
		if len(one.Domains) != len(a.Domains)+len(b.Domains) || len(one.Domains) < 2 {
			t.Errorf("%s: %d domains, apart %d and %d", in.path, len(one.Domains), len(a.Domains), len(b.Domains))
		}
		for _, side := range []*verdict.Result{a, b} {
			if lost := lostOf(side, one); lost != "" {
				t.Errorf("%s: both sides in one capture: lost %s", in.path, lost)
			}
		}
		if len(one.Findings) != len(a.Findings)+len(b.Findings) {
			t.Errorf("%s: %d findings, apart %d and %d", in.path, len(one.Findings), len(a.Findings), len(b.Findings))
		}
		tried++
	}
	if thin == 1 && tried == 0 {
		t.Error("no recording of both sides of a proxy was tried")
	}
}
