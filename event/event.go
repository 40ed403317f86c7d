// Package event is the one record that every parser emits and every later stage
// reads. An event is a fact about one exchange or one log line, never a
// conclusion: parsers fill what they know, and unknown is never written as "none".
package event

import "github.com/isodetect/isodetect/mcp"

// Kind is what happened.
type Kind uint8

const (
	KindNone Kind = iota

	// Facts of one HTTP exchange, in this order: Opened, then messages of the
	// request body (Dir ToServer), Head, messages of the response (ToClient), Closed.
	Opened  // the request head was seen: HTTP method, session asked, sender, stream kind
	Message // one JSON-RPC message, either direction
	Head    // the response head was seen: status, session answered
	Closed  // the exchange ended: By, Bytes, Loss
	Gap     // bytes are missing here: Conn or Exchange, Dir, Note say where and why
	Endpoint
	// Endpoint: an HTTP+SSE stream announced where to POST (2024-11-05 transports).
	// Answered holds the session, Domain.Path the path of the GET, Note the announced path.

	// Facts that only a log or a native event states.
	SessionCreated  // Answered = the new session; Caps, ClientInfo where named
	SessionResolved // Asked = what the request carried, Answered = what it was bound to, Resolution = how
	SessionClosed   // Answered = the session
	RequestDone     // a request line written at its end: Method, ID, Asked, Answered, Outcome, Status
	CancelledBy     // Asked = the canceller (may be unknown), Answered = owner of the cancelled request ID
	Routed          // a message of session Origin was sent to session Answered: Token or URI or, of an answer, ID; Resolution "broadcast" = to every open one
	CapsConsulted   // Caps used at dispatch for session Answered
	ProcessStart    // a process began: a new epoch of Domain
	Stateless       // the server says that it keeps no sessions
	Stdio           // the transport is stdio: nothing can be judged
	Unreadable      // encrypted or unsupported traffic: Note says what (TLS, WebSocket, QUIC), Domain.Server whose, Domain.Path "" = of any path; N counts

	Idle // of no input: nothing happened up to Time, in any domain. What waits for time to go on is decided
)

var kindNames = [...]string{"none", "opened", "message", "head", "closed", "gap", "endpoint", "session_created", "session_resolved",
	"session_closed", "request_done", "cancelled_by", "routed", "caps_consulted", "process_start", "stateless", "stdio", "unreadable", "idle"}

func (k Kind) String() string { return kindNames[k] }

// Event is one fact. The strings and slices of an event that a Reader returns
// stay valid for ever, except RPC.Marks; that and the struct itself are reused by the next call to Next.
type Event struct {
	Kind   Kind
	Time   Time
	At     Address
	View   int32 // which recording says so: a log or a capture, in however many files. Two recordings may show one exchange
	Domain Domain
	Link   uint64 // what a recording that is joined with others calls the happening, as they do; 0 = nothing that they could tell too
	Joined bool   // other recordings show the traffic of its domain, too

	Asked    Session // the session that the request named
	Answered Session // the session that the response (or the log) named
	Sender   Sender
	Exchange ExchangeID
	Stream   StreamKind // of the response that Opened announces or a Message came on
	Dir      Dir
	By       By // who ended it (Closed)
	Loss     Loss

	HTTPMethod string
	Status     int    // HTTP status; 0 = none seen
	Revision   string // MCP-Protocol-Version header, or protocolVersion in initialize params or _meta
	Resume     string // Last-Event-ID of a GET
	EventID    string // SSE id of a message
	Bytes      int64  // body bytes of the response (Closed); -1 = not known
	Note       string // free text for Gap, Unreadable, Endpoint
	N          int    // a count (Unreadable; Routed without Answered: to how many sessions)

	RPC RPC // what a Message, or a log line about a message, carries

	Origin     Session // Routed: the session whose handler produced the message
	Resolution string  // SessionResolved: header, fallback, … in lower case; Routed: "broadcast", or empty
	Outcome    Outcome // RequestDone

	Form    uint32 // of the line of a log: equal where a logger says the same, whatever it names; 0 = not known
	Excerpt string // the record or message as it stands, cut to MaxExcerpt at a rune boundary, unmasked
}

