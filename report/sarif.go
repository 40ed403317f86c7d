package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/isodetect/isodetect/signals"
)

// maxResults bounds the results of a SARIF document: what consumers take.
const maxResults = 5000

// about is where a reader learns more about the tool.
const about = "https://github.com/isodetect/isodetect"

// SARIF writes the report as SARIF 2.1.0. Every party of a finding is one thread
// flow. Records of captures and HAR files, which have no lines, are shown by their
// line in the trail, if one is written beside the output.
func SARIF(w io.Writer, r *Report, to Target) error {
	_, at := trail(r)
	s := sarif{r: r, to: to, trail: at}
	return writeJSON(w, "SARIF", s.log())
}

type sarif struct {
	r     *Report
	to    Target
	trail map[trailKey]int
}

func (s *sarif) log() sarifLog {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: s.r.Tool.Name, Version: s.r.Tool.Version, About: about, Rules: sarifRules()}},
		ColumnKind: "utf16CodeUnits",
		Results:    []sarifResult{},
	}
	for i := range s.r.Findings {
		if len(run.Results) == maxResults {
			break
		}
		run.Results = append(run.Results, s.result(&s.r.Findings[i]))
	}
	run.Invocations = []sarifInvocation{s.invocation(len(s.r.Findings) - len(run.Results))}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// sarifRules describes every signal, so that a rule has the same index in all documents.
func sarifRules() []sarifRule {
	var out []sarifRule
	for _, sig := range signals.All() {
		level := "error"
		if sig.Hazard {
			level = "note"
		}
		out = append(out, sarifRule{
			ID: sig.Name, Name: pascal(sig.Name), Short: sarifText{sentence(sig.Title)}, Full: sarifText{sig.What},
			Help:    sarifText{strings.TrimSpace(sig.Remedy + " " + sig.Client)},
			Default: sarifConfiguration{level}, Properties: map[string]any{"family": string(sig.Family), "tags": []string{"security", string(sig.Family)}},
		})
	}
	return out
}

// pascal writes token_collision as TokenCollision.
func pascal(name string) string {
	var b strings.Builder
	for _, w := range strings.Split(name, "_") {
		if w != "" {
			b.WriteString(strings.ToUpper(w[:1]) + w[1:])
		}
	}
	return b.String()
}

func (s *sarif) result(f *Finding) sarifResult {
	out := sarifResult{
		RuleID: f.Signal, Level: level(f), Message: sarifText{sentence(f.Summary)},
		RuleIndex:    slices.IndexFunc(signals.All(), func(sig *signals.Signal) bool { return sig.Name == f.Signal }),
		Fingerprints: map[string]string{"isodetect/v1": f.Fingerprint},
		Occurrences:  f.Count,
		Properties: map[string]any{
			"strength": f.Strength, "variant": f.Variant, "family": f.Family, "domain": f.Domain, "occurrence": f.Occurrence,
			"because": f.Because, "first_seen": f.FirstSeen, "last_seen": f.LastSeen,
		},
	}
	if why := discounted(f.Rejected, f.Suppressed); why != "" {
		out.Suppressions = []sarifSuppression{{Kind: "external", Justification: why}}
	}
	if len(f.Evidence) > 0 {
		anchor := max(slices.IndexFunc(f.Evidence, func(e Evidence) bool { return e.Role == signals.Victim.String() }), 0)
		out.Locations = []sarifLocation{s.location(&f.Evidence[anchor])}
		out.Flows = []sarifFlow{{s.threads(f)}}
	}
	return out
}

// discounted says why a finding does not count.
func discounted(rejected, suppressed string) string {
	switch {
	case suppressed != "":
		return suppressed
	case rejected != "":
		return "the condition " + rejected + " is not met"
	}
	return ""
}

// threads makes one thread flow of each party that evidence names, in their order.
func (s *sarif) threads(f *Finding) []sarifThread {
	var out []sarifThread
	for i := range f.Evidence {
		e := &f.Evidence[i]
		who := e.Party
		if who == "" {
			who = "unknown"
		}
		k := slices.IndexFunc(out, func(t sarifThread) bool { return t.ID == who })
		if k < 0 {
			k = len(out)
			out = append(out, sarifThread{ID: who, Message: sarifText{who}})
		}
		out[k].Locations = append(out[k].Locations, sarifStep{Location: s.location(e), Order: i + 1, Time: e.Time, Importance: importance(e.Role)})
	}
	return out
}

func importance(role string) string {
	if role == signals.Context.String() {
		return "unimportant"
	}
	return "essential"
}

func (s *sarif) location(e *Evidence) sarifLocation {
	l := sarifLocation{Message: &sarifText{strings.Join(nonEmpty(e.Says, fmt.Sprintf("%s, %s %d", e.Source, e.At.Unit, e.At.N)), " · ")}}
	line, file := e.line(), s.to.uri(e.Source)
	if line == 0 && s.to.Trail != "" {
		line, file = int64(s.trail[keyOf(e)]), s.to.uri(s.to.Trail)
	}
	l.Physical.Artifact.URI = file
	if line > 0 {
		l.Physical.Region = &sarifRegion{Line: line, Snippet: sarifText{e.Excerpt}}
	}
	return l
}

// invocation tells how the run ended, and what could not be judged.
func (s *sarif) invocation(left int) sarifInvocation {
	v := &s.r.Verdict
	inv := sarifInvocation{Success: v.ExitCode != 2, ExitCode: v.ExitCode, Notes: []sarifNotification{{
		Level: map[bool]string{true: "warning", false: "note"}[v.ExitCode >= 2], Message: sarifText{v.Outcome + ": " + v.Why},
	}}}
	if left > 0 {
		inv.Notes = append(inv.Notes, sarifNotification{Level: "warning", Message: sarifText{
			fmt.Sprintf("%d of %d findings are left out: this document holds %d at most; the JSON report has all", left, len(s.r.Findings), maxResults),
		}})
	}
	for i := range s.r.Domains {
		d := &s.r.Domains[i]
		for _, st := range d.Signals {
			if st.State != "judged" {
				inv.Notes = append(inv.Notes, sarifNotification{Level: "note", Rule: &sarifRuleRef{st.Signal},
					Message: sarifText{fmt.Sprintf("%s in %s: %s: %s", st.Signal, d.ID, strings.ReplaceAll(st.State, "_", " "), st.Why)}})
			}
		}
	}
	for i := range s.r.Inputs {
		if in := &s.r.Inputs[i]; in.Error != "" {
			inv.Notes = append(inv.Notes, sarifNotification{Level: "error", Message: sarifText{in.Path + ": " + in.Error}})
		}
	}
	if len(inv.Notes) > maxResults {
		inv.Notes = inv.Notes[:maxResults]
	}
	return inv
}
