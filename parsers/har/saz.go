package har

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/parsers/source"
)

// SAZ is the archive of Fiddler: a zip with three members for each session, the
// request, the response and what Fiddler knows about them.
var SAZ = source.Format{
	Name:    "saz",
	Title:   "session archive of Fiddler (SAZ)",
	Checked: "docs",
	Carries: "as har, and the clients' addresses and ports",
	Sniff:   sniffSAZ,
	Open: func(in []*source.Input, opt source.Options) (source.Reader, error) {
		return open(in[0], opt, container{name: "saz", spool: spoolSAZ, survey: surveySAZ, parse: parseSession, again: parseSession})
	},
}

func sniffSAZ(head []byte, _ bool) int {
	if strings.HasPrefix(firstMember(head), "raw/") || firstMember(head) != "" && bytes.Contains(head, []byte("raw/")) && bytes.Contains(head, []byte("_c.txt")) {
		return 95
	}
	return 0
}

// A session in the spool: the lengths of its three parts, and the parts.
const sazHead = 12

// spoolSAZ puts the three members of each session behind each other, in the order of the sessions.
func spoolSAZ(r *reader, size int64) (source.RandomReader, int64, error) {
	f, err := openFiles(r.ra, size)
	if err != nil {
		return nil, 0, err
	}
	var ids []string
	for name := range f.of {
		id, ok := strings.CutSuffix(name, "_c.txt")
		if id, ok2 := strings.CutPrefix(strings.ReplaceAll(id, `\`, "/"), "raw/"); ok && ok2 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, 0, errors.New("the zip holds no sessions of Fiddler (raw/1_c.txt and so on)")
	}
	slices.SortFunc(ids, func(a, b string) int { // 2 before 10
		a0, b0 := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a0), len(b0)), cmp.Compare(a0, b0), cmp.Compare(a, b))
	})
	return spooled(func(w io.Writer) error {
		for _, id := range ids {
			if err := f.session(w, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// session writes one session. A member that cannot be read, or is too long, is
// written as length -1 and counted when the spool is read.
func (f *files) session(w io.Writer, id string) error {
	var head [sazHead]byte
	var parts [3]bytes.Buffer
	for i, ext := range []string{"_c.txt", "_s.txt", "_m.xml"} {
		n := uint32(0)
		if m := f.member("raw/" + id + ext); m != nil {
			err := f.copy(&parts[i], m, source.MaxRecord/2)
			if n = uint32(parts[i].Len()); err != nil {
				if f.given > source.MaxInflated && f.given/max(f.size, 1) > source.MaxRatio {
					return err
				}
				parts[i].Reset()
				n = 1<<32 - 1
			}
		}
		binary.BigEndian.PutUint32(head[4*i:], n)
	}
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	for i := range parts {
		if _, err := w.Write(parts[i].Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (f *files) member(name string) *zip.File {
	if m := f.of[name]; m != nil {
		return m
	}
	return f.of[strings.ReplaceAll(name, "/", `\`)]
}

func surveySAZ(r *reader, size int64, v *surveyor) error {
	for off := int64(0); off < size; {
		var head [sazHead]byte
		if _, err := r.ra.ReadAt(head[:], off); err != nil {
			return cut(err)
		}
		n := int64(sazHead)
		for i := range 3 {
			if k := binary.BigEndian.Uint32(head[4*i:]); k != 1<<32-1 {
				n += int64(k)
			}
		}
		if err := v.section(off, n); err != nil {
			return err
		}
		off += n
	}
	return nil
}

// parseSession reads one session of the spool.
func parseSession(r *reader, raw []byte, e *entry) error {
	*e = entry{time: -1, bodySize: -1, reqHeader: e.reqHeader[:0], resHeader: e.resHeader[:0]}
	e.post.size, e.body.size = -1, -1
	var parts [3][]byte
	rest := raw[min(sazHead, len(raw)):]
	for i := range parts {
		n := binary.BigEndian.Uint32(raw[4*i:])
		if n == 1<<32-1 {
			return errors.New("a member of the session cannot be unpacked or is over 32 MiB: skipped")
		}
		parts[i], rest = rest[:n], rest[n:]
	}
	meta, err := readMeta(parts[2], r.opt.AssumeUTCOffset)
	if err != nil {
		return err
	}
	if method, _, _ := bytes.Cut(parts[0], []byte(" ")); string(method) == "CONNECT" {
		e.kind, e.timed, e.start = "tunnel", true, meta.begin
		return nil
	}
	if !e.rawRequest(r, parts[0], "") {
		return errors.New("the request of the session is no HTTP: skipped")
	}
	if meta.begin == 0 {
		return errors.New("session without the time of its request: skipped")
	}
	if strings.HasPrefix(e.url, "/") {
		if host := hostField(parts[0]); host != "" {
			e.url = r.b.Shared([]byte("http://" + host + e.url))
		}
	}
	e.start, e.timed = meta.begin, true
	if meta.first > 0 {
		e.timings.known = true
		e.timings.before = ms(meta.first - meta.begin)
	}
	if meta.end > 0 {
		e.time = ms(max(meta.end, meta.first) - meta.begin)
	}
	e.peer, e.conn = r.b.Shared([]byte(meta.client)), ""
	if meta.port != "" {
		e.conn = r.b.Shared([]byte(meta.client + " " + meta.port))
	}
	e.rawResponse(r, parts[1])
	return nil
}

func hostField(raw []byte) string {
	for line := range bytes.Lines(raw[:min(len(raw), 64<<10)]) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(name, []byte("host")) {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// sessionMeta is what Fiddler knows about a session.
type sessionMeta struct {
	begin, first, end int64
	client, port      string
}

func readMeta(raw []byte, zone int) (m sessionMeta, err error) {
	t := newTokens(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))))
	for n := 0; n < 1<<12; n++ {
		token, err := t.next()
		if err == io.EOF {
			return m, nil
		}
		if err != nil {
			return m, errors.New("what Fiddler knows about the session is no XML: skipped")
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		of := map[string]string{}
		for _, a := range start.Attr {
			of[a.Name.Local] = a.Value
		}
		stamp := func(names ...string) int64 {
			for _, name := range names {
				if ns, ok := parseTime(of[name], zone); ok {
					return ns
				}
			}
			return 0
		}
		switch start.Name.Local {
		case "SessionTimers":
			m.begin = stamp("ClientBeginRequest", "ClientDoneRequest", "ServerGotRequest")
			m.first = stamp("ServerBeginResponse", "ClientBeginResponse")
			m.end = stamp("ServerDoneResponse", "ClientDoneResponse")
		case "SessionFlag":
			switch strings.ToLower(of["N"]) {
			case "x-clientip":
				m.client = strings.TrimPrefix(strings.Trim(of["V"], "[]"), "::ffff:")
			case "x-clientport":
				m.port = of["V"]
			}
		}
	}
	return m, nil
}
