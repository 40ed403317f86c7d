package signals

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCatalogueOrder(t *testing.T) {
	want := []string{"fallback_resolution", "capability_drift", "token_collision", "cancellation_crosstalk",
		"subscription_bleed", "response_crossing", "shared_session"}
	if got := Names(); !slices.Equal(got, want) {
		t.Fatalf("unexpected signals; got %q; want %q", got, want)
	}
}

func TestAllIsACopy(t *testing.T) {
	All()[0] = nil
	if All()[0] != FallbackResolution {
		t.Fatalf("a caller changed the catalogue through the slice that All returned")
	}
}

func TestByName(t *testing.T) {
	f := func(name string, want *Signal) {
		t.Helper()
		if got := ByName(name); got != want {
			t.Fatalf("unexpected signal for %q; got %v; want %v", name, got, want)
		}
	}
	f("token_collision", TokenCollision)
	f("shared_session", SharedSession)
	f("Token_Collision", nil)
	f("", nil)
}

// Every field of every signal has something to say: explain, SARIF rules and the docs print all of them.
func TestEverySignalIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range All() {
		for field, text := range map[string]string{"Name": s.Name, "Title": s.Title, "Since": s.Since, "What": s.What, "Remedy": s.Remedy, "Log": s.Log, "Occasion": s.Occasion, "Cause": s.Cause, "Victim": s.Victim, "Example": s.Example} {
			if strings.TrimSpace(text) == "" {
				t.Errorf("%s: %s is empty", s.Name, field)
			}
		}
		for field, n := range map[string]int{"Variants": len(s.Variants), "Protocol": len(s.Protocol), "LookAlike": len(s.LookAlike), "Needs": len(s.Needs)} {
			if n == 0 {
				t.Errorf("%s: %s is empty", s.Name, field)
			}
		}
		if names[s.Name] {
			t.Errorf("%s stands twice in the catalogue", s.Name)
		}
		names[s.Name] = true
		if len(s.Title) > 70 {
			t.Errorf("%s: title has %d bytes; a table has room for 70", s.Name, len(s.Title))
		}
		checkSentences(t, s)
		checkVariants(t, s)
		checkLooks(t, s)
	}
}

func checkSentences(t *testing.T, s *Signal) {
	t.Helper()
	texts := slices.Concat([]string{s.What, s.Remedy, s.Log}, s.LookAlike, s.Needs)
	for _, l := range s.Looks {
		texts = append(texts, l.Text)
	}
	for _, v := range s.Variants {
		texts = append(texts, v.What)
	}
	if s.Client != "" {
		texts = append(texts, s.Client)
	}
	for _, text := range texts {
		if !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") || strings.ContainsAny(text, "\n\t") {
			t.Errorf("%s: not one clean line that ends in a full stop: %q", s.Name, text)
		}
	}
}

func checkVariants(t *testing.T, s *Signal) {
	t.Helper()
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for _, v := range s.Variants {
		if !name.MatchString(v.Name) || seen[v.Name] || v.What == "" {
			t.Errorf("%s: bad, repeated or undocumented variant %q", s.Name, v.Name)
		}
		seen[v.Name] = true
		if FamilyText(s.FamilyOf(v.Name)) == "" {
			t.Errorf("%s/%s: family %q has no text", s.Name, v.Name, s.FamilyOf(v.Name))
		}
	}
}

func checkLooks(t *testing.T, s *Signal) {
	t.Helper()
	var inputs []string
	for _, l := range s.Looks {
		inputs = append(inputs, l.Input)
	}
	if want := []string{InCapture, InHAR, InWire, InLog, InNative}; !slices.Equal(inputs, want) {
		t.Errorf("%s: looks are for %q; want %q", s.Name, inputs, want)
	}
}

func TestProtocolRulesAreWellFormed(t *testing.T) {
	rule := regexp.MustCompile(`^P-[A-Z]{2,3}-[1-9]$`)
	for _, s := range All() {
		for _, p := range s.Protocol {
			if !rule.MatchString(p) {
				t.Errorf("%s: %q is no rule id", s.Name, p)
			}
		}
	}
}

func TestExamplesExist(t *testing.T) {
	for _, s := range All() {
		if _, err := os.Stat(filepath.Join("..", "samples", s.Example)); err != nil {
			t.Errorf("%s: cannot find its example: %s", s.Name, err)
		}
	}
}

func TestFamilyOf(t *testing.T) {
	f := func(s *Signal, variant string, want Family) {
		t.Helper()
		if got := s.FamilyOf(variant); got != want {
			t.Fatalf("unexpected family of %s/%s; got %s; want %s", s.Name, variant, got, want)
		}
	}
	f(CapabilityDrift, "undeclared", Keying)
	f(CapabilityDrift, "misrouted_request", Lifetime)
	f(CapabilityDrift, "", Keying)
	f(ResponseCrossing, "no such variant", ExchangeKey)
}

func TestFamilyText(t *testing.T) {
	seen := map[string]Family{}
	for _, f := range Families() {
		text := FamilyText(f)
		if text == "" {
			t.Errorf("family %s has no text", f)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("families %s and %s have one text", f, other)
		}
		seen[text] = f
	}
	if got := FamilyText("nonsense"); got != "" {
		t.Errorf("an unknown family has the text %q", got)
	}
}

func TestNoteKinds(t *testing.T) {
	names := map[string]bool{}
	for _, k := range NoteKinds() {
		if names[k.Name] || k.Name == "" || NoteText(k.Name) != k.Text || !strings.HasSuffix(k.Text, ".") {
			t.Errorf("note %q is repeated, empty, or its text %q is no sentence", k.Name, k.Text)
		}
		names[k.Name] = true
	}
	if len(names) != 12 {
		t.Errorf("the closed list has %d notes; want 12", len(names))
	}
	if NoteText("no_such_note") != "" {
		t.Errorf("a note outside the list has a text")
	}
}

// Claims that MCP does not support (no revision says so) must not slip into a text.
func TestNoUnsupportedClaims(t *testing.T) {
	for _, s := range All() {
		text := strings.ToLower(strings.Join(slices.Concat([]string{s.What, s.Remedy, s.Client}, s.LookAlike, s.Needs), " "))
		for _, claim := range []string{"fresh session id", "fresh mcp-session-id", "shutdown message", "monotonic", "spec requires", "must be unique across clients"} {
			if strings.Contains(text, claim) {
				t.Errorf("%s: claims %q", s.Name, claim)
			}
		}
	}
}
