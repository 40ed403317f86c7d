package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// millis reads times of small whole numbers.
func millis(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && n > 0
}

var lines = Kind{Name: "test", paths: []string{""}, time: "t", id: "id", most: []int{4}}
var nested2 = Kind{Name: "test", paths: []string{"a[].b[]"}, keep: "k", time: "t"}

// read gives the records of a document as "line@offset text", and what is said about it.
func read(kind Kind, text string, limit int) string {
	x, err := Read(&kind, strings.NewReader(text), limit, millis)
	if err != nil {
		return err.Error()
	}
	var out []string
	r := NewReader(x, strings.NewReader(text), int64(len(text)))
	var rec Record
	for {
		err := r.Next(&rec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err.Error()
		}
		s := fmt.Sprintf("%d@%d %s", rec.At.N, rec.At.Offset, rec.Line)
		if rec.Again {
			s += " again"
		}
		if rec.Tied {
			s += " tied"
		}
		out = append(out, s)
	}
	for _, f := range x.Flaws {
		out = append(out, fmt.Sprintf("! %d@%d %s", f.At.N, f.At.Offset, f.Text))
	}
	for _, n := range x.Notes {
		out = append(out, "# "+n)
	}
	if len(x.Missing) > 0 {
		out = append(out, fmt.Sprintf("%d missing", len(x.Missing)))
	}
	return strings.Join(out, "\n")
}

func TestRead(t *testing.T) {
	f := func(kind Kind, text, want string) {
		t.Helper()
		if got := read(kind, text, 100); got != want {
			t.Errorf("%q holds\n%s\nwant\n%s", text, got, want)
		}
	}
	f(lines, `[{"t":1},{"t":2}]`, "1@1 {\"t\":1}\n1@9 {\"t\":2}")
	f(lines, "\xef\xbb\xbf[\n  {\n \"t\": 1}\n]", "2@7 {\n \"t\": 1}")
	f(lines, `{"t":1}{"t":2}`+"\n\x1e"+`{"t":3}`, "1@0 {\"t\":1}\n1@7 {\"t\":2}\n2@16 {\"t\":3}")
	f(lines, `[[{"t":1}],[]]`, "1@2 {\"t\":1}")
	f(lines, "", "")
	f(lines, "[]", "")
	f(nested2, `{"x":[1,{"b":2}],"k":{"n":1},"a":[{"b":[{"t":1},{"t":2}],"k":"z"}]}`,
		"1@40 {\"k\":{\"n\":1},\"a\":[{\"k\":\"z\",\"b\":[{\"t\":1}]}]}\n1@48 {\"k\":{\"n\":1},\"a\":[{\"k\":\"z\",\"b\":[{\"t\":2}]}]}")
	f(nested2, `{"a":{"b":[{"t":1}]},"b":[{"t":1}]}`, "")
	f(nested2, `{"a":[{"b":[{"t":2}]},{"b":[{"t":1}]}]}`, "1@28 {\"a\":[{\"b\":[{\"t\":1}]}]}\n1@12 {\"a\":[{\"b\":[{\"t\":2}]}]}\n"+
		"# the export begins with the newest record: its records were put into the order of time")
}

// TestOrder holds what counts between equal times, and that a record without a time keeps its place.
func TestOrder(t *testing.T) {
	f := func(times, want string) {
		t.Helper()
		text := ""
		for i, n := range strings.Fields(times) {
			text += fmt.Sprintf(`{"n":%d,"t":%s}`, i, n)
		}
		kind := lines
		kind.most, kind.id = nil, ""
		x, _ := Read(&kind, strings.NewReader(text), 100, millis)
		r := NewReader(x, strings.NewReader(text), int64(len(text)))
		got := ""
		var rec Record
		for r.Next(&rec) == nil {
			got += string(rec.Line[5])
			if rec.Tied {
				got += "~"
			}
		}
		if got != want {
			t.Errorf("%s is read as %s, want %s", times, got, want)
		}
	}
	f("1 2 2 3", "0123")
	f("3 2 2 1", "3210")
	f("1 3 2 2", "02~3~1")
	f("3 1 1 2", "1~2~30")
	f("5 5 5", "012")
	f("1 0 2", "012")
	f("3 0 1", "201")
	f("3 0 0 2 1 0", "453012")
}

func TestCopies(t *testing.T) {
	kind := lines
	kind.most = nil
	f := func(text, want string) {
		t.Helper()
		if got := read(kind, text, 100); got != want {
			t.Errorf("%s holds\n%s\nwant\n%s", text, got, want)
		}
	}
	const said = "# duplicates: 1 copies of records (same time and id) were dropped"
	f(`{"t":1,"id":"a"}{"t":1,"id":"a"}{"t":1,"id":"b"}`, "1@0 {\"t\":1,\"id\":\"a\"}\n1@16 {\"t\":1,\"id\":\"a\"} again\n1@32 {\"t\":1,\"id\":\"b\"}\n"+said)
	f(`{"t":1,"id":"a"}{"t":2,"id":"a"}`, "1@0 {\"t\":1,\"id\":\"a\"}\n1@16 {\"t\":2,\"id\":\"a\"}")
	f(`{"t":1}{"t":1}`, "1@0 {\"t\":1}\n1@7 {\"t\":1}")
	two := Kind{Name: "test", paths: []string{"r[].v[]"}, keep: "s", time: "[0]", id: "*"}
	text := `{"r":[{"s":"a","v":[[1,"x"]]},{"s":"b","v":[[1,"x"]]}]}`
	if got := read(two, text, 100); strings.Contains(got, "again") {
		t.Errorf("equal lines of two streams are taken for one:\n%s", got)
	}
}

