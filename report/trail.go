package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"slices"
)

// A trail is the records on which findings rest, one JSON object a line in the
// order of time, masked as the report is. Outputs that can only point at lines
// point here for records of captures and HAR files, which have none.

const trailSchema = "isodetect/trail/v1"

// trailLine is one line of a trail.
type trailLine struct {
	Schema  string  `json:"schema"`
	Time    string  `json:"time,omitempty"`
	Source  string  `json:"source"`
	At      Address `json:"at"`
	Party   string  `json:"party,omitempty"`
	Excerpt string  `json:"excerpt"`
	Locate  string  `json:"locate,omitempty"`
}

// trailKey names a line of a trail: the same record of two findings stands once.
type trailKey struct {
	source, unit, excerpt string
	n                     int64
}

func keyOf(e *Evidence) trailKey { return trailKey{e.Source, e.At.Unit, e.Excerpt, e.At.N} }

// trail collects the evidence of all findings.
func trail(r *Report) (lines []trailLine, at map[trailKey]int) {
	keys := []trailKey{}
	at = map[trailKey]int{}
	byKey := map[trailKey]trailLine{}
	for i := range r.Findings {
		for j := range r.Findings[i].Evidence {
			e := &r.Findings[i].Evidence[j]
			k := keyOf(e)
			if _, ok := byKey[k]; !ok {
				keys = append(keys, k)
				byKey[k] = trailLine{trailSchema, e.Time, e.Source, e.At, e.Party, e.Excerpt, e.Locate}
			}
		}
	}
	slices.SortStableFunc(keys, func(a, b trailKey) int {
		return cmp.Or(cmp.Compare(byKey[a].Time, byKey[b].Time), cmp.Compare(a.source, b.source), cmp.Compare(a.n, b.n))
	})
	for i, k := range keys {
		at[k] = i + 1
		lines = append(lines, byKey[k])
	}
	return lines, at
}

// Trail writes the trail of a report.
func Trail(w io.Writer, r *Report) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	lines, _ := trail(r)
	for i := range lines {
		if err := enc.Encode(&lines[i]); err != nil {
			return err
		}
	}
	_, err := w.Write(safeJSON(buf.Bytes()))
	return err
}

// NeedsTrail reports whether a finding rests on a record that has no line.
func NeedsTrail(r *Report) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.line() == 0 })
	})
}
