package report

import (
	"fmt"
	"strings"
	"time"
)

// ProgressLine is a progress bar of at most width columns. total is -1 where it is not known.
func ProgressLine(read, total int64, elapsed time.Duration, width int) string {
	rate := size(int64(float64(read)/max(elapsed.Seconds(), 0.001))) + "/s"
	if total <= 0 {
		return shorten(fmt.Sprintf("reading  %s  %s", size(read), rate), width)
	}
	part := min(float64(read)/float64(total), 1)
	tail := fmt.Sprintf("  %3.0f %%  %s of %s  %s", 100*part, size(read), size(total), rate)
	room := min(width-len("reading  ")-len(tail), 40)
	if room < 5 {
		return shorten(strings.TrimSpace(tail), width)
	}
	full := int(part * float64(room))
	return "reading  " + strings.Repeat("█", full) + strings.Repeat("░", room-full) + tail
}

// size writes a number of bytes with three digits and a unit.
func size(n int64) string {
	v, unit := float64(n), 0
	for v >= 1000 && unit < 4 {
		v /= 1000
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.3g %cB", v, "kMGT"[unit-1])
}
