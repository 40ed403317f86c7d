// Package pcap reads packet captures (pcap and pcapng): files become frames,
// frames TCP streams, streams exchanges of HTTP/1.1 and HTTP/2, through TLS where
// its secrets are known, and exchanges events.
//
// A capture tells everything and loses things: packets are missing, doubled, cut
// and out of order. Whatever is missing becomes a Gap and a loss flag, so that a
// hole is never read as "no header" or "never answered".
package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/isodetect/isodetect/parsers/source"
)

const formatName = "pcap"

// Format is the capture format. All captures of one run are one recording:
// their packets are merged by time.
var Format = source.Format{
	Name:    formatName,
	Title:   "packet capture, pcap or pcapng, with HTTP/1.1 or HTTP/2, in the clear or in TLS with its secrets (tcpdump, dumpcap, Wireshark)",
	Checked: "real",
	Carries: "every signal: both directions, all connections, true order and client addresses",
	Group:   true,
	Sniff:   sniff,
	Open:    open,
}

// sniff knows the magic numbers of both formats, in both byte orders.
func sniff(head []byte, _ bool) int {
	if len(head) < 4 {
		return 0
	}
	if binary.BigEndian.Uint32(head) == blockSection {
		if len(head) < 12 {
			return 60
		}
		if _, ok := sectionOrder(head[8:12]); ok {
			return 100
		}
		return 0
	}
	layout, ok := layoutOf(head)
	switch {
	case !ok:
		return 0
	case len(head) < 6:
		return 60
	case layout.order.Uint16(head[4:]) != 2: // every file since 1998 is version 2.4
		return 20
	}
	return 100
}

func open(in []*source.Input, opt source.Options) (source.Reader, error) {
	if len(in) == 0 {
		return nil, errors.New("cannot open a capture: no input was given")
	}
	r := &reader{in: in}
	r.keys.file = opt.TLSKeys
	var firstErr error
	size := bufferSize(len(in))
	for i, input := range in {
		f, err := openFile(input, i, size, &r.keys.embedded)
		if err != nil {
			err = fmt.Errorf("cannot read capture %s: %w", input.Path, err)
			if firstErr == nil {
				firstErr = err
			}
			input.Stats.Err = err.Error()
			continue
		}
		r.files = append(r.files, f)
	}
	if len(r.files) == 0 {
		return nil, firstErr
	}
	for _, input := range in {
		input.Stats.Format = formatName
	}
	r.start()
	return r, nil
}

// bufferSize shares 64 MiB among the files of one recording.
func bufferSize(files int) int {
	return max(64<<10, min(1<<20, 64<<20/files))
}
