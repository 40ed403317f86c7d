package correlate

import (
	"strings"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/mcp"
)

// Fate is what became of a request (DETECTION §1).
type Fate uint8

const (
	Open     Fate = iota // in flight
	Answered             // a result or error came on a stream of its own
	Refused              // the server answered with HTTP 4xx or 5xx
	GivenUp              // its own party cancelled it, or its client left
	Cut                  // the server closed without an answer; restart; end of session
	Lost                 // a hole: what became of it is not known
)

func (f Fate) String() string {
	return [...]string{"open", "answered", "refused", "given up", "cut", "lost"}[f]
}

// Ref is a record that evidence can point to.
type Ref struct {
	At      event.Address
	Time    event.Time
	Excerpt string
	Link    uint64 // as in event.Event
	View    int32
	Guess   bool // Time is the parser's own
}

func refOf(ev *event.Event) Ref {
	return Ref{At: ev.At, View: ev.View, Time: ev.Time, Excerpt: ev.Excerpt, Link: ev.Link}
}

func newRef(ev *event.Event) *Ref {
	r := refOf(ev)
	return &r
}

// Request is one JSON-RPC request, either direction.
type Request struct {
	Seq      uint64 // order of arrival in the domain
	ID       mcp.ID
	Method   string
	Tool     string
	URI      string
	Token    mcp.ID
	Party    *Party // nil = unknown
	Exchange *Exchange

	Sent Ref
	End  Ref // of the answer, close or cancel that decided the fate

	Dir      event.Dir
	Era      mcp.Era
	Fate     Fate
	FoldOnly bool     // the type of the id is lost
	Need     mcp.Caps // server requests: what the client must have declared
	Answer   mcp.Kind // KindResult or KindError, once answered
	IsError  bool
	Echo     bool // the answer holds a value of the request's own arguments
	Left     bool // its client closed the exchange before an answer
	indexed  bool
	Status   int32

	Code      int
	ErrorText string
	OwnCancel event.Time // the party's own cancel; zero = none

	BodyHash   uint64
	ClientInfo string
	Args       []event.Arg
	Markers    []Marker
}

// Ended reports whether the fate is decided.
func (r *Request) Ended() bool { return r.Fate != Open }

// MayBe reports whether two requests may be one that two recordings show: only where
// both have sessions of their own do they have to be two.
func (r *Request) MayBe(o *Request) bool {
	return r.Sent.View != o.Sent.View && (r.Party == o.Party || !r.Party.IsSession() || !o.Party.IsSession())
}

// InFlight says whether the request was open at t. Inside one exchange
// causality beats stamps, so callers ask this only about other exchanges.
func (r *Request) InFlight(t event.Time) Certainty {
	began := Before(r.Sent.Time, t)
	if began == No || !r.Ended() {
		return began
	}
	return min(began, Before(t, r.End.Time))
}

// OpenWithin says whether the request was open at t or ended at most grace ns before.
func (r *Request) OpenWithin(t event.Time, grace int64) Certainty {
	began := Before(r.Sent.Time, t)
	if began == No || !r.Ended() {
		return began
	}
	end := r.End.Time
	end.From, end.To = end.From+grace, end.To+grace
	return min(began, Before(t, end))
}

// Overlaps reports whether the two requests were in flight at one moment, as
// far as the stamps show.
func (r *Request) Overlaps(o *Request) bool {
	return (!r.Ended() || o.Sent.Time.From <= r.End.Time.To) && (!o.Ended() || r.Sent.Time.From <= o.End.Time.To)
}

// Succeeded reports whether the answer was an ordinary result.
func (r *Request) Succeeded() bool {
	return r.Fate == Answered && r.Answer == mcp.KindResult && !r.IsError
}

// CodeRequestCancelled is the error code that servers borrow from the Language
// Server Protocol for a cancelled request.
const CodeRequestCancelled = -32800

// SaysCancelled reports whether the answer says that the call was cancelled
// (DETECTION §1): code -32800, or a text with the stem cancel, or an abort of an
// operation, request, call or task. Time-outs and deadlines do not say it.
func (r *Request) SaysCancelled() bool {
	if r.Fate != Answered || (r.Answer != mcp.KindError && !r.IsError) {
		return false
	}
	return r.Code == CodeRequestCancelled || TextSaysCancelled(r.ErrorText)
}

// TextSaysCancelled is the part of SaysCancelled that looks at a text.
func TextSaysCancelled(text string) bool {
	t := strings.ToLower(text)
	if strings.Contains(t, "cancel") {
		return true
	}
	if strings.Contains(t, "aborterror") {
		return true
	}
	i := strings.Index(t, "abort")
	if i < 0 {
		return false
	}
	for _, not := range []string{"connection", "transaction", "socket", "stream reset"} {
		if strings.Contains(t, not) {
			return false
		}
	}
	for _, of := range []string{"operation", "request", "call", "task", "job", "tool"} {
		if strings.Contains(t, of) {
			return true
		}
	}
	return false
}

// SameID reports whether two ids are equal, typed; folded where the type of one is lost.
func (r *Request) SameID(id mcp.ID, foldOnly bool) bool {
	if r.FoldOnly || foldOnly {
		return r.ID.Fold() == id.Fold()
	}
	return r.ID == id
}

// HasRun reports whether a value is among the arguments.
func (r *Request) HasRun(v event.Run) bool {
	for i := range r.Args {
		if r.Args[i].Run == v {
			return true
		}
	}
	return false
}

// OwnValue reports whether marks hold a value of at least three characters that is an argument of r.
func (r *Request) OwnValue(marks []uint64) bool {
	for i, v := range marks {
		for k := range r.Args {
			if a := &r.Args[k]; a.Run[0] == v && a.Class >= event.ArgMedium && a.Run.At(marks, i) {
				return true
			}
		}
	}
	return false
}

// Marker is an argument value that may show where its request's answer went:
// no other request in view carried it, and no message before its request was sent.
type Marker struct {
	Run    event.Run
	Anchor int // which token of the run was new in the domain
}

// At reports whether the marker stands in marks with its anchor at index i.
func (m Marker) At(marks []uint64, i int) bool {
	return i >= m.Anchor && m.Run.At(marks, i-m.Anchor)
}
