package logs

import (
	"math"
	"strconv"
)

// stamp is a time as a log writes it.
type stamp struct {
	ns     int64 // since 1970 UTC; meaningless if not dated
	dated  bool  // it holds a full date with its year
	zoned  bool  // it holds its offset from UTC, or is an epoch
	length int   // bytes of the text that it takes

	month, day int  // of a date without a year; 0 = not even that
	minutes    bool // it holds no seconds
}

// parseTime reads the time at the beginning of b, in any of the forms that
// loggers in use write (ISO 8601 with T or blank, comma or point; Go log;
// common log; rich; syslog; time of day; epoch in s, ms, µs or ns). offset is
// what stamps without a zone are east of UTC, in seconds. ok is false for anything else.
func parseTime(b []byte, offset int) (st stamp, ok bool) {
	if len(b) < 5 {
		return st, false
	}
	switch {
	case digits(b, 0, 4) && (b[4] == '-' || b[4] == '/'):
		return yearFirst(b, offset)
	case digits(b, 0, 2) && b[2] == ':':
		if st, ok = timeOfDay(b); ok {
			return st, ok
		}
		return kitchen(b, 2)
	case isDigit(b[0]) && b[1] == ':':
		return kitchen(b, 1)
	case digits(b, 0, 2) && b[2] == '/' && len(b) > 6 && b[6] == '/':
		return commonLog(b, offset)
	case digits(b, 0, 2) && b[2] == '/' && digits(b, 3, 2):
		return rich(b, offset)
	case b[0] >= 'A' && b[0] <= 'Z':
		return namedFirst(b, offset)
	case isDigit(b[0]), b[0] == '.', b[0] == '+':
		return epoch(b)
	}
	return st, false
}

// yearFirst reads 2026-07-19T22:20:43.472Z and its kin, and 2026/07/19 22:20:43.
func yearFirst(b []byte, offset int) (st stamp, ok bool) {
	if len(b) < 19 || !digits(b, 5, 2) || b[7] != b[4] || !digits(b, 8, 2) || (b[10] != 'T' && b[10] != ' ' && b[10] != 't') {
		return st, false
	}
	return finish(b, number(b, 0, 4), number(b, 5, 2), number(b, 8, 2), 11, offset)
}

// commonLog reads 19/Jul/2026:22:20:43 +0000.
func commonLog(b []byte, offset int) (st stamp, ok bool) {
	if len(b) < 20 || !digits(b, 7, 4) || b[11] != ':' {
		return st, false
	}
	return finish(b, number(b, 7, 4), month(b[3:6]), number(b, 0, 2), 12, offset)
}

// rich reads 07/19/26 22:20:43; a first number over 12 is the day.
func rich(b []byte, offset int) (st stamp, ok bool) {
	if len(b) < 17 || b[5] != '/' || !digits(b, 6, 2) || b[8] != ' ' {
		return st, false
	}
	m, d := number(b, 0, 2), number(b, 3, 2)
	if m > 12 {
		m, d = d, m
	}
	return finish(b, 2000+number(b, 6, 2), m, d, 9, offset)
}

// namedFirst reads Jul 19 22:20:43, which has no year, and Sun 2026-07-19 22:20:43 UTC.
func namedFirst(b []byte, offset int) (st stamp, ok bool) {
	if len(b) < 15 || b[3] != ' ' {
		return st, false
	}
	if digits(b, 4, 4) {
		st, ok = yearFirst(b[4:], offset)
		st.length += 4
		return st, ok
	}
	if month(b[:3]) == 0 || !(digits(b, 4, 2) || (b[4] == ' ' && digits(b, 5, 1))) || b[6] != ' ' {
		return st, false
	}
	st, ok = timeOfDay(b[7:])
	st.length += 7
	st.month = month(b[:3])
	if st.day = number(b, 5, 1); b[4] != ' ' {
		st.day = number(b, 4, 2)
	}
	return st, ok && st.day > 0 && st.day < 32
}

// kitchen reads 10:20PM, as the console of zerolog writes the time; the colon is at b[k].
func kitchen(b []byte, k int) (st stamp, ok bool) {
	if len(b) < k+5 || !digits(b, k+1, 2) || b[k+4] != 'M' || (b[k+3] != 'A' && b[k+3] != 'P') || len(b) > k+5 && b[k+5] != ' ' && b[k+5] != 0x1b {
		return st, false
	}
	h, m := number(b, 0, k), number(b, k+1, 2)
	if h < 1 || h > 12 || m > 59 {
		return st, false
	}
	h %= 12
	if b[k+3] == 'P' {
		h += 12
	}
	return stamp{ns: int64(h*3600+m*60) * 1e9, length: k + 5, minutes: true}, true
}

// timeOfDay reads 22:20:43.472, which has no date.
func timeOfDay(b []byte) (st stamp, ok bool) {
	st, ok = finish(b, 1970, 1, 1, 0, 0)
	st.dated, st.zoned = false, false
	return st, ok
}

