package verdict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/isodetect/isodetect/signals"
)

// Baseline is the findings that are known and do not fail a run until they
// expire. Each is one fault: signal, variant, endpoint, method, tool or URI shape
// (signals.Finding.Fingerprint), so that the same signal elsewhere is a new finding.
type Baseline struct {
	Version int     `yaml:"version"`
	Entries []Entry `yaml:"entries"`
}

// Entry is one known finding.
type Entry struct {
	Fingerprint string `yaml:"fingerprint"`
	Reason      string `yaml:"reason"`           // required: why it is accepted for now
	Expires     Date   `yaml:"expires"`          // required: the last day on which it is accepted
	Signal      string `yaml:"signal,omitempty"` // prune asks whether it was judged
	// For whoever reads the file; they decide nothing.
	Variant  string `yaml:"variant,omitempty"`
	Endpoint string `yaml:"endpoint,omitempty"`
	Method   string `yaml:"method,omitempty"`
	Subject  string `yaml:"subject,omitempty"`

	line int
}

// Date is a day in UTC, written as 2027-01-31.
type Date struct{ time.Time }

// UnmarshalYAML reads a date and says in which line it is none.
func (d *Date) UnmarshalYAML(n *yaml.Node) error {
	t, err := time.Parse(time.DateOnly, n.Value)
	if err != nil {
		return fmt.Errorf("line %d, column %d: %q is no date such as 2027-01-31", n.Line, n.Column, n.Value)
	}
	d.Time = t
	return nil
}

// MarshalYAML writes a date.
func (d Date) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: d.Format(time.DateOnly)}, nil
}

// UnmarshalYAML reads an entry and remembers where it stands.
func (e *Entry) UnmarshalYAML(n *yaml.Node) error {
	type plain Entry // without this method
	if n.Kind == yaml.MappingNode {
		for i := 0; i < len(n.Content); i += 2 {
			if k := n.Content[i]; !slices.Contains(entryKeys, k.Value) {
				return fmt.Errorf("line %d, column %d: an entry has no key %q; it has %s", k.Line, k.Column, k.Value, strings.Join(entryKeys, ", "))
			}
		}
	}
	if err := n.Decode((*plain)(e)); err != nil {
		return err
	}
	e.line = n.Line
	return nil
}

var entryKeys = []string{"fingerprint", "reason", "expires", "signal", "variant", "endpoint", "method", "subject"}

// ReadBaseline reads a baseline strictly. The error names line and reason.
func ReadBaseline(data []byte) (*Baseline, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var b Baseline
	if err := dec.Decode(&b); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if b.Version != 1 {
		return nil, fmt.Errorf("version is %d; this isodetect reads version 1", b.Version)
	}
	seen := map[string]int{}
	for i := range b.Entries {
		e := &b.Entries[i]
		switch {
		case !strings.HasPrefix(e.Fingerprint, "v1:"):
			return nil, fmt.Errorf("line %d: fingerprint %q is none; one begins with v1: and has 16 digits", e.line, e.Fingerprint)
		case strings.TrimSpace(e.Reason) == "":
			return nil, fmt.Errorf("line %d: %s has no reason: say why it is accepted", e.line, e.Fingerprint)
		case e.Expires.IsZero():
			return nil, fmt.Errorf("line %d: %s has no date of expiry: say until when it is accepted", e.line, e.Fingerprint)
		case seen[e.Fingerprint] > 0:
			return nil, fmt.Errorf("line %d: %s stands in line %d already", e.line, e.Fingerprint, seen[e.Fingerprint])
		}
		seen[e.Fingerprint] = e.line
	}
	return &b, nil
}

// Bytes writes a baseline as YAML, its entries as they stand.
func (b *Baseline) Bytes() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString("# Findings that are known and do not fail a run until they expire. See isodetect baseline --help.\n")
	enc := yaml.NewEncoder(&buf)
	enc.SetIndent(2)
	if err := enc.Encode(b); err != nil {
		return nil, err
	}
	return buf.Bytes(), enc.Close()
}

// find returns the entry of a fingerprint, nil if there is none.
func (b *Baseline) find(fingerprint string) *Entry {
	i := slices.IndexFunc(b.Entries, func(e Entry) bool { return e.Fingerprint == fingerprint })
	if i < 0 {
		return nil
	}
	return &b.Entries[i]
}

// expired reports whether an entry is not accepted on a day any more.
func (e *Entry) expired(today time.Time) bool {
	return !today.Before(e.Expires.AddDate(0, 0, 1))
}

// Add adds the findings that a baseline does not know, and returns how many.
func (b *Baseline) Add(findings []signals.Finding, reason string, expires time.Time) int {
	n := 0
	for i := range findings {
		f := &findings[i]
		if !f.Fails || b.find(f.Fingerprint()) != nil {
			continue
		}
		b.Entries = append(b.Entries, Entry{
			Fingerprint: f.Fingerprint(), Reason: reason, Expires: Date{expires},
			Signal: f.Signal.Name, Variant: f.Variant, Endpoint: f.Path, Method: f.Method, Subject: f.Subject(),
		})
		n++
	}
	return n
}

// Prune removes the entries that a run did not see again although it judged
// their signal, and returns them. What was not judged proves nothing.
func (b *Baseline) Prune(res *Result) []Entry {
	judged := map[string]bool{}
	for i := range res.Domains {
		for _, s := range res.Domains[i].Signals {
			judged[s.Signal] = judged[s.Signal] || s.State == Judged
		}
	}
	seen := map[string]bool{}
	for i := range res.Findings {
		seen[res.Findings[i].Fingerprint()] = true
	}
	var gone []Entry
	b.Entries = slices.DeleteFunc(b.Entries, func(e Entry) bool {
		if seen[e.Fingerprint] || !judged[e.Signal] {
			return false
		}
		gone = append(gone, e)
		return true
	})
	return gone
}

// Known tells what a baseline did in a run.
type Known struct {
	Suppressed int     // findings that it kept from failing the run
	Expired    []Entry // entries whose finding occurred, and counts again
	Unmatched  []Entry // entries whose finding did not occur
}

// suppress marks the findings that a baseline accepts.
func (b *Baseline) suppress(valid []*signals.Finding, today time.Time) (known Known, rest []*signals.Finding) {
	if b == nil {
		return known, valid
	}
	seen := map[string]bool{}
	for _, f := range valid {
		e := b.find(f.Fingerprint())
		switch {
		case e == nil:
			rest = append(rest, f)
			continue
		case e.expired(today):
			rest = append(rest, f)
			if !seen[e.Fingerprint] {
				known.Expired = append(known.Expired, *e)
			}
		default:
			f.Suppressed = e.Reason
			known.Suppressed++
		}
		seen[e.Fingerprint] = true
	}
	for _, e := range b.Entries {
		if !seen[e.Fingerprint] {
			known.Unmatched = append(known.Unmatched, e)
		}
	}
	return known, rest
}
