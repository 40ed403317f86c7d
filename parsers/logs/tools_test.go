package logs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// TestRealGolden holds the events of the logs that real tools wrote (testdata/tools/README.md).
func TestRealGolden(t *testing.T) {
	for _, path := range realLogs(t) {
		got, stats := scanFile(t, path)
		if stats.Records != stats.Used+stats.Ignored+stats.Malformed || stats.Malformed > 0 {
			t.Errorf("%s: %d records, %d used, %d ignored, %d malformed", path, stats.Records, stats.Used, stats.Ignored, stats.Malformed)
		}
		text := strings.Join(got, "\n") + "\n"
		golden := filepath.Join("testdata", "tools", "golden", filepath.Base(path)+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text, "\n")); d != "" {
			t.Errorf("events of %s differ (-want +got):\n%s", path, d)
		}
	}
}

func realLogs(t *testing.T) (paths []string) {
	t.Helper()
	for _, ext := range []string{"log", "jsonl"} {
		found, err := filepath.Glob("testdata/tools/*." + ext)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

func scanFile(t *testing.T, path string) ([]string, source.Stats) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return scan(t, b, source.Options{})
}

// TestTools holds what the logs of the real tools must say, by what was acted out
// before each server (testdata/tools/README.md): the ids are those that the two
// clients were given, a and b; a stands for other sessions that the server made.
func TestTools(t *testing.T) {
	f := func(file, a, b, want string) {
		t.Helper()
		b1, err := os.ReadFile("testdata/tools/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got := acts(t, b1, a, b); got != want {
			t.Errorf("%s says\n%s\nand not\n%s", file, got, want)
		}
	}
	f("python-basic.log", "cb42d840849748d3acb42a890fc5f6cb", "888a35d058544c6e954c1107174da377", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list | =400 | ? ? ? A B | no time")
	f("python-asctime.log", "0fb82f5c1ee54969880a52e832a6b511", "1de8e2b276864507a192b868109ac7e4", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list | =400 | ? ? ? A B | 08:42:26.916 to 08:42:30.538")
	f("python-json.jsonl", "47d6b381e490479ca313a8867981d4bd", "5a5d67719be74067903553a876b2cdac", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list |  | ? ? ? A B | 08:42:15.362 to 08:42:19.412")
	f("python-structlog.log", "9eb4091786114368b0cf4940ded90919", "814ae895c0d3401b99c831eda4a9674b", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list | =400 | ? ? ? A B | 08:42:20.761 to 08:42:25.104")
	f("python-structlogjson.jsonl", "47ae64cdb2a645acbd1d4aa6d891a329", "8aa9bd9f156343c4904a014d2788f202", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list |  | ? ? ? A B | 08:41:41.659 to 08:41:45.694")
	f("python-structloglogfmt.log", "b6b7442d6ab94b7bbcab47576f33d6bb", "85a454c5c75d4cfabdc35b892075359a", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list |  | ? ? A B | 08:41:47.019 to 08:41:51.249")
	f("python-loguru.log", "0f910518f20541cc81e9d5034559ebf5", "3aee02dcdf4444f8beed8c2f658cbe14", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list | =400 | ? ? ? A B | 08:41:52.834 to 08:41:56.768")
	f("python-logurujson.jsonl", "0e1d559af72644b39b779292bd5e9b75", "d24491ad2ca44e4381de383ba4d36593", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list |  | ? ? A B | 08:41:58.208 to 08:42:02.334")
	f("python-rich.log", "2b47b9c5c018440cb3b4acb86be508ab", "fab6889dccb6455484a319696a4fc110", "? A B ? | A B A A B A A B B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call :tools/list | =400 | ? ? ? A B | 08:42:03.000 to 08:42:08.999")
	f("python-rich-tty.log", "92a283152af4403196e987ba663fced7", "04da27a4f72f452189ff72cc0b0b896e", "? A B ? | A B A A B A A B | :tools/list :tools/call :tools/call cancelled#2 :resources/subscribe :tools/call | =400 | ? ? | 08:43:48.000 to 08:43:51.999")
	f("python-sse-debug.log", "c0d01b5e33724724891979acd1d0b228", "7f6038c2e9fe4eb59f126e698291a347", "A B |  | A:initialize#0 A:initialized B:initialize#0 B:initialized A:tools/list#1 :tools/list A:tools/call#2 :tools/call B:tools/call#3 :tools/call A:resources/subscribe#4 :resources/subscribe B:tools/call#5 :tools/call A:ping#6 :ping B:tools/list#7 :tools/list | A=202 A=202 B=202 B=202 A=202 A=202 B=202 A=202 B=202 A=202 B=202 | A B | no time")
	f("python2-asctime.log", "93b319c0d21544758feead04d48f854d", "92899af847e24369a42152723f626bbb", "? A B ? |  |  | =400 ?=404 A=404 | ? ? ? A B | 08:42:54.393 to 08:42:58.420")
	f("python2-rich.log", "3a015d35d9f446ea875159553db0354c", "39dbc0cc445844cba798ee04f3eb8117", "? A B ? |  |  | =400 ?=404 A=404 | ? ? ? A B | 08:42:49.000 to 08:42:52.999")
	f("python2-sse-debug.log", "7fd8704b67674a6fbd940e15638bd4a5", "fc5a77473ebd421ab061115d39062035", "A B |  | A:initialize#0 A:initialized B:initialize#0 B:initialized A:tools/list#1 A:tools/call#2 B:tools/call#3 A:resources/subscribe#4 B:tools/call#5 A:ping#6 B:tools/list#7 | A=202 A=202 B=202 B=202 A=202 A=202 B=202 A=202 B=202 A=202 B=202 | A B | 08:43:08.180 to 08:43:11.731")
	f("fastmcp-rich.log", "874ade81e8df4784bbb0f299aa9fee2f", "328220f6a4a443328d399b3f89becda5", " |  | :initialize :initialize :tools/list :tools/call :tools/call :tools/call :tools/list |  |  | 08:43:14.000 to 08:43:20.999")
	f("fastmcp-plain.log", "7b9a2632a488447c8bb225926329a7c7", "8c988efa69c14de88fc7bc9424998f72", " |  | :initialize :initialize :tools/list :tools/call :tools/call :tools/call :tools/list |  |  | no time")
	f("fastmcp-structured.log", "c2391c206842416faabd5f4300a79037", "082b95ca1e634abe8003f9782556dd59", " |  | :initialize :initialize :tools/list :tools/call :tools/call :tools/call :tools/list |  |  | no time")
	f("fastmcp-timing.log", "", "", " |  |  |  |  | no time")
	f("ts-streamable.log", "b4f027e2-892c-44b7-9083-b79190388a10", "f3bb351b-6c22-4992-b454-f05e1e9ce1db", "A B{sampling} |  | :tools/call#9 |  | A B | no time")
	f("ts-json.log", "fcede8aa-55bd-48e7-98b8-dc98dd8ef064", "c3021004-e2f0-4d46-9685-a34b4a0202da", "A B{sampling} |  | :initialized :initialized :tools/list#1 :tools/call#2 :tools/call#2 :cancelled=2 :resources/subscribe#3 :tools/call#4 :tools/call#9 :tools/list#5 :tools/list#6 :tools/list#6 |  |  | no time")
	f("ts-sse.log", "87991806-8852-46ec-a295-d7bf822ecf27", "6e3d3f4c-2ba4-456f-ab2d-5f6830ad2ad2", "A B |  |  |  | A B | no time")
	f("ts-compat.log", "301bba7b-b605-4c8d-ae3e-38169ad1a9a8", "c32338a1-a4d8-4f45-89f2-3f26eba5174e", "A B |  |  |  | A B | no time")
	f("pino.jsonl", "d70c6660-31cf-47f0-8b23-81d29fa3fdaf", "9973bf17-d5ee-4173-a9d5-1201602169d6", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | 08:47:51.961 to 08:47:53.163")
	f("pino-iso.jsonl", "5164a2a0-7546-492b-8669-73c3671b1ef5", "4d602e1a-e4ad-41eb-84b8-200345c393c9", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | 08:47:57.280 to 08:48:07.905")
	f("pino-http.jsonl", "5ae4efca-5e83-446d-862b-73795c8fc938", "fb03964a-f112-446d-b2b1-a31818a7ccd0", " |  |  | A=200 A=202 ->B=200 B=202 A=200 A=202 B=200 A=200 A=200 B=200 -=400 ?=404 A=200 A=404 B=200 |  | 08:48:11.792 to 08:48:22.617")
	f("pino-pretty.log", "8148e62b-7533-4afb-b25b-3fb83fca0de9", "b81f9b85-043f-4d70-9f40-ef839693acae", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | no time")
	f("winston-json.jsonl", "d8966d47-1c46-447a-85e3-825fd82e57ea", "a03a20f0-5a8f-46e5-bbc8-3d7664baecb4", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | 08:48:26.433 to 08:48:36.962")
	f("winston-logstash.jsonl", "7f5dac05-4169-4003-aeed-f3953d630b86", "71ad85a2-5034-4cab-8323-baea40c7ab91", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | no time")
	f("winston-simple.log", "0ce9e158-6201-428c-a3ba-c62c47fbc8c9", "b2769d78-3311-416f-a51e-1eadd8074148", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | no time")
	f("winston-printf.log", "f6a31f21-8aa4-4ccb-9eec-a9ada0b4d5e9", "3f164e91-8806-43d6-b723-fa4ce093031a", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | 08:48:55.106 to 08:49:07.548")
	f("bunyan.jsonl", "1a4c400b-1a11-4485-a2b6-c9f48756097c", "e05a058d-5c92-4504-8f03-1c2b9095ee56", "A{roots} B{sampling} | A B A A B A A B B | :tools/call#9 ?:tools/list#5 A:tools/list#6 |  | A | 08:49:28.725 to 08:49:39.422")
	f("morgan-tokens.log", "e4ba5987-4817-4540-b8cf-eb331e8c62cf", "06141669-992a-4b8c-886a-858468bd3999", " |  |  | -=400 ->A=200 A>-=202 ->B=200 B>-=202 A=200 A>-=202 B=200 A=200 A=200 B=200 -=400 ?>-=404 A>-=200 A>-=404 B=200 |  | 08:49:44.000 to 08:49:55.999")
	f("morgan-iso.log", "776f4416-428d-44e5-8845-ec0e7327af7c", "a7485cd0-65a8-48c6-88cc-19fa0a2700ad", " |  |  | -=400 ->A=200 A>-=202 ->B=200 B>-=202 A=200 A>-=202 B=200 A=200 A=200 B=200 -=400 ?>-=404 A>-=200 A>-=404 B=200 |  | 08:51:15.747 to 08:51:26.482")
	f("gosdk-text.log", "4ATX273X3KC2OEZC7VYTBHAUWJ", "HD726RX34FRQBLWHZ43E6K3QE5", "A B ? |  | A:resources/subscribe#3 :tools/call | A:resources/subscribe#3=ok | ? A | 08:50:42.618 to 08:50:43.910")
	f("gosdk-json.jsonl", "JHURE27MGCP6E7WGCSD44NU4SJ", "SWL4S3A7LJITVI46JVLFB66ARF", "A B ? |  | A:resources/subscribe :tools/call | A:resources/subscribe=ok | ? A | 08:50:47.579 to 08:50:49.797")
	f("gosdk-middleware.log", "ASJKWO2SKKFHFFFDPOOER74XRT", "TM3E2KLLB5WU27WM4PZAHVKCVX", " |  | A:initialize A:initialized B:initialize B:initialized A:tools/list A:tools/call B:tools/call A:cancelled A:resources/subscribe B:tools/call B:tools/list | A:initialize=ok A:initialized=ok B:initialize=ok B:initialized=ok A:tools/list=ok A:cancelled=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:49:30.000 to 08:49:31.999")
	f("mcpgo-text.log", "mcp-session-8938e058-3eef-49da-b5b4-805863b674d1", "mcp-session-91b922df-77a1-4495-b9c4-47e7faa406c8", " |  |  | A:initialize=ok B:initialize=ok A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=error A:tools/list=ok B:tools/list=ok |  | 08:49:36.734 to 08:49:37.424")
	f("mcpgo-json.jsonl", "mcp-session-15b634c7-e8ae-4f7d-9863-5a755e62c3aa", "mcp-session-f794b3c5-1476-475a-9115-cc4a21370852", " |  |  | A:initialize=ok B:initialize=ok A:tools/list=ok B:tools/call=ok A:tools/call=ok A:resources/subscribe=ok B:tools/call=error A:tools/list=ok B:tools/list=ok |  | 08:49:42.785 to 08:49:44.651")
	f("mcpgo-default.log", "mcp-session-fc8d9c07-6e33-4968-9634-8f05aceade9e", "mcp-session-c3f38b9b-5bad-46ac-9f12-16447104256a", " |  |  | A:initialize=ok B:initialize=ok A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=error A:tools/list=ok B:tools/list=ok |  | 08:49:51.000 to 08:49:52.999")
	f("zap.jsonl", "YIXBOHFY5LR3EQLCFVRPO62G7F", "C4LIUJHFLLSJSTITYR4KIXXK6C", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:49:54.933 to 08:49:55.622")
	f("zapdev.log", "DTILSYFRR2MHLV7WZGEBMP6BN5", "R5537BUSEPYPD3TIEFH3FEYAQK", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:49:59.192 to 08:50:02.922")
	f("zerolog.jsonl", "SQYPACTECYGE36MCPY26IUVVID", "BL44UKIK2C3GO3P2G35WD62NTT", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:50:07.000 to 08:50:14.999")
	f("zerologconsole.log", "W3MHLGV2BWBNXYCVWQM5TNVZUA", "FX3DDD5G74ARHU2AS3ILT7LLYK", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | no time")
	f("zerologunix.jsonl", "H42W6LQ3GCUVYWIWFU5TBIFD6Z", "TBACHKNMI2RPE2D53ZOY5HDPPK", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:50:25.965 to 08:50:26.670")
	f("logrus.log", "L6D3TQL6N5BTPWP2CT4SXZVVTT", "PIDYYZTXVVTQDZCF4ACJQ2CGMD", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:50:29.000 to 08:50:30.999")
	f("logrusjson.jsonl", "TNBXSMWBB3OPEYSIEV7Z5NEZVE", "B2FLNVD2XRW7N4DPXCI3QMMFTO", "A B |  |  | A:tools/list=ok A:tools/call=ok B:tools/call=ok A:resources/subscribe=ok B:tools/call=ok B:tools/list=ok |  | 08:50:34.000 to 08:50:35.999")
	f("java.log", "0fcfaea8-8583-46f1-8bad-d66ee37131ff", "b472fcac-fdd3-420e-8adb-8368c45b02b7", " |  | :initialize#0 :initialize :initialized :initialize#0 :initialize :initialized :tools/list#1 :tools/call#2 :cancelled=2 :tools/call#2 :resources/subscribe#3 A:resources/subscribe :tools/call#4 :tools/call#9 :tools/list#5 :tools/list#6 :tools/list#6 | A:resources/subscribe=ok |  | no time")
	f("supergateway-sse.log", "900cdd36-3c6e-4550-a073-cf07b5452888", "62119483-757f-4df4-8eff-b1b48dccbac7", "A{roots} B{sampling} |  | A:initialize#0 A:initialized B:initialize#0 B:initialized A:tools/list#1 A:tools/call#2 B:tools/call#3 A:resources/subscribe#4 B:tools/call#5 A:ping#6 B:tools/list#7 |  | A B | no time")
	f("supergateway-sse-one.log", "b0000ecb-875a-4b31-9440-29f52c5a71e8", "", "A{roots} |  | A:initialize#0 A:initialized A:tools/list#1 A:tools/call#2 A:resources/subscribe#4 A:tools/call#5 |  | A | no time")
	f("supergateway-http.log", "abeef133-862a-4729-9c11-c9256f31e132", "25c4df89-b1ca-4cd2-a75f-6e4e71fb1dd0", "A B |  | :initialize#0 :initialized :initialize#0 :initialized :tools/list#1 :tools/call#2 :tools/call#2 |  |  | no time")
}

// acts writes what the events of a log say about two sessions: who was created,
// resolved by a header, closed, which calls with which ids, who was cancelled, and
// when the first and the last of it happened.
func acts(t *testing.T, log []byte, a, b string) string {
	t.Helper()
	in := &source.Input{Path: "x.log", Size: int64(len(log)), Opener: memory(log)}
	r, err := open([]*source.Input{in}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	who := func(s event.Session) string {
		switch {
		case s.State == event.Absent:
			return "-"
		case s.State == event.Unknown:
			return ""
		case s.ID == a:
			return "A"
		case s.ID == b:
			return "B"
		}
		return "?"
	}
	var created, closed, header, calls, answered []string
	var first, last int64
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Time.From != 0 && first == 0 {
			first = e.Time.From
		}
		last = max(last, e.Time.To)
		call := strings.Trim(who(e.Asked)+">"+who(e.Answered), ">")
		if who(e.Asked) == who(e.Answered) {
			call = who(e.Asked)
		}
		call += ":" + strings.TrimPrefix(e.RPC.Method, "notifications/")
		if e.RPC.ID != "" {
			call += "#" + string(e.RPC.ID)
		}
		switch {
		case e.Kind == event.SessionCreated:
			created = append(created, who(e.Answered)+strings.TrimSuffix("{"+caps(e)+"}", "{}"))
		case e.Kind == event.SessionClosed:
			closed = append(closed, who(e.Answered))
		case e.Kind == event.SessionResolved:
			header = append(header, who(e.Asked))
		case e.Kind == event.CancelledBy:
			calls = append(calls, "cancelled#"+string(e.RPC.ID))
		case e.Kind == event.Message && e.Dir == event.ToServer && e.RPC.CancelID != "":
			calls = append(calls, call+"="+string(e.RPC.CancelID))
		case e.Kind == event.Message && e.Dir == event.ToServer:
			calls = append(calls, call)
		case e.Kind == event.RequestDone:
			answered = append(answered, strings.TrimSuffix(call, ":")+"="+outcomeOf(e))
		}
	}
	span := "no time"
	if first != 0 {
		span = time.Unix(0, first).UTC().Format("15:04:05.000") + " to " + time.Unix(0, last).UTC().Format("15:04:05.000")
	}
	var out []string
	for _, part := range [][]string{created, header, calls, answered, closed, {span}} {
		out = append(out, strings.Join(part, " "))
	}
	return strings.Join(out, " | ")
}

func caps(e *event.Event) string {
	if !e.RPC.CapsKnown {
		return ""
	}
	return strings.ReplaceAll(e.RPC.Caps.String(), " ", "")
}

func outcomeOf(e *event.Event) string {
	if e.Status != 0 {
		return fmt.Sprint(e.Status)
	}
	return [...]string{"?", "ok", "error", "cancelled", "dropped", "ended"}[e.Outcome]
}

// TestFormsChecked holds that a form is called checked against the real tool where
// lines that it wrote stand in testdata and give events, and only there.
func TestFormsChecked(t *testing.T) {
	real := map[string]string{
		"python-basicconfig": "tools/python-basic.log", "python-asctime": "tools/python-asctime.log", "python-sse": "tools/python-sse-debug.log", "rich": "tools/python-rich-tty.log",
		"structlog": "tools/python-structlog.log", "loguru": "tools/python-loguru.log", "console": "tools/ts-streamable.log", "winston-text": "tools/winston-simple.log", "pino-pretty": "tools/pino-pretty.log",
		"logback": "tools/java.log", "zap-console": "tools/zapdev.log", "zerolog-console": "tools/zerologconsole.log", "go-log": "tools/mcpgo-default.log", "fastmcp": "tools/fastmcp-plain.log",
		"supergateway": "tools/supergateway-sse.log", "go-middleware": "tools/gosdk-middleware.log", "morgan-dev": "tools/morgan-iso.log",
		"apache": "docs_apache.log", "envoy": "envoy.log", "haproxy-json": "docs_haproxy.jsonl", "envoy-json": "docs_envoy.jsonl", "traefik-json": "docs_traefik.jsonl",
		"tracing": "tracing_plain.log", "haproxy": "haproxy.log", "uvicorn": "uvicorn.log", "clf": "nginx_custom.log", "nginx-error": "nginx_error.log",
		"slog": "tools/gosdk-json.jsonl", "zap": "tools/zap.jsonl", "zerolog": "tools/zerolog.jsonl", "logrus": "tools/logrusjson.jsonl", "pino": "tools/pino.jsonl",
		"pino-http": "tools/pino-http.jsonl", "winston": "tools/winston-json.jsonl", "bunyan": "tools/bunyan.jsonl", "python-json-logger": "tools/python-json.jsonl",
		"structlog-json": "tools/python-structlogjson.jsonl", "loguru-json": "tools/python-logurujson.jsonl", "tracing-json": "tracing.jsonl", "caddy": "caddy.jsonl", "nginx-json": "nginx.jsonl",
		"slog-text": "tools/gosdk-text.log", "logrus-text": "tools/logrus.log", "structlog-logfmt": "tools/python-structloglogfmt.log",
	}
	seen := map[string]bool{}
	for _, format := range Formats() {
		if format.Name == "export" {
			continue // its forms are documents, which have fixtures of their own
		}
		for _, form := range format.Forms {
			file := real[form.Name]
			if seen[form.Name] {
				t.Errorf("form %s is listed twice", form.Name)
			}
			seen[form.Name] = true
			if (form.Checked == "real") != (file != "") {
				t.Errorf("form %s is %s, its file is %q", form.Name, form.Checked, file)
			}
			if file == "" {
				continue
			}
			if events, _ := scanFile(t, "testdata/"+file); len(events) == 0 && form.Name != "nginx-error" {
				t.Errorf("form %s: nothing is read in %s", form.Name, file)
			}
		}
	}
	for name := range real {
		if !seen[name] {
			t.Errorf("there is no form %s", name)
		}
	}
}
