package logs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/pattern"
	"github.com/isodetect/isodetect/parsers/source"
)

func patterns(t testing.TB, doc string) *pattern.Set {
	t.Helper()
	set, err := pattern.Compile("p.yaml", []byte("version: 1\npatterns:\n"+doc))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// said returns the events of a log, without their times.
func said(t testing.TB, doc, log string) string {
	t.Helper()
	events, stats := scan(t, []byte(log), source.Options{Patterns: patterns(t, doc)})
	if stats.Records != stats.Used+stats.Ignored+stats.Malformed {
		t.Errorf("%d records are not %d used + %d ignored + %d malformed", stats.Records, stats.Used, stats.Ignored, stats.Malformed)
	}
	return strings.ReplaceAll(strings.Join(events, "|"), " loss=time", "")
}

// A template is held against the message, whatever stands around it.
func TestPatternOfMessage(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		doc := `- {name: up, line: "conn {session} up", event: session_created}
- {name: call, line: "conn {session} asks {method} #{id}", event: request}`
		if got := said(t, doc, log); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", log, got, want)
		}
	}
	f(`conn ab12 up`, "1 session_created answered=ab12")
	f(`2026-03-09T08:00:00.5Z INFO conn ab12 up`, "1 session_created t=08:00:00.5 answered=ab12")
	f(`2026-03-09 08:00:00,500 - gate.core - INFO - conn ab12 up`, "1 session_created t=08:00:00.5 answered=ab12")
	f(`[gate] conn ab12 up`, "1 session_created answered=ab12")
	f(`{"time":"2026-03-09T08:00:00.5Z","msg":"conn ab12 up"}`, "1 session_created t=08:00:00.5 answered=ab12")
	f(`{"ts":1773043200.5,"event":"conn ab12 up","instance":"g-1"}`, "1 session_created t=08:00:00.5 server=g-1 answered=ab12")
	f(`time=2026-03-09T08:00:00.5Z level=INFO msg="conn ab12 up" other=1`, "1 session_created t=08:00:00.5 answered=ab12")
	f("\x1b[32mINFO\x1b[0m conn ab12 up", "1 session_created answered=ab12")
	f(`{"log":"conn ab12 up\n","stream":"stdout","time":"2026-03-09T08:00:00.5Z"}`, "1 session_created t=08:00:00.5 answered=ab12")
	f(`2026-03-09T08:00:00.5Z stdout F conn ab12 up`, "1 session_created t=08:00:00.5 answered=ab12")
	f(`conn ab12 up again`, "")
	f(`he said conn ab12 up`, "")
	f(`{"msg":"he said","text":"conn ab12 up"}`, "")
	f(`conn ab12 cd34 up`, "") // a session is one word
	f(`conn  up`, "")          // it names none
	f("  conn ab12 up", "")    // it goes on with the line before
	f("\tconn ab12 up", "")
	f(`conn ab12 asks tools/call #7`, "1 message answered=ab12 dir=client→server kind=request method=tools/call id=7 loss=id-type")
	f(`{"msg":"conn ab12 asks tools/call #7"}`, "1 message answered=ab12 dir=client→server kind=request method=tools/call id=7 loss=id-type")
	f(`conn - asks tools/call #x7`, `1 message asked=absent dir=client→server kind=request method=tools/call id="x7" loss=id-type`)
}

// Keys are those of JSON lines, of nested objects, and of key=value pairs; a
// value that is taken whole keeps its type.
func TestPatternOfKeys(t *testing.T) {
	f := func(log, want string) {
		t.Helper()
		doc := `- name: call
  keys: {what: call, "ids.sess|sess": "{session}", n: "{id}"}
  optional: {tool: "t:{tool}"}
  event: request
  fields: {method: tools/call}`
		if got := said(t, doc, log); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", log, got, want)
		}
	}
	call := "1 message answered=ab12 dir=client→server kind=request method=tools/call id="
	f(`{"what":"call","sess":"ab12","n":7}`, call+"7")
	f(`{"what":"call","sess":"ab12","n":"7"}`, call+`"7" loss=id-type`)
	f(`{"what":"call","sess":"ab12","n":"x7"}`, call+`"x7"`)
	f(`{"what":"call","ids":{"sess":"ab12"},"n":7}`, call+"7")
	f(`{"what":"call","ids.sess":"ab12","n":7}`, call+"7")
	f(`{"a":{"what":"no"},"what":"call","sess":"ab12","n":7,"tool":"t:grep"}`, call+"7 tool=grep")
	f(`{"what":"call","sess":"ab12","n":7,"tool":"grep"}`, call+"7")
	f(`{"what":"call","sess":"no","sess":"ab12","n":7}`, call+"7") // the last counts
	f(`{"what":"c\u0061ll","sess":"\u0061b12","n":7}`, call+"7")
	f(`{"what":"call","sess":"","n":7}`, "1 message asked=absent dir=client→server kind=request method=tools/call id=7")
	f(`{"what":"call","sess":null,"n":7}`, "1 message asked=absent dir=client→server kind=request method=tools/call id=7")
	f(`{"what":"call","n":7}`, "")
	f(`{"what":"calls","sess":"ab12","n":7}`, "")
	f(`{"args":{"what":"call","sess":"ab12","n":7}}`, "")
	f(`{"isodetect":"1","what":"call","sess":"ab12","n":7}`, "")
	f(`what=call sess=ab12 n=7`, call+"7 loss=id-type")
	f(`2026-03-09T08:00:00Z INFO gate what=call sess=ab12 n="x7"`, strings.Replace(call, "answered", "t=08:00:00 answered", 1)+`"x7" loss=id-type`)
	f(`gate {"what":"call","sess":"ab12","n":7}`, call+"7 loss=id-type")
	f(`gate {"msg":"m","what":"call","sess":"ab12","n":7}`, "") // a whole record behind something that is not known
	f(`what=call sess=ab12 n=7 sess=cd34`, "")                  // whose word is the second?
	f(`who=me and said what=call sess=ab12 n=7`, "")            // running text stood between the pairs
}

