// Package tail watches logs that grow and tells each finding as it becomes certain.
// It joins the following of files, the reading of their lines, the engine, a
// checkpoint and the outputs in one loop: nothing else touches their state, and a slow
// output or engine makes the reading wait, never the memory grow.
package tail

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/isodetect/isodetect/correlate/snapshot"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/rules"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

// Clock tells the time and waits; tests drive it.
type Clock = follow.Clock

// Options is what a user may say about a watch.
type Options struct {
	Paths   []string // files, globs, "-"
	Follow  follow.Options
	Parsers parsers.Options
	Engine  rules.Options
	Verdict verdict.Options
	Report  report.Options

	Checkpoint string // path; "" = none is kept
	Fresh      bool   // what it holds is dropped
	Outputs    []*Output
	Syslog     *Syslog  // nil = none
	Webhook    *Webhook // nil = none; needs a checkpoint
	Retry      bool     // what the webhook's receiver refused before is posted again
	Memory     int64    // bytes that the process should stay below; 0 = it is not tried
	Gauges     *Gauges
	Clock      Clock
	Log        func(text string) // remarks for the operator
}

// Every is how old a checkpoint gets, unless writing one takes so long that the judging
// would come short: it may take a share of one in rareness.
const (
	Every    = 5 * time.Second
	rareness = 20
)

// Tail is a watch.
type Tail struct {
	opt      Options
	store    *Store
	follower *follow.Follower
	graph    graph
	emitter  *Emitter
	saved    time.Time
	took     time.Duration  // to write the last checkpoint
	bounded  time.Time      // when memory was looked at
	heard    time.Time      // when the last line came
	remarked map[int32]bool // sources of which it was said that they tell nothing
	dirty    bool           // something came since the last checkpoint
	counts   counts
	wake     chan struct{} // to the webhook
	hangUp   func()        // ends the sending to syslog
	fail     error         // of an output or the checkpoint: the watch ends
}

// graph is what a checkpoint keeps of the judging.
type graph struct {
	Live   *parsers.Live
	Engine *rules.Engine
}

// known is what a snapshot of a graph refers to.
func known() snapshot.Known {
	k, p := rules.Known(), parsers.Known()
	k.Types = append(k.Types, p.Types...)
	for name, v := range p.Shared {
		k.Shared[name] = v
	}
	return k
}

// New opens the checkpoint and the sources. The error says what to do.
func New(opt Options) (*Tail, error) {
	t := &Tail{opt: opt, emitter: NewEmitter(), wake: make(chan struct{}, 1)}
	t.graph = graph{Live: parsers.NewLive(opt.Parsers), Engine: rules.NewEngine(opt.Engine)}
	if opt.Checkpoint != "" {
		if err := t.resume(); err != nil {
			return nil, err
		}
	}
	var err error
	if t.follower, err = follow.New(opt.Paths, t.opt.Follow); err != nil {
		t.Close()
		return nil, err
	}
	t.hangUp = func() {}
	if opt.Syslog != nil {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			opt.Syslog.Run(ctx)
		}()
		t.hangUp = func() {
			cancel()
			<-ended
		}
	}
	return t, nil
}

// resume opens the checkpoint and takes up what it holds.
func (t *Tail) resume() (err error) {
	if t.store, err = OpenStore(t.opt.Checkpoint, t.owner(), t.opt.Fresh); err != nil {
		return err
	}
	if err := t.aside(); err != nil {
		t.store.Close()
		return fmt.Errorf("cannot use the checkpoint %s: %w; --fresh starts anew", t.opt.Checkpoint, err)
	}
	var at []follow.State
	found, err := t.store.Load(&at, &t.graph, known(), t.emitter)
	if err != nil {
		t.store.Close()
		return fmt.Errorf("cannot use the checkpoint %s: %w; --fresh starts anew", t.opt.Checkpoint, err)
	}
	if found {
		t.opt.Follow.States = at
		t.graph.Live.Resume(t.opt.Parsers)
		t.counts = t.now()
	}
	return nil
}

// owner names the inputs and settings that a checkpoint belongs to: with others its
// state would mean something else.
func (t *Tail) owner() string {
	o, p := t.opt.Engine, t.opt.Parsers
	patterns := ""
	if p.Source.Patterns != nil {
		patterns = p.Source.Patterns.File
	}
	return signals.Digest(32, append([]string{
		fmt.Sprint(o), p.Format, fmt.Sprint(p.Source.AssumeUTCOffset, p.Source.ZoneGiven), patterns, t.opt.Verdict.Gate.String(),
	}, t.opt.Paths...)...)
}

