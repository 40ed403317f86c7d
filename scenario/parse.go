package scenario

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Parse reads one scenario. Errors name the file and the line.
func Parse(name, text string) (*Scenario, error) {
	s := &Scenario{Name: name, Formats: map[Format]Carries{}}
	now := -time.Millisecond
	for i, line := range strings.Split(text, "\n") {
		if err := s.line(i+1, line, &now); err != nil {
			return nil, fmt.Errorf("cannot parse scenario %s.txt:%d: %w", name, i+1, err)
		}
	}
	if len(s.Rows) == 0 {
		return nil, fmt.Errorf("cannot parse scenario %s.txt: it names no row; add a line such as `row: token_collision.1 \"words of the row\"`", name)
	}
	if !s.Expect.None && s.Expect.empty() {
		return nil, fmt.Errorf("cannot parse scenario %s.txt: it expects nothing; add `expect none` or what is found", name)
	}
	return s, s.checkFormats()
}

func (s *Scenario) line(n int, line string, now *time.Duration) error {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return err
	}
	switch head := words[0]; {
	case head == "row:":
		if len(words) != 3 {
			return errors.New("want `row: id \"quote\"`")
		}
		s.Rows = append(s.Rows, Row{ID: words[1], Quote: unquote(words[2]), Line: n})
		return nil
	case head == "expect" || head == "allow":
		return s.Expect.add(head, words[1:])
	case strings.HasSuffix(head, ":"):
		return s.format(Format(strings.TrimSuffix(head, ":")), line[strings.Index(line, ":")+1:])
	case head == "log":
		return s.literal(n, line, now)
	}
	st, err := parseStep(n, words, now)
	if err != nil {
		return err
	}
	if st.Subject == "server" && st.Verb == "is" {
		s.Server = st
		return nil
	}
	s.Steps = append(s.Steps, st)
	return nil
}

// literal keeps a line of a server log as it stands: `log at 20ms text…`.
func (s *Scenario) literal(n int, line string, now *time.Duration) error {
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "log"))
	*now += time.Millisecond
	if strings.HasPrefix(rest, "at ") {
		f := strings.Fields(rest)
		if len(f) < 3 {
			return errors.New("want `log at TIME text`")
		}
		d, err := time.ParseDuration(f[1])
		if err != nil {
			return fmt.Errorf("cannot read time: %w", err)
		}
		*now = d
		rest = strings.TrimSpace(strings.SplitN(strings.TrimPrefix(rest, "at "), f[1], 2)[1])
	}
	s.Steps = append(s.Steps, Step{Line: n, At: *now, Subject: "log", Verb: "line", Words: []string{rest}, text: rest})
	return nil
}

// parseStep reads `[at TIME|+TIME] subject verb …  [!outcome [-> other step]]…`.
func parseStep(n int, words []string, now *time.Duration) (Step, error) {
	st := Step{Line: n, Opt: map[string]string{}}
	*now += time.Millisecond
	if words[0] == "at" && len(words) > 1 {
		d, err := time.ParseDuration(strings.TrimPrefix(words[1], "+"))
		if err != nil {
			return st, fmt.Errorf("cannot read time: %w", err)
		}
		if strings.HasPrefix(words[1], "+") {
			d += *now - time.Millisecond
		}
		*now, words = d, words[2:]
	}
	st.At = *now
	words, mutants := cutMutants(words)
	if len(words) < 2 {
		return st, errors.New("want `subject verb …`")
	}
	for _, m := range mutants {
		mu, err := parseMutant(m)
		if err != nil {
			return st, err
		}
		st.Mutants = append(st.Mutants, mu)
	}
	st.text = strings.Join(words, " ")
	st.Subject, st.Verb = words[0], words[1]
	for _, w := range words[2:] {
		if k, v, ok := strings.Cut(w, "="); ok && isKey(k) {
			if k != "id" && k != "token" { // their type counts: 7 is not "7"
				v = unquote(v)
			}
			st.Opt[k] = v
		} else {
			st.Words = append(st.Words, unquote(w))
		}
	}
	return st, nil
}

