package follow

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Hints is a Waker by the notifications of the system.
type Hints struct {
	watcher *fsnotify.Watcher
	wake    chan struct{}
	ended   sync.WaitGroup
	watched map[string]bool
}

// maxWatched bounds the directories that are watched; the others are polled.
const maxWatched = 1024

// NewHints returns the notifications of this system, or why it has none. Close it
// after the Follower that uses it.
func NewHints() (*Hints, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	h := &Hints{watcher: w, wake: make(chan struct{}, 1), watched: map[string]bool{}}
	h.ended.Add(1)
	go h.forward()
	return h, nil
}

// forward turns any number of notifications, and errors such as an overflow, into one hint.
func (h *Hints) forward() {
	defer h.ended.Done()
	for events, errs := h.watcher.Events, h.watcher.Errors; events != nil; {
		select {
		case _, ok := <-events:
			if !ok {
				return
			}
		case _, ok := <-errs:
			if !ok {
				errs = nil
			}
		}
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// Watch adds a directory. A watch that the system refuses, or that ends because the
// directory was replaced, is missed by nobody: looks come without it.
func (h *Hints) Watch(dir string) {
	if h.watched[dir] || len(h.watched) >= maxWatched {
		return
	}
	h.watched[dir] = h.watcher.Add(dir) == nil
}

// Wake receives after changes.
func (h *Hints) Wake() <-chan struct{} { return h.wake }

// Close ends the notifications.
func (h *Hints) Close() error {
	err := h.watcher.Close()
	h.ended.Wait()
	return err
}
