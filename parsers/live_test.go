package parsers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/event"
)

// fed is a Live in a test, with what it gave out.
type fed struct {
	*Live
	t    *testing.T
	rows map[int32]int64
}

func newFed(t *testing.T, opt Options) *fed {
	return &fed{NewLive(opt), t, map[int32]int64{}}
}

// at is a time of day on the day of the test logs, in seconds after 22:20.
func at(seconds float64) time.Time {
	return time.Date(2026, 7, 19, 22, 20, 0, 0, time.UTC).Add(time.Duration(seconds*1000) * time.Millisecond)
}

// creation is a line about a session that was made.
func creation(seconds float64, session string) string {
	return fmt.Sprintf(`{"time":"%s","message":"session created","mcp.session.id":"%s"}`, at(seconds).Format("2006-01-02T15:04:05.000Z"), session)
}

func (f *fed) say(index int32, line string) string {
	f.t.Helper()
	f.rows[index]++
	if err := f.Line(index, fmt.Sprintf("%d.log", index), []byte(line), f.rows[index], 0, at(3600).UnixNano()); err != nil {
		f.t.Fatal(err)
	}
	return f.given()
}

// given is what comes out now: sessions, gaps and marks with their times.
func (f *fed) given() string {
	var out []string
	for e := f.Next(); e != nil; e = f.Next() {
		s := e.Kind.String()
		switch e.Kind {
		case event.SessionCreated:
			s = e.Answered.ID
		case event.Gap:
			s = "gap " + e.Domain.Server
		case event.Idle:
			if len(out) > 0 && strings.HasSuffix(out[len(out)-1], fmt.Sprint(" ", since(e.Time.To))) {
				continue // the tick behind an event
			}
		}
		if e.Time.From != e.Time.To {
			s += fmt.Sprintf(" from %v", since(e.Time.From))
		}
		out = append(out, fmt.Sprintf("%s %v", s, since(e.Time.To)))
	}
	return strings.Join(out, ", ")
}

func since(ns int64) float64 { return time.Unix(0, ns).Sub(at(0)).Seconds() }

func (f *fed) want(got, want string) {
	f.t.Helper()
	if got != want {
		f.t.Errorf("given %q, want %q", got, want)
	}
}

func TestLiveOfOneSourceWaitsForNothing(t *testing.T) {
	f := newFed(t, Options{})
	f.want(f.say(0, creation(1, "aaaa-1111")), "aaaa-1111 1")
	f.want(f.say(0, creation(2, "aaaa-2222")), "aaaa-2222 2")
	f.want(f.say(0, creation(1.5, "aaaa-3333")), "aaaa-3333 2") // its order counts
	if s := f.Inputs()[0].Stats; s.BackSteps != 1 || s.Late != 0 || s.Records != 3 || s.Used != 3 || s.Events != 3 {
		t.Errorf("%+v", s)
	}
}

func TestLiveOrdersSources(t *testing.T) {
	f := newFed(t, Options{Lag: -1})
	f.Expect(1, "1.log")
	f.want(f.say(0, creation(1, "aaaa-1111")), "") // the other may still tell of something before
	f.want(f.say(1, creation(0.5, "bbbb-1111")), "bbbb-1111 0.5")
	f.want(f.say(1, creation(1, "bbbb-2222")), "aaaa-1111 1") // of equal times the first source is first
	f.want(f.say(0, creation(2, "aaaa-2222")), "bbbb-2222 1")
	f.want(f.say(0, creation(4, "aaaa-3333")), "") // 2 s are not more than 2 s
	f.want(f.say(0, creation(4.1, "aaaa-4444")), "aaaa-2222 2")
	f.want(f.say(1, creation(1.5, "bbbb-3333")), "bbbb-3333 from 1.5 2") // late
	if s := f.Inputs()[1].Stats; s.Late != 1 || len(s.Notes) == 0 {
		t.Errorf("%+v", s)
	}
	f.Idle(1)
	f.want(f.given(), "aaaa-3333 4, aaaa-4444 4.1")
	f.Idle(0)
	f.want(f.given(), "idle 6.1")
	f.want(f.say(1, creation(6, "bbbb-4444")), "bbbb-4444 from 6 6.1") // the mark said that nothing would come
}

// What a writer may still hold in its buffer is waited for: 10 s, or as long as a line
// was seen to lie there.
func TestLiveWaitsForBuffers(t *testing.T) {
	f := newFed(t, Options{})
	wrote := at(1)
	say := func(seconds float64, session string) string {
		f.rows[0]++
		if err := f.Line(0, "0.log", []byte(creation(seconds, session)), f.rows[0], 0, wrote.UnixNano()); err != nil {
			t.Fatal(err)
		}
		return f.given()
	}
	f.want(say(1, "aaaa-1111"), "aaaa-1111 1")
	f.Idle(0)
	f.Pass(9 * time.Second)
	f.want(f.given(), "")
	f.Pass(15 * time.Second)
	f.want(f.given(), "idle 6")
	wrote = at(67)
	f.want(say(7, "aaaa-2222"), "aaaa-2222 7") // it lay there for a minute
	f.Idle(0)
	f.Pass(50 * time.Second)
	f.want(f.given(), "")
	f.Pass(70 * time.Second)
	f.want(f.given(), "idle 17")
	wrote = at(80)
	f.want(say(20, "aaaa-3333"), "aaaa-3333 20") // as long as before: no mark came too early
}