func isKey(k string) bool {
	for _, r := range k {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return k != ""
}

// cutMutants divides a step from its `!…` parts.
func cutMutants(words []string) (step []string, mutants [][]string) {
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "!") && len(w) > 1:
			mutants = append(mutants, []string{w[1:]})
		case len(mutants) > 0:
			mutants[len(mutants)-1] = append(mutants[len(mutants)-1], w)
		default:
			step = append(step, w)
		}
	}
	return step, mutants
}

// parseMutant reads `off`, `none` or `signal:strength`, with an optional `-> step`.
func parseMutant(words []string) (Mutant, error) {
	m := Mutant{Text: "!" + strings.Join(words, " ")}
	if len(words) > 1 {
		if words[1] != "->" {
			return m, fmt.Errorf("want `!outcome -> step`, not %q", m.Text)
		}
		m.Instead = strings.Join(words[2:], " ")
	}
	if words[0] == "off" || words[0] == "none" {
		m.Want.None = true
		return m, nil
	}
	for _, one := range strings.Split(words[0], ",") {
		signal, strength, ok := strings.Cut(one, ":")
		if !ok {
			return m, fmt.Errorf("want `!off` or `!signal:strength`, not %q", m.Text)
		}
		if err := m.Want.add("expect", []string{signal, strength}); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (s *Scenario) format(f Format, rest string) error {
	known := false
	for _, k := range Formats {
		known = known || k == f
	}
	if !known {
		return fmt.Errorf("unknown line %q; formats are wire, har, pcap, native, log, h2", f+":")
	}
	if _, twice := s.Formats[f]; twice {
		return fmt.Errorf("format %s is stated twice", f)
	}
	how, why, _ := strings.Cut(strings.TrimSpace(rest), "(")
	c := Carries{How: strings.TrimSpace(how), Why: strings.TrimSuffix(strings.TrimSpace(why), ")")}
	switch w := strings.Fields(c.How); {
	case c.How == "found" || c.How == "silent" && (c.Why == "" || s.Expect.None):
	case c.How == "silent": // this format shows other rows of the signal, not this one
		c.Expect = &Expectation{None: true}
	case c.How == "not assessable" || c.How == "skip":
		c.Expect = &Expectation{None: true}
	case len(w) == 2 && w[0] == "weaker":
		c.How = "weaker"
		e, err := s.Expect.weaker(w[1])
		if err != nil {
			return err
		}
		c.Expect = &e
	case len(w) > 1 && w[0] == "instead":
		c.How = "instead"
		c.Expect = &Expectation{}
		for _, part := range strings.Split(strings.TrimPrefix(strings.TrimSpace(how), "instead"), ";") {
			if err := c.Expect.add("expect", strings.Fields(part)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("cannot read %q: want found, silent, weaker STRENGTH, not assessable, instead …, skip", c.How)
	}
	if c.How != "found" && c.How != "silent" && c.Why == "" {
		return fmt.Errorf("%s: %s needs a reason in parentheses", f, c.How)
	}
	s.Formats[f] = c
	return nil
}

func (s *Scenario) checkFormats() error {
	for _, f := range []Format{Wire, HAR, Pcap, Native} {
		c, ok := s.Formats[f]
		if !ok {
			return fmt.Errorf("cannot parse scenario %s.txt: it does not state what %s carries", s.Name, f)
		}
		if c.How == "found" && s.Expect.None || c.How == "silent" && !s.Expect.None && c.Why == "" {
			return fmt.Errorf("cannot parse scenario %s.txt: %s says %s, which does not fit its expectations", s.Name, f, c.How)
		}
	}
	return nil
}

// split divides a line into words. A quoted string, an object and an array stay
// one word, also behind `key=`; `#` begins a comment.
func split(line string) ([]string, error) {
	var words []string
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			return words, nil
		default:
			end, err := wordEnd(line, i)
			if err != nil {
				return nil, err
			}
			words = append(words, line[i:end])
			i = end
		}
	}
	return words, nil
}

func wordEnd(line string, i int) (int, error) {
	depth := 0
	for ; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			if i >= len(line) {
				return 0, errors.New("a quote is not closed")
			}
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case (c == ' ' || c == '\t' || c == '\r') && depth <= 0:
			return i, nil
		}
	}
	if depth > 0 {
		return 0, errors.New("a bracket is not closed")
	}
	return i, nil
}