// What is set in a Link beside what the happening names.
const (
	LinkTimed = 1 << iota // others are named alike, so that only times tell them apart: a request without a session, an update, a step of progress
	LinkOnce              // it happens once: a session is made, or closed
)

// MaxExcerpt bounds Event.Excerpt in bytes.
const MaxExcerpt = 512

// RPC is the part of a JSON-RPC message that the rules read.
type RPC struct {
	Kind   mcp.Kind
	ID     mcp.ID
	Method string // requests and notifications; a log line about an answer may name it too
	Era    mcp.Era

	Tool     string // params.name of tools/call and prompts/get
	URI      string // params.uri
	Token    mcp.ID // _meta.progressToken of a request, params.progressToken of a progress notification
	CancelID mcp.ID // params.requestId of a cancel
	Reason   string // params.reason of a cancel, cut to 256 bytes
	Trace    string // trace id in _meta.traceparent
	Listen   mcp.ID // _meta io.modelcontextprotocol/subscriptionId: the id of the listen request (2026-07-28)

	Caps       mcp.Caps // initialize: declared. Server request: needed
	CapsKnown  bool     // false = this event says nothing about capabilities
	ClientInfo string   // "name version" of initialize params or _meta

	Progress    float64
	HasProgress bool // a log line need not say how far it was
	Total       float64
	HasTotal    bool
	ProgressMsg string // cut to 200 bytes

	Code      int    // error.code
	IsError   bool   // a result with isError true
	ErrorText string // error message and data text, or the text of an isError result, cut to 1024 bytes
	Shape     Shape  // what a result looks like

	Batch    bool   // the message stood in an array
	BodyHash uint64 // method and params without _meta: equal for a retry
	Args     []Arg  // at most 64 argument scalars of a client request
	Marks    []uint64
	// Marks of at most 4096 tokens of a message that the server sent (see mark.go);
	// nil for what a client sent. Unlike the rest of an event it is reused by the next call to Next.
	MarksCut bool // there were more
}

// Arg is one scalar argument value of a request.
type Arg struct {
	Key   uint64 // hash of the JSON path of keys, array indexes left out
	Run   Run    // its beginning
	Class ArgClass
}

// ArgClass tells what a value may prove (DETECTION §1, marker).
type ArgClass uint8

const (
	ArgShort  ArgClass = iota // says nothing
	ArgMedium                 // ≥ 3 characters: may be compared as the value of an argument
	ArgMarker                 // ≥ 6 characters or ≥ 5 digits: may be a marker
)

// Dir is the direction of a message.
type Dir uint8

const (
	DirUnknown Dir = iota
	ToServer       // client → server
	ToClient       // server → client
)

func (d Dir) String() string { return [...]string{"unknown", "client→server", "server→client"}[d] }

// By is who ended an exchange.
type By uint8

const (
	ByUnknown By = iota // not recorded: HAR, logs
	ByClient            // FIN or RST of the client before the response was complete
	ByServer            // the response was complete, or the server closed
	ByWindow            // still open when the input ended
)

func (b By) String() string { return [...]string{"unknown", "client", "server", "window"}[b] }

// StreamKind is what kind of response carries messages.
type StreamKind uint8

const (
	StreamUnknown StreamKind = iota
	StreamPost               // the response of a POST
	StreamGet                // the response of a GET: standalone, or resumed if Resume is set
	StreamSSE                // the GET of the HTTP+SSE transport
)

func (s StreamKind) String() string { return [...]string{"unknown", "post", "get", "sse"}[s] }

// Loss is a set of flags about what an input could not keep.
type Loss uint16

const (
	LossRequestBody  Loss = 1 << iota // the request body was not recorded or cut
	LossResponseBody                  // the response body was not recorded or cut
	LossHeaders                       // headers are missing or cut: an absent header is unknown
	LossStart                         // the beginning of this exchange or connection is missing
	LossIDType                        // the type of the id is lost: compare folded
	LossRedacted                      // values were redacted
	LossPairing                       // which exchange an answer belongs to is not known, or was rebuilt by id
	LossTime                          // no time of its own
	LossSnap                          // cut by the snap length
	LossRequest                       // the request of this response was not seen
	LossLate                          // it came when what happened after it was told already: its interval ends there
	LossRest                          // the input ends in the middle: what would have followed is missing
	LossDark                          // the content is closed to us, by encryption or by what it speaks: nothing was lost
)

