// Package deploy tests that what runs isodetect tail (units, manifests, the dashboard)
// speaks of flags and metrics that there are.
package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"

	"github.com/isodetect/isodetect/metrics"
)

// dashboard is what the test needs to know of Grafana's model.
type dashboard struct {
	Panels     []panel
	Templating struct{ List []variable }
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct {
		Expr       string
		Datasource source
	}
}

type variable struct {
	Name, Type, Definition string
	Datasource             source
	Query                  any
}

type source struct{ Type, UID string }

func loadDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("grafana/dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// targetLabels are those that whoever scrapes adds.
var targetLabels = []string{"job", "instance"}

// windows are Grafana's variables that stand for a duration.
var windows = strings.NewReplacer("$__rate_interval", "1m", "$__range", "6h")

// Every expression is MetricsQL over metrics and labels that there are, and every
// metric is shown.
func TestDashboardAsksForWhatThereIs(t *testing.T) {
	d := loadDashboard(t)
	shown := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			expr, err := metricsql.Parse(windows.Replace(target.Expr))
			if err != nil {
				t.Errorf("%s: %s", p.Title, err)
				continue
			}
			metricsql.VisitAll(expr, func(e metricsql.Expr) { checkNames(t, p.Title, e, shown) })
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s asks for nothing", p.Title)
		}
	}
	for _, m := range metrics.All() {
		if !shown[m.Name] {
			t.Errorf("no panel shows %s", m.Name)
		}
	}
	for _, v := range d.Templating.List {
		m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
		if v.Type == "datasource" {
			continue
		}
		if m == nil || !slices.Contains(append(metrics.Findings.Labels, targetLabels...), m[2]) {
			t.Errorf("the variable %s asks for %q", v.Name, v.Definition)
			continue
		}
		expr, err := metricsql.Parse(m[1])
		if err != nil {
			t.Errorf("the variable %s: %s", v.Name, err)
			continue
		}
		checkNames(t, v.Name, expr, shown)
	}
}

func checkNames(t *testing.T, title string, e metricsql.Expr, shown map[string]bool) {
	t.Helper()
	known := append([]string(nil), targetLabels...)
	switch e := e.(type) {
	case *metricsql.AggrFuncExpr:
		for _, l := range e.Modifier.Args {
			if !slices.Contains(append(known, metrics.Findings.Labels...), l) {
				t.Errorf("%s: no metric has the label %s", title, l)
			}
		}
	case *metricsql.MetricExpr:
		for _, filters := range e.LabelFilterss {
			i := slices.IndexFunc(metrics.All(), func(m metrics.Metric) bool { return filters[0].Label == "__name__" && m.Name == filters[0].Value })
			if i < 0 {
				t.Errorf("%s: %s is no metric", title, filters[0].Value)
				continue
			}
			m := metrics.All()[i]
			shown[m.Name] = true
			for _, f := range filters[1:] {
				if !slices.Contains(append(known, m.Labels...), f.Label) {
					t.Errorf("%s: %s has no label %s", title, m.Name, f.Label)
				}
			}
		}
	}
}

// A counter is never shown as it stands, except in the table of all, and what is a
// gauge is never taken for a counter.
func TestDashboardKnowsCounters(t *testing.T) {
	for _, p := range loadDashboard(t).Panels {
		for _, target := range p.Targets {
			for _, m := range metrics.All() {
				if !strings.Contains(target.Expr, m.Name) {
					continue
				}
				over := strings.Contains(target.Expr, "increase("+m.Name) || strings.Contains(target.Expr, "rate("+m.Name)
				if want := m.Kind == metrics.Counter && p.Type != "table"; over != want {
					t.Errorf("%s takes the %s %s by %s", p.Title, m.Kind, m.Name, target.Expr)
				}
			}
		}
	}
}

// The data source is the reader's choice, everywhere.
func TestDashboardFitsAnyDataSource(t *testing.T) {
	d := loadDashboard(t)
	f := func(what string, s source) {
		t.Helper()
		if s != (source{"prometheus", "${datasource}"}) {
			t.Errorf("%s asks %+v", what, s)
		}
	}
	defined := []string{"__rate_interval", "__range"}
	for _, v := range d.Templating.List {
		defined = append(defined, v.Name)
		if v.Type != "datasource" {
			f(v.Name, v.Datasource)
		} else if v.Name != "datasource" || v.Query != "prometheus" {
			t.Errorf("the data source is %s of %v", v.Name, v.Query)
		}
	}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		f(p.Title, p.Datasource)
		for _, target := range p.Targets {
			f(p.Title, target.Datasource)
			for _, m := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(defined, m[1]) {
					t.Errorf("%s uses the variable %s, which there is not", p.Title, m[1])
				}
			}
		}
	}
}

func TestDashboardPanelsStandBesideEachOther(t *testing.T) {
	d := loadDashboard(t)
	for i, p := range d.Panels {
		g := p.GridPos
		if p.Title == "" || p.Type != "row" && p.Description == "" || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%+v lacks something", p)
		}
		for _, q := range d.Panels[:i] {
			o := q.GridPos
			if p.ID == q.ID || g.X < o.X+o.W && o.X < g.X+g.W && g.Y < o.Y+o.H && o.Y < g.Y+g.H {
				t.Errorf("%s and %s have one id or lie on each other", p.Title, q.Title)
			}
		}
	}
}