// finish reads hh:mm:ss with fraction and zone at b[i:].
func finish(b []byte, y, m, d, i, offset int) (st stamp, ok bool) {
	if len(b) < i+8 || !digits(b, i, 2) || b[i+2] != ':' || !digits(b, i+3, 2) || b[i+5] != ':' || !digits(b, i+6, 2) {
		return st, false
	}
	hh, mm, ss := number(b, i, 2), number(b, i+3, 2), number(b, i+6, 2)
	if y < 1970 || y > 2261 || m < 1 || m > 12 || d < 1 || d > 31 || hh > 24 || mm > 59 || ss > 60 {
		return st, false
	}
	frac, i := fraction(b, i+8)
	east, zoned, i := zone(b, i)
	if !zoned {
		east = offset
	}
	seconds := daysFrom1970(y, m, d)*86400 + int64(hh*3600+mm*60+ss-east)
	return stamp{ns: seconds*1e9 + frac, dated: true, zoned: zoned, length: i}, true
}

// fraction reads .472113 or ,472 in nanoseconds; digits beyond the ninth are dropped.
func fraction(b []byte, i int) (ns int64, end int) {
	if i+1 >= len(b) || (b[i] != '.' && b[i] != ',') || !digits(b, i+1, 1) {
		return 0, i
	}
	unit := int64(1e8)
	for i++; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		ns += int64(b[i]-'0') * unit
		unit /= 10
	}
	return ns, i
}

// zone reads Z, +02:00, +0200, +02, each also behind one blank, and UTC or GMT.
func zone(b []byte, i int) (east int, ok bool, end int) {
	j := i
	if j < len(b) && b[j] == ' ' {
		j++
	}
	if j >= len(b) {
		return 0, false, i
	}
	switch c := b[j]; {
	case c == 'Z' || c == 'z':
		return 0, true, j + 1
	case c == 'U' && len(b) >= j+3 && string(b[j:j+3]) == "UTC", c == 'G' && len(b) >= j+3 && string(b[j:j+3]) == "GMT":
		return 0, true, j + 3
	case (c == '+' || c == '-') && digits(b, j+1, 2):
		east = number(b, j+1, 2) * 3600
		j += 3
		k := j
		if k < len(b) && b[k] == ':' {
			k++
		}
		if digits(b, k, 2) {
			east += number(b, k, 2) * 60
			j = k + 2
		}
		if c == '-' {
			east = -east
		}
		return east, true, j
	}
	return 0, false, i
}

// epoch reads a number of seconds, milliseconds, microseconds or nanoseconds
// since 1970; its size tells which, for times from 1973 on.
func epoch(b []byte) (st stamp, ok bool) {
	i := 0
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i < 9 || i > 19 {
		return scientific(b)
	}
	whole := int64(0)
	for _, c := range b[:i] {
		if whole > (math.MaxInt64-9)/10 {
			return st, false
		}
		whole = whole*10 + int64(c-'0')
	}
	frac, end := fraction(b, i)
	if end < len(b) && (b[end] == 'e' || b[end] == 'E') {
		return scientific(b)
	}
	unit := int64(1)
	switch {
	case whole < 1e11:
		unit = 1e9
	case whole < 1e14:
		unit = 1e6
	case whole < 1e17:
		unit = 1e3
	}
	if whole > math.MaxInt64/unit-1 {
		return st, false
	}
	return stamp{ns: whole*unit + frac/(1e9/unit), dated: true, zoned: true, length: end}, true
}

// scientific reads 1.784499643472e+09, as Go and Python print large floats.
func scientific(b []byte) (st stamp, ok bool) {
	i, power := 0, false
	for i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i] == 'e' || b[i] == 'E' || b[i] == '+') {
		power = power || b[i] == 'e' || b[i] == 'E'
		i++
	}
	if i > 32 || !power {
		return st, false
	}
	f, err := strconv.ParseFloat(string(b[:i]), 64)
	if err != nil || f < 1e8 || f > 9.2e18 {
		return st, false
	}
	switch {
	case f < 1e11:
		f *= 1e9
	case f < 1e14:
		f *= 1e6
	case f < 1e17:
		f *= 1e3
	}
	if f > 9.2e18 {
		return st, false
	}
	return stamp{ns: int64(f), dated: true, zoned: true, length: i}, true
}

// daysFrom1970 counts the days of the proleptic Gregorian calendar.
func daysFrom1970(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := int64(y) / 400
	yoe := int64(y) - era*400
	doy := int64((153*(m-3)+2)/5 + d - 1)
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

func month(b []byte) int {
	switch string(b) {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

// digits reports whether n digits stand at b[i:].
func digits(b []byte, i, n int) bool {
	if len(b) < i+n {
		return false
	}
	for _, c := range b[i : i+n] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func number(b []byte, i, n int) (v int) {
	for _, c := range b[i : i+n] {
		v = v*10 + int(c-'0')
	}
	return v
}