// Outcome is how a request ended, by the word of a log.
type Outcome uint8

const (
	OutcomeUnknown Outcome = iota
	OutcomeOK
	OutcomeError
	OutcomeCancelled
	OutcomeDropped
	OutcomeEnded // it is over; with what is not said
)

// Shape is a set of what a result looks like; one result may fit several.
type Shape uint16

const (
	ShapeInitialize Shape = 1 << iota // protocolVersion and capabilities
	ShapeTools                        // tools array
	ShapeResources                    // resources or resourceTemplates array
	ShapePrompts                      // prompts array
	ShapeContent                      // content array: tools/call
	ShapeContents                     // contents array: resources/read
	ShapeMessages                     // messages array: prompts/get
	ShapeCompletion                   // completion object
	ShapeRoots                        // roots array
	ShapeSampling                     // role and content: answer of a client to sampling
	ShapeElicited                     // action: answer of a client to elicitation
	ShapeTask                         // task object
	ShapeEmpty                        // {} or only _meta
	ShapeOther
)

// Domain is what could leak into what: one MCP endpoint of one process.
type Domain struct {
	Server string // captures: "http://ip:port", or "http://name:port[proxy ip:port]" in a tunnel; HAR: origin, with "[ip]" where serverIPAddress names another host than the URL; logs: the instance or input
	Path   string // path of the endpoint without a trailing slash; "" in logs
	Epoch  string // logs: pid, container restart; changes with the process
	View   int32  // 0 = as all recordings together show it, else as recording View-1 alone does (rules.Engine); parsers leave it 0
}

// State is a tri-state: unknown is not absent.
type State uint8

const (
	Unknown State = iota
	Absent
	Present
)

// IDKind tells what a session id names. Ids of different kinds are never joined by value.
type IDKind uint8

const (
	IDWire      IDKind = iota // Mcp-Session-Id, or the session of an HTTP+SSE endpoint
	IDTelemetry               // a private id of the SDK
	IDGateway
	IDProxy
)

// Session is a session id as one place names it.
type Session struct {
	State State
	Kind  IDKind
	ID    string
}

// Named makes a present session id; an empty id is absent.
func Named(id string) Session {
	if id == "" {
		return Session{State: Absent}
	}
	return Session{State: Present, ID: id}
}

// Sender is what one request shows about who sent it (DETECTION §1, sender hints).
type Sender struct {
	Principal  string // "sub:" + iss + "|" + sub of a readable JWT, else "key:" + 64 bits of SHA-256 of the credential; "" = none
	Conn       string // connection id inside the source: "ip:port" of the client in captures
	Peer       string // client address "ip" where it is the client's own (captures, wire JSONL); "" in HAR
	Cookie     string // affinity cookie "name=value"
	UserAgent  string
	ClientInfo string // what the message itself carries (modern _meta)
}

// Subject reports whether the principal is a readable subject, which may be compared for difference.
func (s Sender) Subject() bool { return len(s.Principal) > 4 && s.Principal[:4] == "sub:" }

// ExchangeID names one HTTP request with its response. N = 0 means no exchange (a log line).
type ExchangeID struct {
	Source int32
	N      uint64
}

// Address is where a fact stands in an input.
type Address struct {
	Source int32 // index of the input
	Unit   Unit
	Turn   uint16 // of an input that is followed: how many files stood at its path before; N and Offset count in one
	N      int64  // lines and frames count from 1, HAR entries from 0
	Offset int64  // byte offset in the decompressed input; -1 = not known
}

// Unit is what Address.N counts.
type Unit uint8

const (
	UnitLine Unit = iota
	UnitEntry
	UnitFrame
)

func (u Unit) String() string { return [...]string{"line", "entry", "frame"}[u] }

// Time is when something happened, in nanoseconds since 1970 UTC: a point if
// From = To, else an interval that holds the moment. 0, 0 = not known.
type Time struct {
	From, To int64
	Moment   Moment
}

// At makes a point in time.
func At(ns int64) Time { return Time{From: ns, To: ns} }

// Moment is which moment of a request a stamp means.
type Moment uint8

const (
	MomentExact Moment = iota // of the happening itself
	MomentStart
	MomentFirstByte
	MomentEnd
)
