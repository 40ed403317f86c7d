package report

import (
	"time"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
	"github.com/isodetect/isodetect/signals"
	"github.com/isodetect/isodetect/verdict"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC).UnixNano()

func ms(n int64) event.Time { return event.At(start + n*1e6) }

const (
	sessionA = "6f1c2b9e-3d5a-4a57-9c1e-0b8f3f6d2a11"
	sessionB = "d2a84f10-77c3-4f0e-8a55-9e6b1c0d4e22"
	sessionC = "0c9d8e7f-1111-4222-8333-444455556666"
	endpoint = "http://10.20.0.7:8080/mcp"
)

// incident is a made-up result with what a report has to show.
func incident() (*verdict.Result, []*source.Input) {
	inputs := []*source.Input{
		{Path: "capture.pcapng", Index: 0, Stats: source.Stats{Format: "pcap", Bytes: 1283344, Records: 12851, Used: 4410, Ignored: 8441, Events: 2210, Gaps: 2, First: start, Last: start + 61e9}},
		{Path: "logs/gate way.har", Index: 1, Stats: source.Stats{Format: "har", Wrappers: []string{"gzip"}, Bytes: 88123, Records: 120, Used: 117, Malformed: 3, Events: 900,
			Problems: []source.Problem{{At: event.Address{Source: 1, Unit: event.UnitEntry, N: 12}, Text: "request.headers is no array; the entry is skipped"}}}},
		{Path: "logs/README.md", Index: 2, Stats: source.Stats{Notes: []string{"ignored: not recognised as any format"}}},
	}
	a := signals.Party{Alias: "S1", Session: sessionA, Role: signals.Cause}
	b := signals.Party{Alias: "S2", Session: sessionB, Role: signals.Victim}
	token := signals.Finding{
		Signal: signals.TokenCollision, Variant: "misdelivered", Strength: signals.Confirmed, Family: signals.Lifetime, Era: "legacy", Domain: endpoint, Path: "/mcp",
		Parties: []signals.Party{a, b}, RequestIDs: []string{"7"}, Tokens: []string{"7"}, Method: "tools/call", Tool: "index_documents",
		First: start + 1250e6, Last: start + 2410e6, Count: 3, Rules: []string{"P-PRG-1"},
		Summary: "Progress of S2's call index_documents was delivered on a stream of S1, which never gave token 7.",
		Because: []string{"S2's request [1] with token 7 was open when the progress [2] arrived", "S1 is seen from its initialize on and gave no token 7"},
		Evidence: []signals.Evidence{
			{Role: signals.Victim, At: event.Address{Unit: event.UnitFrame, N: 412, Offset: 90211}, Time: ms(1000), Party: "S2", Says: "asks for progress under token 7",
				Excerpt: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"index_documents","arguments":{"folder":"contracts-2026-acme","limit":4711},"_meta":{"progressToken":7}}}`},
			{Role: signals.Cause, At: event.Address{Unit: event.UnitFrame, N: 437, Offset: 99120}, Time: ms(1250), Party: "S1", Says: "receives progress for token 7",
				Excerpt: `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":3,"total":12,"message":"reading contracts-2026-acme (3 of 12)"}}`},
		},
	}
	fallback := signals.Finding{
		Signal: signals.FallbackResolution, Variant: "answered_as", Strength: signals.Probable, Family: signals.Keying, Era: "legacy", Domain: endpoint, Path: "/mcp",
		Parties: []signals.Party{{Alias: "P1", Text: "address 10.20.0.44", Role: signals.Cause}, {Alias: "S3", Session: sessionC, Role: signals.Victim}},
		Method:  "tools/list", RequestIDs: []string{`"a-1"`}, First: start + 9e9, Last: start + 9e9, Count: 1,
		Summary:    "A request without a session id was answered as S3.",
		Because:    []string{"the answer [2] names S3, which was issued to another initialize"},
		Assumption: "The sender is not S3's own client that lost its header.",
		Evidence: []signals.Evidence{
			{Role: signals.Cause, At: event.Address{Source: 1, Unit: event.UnitEntry, N: 40, Offset: 1}, Time: event.Time{From: start + 9e9, To: start + 9e9 + 40e6}, Party: "P1", Says: "no session id in the request",
				Excerpt: "POST /mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.\r\nCookie: route=abcdef; sid=zzz\r\n\r\n" + `{"jsonrpc":"2.0","id":"a-1","method":"tools/list"}`},
			{Role: signals.Victim, At: event.Address{Source: 1, Unit: event.UnitEntry, N: 40, Offset: 1}, Time: ms(9040), Party: "S3", Says: "the answer carries S3's session id",
				Excerpt: "HTTP/1.1 200 OK\r\nMcp-Session-Id: " + sessionC + "\r\n\r\n" + `{"jsonrpc":"2.0","id":"a-1","result":{"tools":[{"name":"search","description":"search the archive"}]}}`},
		},
	}
	token.Fails, fallback.Fails = true, true
	hazard := token
	hazard.Fails = false
	hazard.Strength, hazard.Variant, hazard.Count = signals.Hazard, "equal_tokens", 4
	pinned := token
	pinned.Fails = false
	pinned.Rejected = "multiplexed"
	return &verdict.Result{
		Outcome: verdict.OutcomeSignals, ExitCode: verdict.ExitFindings, FailOn: "probable",
		Findings: []signals.Finding{token, fallback, hazard, pinned},
		Notes:    []signals.Note{{Kind: signals.NoteInventedToken, Domain: endpoint, Count: 2, Text: "Progress carries token 99, which no request gave."}},
		Domains: []verdict.Domain{{
			ID: endpoint, Parties: 5, Sessions: 4, Eras: []string{"legacy"}, First: start, Last: start + 61e9, Outcome: verdict.OutcomeSignals,
			Boundary: []signals.Family{signals.Keying, signals.Lifetime},
			Conditions: []verdict.Condition{{Name: "overlap", State: verdict.Met, Why: "S1 and S2 are live together"},
				{Name: "complete", State: verdict.Failed, Why: "2 gaps in what S4 sent, the first at frame 901"}},
			Signals: []verdict.SignalState{
				{Signal: "fallback_resolution", State: verdict.Judged, Judged: 12},
				{Signal: "token_collision", State: verdict.Judged, Judged: 31},
				{Signal: "capability_drift", State: verdict.NotObserved, Why: "no server request was sent"},
				{Signal: "subscription_bleed", State: verdict.NotAssessable, Why: "S4 was not seen from its beginning, so what it subscribed is unknown; another reading from its initialize on would tell"},
			},
			Help: []string{"Start the capture before the clients connect: tcpdump -i any -s 0 -w mcp.pcap 'tcp port 8080'"},
		}},
	}, inputs
}
