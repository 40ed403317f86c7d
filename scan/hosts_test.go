package scan_test

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
)

// A healthy server with sessions and a healthy one without, behind one ingress, stay
// two healthy servers. Taken for one, calls without a session look like a fallback.
func TestServersBehindOneIngress(t *testing.T) {
	for _, name := range []string{"ts-c06_resume_last_event_id", "ts-c09_late_and_own_cancels", "go-h10-late-cancel-race", "go-h08-resume-last-event-id", "go-h21-cancel-coincidence"} {
		with := behindIngress(t, name, "a.example", 0)
		without := behindIngress(t, "ts-c02_stateless", "b.example", 0x4000)
		for i := range without {
			without[i].NS += with[0].NS - without[0].NS
		}
		both := slices.Concat(with, without)
		slices.SortStableFunc(both, func(a, b pcaptest.Packet) int { return int(a.NS - b.NS) })
		res := run(t, scan.Options{Paths: []string{"-"}, Stdin: bytes.NewReader(pcaptest.File{Link: pcaptest.Ethernet, Nano: true}.Encode(both))})
		for _, f := range res.Findings {
			if f.Strength >= signals.Probable {
				t.Errorf("%s beside a stateless server: %s, %s", name, f.Signal.Name, f.Summary)
			}
		}
		if n := len(res.Domains); n != 2 {
			t.Errorf("%s beside a stateless server: %d domains, want 2", name, n)
		}
	}
}

// behindIngress is the capture of a case as one of many servers behind port 8080: its
// requests name the host, its clients have other ports.
func behindIngress(t *testing.T, name, host string, ports uint16) []pcaptest.Packet {
	t.Helper()
	packets := readCapture(t, filepath.Join("..", "testdata", "cases", name, "capture.pcap")).written()
	server := uint16(0)
	for i := range packets {
		p := packets[i].Raw
		tcp := p[int(p[0]&15)*4:]
		for k := range 2 {
			port := tcp[2*k:]
			if server == 0 { // the first packet of a capture goes to the server
				server = binary.BigEndian.Uint16(tcp[2:])
			}
			switch binary.BigEndian.Uint16(port) {
			case server:
				binary.BigEndian.PutUint16(port, 8080)
			default:
				binary.BigEndian.PutUint16(port, binary.BigEndian.Uint16(port)^ports)
			}
		}
		for _, at := range [][]byte{[]byte("\r\nHost: "), []byte("\r\nhost: ")} {
			if k := bytes.Index(p, at); k >= 0 {
				copy(p[k+len(at):], host) // as long as the address that stands there
			}
		}
	}
	return packets
}
