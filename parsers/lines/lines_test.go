package lines

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// read gives every line as "n@offset:text", a skipped one as "n@offset!".
func read(t *testing.T, in io.Reader, limit int) []string {
	t.Helper()
	var out []string
	r := New(in, limit)
	for {
		line, err := r.Next()
		if err == io.EOF {
			return out
		}
		at := strconv.FormatInt(r.N(), 10) + "@" + strconv.FormatInt(r.Offset(), 10)
		switch {
		case errors.Is(err, ErrTooLong):
			out = append(out, at+"!")
		case err != nil:
			t.Fatalf("Next: %v", err)
		default:
			out = append(out, at+":"+string(line))
		}
	}
}

func TestNext(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
			if got := strings.Join(read(t, r, 8), "|"); got != want {
				t.Errorf("lines of %q are %s, want %s", in, got, want)
			}
		}
	}
	f("", "")
	f("a\nb\n", "1@0:a|2@2:b")
	f("a\nb", "1@0:a|2@2:b")
	f("a\r\n\r\nb\r\n", "1@0:a|2@3:|3@5:b")
	f("\xef\xbb\xbfa\nb", "1@3:a|2@5:b")
	f("\x00\x00\x00a\nb\x00\x00", "1@3:a|2@5:b")
	f("\x00\x00\n", "1@2:")
	f("12345678\n123456789\nc\n", "1@0:12345678|2@9!|3@19:c")
	f("c\n123456789", "1@0:c|2@2!")
	f("\n\n", "1@0:|2@1:")
	f("a\rb\rc", "1@0:a|2@2:b|3@4:c")
	f("a\r\rb\r", "1@0:a|2@2:|3@3:b")
	f("a\r", "1@0:a")
	f("a\rb\nc\n", "1@0:a\rb|2@4:c") // a line that was written over
}

func TestNextLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*Block+17)
	got := read(t, strings.NewReader("a\n"+long+"\nb\n"), 8*Block)
	if len(got) != 3 || got[1] != "2@2:"+long || got[2] != "3@"+strconv.Itoa(3+len(long))+":b" {
		t.Errorf("a line over three blocks is not read whole")
	}
	got = read(t, strings.NewReader("a\n"+long+"\nb\n"), Block)
	if len(got) != 3 || got[1] != "2@2!" || got[2] != "3@"+strconv.Itoa(3+len(long))+":b" {
		t.Errorf("a line over the limit is not skipped: %.60q", got)
	}
}

// TestNextCR holds that lines that end with CR alone are told by the first block.
func TestNextCR(t *testing.T) {
	long := strings.Repeat("x", Block)
	for _, first := range []string{"a", long[:Block-2], long[:Block-1]} {
		if got := read(t, strings.NewReader(first+"\r"+long+"\rb"), 2*Block); len(got) != 3 || !strings.HasSuffix(got[2], ":b") {
			t.Errorf("%d bytes and CR: %d lines, the last is %.20q", len(first), len(got), got[len(got)-1])
		}
	}
}

func TestNextError(t *testing.T) {
	broken := errors.New("disk gone")
	r := New(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 100)
	for _, want := range []string{"a", "b"} {
		if line, err := r.Next(); err != nil || string(line) != want {
			t.Fatalf("Next = %q, %v, want %q", line, err, want)
		}
	}
	if !r.Partial() {
		t.Errorf("the last line has no newline, Partial is false")
	}
	if _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("Next = %v, want the error of the input", err)
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("a\r\n\x00\x00b\n\nccccccccccc\nd"))
	f.Add([]byte("a\r\rccccccccccccc\rd\r"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var n, last int64
		limit := 10
		if bytes.IndexByte(in, '\n') < 0 {
			limit = Block // whether lines end with CR is told by the first Block
		}
		r := New(iotest.HalfReader(bytes.NewReader(in)), limit)
		for {
			line, err := r.Next()
			if err == io.EOF {
				break
			}
			n++
			if r.N() != n || r.Offset() < last || r.Offset()+int64(len(line)) > int64(len(in)) {
				t.Fatalf("line %d stands at %d with %d bytes, the one before at %d", r.N(), r.Offset(), len(line), last)
			}
			if err == nil && !bytes.Equal(in[r.Offset():r.Offset()+int64(len(line))], line) {
				t.Fatalf("line %d is not what stands at its offset", n)
			}
			last = r.Offset()
		}
		end := byte('\n')
		if k := bytes.IndexByte(in, '\r'); k >= 0 && k+1 < len(in) && bytes.IndexByte(in, '\n') < 0 {
			end = '\r'
		}
		want := int64(bytes.Count(in, []byte{end}))
		if len(in) > 0 && in[len(in)-1] != end {
			want++
		}
		if n != want || r.Read() != int64(len(in)) {
			t.Fatalf("%d lines and %d bytes, want %d and %d", n, r.Read(), want, len(in))
		}
	})
}

func BenchmarkNext(b *testing.B) {
	in := bytes.Repeat([]byte(strings.Repeat("x", 600)+"\n"), 20000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := New(bytes.NewReader(in), 1<<20)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
