package pcap

import (
	"strings"
	"testing"
	"time"
)

// Bytes behind a hole that might begin a frame, again and again, cost time in
// proportion to their number.
func TestH2SearchTime(t *testing.T) {
	search := func(n int) time.Duration {
		rec := talkH2(func(t *h2Talk) {
			t.NoAck = true
			t.up.get(1, "a")
			t.send()
			t.Skip(toServer, 10)
			t.Segment = 100
			t.Send(t.at+ms, toServer, strings.Repeat("\x00\x3f\xff\x01\x04\x00\x00\x00\x09.", n/10))
			t.Ack(t.at+10*ms, toClient)
		})
		file := ether.Encode(rec.Packets)
		begun := time.Now()
		read(t, file)
		return time.Since(begun)
	}
	search(100_000)
	short, long := search(200_000), search(1_600_000)
	if long > 40*short {
		t.Errorf("8 times the bytes take %v instead of %v", long, short)
	}
	if long > 20*time.Second {
		t.Errorf("1.6 MB take %v", long)
	}
}