// Every event of the vocabulary, and what of a line it gives.
func TestPatternEvents(t *testing.T) {
	f := func(event, fields, want string) {
		t.Helper()
		doc := fmt.Sprintf("- {name: p, keys: {p: x}, event: %s, fields: {%s}}", event, fields)
		if got := said(t, doc, `{"p":"x","method":"ping","session_id":"other","id":99}`); got != want {
			t.Errorf("%s {%s}\ngives %s\nwant  %s", event, fields, got, want)
		}
	}
	f("session_created", "session: s1, capabilities: 'sampling roots', client: cli, client_version: '2', protocol: '2025-06-18'",
		"1 session_created answered=s1 caps=sampling,roots client=cli 2 revision=2025-06-18 era=legacy")
	f("session_created", "session: s1, capabilities: '-'", "1 session_created answered=s1 caps=none")
	f("session_resolved", "session: s1, source: fallback, method: tools/call, id: n7", `1 session_resolved asked=absent answered=s1 how=fallback method=tools/call id="n7"`)
	f("session_resolved", "session: s1, source: header", "1 session_resolved asked=s1 answered=s1 how=header")
	f("session_resolved", "session: s1, presented: s0, source: cookie", "1 session_resolved asked=s0 answered=s1 how=cookie")
	f("session_rejected", "presented: s0, status: '404', method: tools/call", "1 request_done asked=s0 method=tools/call outcome=error status=404")
	f("session_closed", "session: s1", "1 session_closed answered=s1")
	f("request", "session: s1, method: tools/call, id: a, tool: grep, token: t1", `1 message answered=s1 dir=client→server kind=request method=tools/call id="a" token="t1" tool=grep`)
	f("request", "session: s1, method: notifications/initialized", "1 message answered=s1 dir=client→server kind=notification method=notifications/initialized")
	f("notification", "session: s1, method: notifications/initialized", "1 message answered=s1 dir=client→server kind=notification method=notifications/initialized")
	f("response", "session: s1, id: a", `1 message answered=s1 dir=server→client kind=result id="a"`)
	f("response", "session: s1, id: a, error: boom, code: '-32603'", `1 message answered=s1 dir=server→client kind=error id="a" code=-32603 error=boom`)
	f("finished", "session: s1, id: a, outcome: cancelled", `1 request_done moment=end answered=s1 id="a" outcome=cancelled`)
	f("cancel_received", "session: s1, id: a, reason: too slow", `1 message asked=s1 answered=s1 dir=client→server kind=notification method=notifications/cancelled cancels="a" reason=too slow`)
	f("cancelled", "session: s1, id: a, by: s2", `1 cancelled_by asked=s2 answered=s1 id="a" outcome=cancelled`)
	f("server_request", "session: s1, method: sampling/createMessage, id: a", `1 message answered=s1 dir=server→client kind=request method=sampling/createMessage id="a" caps=sampling`)
	f("progress", "session: s1, token: t1, progress: '3', total: '8', detail: part", `1 message answered=s1 dir=server→client kind=notification method=notifications/progress token="t1" progress=3`)
	f("progress", "session: s1, origin: s2, token: t1", `1 routed answered=s1 origin=s2 dir=server→client kind=notification method=notifications/progress token="t1"`)
	f("updated", "session: s1, uri: 'doc://a'", "1 routed answered=s1 dir=server→client kind=notification method=notifications/resources/updated uri=doc://a")
	f("delivered", "session: s1, method: notifications/message, origin: s2", "1 routed answered=s1 origin=s2 dir=server→client kind=notification method=notifications/message")
	f("subscribed", "session: s1, uri: 'doc://a'", "1 message answered=s1 dir=client→server kind=request method=resources/subscribe uri=doc://a|1 request_done answered=s1 kind=request method=resources/subscribe uri=doc://a outcome=ok")
	f("unsubscribed", "session: s1, uri: 'doc://a'", "1 message answered=s1 dir=client→server kind=request method=resources/unsubscribe uri=doc://a|1 request_done answered=s1 kind=request method=resources/unsubscribe uri=doc://a outcome=ok")
	f("capabilities_consulted", "session: s1, capabilities: 'roots', method: tools/call", "1 caps_consulted answered=s1 method=tools/call caps=roots")
	f("process_started", "instance: g-1", "1 process_start server=g-1")
	f("stateless", "", "1 stateless")
	f("stdio", "", "1 stdio")
	f("ignored", "", "")
	f("session_closed", "session: s1, time: '2026-03-09T08:00:00.5Z'", "1 session_closed t=08:00:00.5 answered=s1")
	f("session_closed", "session: s1, time: noon", "1 session_closed answered=s1")
}

