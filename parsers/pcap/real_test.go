package pcap

import (
	"os"
	"testing"
)

// The files in testdata were written by tcpdump and dumpcap: one conversation,
// captured on `any` (LINUX_SLL2), on the loopback with ns, and as pcapng; and TLS
// with its secrets in the file.
func TestRealCaptures(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		file, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, read(t, file).lines, want)
	}
	const conversation = `
		1 opened POST http://127.0.0.1:9120/mcp 127.0.0.1:47222 id=sess-A
		1 message client→server request initialize 0
		1 head 200 id=sess-A
		1 message server→client result  0
		1 closed by server
		2 opened POST http://127.0.0.1:9120/mcp 127.0.0.1:47230 id=sess-A
		2 message client→server request tools/call 7
		2 head 200 id=sess-A
		2 message server→client notification notifications/progress
		2 message server→client result  7
		2 closed by server
		3 opened POST http://127.0.0.1:9120/mcp 127.0.0.1:47236 id=sess-A
		3 message client→server notification notifications/cancelled
		3 head 202 id=sess-A
		3 closed by server
		4 opened GET http://127.0.0.1:9120/mcp 127.0.0.1:47246 absent
		4 head 200 id=sess-A
		4 message server→client notification notifications/resources/updated
		4 message server→client notification notifications/resources/updated
		4 message server→client notification notifications/resources/updated
		4 message server→client notification notifications/resources/updated
		4 message server→client notification notifications/resources/updated
		4 closed by server`
	f("any.pcap", conversation)
	f("lo_nano.pcap", conversation)
	f("lo.pcapng", conversation)
	f("tls_dsb.pcapng", `
		1 opened POST https://127.0.0.1:9443/mcp 127.0.0.1:47270 id=sess-A
		1 message client→server request tools/call 7
		1 head 200 id=sess-A
		1 message server→client notification notifications/progress
		1 message server→client result  7
		1 closed by server
		2 opened POST http://127.0.0.1:9444/mcp 127.0.0.1:37772 id=sess-A
		2 message client→server request tools/call 8
		2 head 200 id=sess-A
		2 message server→client notification notifications/progress
		2 message server→client result  8
		2 closed by server`)
}