func TestLiveTellsTimeWithoutTraffic(t *testing.T) {
	f := newFed(t, Options{Lag: -1})
	f.Idle(0)
	f.want(f.given(), "") // no time is known
	f.want(f.say(0, creation(1, "aaaa-1111")), "aaaa-1111 1")
	f.Idle(0)
	f.want(f.given(), "idle 3")
	f.Idle(0)
	f.want(f.given(), "")
	f.Pass(6 * time.Second)
	f.want(f.given(), "idle 7")
	f.say(0, "nothing about sessions")
	f.Pass(60 * time.Second)
	f.want(f.given(), "") // it is not idle
	f.Idle(0)
	f.want(f.given(), "") // no more than 2 s after the last event went by for certain
	f.want(f.say(0, creation(6, "aaaa-2222")), "aaaa-2222 from 6 7")
}

func TestLiveLeavesGaps(t *testing.T) {
	f := newFed(t, Options{})
	f.Lost(0, 100, "a start in the middle")
	f.want(f.given(), "")
	f.want(f.say(0, creation(1, "aaaa-1111")), "aaaa-1111 1")
	f.Lost(0, 100, "truncated")
	f.want(f.given(), "gap 0.log 1")
	other := strings.Replace(creation(2, "bbbb-1111"), `"message"`, `"service.instance.id":"i-2","message"`, 1)
	f.want(f.say(0, other), "bbbb-1111 2, gap i-2 2")
	if s := f.Inputs()[0].Stats; s.Gaps != 2 {
		t.Errorf("%d gaps", s.Gaps)
	}
}

const (
	wireOpen  = `{"ts":"2026-07-19T22:20:01Z","k":"req","x":"1","url":"http://10.0.0.1:8080/mcp","http_method":"GET","h":{}}`
	wireClose = `{"ts":"2026-07-19T22:20:02Z","k":"close","x":"1","by":"client"}`
	wireGap   = `{"ts":"2026-07-19T22:20:02Z","k":"gap","conn":"c","note":"lost"}`
)

func TestLiveKnowsFormats(t *testing.T) {
	f := newFed(t, Options{})
	f.say(0, "")
	f.want(f.say(0, wireOpen), "opened 1")
	f.Turned(0)
	f.want(f.say(0, wireGap), "gap http://10.0.0.1:8080 2") // a log would take it for a line with a time
	f.want(f.say(0, `{"ts":"2026-07-19T22:20:02Z","k":"se`), "")
	f.want(f.say(0, wireClose), "closed 2")
	if s := f.Inputs()[0].Stats; s.Format != "wire" || s.Records != 4 || s.Malformed != 1 || s.Used != 3 {
		t.Errorf("%+v", s)
	}
	f.want(f.say(0, wireOpen), "opened 2")
	f.Turned(0)
	f.want(f.say(0, creation(3, "aaaa-1111")), "closed 2, aaaa-1111 3, gap 0.log 3") // what was open ends
	if s := f.Inputs()[0].Stats; s.Format != "jsonlines" || s.Records != 6 {
		t.Errorf("%+v", s)
	}
	f.Turned(0)
	f.want(f.say(0, strings.ReplaceAll(wireOpen, "20:01", "20:04")), "opened 4")

	f.say(1, "")
	f.Idle(0)
	f.want(f.say(1, creation(5, "bbbb-1111")), "bbbb-1111 5")
	if s := f.Inputs()[1].Stats; s.Records != 2 || s.Ignored != 1 || s.Format != "jsonlines" {
		t.Errorf("%+v", s)
	}
	f.say(2, "__CURSOR=s=1;i=2")
	f.want(f.say(2, creation(6, "cccc-1111")), "")
	if s := f.Inputs()[2].Stats; s.Ignored != 2 || len(s.Notes) != 1 {
		t.Errorf("%+v", s)
	}
	f.Turned(2)
	f.Idle(1)
	f.want(f.say(2, creation(7, "cccc-2222")), "cccc-2222 7")
}

func TestLiveRefusesFormatsThatCannotBeFollowed(t *testing.T) {
	for _, name := range []string{"har", "pcap", "none"} {
		if err := NewLive(Options{Format: name}).Line(0, "x", []byte("{"), 1, 0, 0); err == nil {
			t.Errorf("%s is followed", name)
		}
	}
}

func TestLiveDoesNotBelieveTheFuture(t *testing.T) {
	f := newFed(t, Options{})
	f.want(f.say(0, creation(1, "aaaa-1111")), "aaaa-1111 1")
	f.want(f.say(0, creation(1e7, "aaaa-2222")), "aaaa-2222 1")
	f.want(f.say(0, creation(2, "aaaa-3333")), "aaaa-3333 2")
}

