package har

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/isodetect/isodetect/parsers/source"
)

// This file reads zip archives: a HAR with its bodies beside it, as Playwright
// writes it, and what SAZ has in common with it. Names of members are only ever
// compared; nothing is unpacked under them.

// Zip is a HAR in a zip archive: har.har, and bodies as members that its _file keys name.
var Zip = source.Format{
	Name:    "har-zip",
	Title:   "HTTP Archive in a zip with its bodies beside it, as Playwright writes it",
	Checked: "docs",
	Carries: "as har",
	Sniff:   sniffZip,
	Open: func(in []*source.Input, opt source.Options) (source.Reader, error) {
		return open(in[0], opt, container{name: "har-zip", spool: spoolHAR, survey: surveyHAR, parse: parseHAR, again: readHAR})
	},
}

const zipMagic = "PK\x03\x04"

// sniffZip looks at the name of the first member: har.har, or a body under its hash.
func sniffZip(head []byte, _ bool) int {
	name := firstMember(head)
	hash, ext, ok := strings.Cut(name, ".")
	switch {
	case name == "har.har", bytes.Contains(head, []byte("har.har")) && strings.HasPrefix(string(head), zipMagic):
		return 95
	case ok && ext != "" && len(hash) == 40 && strings.Trim(hash, "0123456789abcdef") == "":
		return 60
	}
	return 0
}

// firstMember returns the name in the first local header of a zip, "" if there is none.
func firstMember(head []byte) string {
	if !strings.HasPrefix(string(head[:min(len(head), 4)]), zipMagic) || len(head) < 30 {
		return ""
	}
	n := int(head[26]) | int(head[27])<<8
	if len(head) < 30+n {
		return ""
	}
	return string(head[30 : 30+n])
}

// files are the members of a zip archive.
type files struct {
	of    map[string]*zip.File
	size  int64 // of the archive
	given int64 // bytes that were unpacked
}

const maxMembers = 1 << 20

func openFiles(ra io.ReaderAt, size int64) (*files, error) {
	z, err := zip.NewReader(ra, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are not used as paths
		return nil, fmt.Errorf("cannot open as zip: %w", err)
	}
	if len(z.File) > maxMembers {
		return nil, fmt.Errorf("the zip has %d members, over %d", len(z.File), maxMembers)
	}
	f := &files{of: make(map[string]*zip.File, len(z.File)), size: size}
	for _, m := range z.File {
		if _, twice := f.of[m.Name]; twice {
			return nil, fmt.Errorf("the zip has two members with the name %.80q: which one counts is not known", m.Name)
		}
		f.of[m.Name] = m
	}
	return f, nil
}

// read returns a member of at most source.MaxRecord bytes.
func (f *files) read(name string) (body []byte, problem string) {
	if f == nil {
		return nil, "the body lies in a file beside the archive, which is not read: its messages are not seen"
	}
	m := f.of[name]
	if m == nil {
		return nil, fmt.Sprintf("the zip has no member %.80q that should hold a body: its messages are not seen", name)
	}
	var b bytes.Buffer
	if err := f.copy(&b, m, source.MaxRecord); err != nil {
		return nil, fmt.Sprintf("cannot unpack the body %.80q: %v: its messages are not seen", name, err)
	}
	return b.Bytes(), ""
}

var errMember = errors.New("it is over 64 MiB")

// copy unpacks a member. Its size is counted, not believed; an archive must not grow
// more than a thousand times over, however its members overlap.
func (f *files) copy(to io.Writer, m *zip.File, limit int64) error {
	r, err := m.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if limit > 0 && m.UncompressedSize64 > uint64(limit) {
		return errMember
	}
	buf := make([]byte, 64<<10)
	for n := int64(0); ; {
		k, err := r.Read(buf)
		n += int64(k)
		f.given += int64(k)
		switch {
		case limit > 0 && n > limit:
			return errMember
		case f.given > source.MaxInflated && f.given/max(f.size, 1) > source.MaxRatio:
			return fmt.Errorf("the zip grows more than %d times over", source.MaxRatio)
		}
		if _, e := to.Write(buf[:k]); e != nil {
			return e
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// spoolHAR unpacks har.har into a temporary file; bodies are unpacked when they are needed.
func spoolHAR(r *reader, size int64) (source.RandomReader, int64, error) {
	f, err := openFiles(r.ra, size)
	if err != nil {
		return nil, 0, err
	}
	m := f.of["har.har"]
	if m == nil {
		return nil, 0, errors.New("the zip holds no har.har: unpack it first and name what is in it")
	}
	r.files = f
	return spooled(func(w io.Writer) error { return f.copy(w, m, 0) })
}

// spooled fills a temporary file, which nobody finds and which is gone after Close.
func spooled(fill func(io.Writer) error) (source.RandomReader, int64, error) {
	f, err := os.CreateTemp("", "isodetect-*")
	if err != nil {
		return nil, 0, fmt.Errorf("cannot spool the input: %w", err)
	}
	s := &spool{File: f}
	s.gone = os.Remove(f.Name()) == nil // not on Windows, where Close does it
	if err := fill(f); err != nil {
		s.Close()
		return nil, 0, err
	}
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		s.Close()
		return nil, 0, err
	}
	return s, n, nil
}

// spool is a temporary file.
type spool struct {
	*os.File
	gone bool // its name is removed already
}

func (s *spool) Close() error {
	err := s.File.Close()
	if !s.gone {
		os.Remove(s.Name())
	}
	return err
}

// parse reads a record and lets its bodies find the files they lie in.
func (r *reader) parse(raw []byte, e *entry) error {
	err := r.kind.parse(r, raw, e)
	e.post.files, e.body.files = r.files, r.files
	return err
}

func (r *reader) again(raw []byte, e *entry) error {
	err := r.kind.again(r, raw, e)
	e.post.files, e.body.files = r.files, r.files
	return err
}
