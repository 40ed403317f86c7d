package parsers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// lineFormat is a format whose every line "N TEXT" is an event at N ns; it knows
// itself by its first line.
var lineFormat = source.Format{
	Name: "numbered",
	Sniff: func(head []byte, _ bool) int {
		if bytes.HasPrefix(head, []byte("#numbered\n")) {
			return 90
		}
		return 0
	},
	Open: func(in []*source.Input, _ source.Options) (source.Reader, error) {
		r, err := in[0].Stream()
		if err != nil {
			return nil, err
		}
		return &textReader{in: in[0], r: r}, nil
	},
}

// textReader yields one event that holds all bytes.
type textReader struct {
	in *source.Input
	r  io.ReadCloser
	e  event.Event
	ok bool
}

func (t *textReader) Next() (*event.Event, error) {
	if t.ok {
		return nil, io.EOF
	}
	t.ok = true
	b, err := io.ReadAll(t.r)
	t.e = event.Event{Kind: event.Message, Excerpt: string(b), At: event.Address{Source: t.in.Index}}
	t.in.Stats.Records++
	if err != nil {
		return nil, err
	}
	return &t.e, nil
}

func (t *textReader) Close() error { return t.r.Close() }

const sample = "#numbered\n1 hello\n2 wörld\n"

func gz(parts ...string) []byte {
	var b bytes.Buffer
	for _, p := range parts { // each part is a member
		w := gzip.NewWriter(&b)
		w.Write([]byte(p))
		w.Close()
	}
	return b.Bytes()
}

func zst(s string) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll([]byte(s), nil)
}

func utf16Bytes(order binary.AppendByteOrder, s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		b = order.AppendUint16(b, u)
	}
	return b
}

func write(t *testing.T, path string, b []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, opt Options, paths ...string) *Set {
	t.Helper()
	if opt.Formats == nil {
		opt.Formats = []source.Format{lineFormat}
	}
	s, err := Open(context.Background(), paths, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// texts reads a Set and returns what each input held, by path, or why it was not read.
func texts(s *Set) map[string]string {
	got := map[string]string{}
	r := s.Reader()
	defer r.Close()
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		got[s.Members[e.At.Source].Path] = e.Excerpt
	}
	s.Finish()
	for _, m := range s.Members {
		if _, ok := got[m.Path]; ok {
			continue
		}
		got[m.Path] = "! " + m.Stats.Err + strings.Join(m.Stats.Notes, "; ")
	}
	return got
}

func TestStreamAndRandom(t *testing.T) {
	bz2, err := os.ReadFile("testdata/sample.bz2")
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, b []byte, layers ...string) {
		t.Helper()
		path := write(t, filepath.Join(t.TempDir(), name), b)
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s := open(t, Options{Stdin: file}, path)
		if got := texts(s)[path]; got != sample {
			t.Errorf("%s: stream gives %q", name, got)
		}
		m := s.Members[0]
		if m.Stats.Bytes != int64(len(sample)) {
			t.Errorf("%s: %d bytes counted, want %d", name, m.Stats.Bytes, len(sample))
		}
		if diff := cmp.Diff(layers, m.Stats.Wrappers); diff != "" {
			t.Errorf("%s: wrappers (-want +got):\n%s", name, diff)
		}
		if got := random(t, m); got != sample {
			t.Errorf("%s: random gives %q", name, got)
		}
		piped := open(t, Options{Stdin: file}, "-")
		if got := random(t, piped.Members[0]); got != sample {
			t.Errorf("%s: random of a pipe gives %q", name, got)
		}
	}
	f("plain", []byte(sample))
	f("misnamed.gz", []byte(sample))
	f("a.gz", gz(sample), "gzip")
	f("members.gz", gz(sample[:12], sample[12:]), "gzip")
	f("a.zst", zst(sample), "zstd")
	f("frames.zst", append(zst(sample[:5]), zst(sample[5:])...), "zstd")
	f("a.bz2", bz2, "bzip2")
	f("twice", gz(string(zst(sample))), "gzip", "zstd")
	f("bom", []byte(bomUTF8+sample), "utf-8-bom")
	f("le", utf16Bytes(binary.LittleEndian, sample), "utf-16le")
	f("be.gz", gz(string(utf16Bytes(binary.BigEndian, sample))), "gzip", "utf-16be")
}

