package pcap

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
	"github.com/isodetect/isodetect/parsers/source"
)

// Whatever a file holds, reading it ends, keeps its counts and does not panic.
func FuzzRead(f *testing.F) {
	rec := record(func(c *pcaptest.Conn) { c.Segment = 150; talk(c) })
	v6 := pcaptest.Recording{}
	talk(v6.Conn("[fd00::2]:40000", "[fd00::1]:8080"))
	for _, form := range []pcaptest.File{
		{Link: pcaptest.Ethernet}, {Link: pcaptest.SLL2, Nano: true, Big: true}, {Link: pcaptest.Null, Mod: true}, {Link: pcaptest.Raw, Snap: 100},
		{Link: pcaptest.Ethernet, NG: true}, {Link: pcaptest.SLL, NG: true, Kind: 3, VLAN: []uint16{0x8100}}, {Link: pcaptest.Loop, NG: true, Kind: 2, Big: true},
	} {
		f.Add(form.Encode(rec.Packets))
		f.Add(form.Encode(v6.Packets))
	}
	f.Fuzz(func(t *testing.T, file []byte) { readWhole(t, file, nil) })
}

func readWhole(t *testing.T, file []byte, keys *keylog.Log) {
	in := &source.Input{Path: "fuzz", Opener: inMemory(file)}
	r, err := Format.Open([]*source.Input{in}, source.Options{TLSKeys: keys})
	if err != nil {
		return
	}
	defer r.Close()
	for n := 0; ; n++ {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if n > 100*len(file)+1000 {
			t.Fatalf("%d events of %d bytes", n, len(file))
		}
	}
	s := in.Stats
	if s.Records != s.Used+s.Ignored+s.Malformed {
		t.Fatalf("%d records, but %d used + %d ignored + %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
	}
	asm := r.(*reader).asm
	if asm.ahead != 0 || asm.texts != 0 || asm.h2s != 0 || asm.tables != 0 || len(asm.conns) != 0 || asm.live.n+asm.rest.n != 0 {
		t.Fatalf("left over: %d bytes ahead, %d bytes of texts, %d connections, %d of HTTP/2, %d bytes of tables", asm.ahead, asm.texts, len(asm.conns), asm.h2s, asm.tables)
	}
}

// The same for conversations whose packets are lost, moved and damaged.
func FuzzPackets(f *testing.F) {
	f.Add([]byte{0, 9, 1, 1, 12, 30, 2, 15, 200, 3, 20, 2, 4, 9, 17, 5, 22, 90}, uint16(0))
	f.Add([]byte{3, 8, 1, 4, 4, 30, 0, 11, 0}, uint16(120))
	f.Fuzz(func(t *testing.T, plan []byte, snap uint16) {
		rec := record(func(c *pcaptest.Conn) { c.Segment = 150; talk(c) })
		p := rec.Packets
		for ; len(plan) >= 3 && len(p) > 1; plan = plan[3:] {
			i, by := int(plan[1])%len(p), int(int8(plan[2]))
			switch plan[0] % 6 {
			case 0:
				p = append(p[:i], p[i+1:]...)
			case 1:
				p[i].Seq += uint32(by)
			case 2:
				p[i].Ack += uint32(by)
			case 3:
				p[i].Flags ^= 1 << (plan[2] % 5)
			case 4:
				k := int(plan[2]) % len(p)
				p[i], p[k] = p[k], p[i]
			case 5:
				p[i].NS += int64(by) * int64(time.Millisecond)
			}
		}
		readWhole(t, pcaptest.File{Link: pcaptest.Ethernet, Snap: int(snap % 512)}.Encode(p), nil)
	})
}

// Any segmentation, repetition and small disorder of a conversation gives the same events.
func FuzzSegments(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint32(1000))
	f.Add([]byte{200, 0, 255, 13}, uint32(0xffffff80))
	f.Fuzz(func(t *testing.T, plan []byte, isn uint32) {
		if len(plan) == 0 {
			return
		}
		rec := pcaptest.Recording{ISN: isn | 1}
		c := rec.Conn("10.0.0.2:40000", "10.0.0.1:8080")
		c.Segment = 1 + int(plan[0])
		talk(c)
		var out []pcaptest.Packet
		swapped := false // one swap after the other would carry a packet far away
		for i, p := range rec.Packets {
			out = append(out, p)
			switch b := plan[i%len(plan)]; {
			case b&3 == 1:
				out = append(out, rec.Packets[max(0, i-int(b>>2)%16)])
			case b&3 == 2 && !swapped && len(out) > 5 && out[len(out)-2].Flags&(pcaptest.FIN|pcaptest.SYN) == 0:
				n := len(out)
				out[n-1], out[n-2] = out[n-2], out[n-1]
				swapped = true
				continue
			}
			swapped = false
		}
		for i := range out {
			out[i].NS = pcaptest.Base + int64(i)*int64(time.Microsecond)
		}
		expect(t, read(t, ether.Encode(out)).lines, talked)
	})
}