// TestBroken holds that a defect is located, that what stands before it counts, and
// that it is said that something is missing.
func TestBroken(t *testing.T) {
	f := func(kind Kind, text, want string) {
		t.Helper()
		if got := read(kind, text, 40); got != want {
			t.Errorf("%q holds\n%s\nwant\n%s", text, got, want)
		}
	}
	const rest, ends = " and was skipped; what stands before it counts", "the document ends in the middle: what followed is not there; what stands before it counts"
	f(lines, `[{"t":1},{"t":2`, "1@1 {\"t\":1}\n! 1@15 "+ends+"\n2 missing")
	f(lines, `[{"t":1}`, "1@1 {\"t\":1}\n! 1@8 "+ends+"\n2 missing")
	f(nested2, `{"k":1,"a":[{"b":[{"t":1},{"t":`, "1@18 {\"k\":1,\"a\":[{\"b\":[{\"t\":1}]}]}\n! 1@31 "+ends+"\n2 missing")
	f(lines, "{\"t\":1}\n{\"t\":2,\"x\":\"torn\n{\"t\":3}", "1@0 {\"t\":1}\n3@25 {\"t\":3}\n! 2@24 the text is no JSON from here on to line 2"+rest+"\n2 missing")
	f(lines, "{\"t\":1,\n{\"t\":3}", "2@8 {\"t\":3}\n! 2@8 the text is no JSON from here on to line 1"+rest+"\n2 missing")
	f(lines, "[{\"t\":1},{]]", "1@1 {\"t\":1}\n! 1@10 the text is no JSON from here on"+rest+"\n2 missing")
	f(lines, "[{\"t\":1}}", "1@1 {\"t\":1}\n! 1@8 the text is no JSON from here on"+rest+"\n2 missing")
	f(lines, `{"t":1,"x":"`+strings.Repeat("y", 50)+`"}{"t":2}`, "1@64 {\"t\":2}\n! 1@0 a record of more than 0 MiB was skipped\n1 missing")
	f(lines, "{\"t\":1}"+strings.Repeat("[", maxOpen+9), "1@0 {\"t\":1}\n! 1@521 the text is no JSON from here on"+rest+"\n2 missing")
}

// TestCapped holds that an export that ends where its tool stops leaves holes.
func TestCapped(t *testing.T) {
	f := func(n int, want bool) {
		t.Helper()
		x, _ := Read(&lines, strings.NewReader(strings.Repeat(`{"t":1}`, n)), 100, millis)
		if got := len(x.Missing) == 2 && len(x.Notes) == 1; got != want {
			t.Errorf("%d records: %v %v", n, x.Missing, x.Notes)
		}
	}
	f(3, false)
	f(4, true)
	f(5, false)
	paged := lines
	paged.paths, paged.more = []string{"events[]"}, "nextToken"
	for text, want := range map[string]int{`{"events":[],"nextToken":"x"}`: 2, `{"events":[],"nextToken":null}`: 0, `{"events":[],"nextToken":""}`: 0} {
		if x, _ := Read(&paged, strings.NewReader(text), 100, millis); len(x.Missing) != want {
			t.Errorf("%s: %v", text, x.Missing)
		}
	}
}

func TestTable(t *testing.T) {
	kind := Kind{Name: "test", rows: true, time: "t", line: func(c columns) plan {
		return plan{{`{"t":`, c["t"], formText}, {`,"x":`, c["x"], formText}, {"}", -1, 0}}
	}}
	f := func(text, want string) {
		t.Helper()
		if got := read(kind, text, 40); got != want {
			t.Errorf("%q holds\n%s\nwant\n%s", text, got, want)
		}
	}
	f("t,x\n1,a\n2,\"b \"\"c\"\"\nd\"\r\n3,\n", "2@4 {\"t\":\"1\",\"x\":\"a\"}\n3@8 {\"t\":\"2\",\"x\":\"b \\\"c\\\"\\nd\"}\n5@23 {\"t\":\"3\",\"x\":null}")
	f("t,x\n\n1", "3@5 {\"t\":\"1\",\"x\":null}")
	f("t,x\n1,\"torn\n2,b\n", "! 2@4 the table ends inside a quoted value: the row is not whole\n2 missing")
	f("t,x\n1,"+strings.Repeat("y", 60)+"\n2,b", "3@67 {\"t\":\"2\",\"x\":\"b\"}\n! 2@4 a record of more than 0 MiB was skipped\n1 missing")
	f("t,x", "")
}