func random(t *testing.T, m *Member) string {
	t.Helper()
	r, n, err := m.Random()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b := make([]byte, n)
	if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpenFailure(t *testing.T) {
	dir := t.TempDir()
	cut := gz(strings.Repeat(sample, 100))
	f := func(name string, b []byte, want string, unreadable bool) {
		t.Helper()
		path := filepath.Join(dir, name)
		if b != nil {
			write(t, path, b)
		}
		s := open(t, Options{}, path)
		if got := texts(s)[path]; !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q in it", name, got, want)
		}
		if err := s.Unreadable(); (err != nil) != unreadable {
			t.Errorf("%s: unreadable: %v, want %v", name, err, unreadable)
		}
	}
	f("missing", nil, "no such file or directory", true)
	f("broken.gz", []byte("\x1f\x8b\x08garbage"), "cannot open as gzip", true)
	f("empty.gz", []byte("\x1f\x8b\x08"), "gzip", true)
	f("a.xz", []byte("\xfd7zXZ\x00aaaaaaaaaaaa"), "xz -dc FILE | isodetect scan -", true)
	f("a.zip", []byte("PK\x03\x04aaaaaaaaaaaaa"), "unzip -p", true)
	f("thrice", gz(string(gz(string(gz(sample))))), "compressed more than 2 times", true)
	f("binary", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00"), "neither text nor a known capture format", true)
	f("a.tar", append(append(make([]byte, 257), "ustar"...), make([]byte, 250)...), "tar archive", true)
	f("prose", []byte("just words\n"), "not recognised", false)
	f("empty", []byte{}, "it is empty", false)
	f("BZhello", []byte("BZhello, this is text\n"), "not recognised", false)
	write(t, filepath.Join(dir, "cut.gz"), cut[:len(cut)-12])
	s := open(t, Options{}, filepath.Join(dir, "cut.gz"))
	texts(s)
	if got := s.Members[0].Stats.Err; !strings.Contains(got, "gzip data ends early") {
		t.Errorf("cut.gz: %q", got)
	}
}

func TestOpenUnknownFormat(t *testing.T) {
	_, err := Open(context.Background(), nil, Options{Format: "nope", Formats: []source.Format{lineFormat}})
	if err == nil || !strings.Contains(err.Error(), "use one of numbered") {
		t.Errorf("got %v", err)
	}
}

func TestOpenForcedFormat(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a"), []byte("no header\n"))
	s := open(t, Options{Format: "numbered"}, path)
	if got := texts(s)[path]; got != "no header\n" {
		t.Errorf("got %q", got)
	}
}

// A file that inflates without measure ends with a problem, and quickly.
func TestRatio(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte("#numbered\n"))
	zeros := make([]byte, 1<<20)
	for range 160 {
		w.Write(zeros)
	}
	w.Close()
	var outer bytes.Buffer
	w = gzip.NewWriter(&outer)
	w.Write(b.Bytes())
	w.Close()
	path := write(t, filepath.Join(t.TempDir(), "bomb.gz"), outer.Bytes())
	s := open(t, Options{}, path)
	texts(s)
	st := s.Members[0].Stats
	if !strings.Contains(st.Err, "decompression ratio over 1000") {
		t.Errorf("error %q", st.Err)
	}
	if st.Bytes > source.MaxInflated+(1<<20) {
		t.Errorf("%d bytes were inflated", st.Bytes)
	}
	// What inflates much but is small is read.
	small := write(t, filepath.Join(t.TempDir(), "small.gz"), gz("#numbered\n"+strings.Repeat("a", 8<<20)))
	if got := texts(open(t, Options{}, small))[small]; len(got) != 8<<20+10 {
		t.Errorf("%d bytes of the small one", len(got))
	}
}

func TestDirectory(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "d")
	write(t, filepath.Join(base, "outside"), []byte(sample+"outside"))
	write(t, filepath.Join(dir, "b"), []byte(sample+"b"))
	write(t, filepath.Join(dir, "sub", "a.gz"), gz(sample+"a"))
	write(t, filepath.Join(dir, "notes.txt"), []byte("just words"))
	write(t, filepath.Join(dir, "picture"), []byte("\x89PNG\x00\x00"))
	write(t, filepath.Join(dir, ".hidden"), []byte(sample+"hidden"))
	write(t, filepath.Join(dir, ".git", "x"), []byte(sample+"git"))
	write(t, filepath.Join(dir, "broken.gz"), []byte("\x1f\x8b\x08garbage"))
	for link, target := range map[string]string{"out": "../outside", "abs": filepath.Join(base, "outside"), "in": "b", "nowhere": "gone", "loop": ".", "up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, Options{}, dir)
	got := texts(s)
	want := map[string]string{
		"b": sample + "b", "sub/a.gz": sample + "a",
		"notes.txt": "! ignored: not recognised as any format", "picture": "! ignored: not recognised as any format",
		"out":     "! ignored: a symbolic link that leads out of the directory or nowhere; name its target to read it",
		"abs":     "! ignored: a symbolic link that leads out of the directory or nowhere; name its target to read it",
		"up":      "! ignored: a symbolic link that leads out of the directory or nowhere; name its target to read it",
		"nowhere": "! ignored: a symbolic link that leads out of the directory or nowhere; name its target to read it",
		"loop":    "! ignored: a symbolic link to a directory",
		"in":      "! ignored: the same file as " + filepath.Join(dir, "b"),
	}
	for rel, w := range want {
		if g := got[filepath.Join(dir, rel)]; g != w {
			t.Errorf("%s: got %q, want %q", rel, g, w)
		}
	}
	if g := got[filepath.Join(dir, "broken.gz")]; !strings.Contains(g, "cannot open as gzip") {
		t.Errorf("broken.gz: %q", g)
	}
	if len(got) != len(want)+1 {
		t.Errorf("%d inputs, want %d", len(got), len(want)+1)
	}
	if err := s.Unreadable(); err != nil {
		t.Errorf("a file that was not named makes the run fail: %v", err)
	}
}

