package correlate

import (
	"container/heap"
	"slices"

	"github.com/isodetect/isodetect/event"
)

// Start is when an exchange began whose messages have no times of their own.
type Start struct {
	From int64
	ID   event.ExchangeID
}

// starts is a heap of such exchanges, the oldest first. Those that were closed
// leave it when they come to the top, or when they are most of it.
type starts []Start

func (h starts) Len() int           { return len(h) }
func (h starts) Less(i, j int) bool { return h[i].From < h[j].From }
func (h starts) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *starts) Push(x any)        { *h = append(*h, x.(Start)) }
func (h *starts) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

func (d *Domain) openInterval(ev *event.Event) {
	if n := len(d.Starts); n > 64 && n > 4*d.Intervals {
		d.Starts = slices.DeleteFunc(d.Starts, func(s Start) bool { return d.Exchanges[s.ID] == nil })
		heap.Init(&d.Starts)
	}
	heap.Push(&d.Starts, Start{ev.Time.From, ev.Exchange})
}

// oldestInterval returns the start of the oldest open exchange whose messages
// have no times of their own, the largest number if there is none.
func (d *Domain) oldestInterval() int64 {
	for len(d.Starts) > 0 {
		if d.Exchanges[d.Starts[0].ID] != nil {
			return d.Starts[0].From
		}
		heap.Pop(&d.Starts)
	}
	return 1<<63 - 1
}
