package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/scan"
	"github.com/isodetect/isodetect/signals"
)

// same compares a file with what it should hold, or writes it with -update.
func same(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, path); got != want {
		t.Errorf("%s is not what the catalogue and the samples say; go test ./docs -update writes it", path)
	}
}

// The worked example of each signal is what the program prints of its sample.
func TestExamples(t *testing.T) {
	t.Chdir("..")
	for _, s := range signals.All() {
		if s.Example == "" {
			t.Errorf("%s has no sample", s.Name)
			continue
		}
		res, in, err := scan.Run(context.Background(), scan.Options{Paths: []string{filepath.Join("samples", s.Example)}, CancelWindow: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		r := report.Build(res, in, report.Options{Show: report.Show{Possible: true, Hazard: true}})
		if err := report.Witness(&b, r, s.Name, report.Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		text := strings.TrimLeft(b.String(), "\n")
		if text == "" {
			t.Errorf("samples/%s does not show %s", s.Example, s.Name)
			continue
		}
		_, text, _ = strings.Cut(text, "  ") // the number of the finding
		same(t, filepath.Join("signals", "examples", s.Name+".txt"), text)
		if !*update && s.Witness() != text {
			t.Errorf("%s: another example is built in", s.Name)
		}
	}
}

// signals.md is the catalogue as a page.
func TestSignalsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Signals\n\nWhat isodetect looks for. `isodetect explain SIGNAL` prints the same; this page is made from it.\n\n| signal | | family |\n| --- | --- | --- |\n")
	for _, s := range signals.All() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", s.Name, s.Name, s.Title, s.Family)
	}
	for _, s := range signals.All() {
		section(&b, s)
	}
	b.WriteString("\n## Families\n\nThe class of repair that a finding calls for.\n\n")
	for _, f := range signals.Families() {
		fmt.Fprintf(&b, "- **%s**: %s\n", f, signals.FamilyText(f))
	}
	same(t, "signals.md", b.String())
}

func section(b *strings.Builder, s *signals.Signal) {
	fmt.Fprintf(b, "\n## %s\n\n%s. Family: %s. Since %s. Protocol: %s.\n\n%s\n", s.Name, capital(s.Title), s.Family, s.Since, strings.Join(s.Protocol, ", "), s.What)
	list := func(title string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(b, "\n### %s\n\n- %s\n", title, strings.Join(lines, "\n- "))
		}
	}
	var variants, looks []string
	for _, v := range s.Variants {
		line := "`" + v.Name + "`: " + v.What
		if v.Family != "" && v.Family != s.Family {
			line += " Family: " + string(v.Family) + "."
		}
		variants = append(variants, line)
	}
	for _, l := range s.Looks {
		looks = append(looks, "**"+l.Input+"**: "+l.Text)
	}
	list("Variants", variants)
	list("Who is who", []string{"**cause**: " + s.Cause, "**victim**: " + s.Victim})
	list("How it looks", looks)
	list("What looks like it and is not reported", s.LookAlike)
	list("What it takes to judge it", s.Needs)
	fmt.Fprintf(b, "\n### What a log must hold\n\n%s\n\n### What to change\n\n%s\n", s.Log, s.Remedy)
	if s.Client != "" {
		fmt.Fprintf(b, "\nIn the client: %s\n", s.Client)
	}
	fmt.Fprintf(b, "\n### Example\n\n```\n$ isodetect scan samples/%s\n%s```\n", s.Example, s.Witness())
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