// Run watches until ctx ends. What was read by then is judged, told and written
// into the checkpoint.
func (t *Tail) Run(ctx context.Context) error {
	stopped := make(chan struct{})
	hook, stop := context.WithCancel(context.Background())
	if t.opt.Webhook != nil {
		go func() {
			defer close(stopped)
			t.opt.Webhook.Run(hook, t.store, t.wake)
		}()
	} else {
		close(stopped)
	}
	err := t.loop(ctx)
	stop()
	<-stopped
	return err
}

func (t *Tail) loop(ctx context.Context) error {
	for first := true; ctx.Err() == nil; first = false {
		t.graph.Live.Busy(true) // until all sources were looked at, lines of those that come next may be older
		busy, err := t.follower.Look(t)
		t.graph.Live.Busy(busy)
		if err == nil {
			err = t.drain()
		}
		if err == nil && !busy && !t.heard.IsZero() {
			t.graph.Live.Pass(t.opt.Clock.Now().Sub(t.heard))
			err = t.drain()
		}
		if err == nil {
			err = t.look()
		}
		if err == nil && first { // from now on it is known which files these are
			err = t.checkpoint()
		}
		if err != nil {
			return t.stopped(err)
		}
		if t.opt.Gauges != nil {
			t.gauge(busy)
		}
		if !busy {
			if t.over() {
				break // standard input ended, and there is nothing else
			}
			t.follower.Wait(ctx)
		}
	}
	return t.checkpoint()
}

// over reports whether nothing will ever come again.
func (t *Tail) over() bool { return t.follower.Done() }

// End decides what still waits for more evidence, as a scan does at the end of its
// inputs, and tells it. It is for inputs that are over.
func (t *Tail) End() error {
	t.graph.Live.Flush()
	if err := t.drain(); err != nil {
		return err
	}
	t.graph.Engine.End()
	t.remark(true)
	return t.stopped(t.look())
}

// Close closes what the watch holds open.
func (t *Tail) Close() error {
	var errs []error
	if t.hangUp != nil {
		t.hangUp()
	}
	if t.follower != nil {
		errs = append(errs, t.follower.Close())
	}
	if t.store != nil {
		errs = append(errs, t.store.Close())
	}
	for _, o := range t.opt.Outputs {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}

// The follower's view of the watch.

// Expect says that there is a source: the first lines of others wait for it.
func (t *Tail) Expect(s *follow.Source) { t.graph.Live.Expect(s.Index, s.Path) }

// Ended says that a source is no longer followed: its file is gone.
func (t *Tail) Ended(s *follow.Source) {
	t.dirty = true
	t.graph.Live.Gone(s.Index)
	delete(t.remarked, s.Index)
}

// Line takes a line of a source.
func (t *Tail) Line(s *follow.Source, line []byte, n, offset int64) error {
	t.dirty, t.heard = true, t.opt.Clock.Now()
	if err := t.graph.Live.Line(s.Index, s.Path, line, n, offset, s.Modified()); err != nil {
		return err
	}
	return t.drain()
}

// Lost takes what was destroyed before it could be read.
func (t *Tail) Lost(s *follow.Source, bytes int64, why string) {
	t.dirty = true
	t.graph.Live.Lost(s.Index, bytes, why)
	t.keep(t.drain())
	if t.opt.Log != nil {
		t.opt.Log(s.Path + ": " + why)
	}
}

// Turned says that the next line is the first of another file.
func (t *Tail) Turned(s *follow.Source) {
	t.dirty = true
	t.graph.Live.Turned(s.Index)
	t.keep(t.drain())
}

// Idle says that nothing came for a while.
func (t *Tail) Idle(s *follow.Source) {
	t.dirty = true
	t.graph.Live.Idle(s.Index)
	t.keep(t.drain())
}

func (t *Tail) keep(err error) {
	if t.fail == nil {
		t.fail = err
	}
}

// drain gives the engine what is decided, and tells what it finds.
func (t *Tail) drain() error {
	for {
		e := t.graph.Live.Next()
		if e == nil {
			return t.fail
		}
		if e.Kind != event.Idle && t.opt.Gauges != nil {
			t.opt.Gauges.events.Inc()
		}
		t.graph.Engine.Apply(e)
	}
}

// checkpoint writes positions, state and what was told in one transaction.
func (t *Tail) checkpoint() error {
	t.saved, t.dirty = t.opt.Clock.Now(), false
	t.emitter.Forget(t.graph.Engine, t.graph.Live.Time())
	if t.store == nil {
		return nil
	}
	if err := t.store.Save(t.follower.States(), &t.graph, known(), t.emitter); err != nil {
		return fmt.Errorf("cannot write the checkpoint: %w", err)
	}
	t.took, t.saved = t.opt.Clock.Now().Sub(t.saved), t.opt.Clock.Now()
	t.nudge()
	return nil
}
