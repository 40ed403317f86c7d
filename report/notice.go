package report

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// NoticeSchema names the JSON form of a Notice.
const NoticeSchema = "isodetect/finding/v1"

// Notice is one finding that a watch tells, masked as the user asked.
type Notice struct {
	Schema     string  `json:"schema"`
	Tool       Tool    `json:"tool"`
	Occurrence string  `json:"occurrence"` // the same for every update of one finding
	Update     bool    `json:"update"`     // it was told before, with less certainty
	Finding    Finding `json:"finding"`
}

// NewNotice makes the notice of a finding.
func NewNotice(f signals.Finding, occurrence string, update bool, inputs []*source.Input, opt Options) Notice {
	opt.Show = Show{Possible: true, Hazard: true}
	r := Build(&verdict.Result{Findings: []signals.Finding{f}}, inputs, opt)
	v := r.Findings[0]
	v.Occurrence = occurrence
	return Notice{Schema: NoticeSchema, Tool: r.Tool, Occurrence: occurrence, Update: update, Finding: v}
}

// JSON is the notice as one line.
func (n Notice) JSON() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	write(enc, n)
	return safeJSON(buf.Bytes())
}

// WriteNotice writes a notice as a line of JSON or as the witness of the text report.
func WriteNotice(w io.Writer, n Notice, asJSON bool, st Style) error {
	if asJSON {
		_, err := w.Write(n.JSON())
		return err
	}
	p := newPage(w, st)
	p.several = true
	f := n.Finding
	p.blank()
	name := title(&f)
	if n.Update {
		name += " (surer than before)"
	}
	p.line(p.strength(&f).Render(strings.ToUpper(f.Strength)), "  ", p.bold.Render(name))
	p.findingText(&f)
	p.evidence(&f)
	p.conclusion(&f)
	p.para("   ", "occurrence "+n.Occurrence+" · fingerprint "+f.Fingerprint, p.dim)
	return p.err
}
