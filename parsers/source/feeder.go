package source

import "github.com/isodetect/isodetect/event"

// Feeder takes a log that is written while it is read, line by line. All its state
// hangs on it, without goroutines, channels and closures, so that a snapshot can put it
// away and restore it.
type Feeder interface {
	// Feed takes the next line without its end, valid during the call, and queues its events.
	Feed(line []byte, at event.Address)
	// Idle says that nothing came for a while: a record that waits for further lines is complete.
	Idle()
	// Lost says that lines are missing between the last one and the next.
	Lost()
	// Turn says that what follows is the first line of another file of the same log.
	// in is the input that counts from there on, with its path and when it was written.
	Turn(in *Input)
	// Next returns the next queued event, valid until the following call of any
	// method, and nil if there is none.
	Next() *event.Event
	// End says that nothing will come any more: what is still open ends, at an address.
	End(at event.Address)
	// Resume follows the restoring of a snapshot: it gives back what that does not hold.
	Resume(in *Input, opt Options)
}
