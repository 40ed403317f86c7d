package metrics

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metricsql"
	"go.yaml.in/yaml/v3"
)

// Every expression is MetricsQL over metrics and labels that there are.
func TestAlertsAskForWhatThereIs(t *testing.T) {
	used := map[string]bool{}
	for _, a := range Alerts(Idle) {
		expr, err := metricsql.Parse(a.Expr)
		if err != nil {
			t.Errorf("%s: %s", a.Name, err)
			continue
		}
		metricsql.VisitAll(expr, func(e metricsql.Expr) {
			if m, ok := e.(*metricsql.MetricExpr); ok {
				used[check(t, a.Name, m)] = true
			}
		})
	}
	for _, m := range All() {
		if !used[m.Name] && m.Name != Sessions.Name {
			t.Errorf("no alert looks at %s", m.Name)
		}
	}
}

func check(t *testing.T, alert string, m *metricsql.MetricExpr) (name string) {
	t.Helper()
	for _, filters := range m.LabelFilterss {
		i := slices.IndexFunc(All(), func(m Metric) bool { return filters[0].Label == "__name__" && m.Name == filters[0].Value })
		if i < 0 {
			t.Errorf("%s: %s is no metric", alert, filters[0].Value)
			continue
		}
		name = All()[i].Name
		for _, lf := range filters[1:] {
			if !slices.Contains(All()[i].Labels, lf.Label) {
				t.Errorf("%s: %s has no label %s", alert, name, lf.Label)
			}
		}
	}
	return name
}

func TestAlertsSayWhatToDo(t *testing.T) {
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	seen := map[string]bool{}
	for _, a := range Alerts(Idle) {
		if seen[a.Name] || a.Summary == "" || a.What == "" || !slices.Contains([]string{"critical", "warning", "info"}, a.Severity) {
			t.Errorf("%+v lacks something, or its name is taken", a)
		}
		seen[a.Name] = true
		for _, m := range label.FindAllStringSubmatch(a.Summary+a.What, -1) {
			if !slices.Contains(Findings.Labels, m[1]) {
				t.Errorf("%s shows the label %s, which there is not", a.Name, m[1])
			}
		}
	}
	if len(Alerts(0)) != len(seen)-1 {
		t.Error("an idle time of 0 does not leave out the alert about it")
	}
}

func TestIdleSaysHowLong(t *testing.T) {
	f := func(idle time.Duration, says, window string) {
		t.Helper()
		a := quiet(idle)
		if !strings.HasSuffix(a.Summary, " for "+says) || !strings.Contains(a.Expr, "["+window+"]") {
			t.Errorf("%s: %s, %s", idle, a.Summary, a.Expr)
		}
	}
	f(time.Hour, "1h", "3600s")
	f(90*time.Minute, "1h30m", "5400s")
	f(10*time.Minute, "10m", "600s")
	f(90*time.Second, "1m30s", "90s")
	f(20*time.Second, "20s", "20s")
}

func TestWriteRules(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRules(&b, Alerts(Idle)); err != nil {
		t.Fatal(err)
	}
	var file ruleFile
	dec := yaml.NewDecoder(bytes.NewReader(b.Bytes()))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for i, a := range Alerts(Idle) {
		if r := file.Groups[0].Rules[i]; r.Alert != a.Name || r.Expr != a.Expr || r.For != a.For || r.Labels["severity"] != a.Severity {
			t.Errorf("%+v came out as %+v", a, r)
		}
	}
}

func TestMetricsAreNamedAsTheirKind(t *testing.T) {
	name := regexp.MustCompile(`^isodetect_[a-z_]+$`)
	for _, m := range All() {
		if !name.MatchString(m.Name) || (m.Kind == Counter) != strings.HasSuffix(m.Name, "_total") || !strings.HasSuffix(m.Help, ".") {
			t.Errorf("%+v", m)
		}
		for _, l := range m.Labels {
			if strings.Contains(l, "session") {
				t.Errorf("%s shows sessions", m.Name)
			}
		}
	}
}