// What one pattern took of a line before it turned out not to fit is nothing to the next.
func TestPatternsTakeAnew(t *testing.T) {
	doc := `- {name: one, keys: {k: "a {session} b {id}", z: zz}, event: response}
- {name: two, keys: {k: "a {session} b {}"}, optional: {o: "{id}"}, event: response}`
	if got, want := said(t, doc, `{"k":"a ab12 b 7"}`), "1 message answered=ab12 dir=server→client kind=result"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The first pattern that fits counts, and what none fits is read as ever.
func TestPatternsInOrder(t *testing.T) {
	doc := `- {name: gone, regexp: 'session (?P<session>\w+) (gone|left)(?: after (?P<time>.*))?', event: session_closed}
- {name: any, line: 'session {session} {}', event: session_created}
- {name: unused, line: 'never {}', event: ignored}
- {name: noise, line: 'session created {}', event: ignored}`
	log := "session ab12 gone\nsession ab12 back\nsession created cd34 now\nsession_resolved source=fallback session_id=ab12\nsession ab12 left after 2026-03-09T08:00:00Z\n"
	want := "1 session_closed answered=ab12|2 session_created answered=ab12|3 session_created answered=created|4 session_resolved asked=absent answered=ab12 how=fallback|5 session_closed t=08:00:00 answered=ab12"
	if got := said(t, doc, log); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, stats := scan(t, []byte(log), source.Options{Patterns: patterns(t, doc)})
	got := fmt.Sprint(stats.Patterns, stats.Notes)
	if want := `[{gone 3 2} {any 4 2} {unused 5 0} {noise 6 0}] [patterns of p.yaml that matched no line: "unused", "noise"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_, stats = scan(t, []byte("nothing here\n"), source.Options{Patterns: patterns(t, doc)})
	if got := fmt.Sprint(stats.Notes); got != "[no pattern of p.yaml matched a line]" {
		t.Errorf("got %s", got)
	}
}

// Lines of any length and content are read with patterns as they are without,
// where no pattern fits.
func TestPatternsHostile(t *testing.T) {
	doc := `- {name: a, line: '{} zzz {session} zzz', event: session_closed}
- {name: b, regexp: '(x+x+)+y(?P<session>.*)', event: session_closed}
- {name: c, keys: {a.b.c.d: '{session}'}, event: session_closed}`
	deep := strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)
	long := strings.Repeat("x", 1<<20)
	for _, line := range []string{
		deep, long, long + "y", `{"msg":"` + long + `"}`, `{"a":{"b":{"c":{"d":[[[[` + long + `]]]]}}}}`, `{"a":{"b":{"c":`, `{"a" `, "\x00\xff\xfe",
		strings.Repeat("a.b.c.d=1 ", 1000), strings.Repeat("zzz ", 100000), "{", `{"a":{"b":{"c":{"d":{}}}}}`, strings.Repeat(`{"a.b.c.`, 10),
	} {
		plain, before := scan(t, []byte(line+"\n"), source.Options{})
		with, after := scan(t, []byte(line+"\n"), source.Options{Patterns: patterns(t, doc)})
		if strings.Join(plain, "|") != strings.Join(with, "|") || before.Malformed != after.Malformed || after.Records != after.Used+after.Ignored+after.Malformed {
			t.Errorf("%.40q: %s with patterns, %s without", line, with, plain)
		}
	}
}

// Without a line that fits, patterns cost no allocation.
func TestPatternsAllocate(t *testing.T) {
	set := patterns(t, `- {name: a, line: 'opened {session} for {}', event: session_created}
- {name: b, keys: {msg: call, "m.session": '{session}'}, event: session_closed}`)
	f := func(line string) {
		t.Helper()
		var stats source.Stats
		p := newParser(&stats, source.Options{Patterns: set})
		b := []byte(line)
		read := func() {
			p.queue = p.queue[:0]
			p.line(b, event.Address{N: 1})
		}
		read()
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("%s: %v allocations", line, n)
		}
	}
	f(`{"time":"2026-03-09T08:00:00Z","msg":"refreshed the cache","m":{"n":1}}`)
	f(`INFO refreshed the cache`)
	f(`time=2026-03-09T08:00:00Z level=INFO msg="refreshed the cache" n=12`)
}
