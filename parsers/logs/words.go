package logs

// word is one word of a message that tells what a line is about.
type word uint64

const (
	wSession word = 1 << iota
	wResolved
	wMCP
	wBorn // created, registered, opened, …
	wInitialized
	wEnded // closed, terminated, …
	wIdle
	wNot // words that turn a statement round
	wClient
	wServer
	wUpstream
	wStream
	wRPC
	wRequest
	wResponse
	wNotification
	wReceived
	wSent
	wRouted // routed, delivered, dispatched
	wCancel
	wCancelled
	wProgress
	wResource
	wUpdate
	wSubscribed
	wUnsubscribed
	wTool
	wCall
	wDone      // over, however it ended
	wSucceeded // with a result
	wFailed
	wListening
	wStarted
	wStateless
	wStdio
	wTransport
	wJob
	wMode
	wHTTP
	wSubscription
	wNew
)

var wordOf = func() map[string]word {
	m := map[string]word{}
	for w, texts := range map[word][]string{
		wSession:      {"session", "sessions"},
		wResolved:     {"resolved"},
		wMCP:          {"mcp"},
		wBorn:         {"created", "create", "registered", "opened", "connected", "established", "minted", "started"},
		wInitialized:  {"initialized", "initialised"},
		wEnded:        {"closed", "terminated", "terminating", "deleted", "disconnected", "ended", "expired", "evicted", "destroyed", "removed", "crashed"},
		wIdle:         {"idle"},
		wNot:          {"no", "not", "cannot", "could", "unable", "unknown", "invalid", "rejected", "rejecting", "refused", "without", "missing", "found", "expecting", "duplicate", "ignored", "ignoring", "dropped", "discarded", "already"},
		wClient:       {"client"},
		wServer:       {"server"},
		wUpstream:     {"upstream", "backend", "downstream"},
		wStream:       {"stream", "sse"},
		wRPC:          {"rpc", "jsonrpc"},
		wRequest:      {"request", "req"},
		wResponse:     {"response", "reply"},
		wNotification: {"notification"},
		wReceived:     {"recv", "received", "receive", "receiving", "incoming", "inbound", "read", "in"},
		wSent:         {"send", "sent", "sending", "outgoing", "outbound", "write", "out"},
		wRouted:       {"routed", "delivered", "dispatched", "forwarded", "pushed", "emitted", "published"},
		wCancel:       {"cancel", "cancellation"},
		wCancelled:    {"cancelled", "canceled", "aborted"},
		wProgress:     {"progress"},
		wResource:     {"resource", "resources"},
		wUpdate:       {"update", "updated"},
		wSubscribed:   {"subscribed", "subscribe"},
		wUnsubscribed: {"unsubscribed", "unsubscribe"},
		wSubscription: {"subscription"},
		wTool:         {"tool"},
		wCall:         {"call"},
		wDone:         {"done", "completed", "finished"},
		wSucceeded:    {"succeeded", "success", "successful", "successfully"},
		wFailed:       {"failed", "failure"},
		wListening:    {"listening"},
		wStarted:      {"running", "starting"},
		wStateless:    {"stateless"},
		wStdio:        {"stdio"},
		wTransport:    {"transport"},
		wJob:          {"job", "task", "operation"},
		wMode:         {"mode"},
		wHTTP:         {"http", "streamable", "streamablehttp"},
		wNew:          {"new"},
	} {
		for _, t := range texts {
			m[t] = w
		}
	}
	m["started"] |= wStarted
	return m
}()

// phrase is what the words of a message say. Only the first maxWords are read:
// what a line is about stands in front, and what comes later may be anybody's text.
type phrase struct {
	all   word
	first [3]word // in order; 0 for words that tell nothing
	n     int     // words read
	rest  bool    // there were more
	form  uint32  // hash of the words in front of what is named, 0 = there are none
}

const maxWords = 10

func (p *phrase) has(w word) bool { return p.all&w == w }
func (p *phrase) any(w word) bool { return p.all&w != 0 }

// readPhrase reads the words of a message. Words are runs of letters; a capital
// behind a small letter begins a new one, so that SessionResolved is two.
func readPhrase(text []byte) (p phrase) {
	var buf [16]byte
	named := false // keys and values began, or a document
	for i := 0; i < len(text); {
		c := text[i] | 0x20
		if c < 'a' || c > 'z' {
			named = named || text[i] == '{' || text[i] == '[' || text[i] == '='
			i++
			continue
		}
		n := 0 // letters
		for ; i < len(text); i++ {
			c := text[i]
			small := c >= 'a' && c <= 'z'
			if !small && (c < 'A' || c > 'Z') {
				break
			}
			if !small && n > 0 && text[i-1] >= 'a' && text[i-1] <= 'z' {
				break
			}
			if n < len(buf) {
				buf[n] = c | 0x20
			}
			n++
		}
		if i < len(text) && isDigit(text[i]) || i > n && isDigit(text[i-n-1]) {
			continue // a piece of an id
		}
		if p.n == maxWords {
			p.rest = true
			return p
		}
		w := word(0)
		if n < len(buf) {
			w = wordOf[string(buf[:n])]
		}
		if p.n < len(p.first) {
			p.first[p.n] = w
		}
		p.all |= w
		p.n++
		if !named {
			for _, c := range buf[:min(n, len(buf))] {
				p.form = (p.form ^ uint32(c)) * 16777619
			}
			p.form = (p.form ^ ' ') * 16777619
		}
	}
	return p
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// plain reports a short message that begins with what it is about, as the fixed
// texts of servers do. Text of users and tools mostly stands behind other words.
func (p *phrase) plain() bool { return p.first[0] != 0 && !p.rest && !p.any(wTool|wCall) }

// resolved reports `session_resolved` in any spelling, in front of the message.
func (p *phrase) resolved() bool {
	f := p.first
	return f[0] == wSession && f[1] == wResolved || f[0] == wMCP && f[1] == wSession && f[2] == wResolved
}
