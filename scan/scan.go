// Package scan runs the whole chain once over a set of inputs: it opens and
// merges them, feeds the rules, and turns what was and was not read into the
// outcome of the run.
package scan

import (
	"context"
	"io"
	"time"

	"github.com/isodetect/isodetect/correlate"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/verdict"
	"github.com/isodetect/isodetect/verdict/gate"
)

// Options is what a user may say about one run. The zero value reads nothing and
// judges by the defaults, except that CancelWindow has to be set.
type Options struct {
	Paths       []string             // files, directories, or "-" for Stdin
	Stdin       io.Reader            // what "-" reads
	InputFormat string               // name of a format for every input, "" = recognised by content
	Domains     []string             // NAME=GLOB, first match wins
	Join        bool                 // recordings of one server are one domain
	Zone        string               // offset of stamps without a zone, such as "+02:00"; "" = not said
	TLSKeyLog   string               // path of a file with secrets of TLS connections, "" = none
	Patterns    *pattern.Set         // the user's own wordings of log lines, nil = none
	Suggest     *pattern.Suggestions // is told the wordings that were not understood, nil = nobody is
	Since       int64                // ns; a finding counts if its first occurrence is inside, 0 = no limit
	Until       int64

	Gate            gate.Gate // which findings fail the run
	CancelWindow    time.Duration
	Limits          correlate.Limits // of the state; zero = correlate.DefaultLimits
	Assume          string           // Multiplexed, Pinned or ""
	SharedByDesign  bool
	Require         []string          // signals that must have been judged somewhere
	Baseline        *verdict.Baseline // findings that are known, nil = none
	StrictBaseline  bool              // entries of it that are over fail the run
	Today           time.Time         // the day by which they expire
	RequireComplete bool              // a hole in what was read makes a clean run inconclusive
	PassUnjudged    bool              // an inconclusive run passes

	// Progress, if not nil, is told after every read how many bytes of all inputs on
	// disk were read; total is -1 where it is not known. Inputs that are read in
	// parallel may call it at once.
	Progress func(read, total int64)
	// Observe, if not nil, is shown every moment after the rules have seen it. The
	// moment is valid during the call only.
	Observe func(*correlate.Moment)

	formats []source.Format // nil = parsers.Formats
	named   *named          // which of Domains took something; nil = there are none
}

// Values of Options.Assume.
const (
	Multiplexed = "multiplexed" // all sessions share one process
	Pinned      = "pinned"      // each is served by a process of its own
)

// Run reads the inputs and returns the verdict over them, and the inputs in the
// order of their indexes. When ctx ends, the verdict covers what was read until
// then and says so. The error is about the options; an input that cannot be read
// is told by the verdict and by its Stats.
func Run(ctx context.Context, opt Options) (*verdict.Result, []*source.Input, error) {
	set, done, err := openInputs(ctx, &opt)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	eng := rules.NewEngine(opt.Engine())
	interrupted, err := feed(ctx, set, eng, opt)
	if err != nil {
		return nil, nil, err
	}
	set.Finish()
	eng.End()
	res := verdict.Judge(eng, verdict.Options{
		Gate: opt.Gate, Since: opt.Since, Until: opt.Until, Require: opt.Require,
		Baseline: opt.Baseline, Strict: opt.StrictBaseline, Today: opt.Today,
	})
	ownTimes(res, set.Inputs())
	conclude(res, set, opt, interrupted)
	return res, set.Inputs(), nil
}

// openInputs opens the inputs, and returns what closes them.
func openInputs(ctx context.Context, opt *Options) (*parsers.Set, func(), error) {
	how, err := opt.Parsers()
	if err != nil {
		return nil, nil, err
	}
	if len(opt.Domains) > 0 {
		opt.named = &named{}
		how.Source.DomainOf = opt.named.watch(how.Source.DomainOf)
	}
	if !opt.Join {
		set, err := parsers.Open(ctx, opt.Paths, how)
		return set, func() { set.Close() }, err
	}
	set, pipes, err := openJoined(ctx, opt, how)
	return set, func() { set.Close(); pipes.Close() }, err
}

// Engine is what the rules need of the options.
func (opt Options) Engine() rules.Options {
	return rules.Options{
		Since: opt.Since, Until: opt.Until,
		CancelWindow:   opt.CancelWindow.Nanoseconds(),
		SharedByDesign: opt.SharedByDesign,
		Pinned:         opt.Assume == Pinned,
		Multiplexed:    opt.Assume == Multiplexed,
		Limits:         opt.Limits,
	}
}

// Parsers is what the reading of inputs needs of the options. The error says which
// of them cannot be used.
func (opt Options) Parsers() (parsers.Options, error) {
	var none parsers.Options
	offset, given, err := ParseZone(opt.Zone)
	if err != nil {
		return none, err
	}
	domainOf, err := domainsOf(opt.Domains)
	if err != nil {
		return none, err
	}
	var keys *keylog.Log
	if opt.TLSKeyLog != "" {
		if keys, err = keylog.Open(opt.TLSKeyLog); err != nil {
			return none, err
		}
	}
	return parsers.Options{
		Formats: opt.formats,
		Format:  opt.InputFormat,
		Stdin:   opt.Stdin,
		Source:  source.Options{AssumeUTCOffset: offset, ZoneGiven: given, TLSKeys: keys, DomainOf: domainOf, Patterns: opt.Patterns, Suggest: opt.Suggest},
	}, nil
}