// TestNewestFirst holds which lines run backwards, and that those behind a line stay there.
func TestNewestFirst(t *testing.T) {
	f := func(want bool, times ...string) {
		t.Helper()
		text := ""
		for _, at := range times {
			text += "x 2026-07-19T22:20:" + at + "Z\n  more\n"
		}
		if got := newestFirst([]byte(text)); got != want {
			t.Errorf("%v: %v", times, got)
		}
	}
	f(true, "05", "04", "04", "03", "02", "01")
	f(false, "05", "04", "03", "02")
	f(false, "05", "04", "03", "02", "01", "02")
	f(true, "05.5", "05.41", "05.4", "05,39", "05")
	f(true, "59", "58", "57", "56", "55", "54", "53", "52", "51", "52", "51", "50")
	f(false, "01", "02", "03", "04", "05")
	f(false)
	for _, at := range []string{"[19/Jul/2026:22:20:%d +0000]", `{"time":17844996434%d}`, "1784499643.4%d", `{"log":"` + strings.Repeat("x", 300) + `","time":"2026-07-19T22:20:%dZ"}`} {
		up, down := "", ""
		for i := 10; i < 20; i++ {
			up, down = up+fmt.Sprintf("x "+at+"\n", i), fmt.Sprintf("x "+at+"\n", i)+down
		}
		if newestFirst([]byte(up)) || !newestFirst([]byte(down)) {
			t.Errorf("lines of %.60s: %v, %v", at, newestFirst([]byte(up)), newestFirst([]byte(down)))
		}
	}
	kind := newestKind
	clock := func(b []byte) (int64, bool) { return int64(b[18]), true }
	text := "x 2026-07-19T22:20:02Z b\n  b2\n\nx 2026-07-19T22:20:01Z a\n  a2"
	x, err := Read(&kind, strings.NewReader(text), 100, clock)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(x, strings.NewReader(text), int64(len(text)))
	got := ""
	var rec Record
	for r.Next(&rec) == nil {
		got += fmt.Sprintf("%d:%s ", rec.At.N, rec.Line)
	}
	if want := "4:x 2026-07-19T22:20:01Z a 5:  a2 1:x 2026-07-19T22:20:02Z b 2:  b2 3: "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNested(t *testing.T) {
	c := columnsOf([]byte("a.b.c,a.b.d,a.e,f,skip,a.b\n"))
	if got := string(nested(c, "skip").line(append([]byte(nil), '{'), []string{"1", "2", "3", "-", "x", "y"})) + "}"; got != `{"a":{"b":{"c":"1","d":"2"},"e":"3"},"f":null}` {
		t.Errorf("%s", got)
	}
}

// TestFind holds what is no document.
func TestFind(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if k := Find([]byte(text)); k != nil {
			t.Errorf("%q is taken for %s", text, k.Name)
		}
	}
	f("")
	f("{")
	f(`{"level":"info","msg":"x"}`)
	f(`{"log":{"entries":[{"request":{}}]}}`)
	f(`[{"_index":"x","_source":{"layers":{}}}]`)
	f("{\"insertId\":\"a\",\"timestamp\":\"t\",\"textPayload\":\"x\"}\nplain text\n{}")
	f(`{"line":1,"timestamp":2,"level":"info"}`)
	f("time,level,message\n1,2,3")
	f(`{"resourceMetrics":[]}`)
	f(`{"resourceLogs":[]}`)
}

// FuzzRead holds that no document breaks a reading, that every record counts, and
// that what was found is read again where it stands.
func FuzzRead(f *testing.F) {
	paths, _ := filepath.Glob("../logs/testdata/exports/*.[^g]*")
	if len(paths) < 20 {
		f.Fatalf("%d exports", len(paths))
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		kinds := All()
		if k := Find(b); k != nil {
			kinds = append(kinds[:2:2], *k)
		}
		for i := range kinds {
			x, err := Read(&kinds[i], bytes.NewReader(b), 1<<16, millis)
			if err != nil {
				t.Fatal(err)
			}
			r := NewReader(x, bytes.NewReader(b), int64(len(b)))
			var rec Record
			records, last := int64(0), int64(0)
			for {
				err := r.Next(&rec)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if rec.Phase != End {
					records++
				}
				if rec.Time < last && !kinds[i].ordered {
					t.Fatalf("%s: time goes back", kinds[i].Name)
				}
				if last = rec.Time; !bytes.HasPrefix(b[rec.At.Offset:], rec.Raw) && !kinds[i].rows {
					t.Fatalf("%s: %q does not stand at %d", kinds[i].Name, rec.Raw, rec.At.Offset)
				}
			}
			if records+x.Malformed != x.Records {
				t.Fatalf("%s: %d records read and %d malformed of %d", kinds[i].Name, records, x.Malformed, x.Records)
			}
		}
	})
}
