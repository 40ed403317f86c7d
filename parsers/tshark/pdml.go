package tshark

import (
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// pdmlPackets reads the packets of a PDML document. encoding/xml knows no entities
// but the five of XML and reads no DTD, so that a document can neither grow nor fetch.
type pdmlPackets struct {
	r      *reader
	in     *bounded
	dec    *xml.Decoder
	fields map[string]field
	n      int64
	depth  int
}

// bounded fails when one token takes more than the limit: the decoder keeps it in memory.
type bounded struct {
	io.Reader
	left int
	err  error // of the input, io.EOF included
}

var errLong = errors.New("one piece of it is over 64 MiB")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errLong
	}
	n, err := b.Reader.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err != nil {
		b.err = err
	}
	return n, err
}

func newPDML(r *reader, in io.Reader) packets {
	b := &bounded{Reader: in}
	p := &pdmlPackets{r: r, in: b, dec: xml.NewDecoder(b), fields: fieldsOf(func(s string) string { return s })}
	p.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return p
}

func (x *pdmlPackets) token() (xml.Token, error) {
	x.in.left = 4 * source.MaxRecord // a value stands as hex and as text
	return x.dec.RawToken()
}

func (x *pdmlPackets) next(p *packet) (event.Address, error) {
	for {
		at := event.Address{Source: x.r.in.Index, Unit: event.UnitFrame, N: x.n + 1, Offset: x.dec.InputOffset()}
		t, err := x.token()
		x.r.stats.Bytes = x.dec.InputOffset()
		if err != nil {
			return at, x.end(at, err)
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "packet" {
			continue
		}
		x.n++
		x.r.stats.Records++
		problem, err := x.packet(p)
		switch {
		case err != nil:
			x.r.stats.Bad(at, "packet is cut or no XML: skipped")
			return at, x.end(at, err)
		case problem != "":
			x.r.bad(at, problem)
			p.reset()
			continue
		}
		if p.frame > 0 {
			at.N = p.frame
		}
		return at, nil
	}
}

// end turns a defect of the document into its end; an error of the input stays one.
func (x *pdmlPackets) end(at event.Address, err error) error {
	if x.in.err != nil && x.in.err != io.EOF {
		return x.in.err
	}
	if err == io.EOF && x.depth == 0 {
		return io.EOF
	}
	x.r.stats.Flaw(at, fmt.Sprintf("the document cannot be read from here on: %v: it is skipped", err))
	x.r.hole(at, event.LossRest, "the export is broken: what followed is not known")
	return io.EOF
}

// packet reads up to the end of one packet.
func (x *pdmlPackets) packet(p *packet) (problem string, err error) {
	x.depth = 1
	layer := ""
	for x.depth > 0 {
		t, err := x.token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if x.depth++; x.depth > mcp.MaxDepth {
				problem = fmt.Sprintf("packet nested deeper than %d: skipped", mcp.MaxDepth)
			}
			if t.Name.Local == "proto" && x.depth == 2 {
				layer = attr(t, "name")
				p.layer(layer)
			} else if t.Name.Local == "field" && layerOf(layer) {
				if x.field(t, p); attr(t, "name") == "filtered" {
					x.r.left(layer)
				}
			}
		case xml.EndElement:
			x.depth--
		}
	}
	return problem, nil
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// field takes the bytes of bodies from value, which has them in hex, and the text of others from show.
func (x *pdmlPackets) field(t xml.StartElement, p *packet) {
	f := x.fields[attr(t, "name")]
	switch f {
	case fNone:
	case fBody, fMedia, f2Data:
		if b, err := hex.DecodeString(attr(t, "value")); err == nil && len(b) > 0 {
			p.take(f, b, true)
			return
		}
		p.take(f, []byte(attr(t, "show")), false)
	default:
		p.take(f, []byte(attr(t, "show")), false)
	}
}
