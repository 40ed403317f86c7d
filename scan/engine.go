package scan

import (
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/verdict"
)

// engine is the seam to the rules.
type engine struct {
	opt   Options
	rules *rules.Engine
}

func newEngine(opt Options) *engine {
	return &engine{opt, rules.NewEngine(rules.Options{
		CancelWindow: opt.CancelWindow.Nanoseconds(), SharedByDesign: opt.SharedByDesign,
		Pinned: opt.Assume == "pinned", Multiplexed: opt.Assume == "multiplexed",
	})}
}

// apply gives one event to the rules and returns the alias of the party it belongs to.
func (g *engine) apply(e *event.Event) (alias string) {
	m := g.rules.Apply(e)
	if m == nil || m.Party == nil {
		return ""
	}
	return m.Party.Alias
}

func (g *engine) end() { g.rules.End() }

func (g *engine) result() *verdict.Result {
	return verdict.Judge(g.rules, verdict.Options{FailOn: g.opt.FailOn, Since: g.opt.Since, Until: g.opt.Until})
}
