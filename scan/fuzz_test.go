package scan_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/scenario"
	"github.com/isodetect/isodetect/verdict"
)

// through runs bytes through the whole program and holds the result against
// what is always true; it returns the JSON report.
func through(t *testing.T, format string, data []byte) []byte {
	t.Helper()
	res, ins, err := scan.Run(context.Background(), scan.Options{
		Paths: []string{"-"}, Stdin: bytes.NewReader(data), InputFormat: format, CancelWindow: 500 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range ins {
		if s := in.Stats; s.Records != s.Used+s.Ignored+s.Malformed {
			t.Errorf("%d records, but %d used, %d ignored, %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
		}
	}
	if res.ExitCode < verdict.ExitClean || res.ExitCode > verdict.ExitInconclusive {
		t.Errorf("exit code %d", res.ExitCode)
	}
	r := report.Build(res, ins, report.Options{Version: "test", Show: report.Show{Possible: true, Hazard: true, Rejected: true, Notes: true}})
	var text, doc bytes.Buffer
	if err := report.Text(&text, r, report.Style{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, c := range text.String() {
		if c != '\n' && (unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c)) {
			t.Fatalf("the text report holds %U", c)
		}
	}
	if err := report.JSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(doc.Bytes()) {
		t.Fatal("the JSON report is not valid")
	}
	return doc.Bytes()
}

// Any bytes, read as any format, give a report that holds what it promises, and the same one again.
func FuzzScan(f *testing.F) {
	names := []string{""}
	for _, p := range parsers.Formats {
		names = append(names, p.Name)
	}
	files, _ := filepath.Glob("../testdata/cases/*/*")
	for i, file := range files {
		if st, err := os.Stat(file); err == nil && st.Size() < 60<<10 && !strings.HasSuffix(file, "expect.json") {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(0), data)
			f.Add(byte(i%len(names)), data[:len(data)/2])
		}
	}
	f.Fuzz(func(t *testing.T, pick byte, data []byte) {
		format := names[int(pick)%len(names)]
		if a, b := through(t, format, data), through(t, format, data); !bytes.Equal(a, b) {
			t.Errorf("two runs differ:\n%s\n%s", a, b)
		}
	})
}

// A scenario whose lines are lost, repeated, swapped or damaged still goes through to a report.
func FuzzScenario(f *testing.F) {
	all, err := scenario.Load("../testdata/scenarios")
	if err != nil {
		f.Fatal(err)
	}
	var lines [][][]byte
	for _, s := range all {
		tr, err := s.Run()
		if err != nil {
			f.Fatal(err)
		}
		if data, ok := tr.Compile(scenario.Wire); ok {
			lines = append(lines, bytes.SplitAfter(data, []byte("\n")))
		}
	}
	for i := range lines {
		f.Add(uint16(i), []byte{0})
		f.Add(uint16(i), []byte{1, 5, 2, 9, 3, 7, 4, 80})
	}
	f.Fuzz(func(t *testing.T, pick uint16, edits []byte) {
		in := append([][]byte(nil), lines[int(pick)%len(lines)]...)
		for i := 0; i+1 < len(edits) && i < 64; i += 2 {
			n := int(edits[i+1]) % len(in)
			switch edits[i] % 5 {
			case 1:
				in[n] = nil
			case 2:
				in[n] = append(append([]byte(nil), in[n]...), in[n]...)
			case 3:
				m := (n + 1) % len(in)
				in[n], in[m] = in[m], in[n]
			case 4:
				if len(in[n]) > 0 {
					in[n] = append([]byte(nil), in[n]...)
					in[n][int(edits[i+1])*7%len(in[n])] ^= 1 << (edits[i] % 8)
				}
			}
		}
		data := bytes.Join(in, nil)
		if a, b := through(t, "wire", data), through(t, "wire", data); !bytes.Equal(a, b) {
			t.Errorf("two runs differ:\n%s\n%s", a, b)
		}
		dir := t.TempDir()
		one, twin := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		for _, path := range []string{one, twin} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "read twice", found(run(t, scan.Options{Paths: []string{one, twin}, InputFormat: "wire"})),
			found(run(t, scan.Options{Paths: []string{one}, InputFormat: "wire"})))
	})
}
