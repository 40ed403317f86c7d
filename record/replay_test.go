package record

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/buger/jsonparser"
	"github.com/google/go-cmp/cmp"

	"github.com/isodetect/isodetect/parsers/exchange/exchangetest"
	"github.com/isodetect/isodetect/parsers/wire"
)

// replayed is one exchange of a recording that is played again.
type replayed struct {
	method, target string
	head           http.Header
	body           []byte
	status         int
	answerHead     http.Header
	answer         []string // pieces of the body
	left           bool     // the client left before its end
}

// A recording that is played again through the recorder gives the same events:
// what wire JSONL says of an exchange is what the recorder writes of it.
func TestReplay(t *testing.T) {
	for _, file := range []string{
		"../parsers/wire/testdata/subscriptions.jsonl", "../samples/incident/updates.wire.jsonl", "../samples/healthy/refresh.wire.jsonl",
	} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := exchanges(t, raw)
		p, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var n int
			fmt.Sscan(r.Header.Get("X-Replay"), &n)
			all[n].serve(w, r)
		}, Options{Reveal: true})
		for n, x := range all {
			x.send(t, p, n)
		}
		want, got := perExchange(t, raw), perExchange(t, []byte(p.rec.String()))
		if d := cmp.Diff(want, got); d != "" || len(got) < 6 {
			t.Errorf("%s: %d exchanges (-recording +recording of its replay):\n%s", file, len(got), d)
		}
	}
}

func (x *replayed) serve(w http.ResponseWriter, r *http.Request) {
	for name, values := range x.answerHead {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(x.status)
	for _, piece := range x.answer {
		flush(w, piece)
	}
	if x.left {
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}

func (x *replayed) send(t *testing.T, p *proxied, n int) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	q, _ := http.NewRequestWithContext(ctx, x.method, p.url+x.target, bytes.NewReader(x.body))
	q.Header = x.head.Clone()
	q.Header.Set("X-Replay", fmt.Sprint(n))
	q.Header.Del("Content-Length")
	res, err := client(t).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if !x.left {
		io.Copy(io.Discard, res.Body)
	} else {
		io.ReadFull(res.Body, make([]byte, len(strings.Join(x.answer, ""))))
		leave()
	}
	p.rec.wait(t, n+1, `"k":"close"`)
}

// exchanges reads a recording into what is sent and answered.
func exchanges(t *testing.T, raw []byte) []*replayed {
	var order []*replayed
	of := map[string]*replayed{}
	for text := range bytes.Lines(raw) {
		str := func(key string) string {
			s, _ := jsonparser.GetString(text, key)
			return s
		}
		x := of[str("x")]
		switch str("k") {
		case "req":
			x = &replayed{method: str("http_method"), target: regexp.MustCompile(`^\w+://[^/]+`).ReplaceAllString(str("url"), ""), head: fields(text), status: 200, left: true}
			x.body, _, _, _ = jsonparser.Get(text, "body")
			of[str("x")] = x
			order = append(order, x)
		case "head":
			status, _ := jsonparser.GetInt(text, "status")
			x.status, x.answerHead = int(status), fields(text)
		case "body":
			body, _, _, _ := jsonparser.Get(text, "body")
			x.answer = append(x.answer, string(body))
		case "sse":
			var e strings.Builder
			for _, key := range []string{"id", "event", "data"} {
				if v, err := jsonparser.GetString(text, key); err == nil {
					fmt.Fprintf(&e, "%s: %s\n", key, v)
				}
			}
			x.answer = append(x.answer, e.String()+"\n")
		case "close":
			x.left = str("by") == "client"
		}
	}
	return order
}

func fields(text []byte) http.Header {
	h := http.Header{}
	_ = jsonparser.ObjectEach(text, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		if kind == jsonparser.String {
			h.Add(string(key), string(value))
		}
		return nil
	}, "h")
	return h
}

// perExchange returns the events by exchange, without what a replay cannot keep: time, place, peer.
func perExchange(t *testing.T, raw []byte) map[string][]string {
	t.Helper()
	lines, err := exchangetest.Read(wire.Format, exchangetest.Input(raw))
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(` (conn|peer|agent)="[^"]*"|line \d+@\d+|domain="\w+://[^/"]+`)
	all := map[string][]string{}
	for _, l := range lines {
		_, rest, _ := strings.Cut(l, " ")
		kind, rest, _ := strings.Cut(rest, " ")
		x, rest, _ := strings.Cut(rest, " ")
		rest = strings.ReplaceAll(own.ReplaceAllString(rest, ""), "Mcp-Session-Id", "mcp-session-id") // net/http spells names its own way
		if kind == "closed" {                                                                         // what was open when the recording ended is left by the client here
			rest = strings.ReplaceAll(rest, "by=window", "by=client")
		}
		all[x] = append(all[x], kind+" "+rest)
	}
	return all
}
