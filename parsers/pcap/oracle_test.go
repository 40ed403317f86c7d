package pcap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/reassembly"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

// The oracle reads the same packets with gopacket's layers and reassembly and
// with net/http, none of which this package uses.
func TestAgainstGopacket(t *testing.T) {
	for seed := range int64(60) {
		rnd := rand.New(rand.NewSource(seed))
		packets := scramble(rnd, shuffledTalk(rnd))
		want := oracle(t, packets)
		var got []string
		for _, ev := range read(t, ether.Encode(packets)).events {
			if ev.Kind == event.Message {
				got = append(got, messageLine(ev.Dir == event.ToServer, ev.RPC.ID))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
			t.Fatalf("seed %d: messages differ (-oracle +got):\n%s", seed, d)
		}
	}
}

func messageLine(up bool, id mcp.ID) string { return fmt.Sprintf("up=%v %s", up, id) }

// shuffledTalk is a few connections with requests and answers of random size and framing.
func shuffledTalk(rnd *rand.Rand) []pcaptest.Packet {
	rec := pcaptest.Recording{ISN: rnd.Uint32() | 1}
	for k := range 3 {
		c := rec.Conn(fmt.Sprintf("10.0.0.2:4%04d", k), "10.0.0.1:8080")
		c.Segment = 1 + rnd.Intn(200)
		at := time.Duration(k) * time.Second
		c.Open(at)
		for i := range 10 {
			id := k*100 + i
			at += 40 * ms
			c.Send(at, toServer, post("s", call(id)))
			body := jsonResponse(answer(id))
			if rnd.Intn(2) == 0 {
				all := answer(id)
				n := 1 + rnd.Intn(len(all)-1)
				body = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(all[:n]) + chunk(all[n:]) + "0\r\n\r\n"
			}
			c.Send(at+20*ms, toClient, body)
		}
		c.Close(at+40*ms, toServer)
	}
	return rec.Packets
}

// scramble swaps neighbours, repeats packets, and makes some overlap the one before.
func scramble(rnd *rand.Rand, in []pcaptest.Packet) []pcaptest.Packet {
	var out []pcaptest.Packet
	for i, p := range in {
		out = append(out, p)
		if i > 0 && len(p.Payload) > 0 && rnd.Intn(4) == 0 {
			for j := i - 1; j >= 0 && j > i-6; j-- {
				if q := in[j]; q.Src == p.Src && q.Seq+uint32(len(q.Payload)) == p.Seq && len(q.Payload) > 0 {
					n := 1 + rnd.Intn(len(q.Payload))
					both := p
					both.Seq -= uint32(n)
					both.Payload = slices.Concat(q.Payload[len(q.Payload)-n:], p.Payload)
					out = append(out, both)
					break
				}
			}
		}
		if rnd.Intn(5) == 0 {
			out = append(out, out[max(0, len(out)-1-rnd.Intn(8))])
		}
	}
	for i := 4; i+1 < len(out); i++ {
		a, b := &out[i], &out[i+1]
		if a.Flags&(pcaptest.SYN|pcaptest.FIN) == 0 && b.Flags&(pcaptest.SYN|pcaptest.FIN) == 0 && a.Src == b.Src && rnd.Intn(3) == 0 {
			*a, *b = *b, *a
		}
	}
	for i := range out { // in the order of the file
		out[i].NS = pcaptest.Base + int64(i)*1000
	}
	return out
}

func oracle(t *testing.T, packets []pcaptest.Packet) []string {
	t.Helper()
	f := &streams{}
	asm := reassembly.NewAssembler(reassembly.NewStreamPool(f))
	for i := range packets {
		pkt := gopacket.NewPacket(ether.Frame(&packets[i]), layers.LayerTypeEthernet, gopacket.Default)
		tcp, ok := pkt.TransportLayer().(*layers.TCP)
		if !ok {
			t.Fatalf("gopacket finds no TCP in packet %d: %v", i, pkt.ErrorLayer())
		}
		asm.AssembleWithContext(pkt.NetworkLayer().NetworkFlow(), tcp, place{gopacket.CaptureInfo{Timestamp: time.Unix(0, packets[i].NS)}})
	}
	asm.FlushAll()
	var out []string
	for _, s := range f.all {
		out = append(out, s.messages(t)...)
	}
	return out
}

type place struct{ ci gopacket.CaptureInfo }

func (p place) GetCaptureInfo() gopacket.CaptureInfo { return p.ci }

type streams struct{ all []*stream }

func (f *streams) New(_, _ gopacket.Flow, _ *layers.TCP, _ reassembly.AssemblerContext) reassembly.Stream {
	s := &stream{}
	f.all = append(f.all, s)
	return s
}

type stream struct{ up, down bytes.Buffer }

func (s *stream) Accept(*layers.TCP, gopacket.CaptureInfo, reassembly.TCPFlowDirection, reassembly.Sequence, *bool, reassembly.AssemblerContext) bool {
	return true
}

func (s *stream) ReassembledSG(sg reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	n, _ := sg.Lengths()
	if dir, _, _, _ := sg.Info(); dir == reassembly.TCPDirClientToServer {
		s.up.Write(sg.Fetch(n))
	} else {
		s.down.Write(sg.Fetch(n))
	}
}

func (s *stream) ReassemblyComplete(reassembly.AssemblerContext) bool { return false }

func (s *stream) messages(t *testing.T) (out []string) {
	t.Helper()
	id := func(up bool, body io.Reader) {
		raw, err := io.ReadAll(body)
		var m mcp.Message
		if err == nil {
			err = mcp.ParseMessage(raw, &m)
		}
		if err != nil {
			t.Fatalf("the oracle cannot read %q: %v", raw, err)
		}
		out = append(out, messageLine(up, m.ID))
	}
	up, down := bufio.NewReader(&s.up), bufio.NewReader(&s.down)
	for {
		r, err := http.ReadRequest(up)
		if err != nil {
			break
		}
		id(true, r.Body)
	}
	for {
		r, err := http.ReadResponse(down, nil)
		if err != nil {
			break
		}
		id(false, r.Body)
	}
	return out
}
