package har

import (
	"strings"
	"time"
)

// parseTime reads startedDateTime as writers spell it: RFC 3339 with 0 to 9
// digits of a second, Z, +02:00 or +0200; without a zone, zone is its offset in
// seconds east of UTC.
func parseTime(s string, zone int) (ns int64, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return inRange(t)
		}
	}
	t, err := time.ParseInLocation("2006-01-02T15:04:05.999999999", s, time.FixedZone("", zone))
	if err != nil {
		return 0, false
	}
	return inRange(t)
}

func inRange(t time.Time) (int64, bool) {
	if y := t.Year(); y < 1970 || y > 2200 {
		return 0, false
	}
	return t.UnixNano(), true
}

// moments returns when the first byte of the answer came and when the exchange
// ended. sure is false if the first byte is not known: it then lies anywhere
// between start and end.
func (e *entry) moments() (first, end int64, sure bool) {
	span := e.time
	if span < 0 {
		span = e.timings.before + e.timings.receive
	}
	end = e.start + nanos(span)
	first = min(e.start+nanos(e.timings.before), end)
	if !e.timings.known {
		return e.start, end, false
	}
	return first, end, true
}

// nanos turns ms into ns, bounded to 300 days.
func nanos(ms float64) int64 {
	return int64(min(max(ms, 0), 300*24*3600*1e3) * 1e6)
}
