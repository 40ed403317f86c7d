package scenario

import (
	"bytes"
	"fmt"
)

// Compile turns a trace into a format. ok is false if the scenario has nothing for it.
func (t *Trace) Compile(f Format) (data []byte, ok bool) {
	switch f {
	case Wire:
		return t.Wire(), len(t.Exchanges) > 0
	case HAR:
		return t.HAR(), len(t.Exchanges) > 0
	case Pcap:
		return t.Pcap(), len(t.Exchanges) > 0
	case H2:
		return t.PcapH2(), len(t.Exchanges) > 0
	case Native:
		return t.Native(), len(t.Exchanges) > 0
	case Log:
		return t.Log()
	}
	panic(fmt.Sprintf("BUG: unknown format %q", f))
}

// FileName is a name that fits the format.
func (f Format) FileName() string {
	return map[Format]string{Wire: "wire.jsonl", HAR: "capture.har", Pcap: "capture.pcap", H2: "h2.pcap", Native: "events.jsonl", Log: "server.log"}[f]
}

// Log returns the literal lines of the scenario.
func (t *Trace) Log() ([]byte, bool) {
	var b bytes.Buffer
	for _, h := range t.Happenings {
		if h.Kind == KLine && t.Visible(h) {
			b.WriteString(h.Text)
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), b.Len() > 0
}
