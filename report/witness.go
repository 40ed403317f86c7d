package report

import "io"

// Witness writes the first finding of a signal as the text report shows it, and
// nothing if there is none.
func Witness(w io.Writer, r *Report, signal string, st Style) error {
	p := newPage(w, st)
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Signal == signal {
			p.finding(i+1, f)
			break
		}
	}
	return p.err
}
