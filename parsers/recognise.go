package parsers

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/isodetect/isodetect/parsers/logs"
	"github.com/isodetect/isodetect/parsers/source"
)

// contents finds inputs that hold the same bytes: by the hash of their beginning
// first, and only where that is equal by the hash of everything.
type contents map[headKey][]*Member

type headKey struct {
	size int64 // number of bytes if they are all in the head, else -1
	head [sha256.Size]byte
}

// minScore is how sure a format must be of a file that was found in a directory:
// any text may be a log, but a README beside the logs is none.
const minScore = 10

// recognise finds the format of an input and whether its bytes were met before.
func (s *Set) recognise(m *Member, formats []source.Format, forced *source.Format, seen contents) error {
	head, layers, end, err := m.peek()
	if err != nil {
		return err
	}
	m.Stats.Wrappers = append(m.Stats.Wrappers, layers...)
	all := end != nil
	m.empty = len(head) == 0 && (end == nil || errors.Is(end, io.EOF))
	if same := seen.find(m, head, all); same != nil {
		m.SameAs = same.Path
		return nil
	}
	if forced == nil && source.IsReport(head) {
		m.skip = "a report of isodetect"
		return nil
	}
	m.Format, m.Score = forced, 100
	if forced == nil {
		m.Format, m.Score = best(formats, head, all)
	}
	m.glance(head, m.Format, s.opt)
	if !m.Named && m.Score < minScore && !(m.Format != nil && logs.Claims(head, all, s.opt)) {
		m.Format = nil
	}
	if m.Format == nil {
		return refuse(m, head, end)
	}
	m.Stats.Format = m.Format.Name
	return nil
}

// best returns the format that is surest of an input, nil if none knows it.
func best(formats []source.Format, head []byte, all bool) (*source.Format, int) {
	var found *source.Format
	score := 0
	for i := range formats {
		if n := formats[i].Sniff(head, all); n > score {
			found, score = &formats[i], n
		}
	}
	return found, score
}

// refuse tells an input that is no trace at all from a text in which nothing was
// recognised: the first cannot be decoded, the second says nothing about MCP.
func refuse(m *Member, head []byte, end error) error {
	if end != nil && !errors.Is(end, io.EOF) {
		return end
	}
	if !m.Named || len(head) == 0 {
		return nil
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return errors.New("a tar archive is not read as it is; unpack it and name its directory")
	}
	if bytes.HasPrefix(head, []byte("LPKSHHRH")) {
		return errors.New("a journal file of systemd is not read as it is; write it with journalctl --file FILE -o json --all")
	}
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return errors.New("a zip is read only if it is an archive of Playwright or Fiddler; unpack it first: unzip -p FILE | isodetect scan -")
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return errors.New("not recognised: neither text nor a known capture format; see isodetect formats")
	}
	return nil
}

// peek reads the beginning of an input. end is nil if there may be more, io.EOF
// if that is all, or what broke the reading off.
func (m *Member) peek() (head []byte, layers []string, end, err error) {
	if o, ok := m.Opener.(*once); ok {
		head, end = o.peek(source.HeadForSniff)
		if o.dec == nil {
			return nil, nil, nil, end
		}
		layers = o.dec.layers
	} else {
		r, err := m.Stream()
		if err != nil {
			return nil, nil, nil, err
		}
		defer r.Close()
		head, end = readHead(r, source.HeadForSniff)
		layers = r.(*decoded).layers
	}
	if end != nil && !errors.Is(end, io.EOF) && len(head) == 0 {
		return nil, nil, nil, end
	}
	return head, layers, end, nil
}

// find returns the earlier member that holds the same bytes, and remembers m if there is none.
func (c contents) find(m *Member, head []byte, all bool) *Member {
	if len(head) == 0 {
		return nil
	}
	key := headKey{size: -1, head: sha256.Sum256(head)}
	if all {
		key.size = int64(len(head))
	}
	for _, other := range c[key] {
		if all || m.equals(other) {
			return other
		}
	}
	c[key] = append(c[key], m)
	return nil
}

// equals compares two inputs that begin alike. Sizes decide where both lie on
// disk as they are; a pipe cannot be read twice and equals nothing.
func (m *Member) equals(other *Member) bool {
	if len(m.Stats.Wrappers) == 0 && len(other.Stats.Wrappers) == 0 && m.Size != other.Size {
		return false
	}
	if m.hash() != nil || other.hash() != nil {
		return false
	}
	return m.contents == other.contents
}

// hash fills contents, once.
func (m *Member) hash() error {
	if m.contents != [sha256.Size]byte{} {
		return nil
	}
	if _, pipe := m.Opener.(*once); pipe {
		return errors.New("cannot read a pipe twice")
	}
	r, err := m.Stream()
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return fmt.Errorf("cannot read %s: %w", m.Path, err)
	}
	h.Sum(m.contents[:0])
	return nil
}
