package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/isodetect/isodetect/report"
)

// pipedWidth is the width of a text that goes to no terminal, unless COLUMNS says another.
const pipedWidth = 100

func widthOfPipe() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return pipedWidth
}

// style says how a text for w looks: its width, and whether it has colours.
func style(w io.Writer, color string) report.Style {
	st := report.Style{Width: widthOfPipe(), Color: color == "always"}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return st
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		st.Width = width
	}
	if color == "auto" {
		st.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return st
}

// bar shows on a terminal how much was read, after half a second.
type bar struct {
	mu    sync.Mutex
	w     io.Writer // nil = shows nothing
	width int
	start time.Time
	last  time.Time
	shown bool
}

const (
	barAfter = 500 * time.Millisecond
	barEvery = 100 * time.Millisecond
)

func newBar(w io.Writer, off bool) *bar {
	f, ok := w.(*os.File)
	if off || !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return &bar{}
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return &bar{w: w, width: width, start: time.Now()}
}

func (b *bar) update(read, total int64) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if now.Sub(b.start) < barAfter || now.Sub(b.last) < barEvery {
		return
	}
	b.last, b.shown = now, true
	fmt.Fprintf(b.w, "\r%s\x1b[K", report.ProgressLine(read, total, now.Sub(b.start), b.width-1))
}

func (b *bar) clear() {
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// words joins a list for a message.
func words(list []string) string { return strings.Join(list, ", ") }