func TestSameInputTwice(t *testing.T) {
	dir := t.TempDir()
	long := "#numbered\n" + strings.Repeat("0123456789", 20000)
	write(t, filepath.Join(dir, "a"), []byte(sample))
	write(t, filepath.Join(dir, "b"), []byte(sample))
	write(t, filepath.Join(dir, "c.gz"), gz(sample))
	write(t, filepath.Join(dir, "l1"), []byte(long+"x"))
	write(t, filepath.Join(dir, "l2"), []byte(long+"x"))
	write(t, filepath.Join(dir, "l3"), []byte(long+"y")) // as long, differs at the end
	write(t, filepath.Join(dir, "l4"), []byte(long+"xx"))
	write(t, filepath.Join(dir, "e1"), nil)
	write(t, filepath.Join(dir, "e2"), nil)
	s := open(t, Options{}, dir, filepath.Join(dir, "b"), filepath.Join(dir, "a"))
	same := map[string]string{}
	for _, m := range s.Members {
		if m.SameAs != "" {
			same[filepath.Base(m.Path)] = filepath.Base(m.SameAs)
		}
	}
	if diff := cmp.Diff(map[string]string{"b": "a", "c.gz": "a", "l2": "l1"}, same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrderOfArguments(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, filepath.Join(dir, "a"), []byte(sample+"a")), write(t, filepath.Join(dir, "b"), []byte(sample+"b"))
	f := func(paths ...string) {
		t.Helper()
		s := open(t, Options{}, paths...)
		for i, m := range s.Members {
			if want := []string{a, b}[i]; m.Path != want || m.Index != int32(i) || !m.Named {
				t.Errorf("%v: member %d is %s, index %d, named %v", paths, i, m.Path, m.Index, m.Named)
			}
		}
	}
	f(a, b)
	f(b, a)
	f(b, a, b)
	f(a, dir+"/./b")
}

func TestNamedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		w.Write(gz(sample))
		w.Close()
	}()
	s := open(t, Options{Stdin: r}, "-", "-")
	if got := texts(s); len(got) != 1 || got["-"] != sample {
		t.Errorf("got %q", got)
	}
}

// A reading that waits for the other end of a pipe can be interrupted.
func TestInterruptPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		w.WriteString(sample)
		cancel()
	}()
	s, err := Open(ctx, []string{"-"}, Options{Stdin: r, Formats: []source.Format{lineFormat}})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(s)["-"]; !strings.Contains(got, "interrupted") {
		t.Errorf("got %q", got)
	}
}

func TestSpoolLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := open(t, Options{Stdin: strings.NewReader(sample)}, "-")
	if got := random(t, s.Members[0]); got != sample {
		t.Errorf("got %q", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("%s is left", left[0].Name())
	}
}

func FuzzUTF16(f *testing.F) {
	f.Add([]byte("a\x00\x3d\xd8\x00\xdeb"), 3, true)
	f.Fuzz(func(t *testing.T, b []byte, step int, little bool) {
		var order binary.ByteOrder = binary.BigEndian
		if little {
			order = binary.LittleEndian
		}
		var units []uint16
		for i := 0; i+1 < len(b); i += 2 {
			units = append(units, order.Uint16(b[i:]))
		}
		want := string(utf16.Decode(units))
		if len(b)%2 == 1 {
			want += "\ufffd"
		}
		got, err := io.ReadAll(&utf16Reader{r: &slow{b, max(step%17, 1)}, order: order})
		if err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	})
}

// slow gives n bytes a read.
type slow struct {
	b []byte
	n int
}

func (s *slow) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b[:min(s.n, len(s.b))])
	s.b = s.b[n:]
	return n, nil
}
