package tail

import (
	"errors"
	"fmt"
	"time"

	"github.com/isodetect/isodetect/report"
)

// How a watch tells what it finds, and what it notes of that.

// look tells new findings, and writes a checkpoint if it is time.
func (t *Tail) look() error {
	if t.fail != nil {
		return t.fail
	}
	o := t.opt.Verdict
	o.Today = t.opt.Clock.Now().UTC()
	notices, more := t.emitter.Look(t.graph.Engine, o)
	if t.opt.Gauges != nil {
		for _, n := range more {
			t.opt.Gauges.occurred(n)
		}
	}
	if len(notices) > 0 {
		if err := t.tell(notices); err != nil {
			return err
		}
	}
	if now := t.opt.Clock.Now(); now.Sub(t.bounded) >= time.Second {
		t.bounded = now
		boundMemory(t.opt.Memory)
		t.remark(false)
	}
	if t.dirty && t.opt.Clock.Now().Sub(t.saved) >= max(Every, rareness*t.took) {
		return t.checkpoint()
	}
	return nil
}

// tell tells findings and writes down that they were told, in this order: a process that
// is killed in between tells them again after the restart, under the same occurrence.
// In the other order they would be lost.
func (t *Tail) tell(notices []Notice) error {
	var messages [][]byte
	for _, n := range notices {
		r := report.NewNotice(n.Finding, n.Occurrence, n.Update, t.graph.Live.Inputs(), t.opt.Report)
		if t.opt.Syslog != nil {
			t.opt.Syslog.Tell(r)
		}
		for _, o := range t.opt.Outputs {
			if err := o.Write(r); err != nil {
				return &outputError{err}
			}
		}
		if t.opt.Webhook != nil {
			messages = append(messages, message(n.Occurrence+"-"+n.Finding.Strength.String(), r.JSON()))
		}
	}
	if t.store == nil {
		return nil
	}
	if err := t.store.Tell(t.emitter, messages); err != nil {
		return fmt.Errorf("cannot write the checkpoint: %w", err)
	}
	t.nudge()
	return nil
}

// outputError is that of an output. No checkpoint is written after it: it would say that
// a finding was told that was not.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

// stopped writes a last checkpoint after an error, if what it would say is true.
func (t *Tail) stopped(err error) error {
	if out := (*outputError)(nil); errors.As(err, &out) {
		return err
	}
	return errors.Join(err, t.checkpoint())
}

// nudge wakes the webhook.
func (t *Tail) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// aside tells what the webhook's receiver refused before, or has it posted again.
func (t *Tail) aside() error {
	if t.opt.Retry {
		if err := t.store.Retry(); err != nil {
			return err
		}
	}
	refused, err := t.store.Refused()
	if err != nil || len(refused) == 0 {
		return err
	}
	if t.opt.Webhook != nil {
		t.opt.Webhook.refused.Store(int64(len(refused)))
	}
	if t.opt.Log != nil {
		const most = 10
		text := fmt.Sprintf("webhook: %d findings were refused and are kept aside; --webhook-retry posts them again:", len(refused))
		for _, r := range refused[:min(most, len(refused))] {
			text += fmt.Sprintf(" %s (%s)", r.Key, r.Why)
		}
		if len(refused) > most {
			text += " …"
		}
		t.opt.Log(text)
	}
	return nil
}
