package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// JUnit writes the report as JUnit XML: one suite a domain with one test case a
// signal, which passed where it was judged, failed, or was skipped with the reason
// why it could not be judged; and a suite of one case that is the verdict of the run.
func JUnit(w io.Writer, r *Report) error {
	doc := junitSuites{Name: r.Tool.Name}
	for i := range r.Domains {
		doc.add(junitDomain(r, &r.Domains[i]))
	}
	doc.add(junitVerdict(r))
	out, err := xml.MarshalIndent(doc, "", "  ")
	if err == nil {
		_, err = io.WriteString(w, xml.Header+string(out)+"\n")
	}
	if err != nil {
		return fmt.Errorf("cannot write the report as JUnit XML: %w", err)
	}
	return nil
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"timestamp,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Failure *junitReason `xml:"failure,omitempty"`
	Error   *junitReason `xml:"error,omitempty"`
	Skipped *junitReason `xml:"skipped,omitempty"`
	Out     string       `xml:"system-out,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (s *junitSuites) add(suite junitSuite) {
	suite.Tests = len(suite.Cases)
	for i := range suite.Cases {
		switch c := &suite.Cases[i]; {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	s.Tests, s.Failures, s.Errors = s.Tests+suite.Tests, s.Failures+suite.Failures, s.Errors+suite.Errors
	s.Suites = append(s.Suites, suite)
}

func junitDomain(r *Report, d *Domain) junitSuite {
	suite := junitSuite{Name: d.ID, Time: strings.TrimSuffix(d.First, "Z")}
	for _, st := range d.Signals {
		c := junitCase{Name: st.Signal, Class: d.ID}
		var failing, other []string
		for i := range r.Findings {
			f := &r.Findings[i]
			switch {
			case f.Domain != d.ID || f.Signal != st.Signal:
			case f.Fails:
				failing = append(failing, plainFinding(f))
			default:
				other = append(other, plainFinding(f))
			}
		}
		switch {
		case len(failing) > 0:
			c.Failure = &junitReason{Message: plural(len(failing), "finding", "findings") + " of " + st.Signal, Type: st.Signal, Text: strings.Join(failing, "\n\n")}
		case st.State != "judged":
			c.Skipped = &junitReason{Message: strings.ReplaceAll(st.State, "_", " ") + ": " + st.Why}
		}
		c.Out = strings.Join(other, "\n\n")
		suite.Cases = append(suite.Cases, c)
	}
	return suite
}

// junitVerdict makes a run that judged nothing, or could not do its job, visible:
// without it a report of skipped cases would look like a pass.
func junitVerdict(r *Report) junitSuite {
	c := junitCase{Name: "verdict", Class: r.Tool.Name}
	v := &r.Verdict
	switch {
	case v.ExitCode == 2:
		c.Error = &junitReason{Message: v.Why, Type: v.Outcome}
	case v.ExitCode == 3:
		c.Failure = &junitReason{Message: v.Outcome + ": " + v.Why, Type: v.Outcome}
	case v.ExitCode == 1:
		c.Failure = &junitReason{Message: v.Why, Type: v.Outcome}
	case v.Outcome == "inconclusive":
		c.Skipped = &junitReason{Message: v.Outcome + ": " + v.Why}
	default:
		c.Out = v.Why
	}
	return junitSuite{Name: r.Tool.Name, Cases: []junitCase{c}}
}

// plainFinding is a finding in a few lines of plain text.
func plainFinding(f *Finding) string {
	var b strings.Builder
	name := f.Signal
	if f.Variant != "" {
		name += " " + f.Variant
	}
	strength := f.Strength
	if why := discounted(f.Rejected, f.Suppressed); why != "" {
		strength += ", does not count: " + escape(why)
	}
	fmt.Fprintf(&b, "%s, %s: %s\n", escape(name), strength, escape(sentence(f.Summary)))
	for _, why := range f.Because {
		fmt.Fprintf(&b, "  %s\n", escape(because(why)))
	}
	for i := range f.Evidence {
		e := &f.Evidence[i]
		fmt.Fprintf(&b, "  [%d] %s %s, %s %d: %s\n", i+1, e.Time, escape(e.Source), e.At.Unit, e.At.N, escape(strings.Join(nonEmpty(e.Party, e.Says), ": ")))
	}
	fmt.Fprintf(&b, "  fingerprint %s", f.Fingerprint)
	return b.String()
}

// because begins a sentence of a chain with because, unless it is what follows.
func because(why string) string {
	if strings.HasPrefix(why, "so ") {
		return why
	}
	return "because " + why
}
