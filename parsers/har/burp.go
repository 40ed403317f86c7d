package har

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
	"github.com/isodetect/isodetect/parsers/source"
)

// Burp is the XML that Burp saves of items of its proxy history. Its times are those
// of the requests in whole seconds, and it has no others.
var Burp = source.Format{
	Name:    "burp",
	Title:   "items of Burp's proxy history, saved as XML",
	Checked: "docs",
	Carries: "what an answer itself shows; times in whole seconds without an end, so no order and no overlap",
	Sniff:   sniffBurp,
	Open: func(in []*source.Input, opt source.Options) (source.Reader, error) {
		return open(in[0], opt, container{name: "burp", survey: surveyBurp, parse: parseItem, again: parseItem})
	},
}

func sniffBurp(head []byte, _ bool) int {
	s := bytes.TrimLeft(head, " \t\r\n")
	if len(s) > 0 && s[0] == '<' && bytes.Contains(s, []byte("<items burpVersion")) {
		return 99
	}
	return 0
}

// tokens reads XML. encoding/xml knows no entities but the five of XML and reads no
// DTD, so that a document can neither grow nor fetch anything.
type tokens struct {
	dec  *xml.Decoder
	in   io.Reader
	left int
	err  error // of the input
}

var errLong = errors.New("one piece of it is over 64 MiB")

func newTokens(in io.Reader) *tokens {
	t := &tokens{in: in}
	t.dec = xml.NewDecoder(t)
	t.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return t
}

// Read bounds what the decoder keeps for one token.
func (t *tokens) Read(p []byte) (int, error) {
	if t.left <= 0 {
		return 0, errLong
	}
	n, err := t.in.Read(p[:min(len(p), t.left)])
	t.left -= n
	if err != nil && err != io.EOF {
		t.err = err
	}
	return n, err
}

func (t *tokens) next() (xml.Token, error) {
	t.left = 2 * source.MaxRecord // base64 and a window
	return t.dec.RawToken()
}

func surveyBurp(r *reader, size int64, v *surveyor) error {
	t := newTokens(io.NewSectionReader(r.ra, 0, size))
	depth := 0
	item := int64(-1)
	broken := func(err error) error {
		switch {
		case t.err != nil:
			return t.err
		case item >= 0 && strings.Contains(err.Error(), "unexpected EOF"), err == io.EOF && depth > 0:
			if item >= 0 {
				v.entry(part{off: item, size: size - item, cut: true})
			}
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		}
		return &syntaxError{t.dec.InputOffset(), "XML of Burp"}
	}
	r.noTime = true
	r.stats.Note("Burp saves times in whole seconds and no ends: order and overlap of the exchanges are not known")
	for {
		at := t.dec.InputOffset()
		token, err := t.next()
		if err != nil {
			return broken(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth > mcp.MaxDepth {
				return &syntaxError{at, "XML of Burp"}
			}
			if depth == 2 && token.Name.Local == "item" {
				item = at
			}
		case xml.EndElement:
			if depth--; depth == 1 && item >= 0 {
				if err := v.section(item, t.dec.InputOffset()-item); err != nil {
					return err
				}
				item = -1
			}
		}
	}
}

// section hands a record that lies at an offset to entry.
func (v *surveyor) section(off, size int64) error {
	p := part{off: off, size: size}
	if size <= source.MaxRecord {
		raw := make([]byte, size)
		if _, err := v.r.ra.ReadAt(raw, off); err != nil {
			return err
		}
		p.raw = raw
	}
	v.entry(p)
	return nil
}

// parseItem reads one <item>.
func parseItem(r *reader, raw []byte, e *entry) error {
	*e = entry{time: -1, bodySize: -1, reqHeader: e.reqHeader[:0], resHeader: e.resHeader[:0]}
	e.post.size, e.body.size = -1, -1
	parts, err := itemParts(raw)
	if err != nil {
		return fmt.Errorf("cannot parse item: %w: skipped", err)
	}
	var zoned bool
	if e.start, zoned, e.timed = burpTime(parts["time"].text, r.opt.AssumeUTCOffset); !e.timed {
		return errors.New("item without a time that can be read: skipped")
	}
	if !zoned {
		r.stats.Note("the zone of Burp's times is an abbreviation that names no offset: they are taken as --assume-tz says, else as UTC")
	}
	request, err := parts["request"].bytes()
	if err != nil {
		return fmt.Errorf("cannot decode the request of item: %w: skipped", err)
	}
	origin, _ := splitURL(parts["url"].text)
	if !e.rawRequest(r, request, origin) {
		return errors.New("the request of item is no HTTP: skipped")
	}
	if _, target := splitURL(parts["url"].text); origin != "" && target != "" {
		e.url = r.b.Shared([]byte(parts["url"].text))
	}
	response, err := parts["response"].bytes()
	if err != nil {
		return fmt.Errorf("cannot decode the response of item: %w: skipped", err)
	}
	e.rawResponse(r, response)
	e.address = r.b.Shared([]byte(parts["host"].ip))
	e.by = event.ByUnknown
	return nil
}

// itemPart is one child of an item.
type itemPart struct {
	text   string
	base64 bool
	ip     string
}

func (p itemPart) bytes() ([]byte, error) {
	if !p.base64 {
		return []byte(p.text), nil
	}
	return base64.StdEncoding.DecodeString(strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' || c == ' ' || c == '\t' {
			return -1
		}
		return c
	}, p.text))
}

func itemParts(raw []byte) (map[string]itemPart, error) {
	t := newTokens(bytes.NewReader(raw))
	parts := map[string]itemPart{}
	var name string
	var now itemPart
	var text strings.Builder
	for depth := 0; ; {
		token, err := t.next()
		if err == io.EOF && depth == 0 {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 2 {
				name, now = token.Name.Local, itemPart{}
				text.Reset()
				for _, a := range token.Attr {
					now.base64 = now.base64 || a.Name.Local == "base64" && a.Value == "true"
					if a.Name.Local == "ip" {
						now.ip = a.Value
					}
				}
			}
		case xml.CharData:
			if depth == 2 {
				text.Write(token)
			}
		case xml.EndElement:
			if depth--; depth == 1 && len(parts) < 64 {
				now.text = text.String()
				parts[name] = now
			}
		}
	}
}

// burpTime reads "Sun Jul 19 22:20:43 UTC 2026". Only UTC and GMT name their offset.
func burpTime(s string, zone int) (ns int64, zoned, ok bool) {
	f := strings.Fields(s)
	if len(f) != 6 {
		ns, ok = parseTime(s, zone)
		return ns, true, ok
	}
	name := f[4]
	t, err := time.ParseInLocation("Jan 2 15:04:05 2006", strings.Join([]string{f[1], f[2], f[3], f[5]}, " "), time.FixedZone("", zone))
	if err != nil {
		return 0, false, false
	}
	if zoned = name == "UTC" || name == "GMT" || name == "Z"; zoned {
		t = t.Add(time.Duration(zone) * time.Second)
	}
	ns, ok = inRange(t)
	return ns, zoned, ok
}
