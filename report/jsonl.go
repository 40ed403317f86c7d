package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSONLines writes the report as one JSON object a line. The key "record" says
// what a line is: input, domain, finding, note, and verdict, which is the last.
func JSONLines(w io.Writer, r *Report) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	for i := range r.Inputs {
		write(enc, struct {
			Schema string `json:"schema"`
			Record string `json:"record"`
			*Input
		}{r.Schema, "input", &r.Inputs[i]})
	}
	for i := range r.Domains {
		write(enc, struct {
			Schema string `json:"schema"`
			Record string `json:"record"`
			*Domain
		}{r.Schema, "domain", &r.Domains[i]})
	}
	for i := range r.Findings {
		write(enc, struct {
			Schema string `json:"schema"`
			Record string `json:"record"`
			*Finding
		}{r.Schema, "finding", &r.Findings[i]})
	}
	for i := range r.Notes {
		write(enc, struct {
			Schema string `json:"schema"`
			Record string `json:"record"`
			*Note
		}{r.Schema, "note", &r.Notes[i]})
	}
	write(enc, struct {
		Schema string `json:"schema"`
		Record string `json:"record"`
		*Verdict
		Without    *WithoutMCP    `json:"without_mcp,omitempty"`
		Hidden     map[string]int `json:"hidden,omitempty"`
		Unselected int            `json:"unselected,omitempty"`
		Tool       Tool           `json:"tool"`
	}{r.Schema, "verdict", &r.Verdict, r.Without, r.Hidden, r.Unselected, r.Tool})
	if _, err := w.Write(safeJSON(buf.Bytes())); err != nil {
		return fmt.Errorf("cannot write the report as JSON lines: %w", err)
	}
	return nil
}

// write encodes a value of this package, which cannot fail.
func write(enc *json.Encoder, v any) {
	if err := enc.Encode(v); err != nil {
		panic("BUG: " + err.Error())
	}
}