// Domains that hear nothing learn how far the time is from those that do.
func TestLiveTicks(t *testing.T) {
	f := newFed(t, Options{})
	ticks := 0
	for i := range 100 {
		f.rows[0]++
		if err := f.Line(0, "0.log", []byte(creation(float64(i)/10, "aaaa-1111")), f.rows[0], 0, 0); err != nil {
			t.Fatal(err)
		}
		for e := f.Next(); e != nil; e = f.Next() {
			if e.Kind == event.Idle {
				ticks++
			}
		}
	}
	if ticks != 10 {
		t.Errorf("%d ticks in 10 s", ticks)
	}
}

func TestLiveIsBounded(t *testing.T) {
	f := newFed(t, Options{})
	f.Expect(1, "1.log")
	for range 2 * maxWaiting {
		f.say(0, creation(1, "aaaa-1111"))
		if f.Held > maxWaiting+1 {
			t.Fatalf("%d events wait", f.Held)
		}
	}
	if s := f.Inputs()[0].Stats; len(s.Notes) != 1 || s.Late != 0 {
		t.Errorf("%+v", s.Notes)
	}
	if s := f.Sources[0]; cap(s.Wait) > 4*maxWaiting {
		t.Errorf("room for %d events", cap(s.Wait))
	}
}

func TestLiveWaitsWhileItIsBehind(t *testing.T) {
	f := newFed(t, Options{})
	f.Expect(1, "1.log")
	f.Busy(true)
	f.want(f.say(0, creation(1, "aaaa-1111"))+f.say(0, creation(9, "aaaa-2222")), "")
	f.want(f.say(1, creation(2, "bbbb-1111")), "aaaa-1111 1, bbbb-1111 2")
	f.Busy(false)
	f.want(f.say(0, creation(12, "aaaa-3333")), "aaaa-2222 9")
}

// Any lines and marks: nothing panics, everything is counted, nothing grows, and a Live
// that was put away in between gives out the same.
func FuzzLive(f *testing.F) {
	f.Add([]byte(creation(1, "aaaa-1111")+"\n"+wireOpen+"\n\n"+wireGap+"\n"+wireClose), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add([]byte("[07/19/26 22:20:43] INFO     Session created\n                    id aaaa-1111\nTraceback (most recent call last):\n  x\n"), []byte{9, 0, 0, 9, 3})
	f.Add([]byte("2026-07-19T22:20:43.1Z stdout P half\n2026-07-19T22:20:43.2Z stdout F whole\n__CURSOR=1\n"), []byte{0, 8, 0, 16, 0, 3})
	f.Fuzz(func(t *testing.T, text, marks []byte) {
		l, twin := NewLive(Options{}), NewLive(Options{})
		lines := bytes.Split(text, []byte("\n"))
		puts := 0
		for i, m := range marks[:min(len(marks), 200)] {
			line, index := lines[i%len(lines)], int32(m>>3&3)
			for _, x := range []*Live{l, twin} {
				switch m & 7 {
				case 1:
					x.Idle(index)
				case 2:
					x.Turned(index)
				case 3:
					x.Lost(index, int64(m), "gone")
				case 4:
					x.Pass(time.Duration(m) * time.Second)
				case 5:
					x.Expect(index, "x.log")
				default:
					if err := x.Line(index, "x.log", line, int64(i), int64(i), at(0).UnixNano()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if m&7 == 6 && puts < 3 {
				puts++
				var b bytes.Buffer
				if err := twin.Snapshot(&b); err != nil {
					t.Fatal(err)
				}
				var err error
				if twin, err = RestoreLive(&b, Options{}); err != nil {
					t.Fatal(err)
				}
			}
			equal(t, l, twin)
		}
		l.Flush()
		twin.Flush()
		equal(t, l, twin)
		if l.Held != 0 {
			t.Errorf("%d events are left", l.Held)
		}
		for i, in := range l.Inputs() {
			s := &in.Stats
			if s.Records != s.Used+s.Ignored+s.Malformed {
				t.Errorf("%d records, but %d used, %d ignored, %d malformed", s.Records, s.Used, s.Ignored, s.Malformed)
			}
			if len(s.Notes) > 20 || len(s.Problems) > 20 {
				t.Errorf("%d notes, %d problems", len(s.Notes), len(s.Problems))
			}
			if got, want := fmt.Sprintf("%+v", twin.Inputs()[i].Stats), fmt.Sprintf("%+v", *s); got != want {
				t.Errorf("counted %s, want %s", got, want)
			}
		}
	})
}

// equal takes what both give out, which has to be the same and in order.
func equal(t *testing.T, l, twin *Live) {
	t.Helper()
	last := int64(0)
	for {
		a, b := l.Next(), twin.Next()
		if a == nil || b == nil {
			if a != b {
				t.Fatalf("%+v, but of a restored one %+v", a, b)
			}
			return
		}
		if x, y := fmt.Sprintf("%+v", *a), fmt.Sprintf("%+v", *b); x != y {
			t.Fatalf("%s\nof a restored one %s", x, y)
		}
		if a.Time.To < last && a.By != event.ByWindow || a.Time.To < a.Time.From {
			t.Fatalf("%+v comes after %d", a, last)
		}
		last = max(last, a.Time.To)
	}
}
