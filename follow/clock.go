package follow

import (
	"context"
	"time"
)

// Clock is the time by which a Follower waits. Tests drive it without sleeping.
type Clock interface {
	Now() time.Time
	// Wait returns after d, or as soon as ctx ends.
	Wait(ctx context.Context, d time.Duration)
}

// systemClock is the clock of the machine. Now has a monotonic part, so that setting
// the clock of the machine neither hastens nor holds back anything.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Waker says that something may have changed. It is a hint: a Follower looks without
// it as well, and a look for nothing costs little.
type Waker interface {
	Watch(dir string)      // changes in the directory are of interest; may be told again
	Wake() <-chan struct{} // receives after changes
}

// minGap lies between two looks that were not busy, however often one is woken.
const minGap = 20 * time.Millisecond

// System is the clock of the machine.
func System() Clock { return systemClock{} }

// Wait lets the time between two looks pass, or less if a hint comes.
func (f *Follower) Wait(ctx context.Context) { f.wait(ctx, f.opt.Poll) }

// wait lets d pass, or less if a hint comes.
func (f *Follower) wait(ctx context.Context, d time.Duration) {
	if f.opt.Wake == nil && len(f.streams) == 0 {
		f.opt.Clock.Wait(ctx, d)
		return
	}
	gap := min(minGap, d)
	f.opt.Clock.Wait(ctx, gap)
	if d == gap || ctx.Err() != nil {
		return
	}
	var hints <-chan struct{}
	if f.opt.Wake != nil {
		hints = f.opt.Wake.Wake()
	}
	woken, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-hints:
			cancel()
		case <-f.arrived:
			cancel()
		case <-woken.Done():
		}
	}()
	f.opt.Clock.Wait(woken, d-gap)
	cancel()
	<-ended
}
