package scan

import (
	"context"

	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/verdict"
)

// openJoined reads the inputs once to find out which of their domains are one server,
// and opens them again. The progress of opt goes on behind the first reading.
func openJoined(ctx context.Context, opt *Options, how parsers.Options) (*parsers.Set, *parsers.Pipes, error) {
	how.Pipes = parsers.NewPipes(ctx)
	first := how
	first.Source.Suggest = nil
	set, err := parsers.Open(ctx, opt.Paths, first)
	if err != nil {
		how.Pipes.Close()
		return nil, nil, err
	}
	defer set.Close()
	if show := opt.Progress; show != nil {
		twice := func(done int64) func(read, total int64) {
			return func(read, total int64) {
				if total >= 0 {
					total *= 2
				}
				show(done+read, total)
			}
		}
		set.Meter.Watch(func(read int64) { twice(0)(read, set.Bytes) })
		opt.Progress = twice(max(set.Bytes, 0))
	}
	if how.Joins, err = set.Survey(); err != nil {
		how.Pipes.Close()
		return nil, nil, err
	}
	set, err = parsers.Open(ctx, opt.Paths, how)
	return set, how.Pipes, err
}

// ownTimes gives the evidence of joined recordings the times that stand in them: only
// the order between recordings was judged by one clock.
func ownTimes(res *verdict.Result, inputs []*source.Input) {
	for i := range res.Findings {
		for k := range res.Findings[i].Evidence {
			e := &res.Findings[i].Evidence[k]
			if n := int(e.At.Source); n < len(inputs) && e.Time.To != 0 {
				e.Time.From += inputs[n].Ahead
				e.Time.To += inputs[n].Ahead
			}
		}
	}
}
