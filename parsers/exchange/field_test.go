package exchange

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/isodetect/isodetect/parsers/source"
)

func TestTelling(t *testing.T) {
	for _, name := range []string{
		"Accept", "Authorization", "Content-Encoding", "Content-Length", "Content-Type", "Cookie", "X-API-Key", "Last-Event-ID",
		"MCP-Protocol-Version", "Mcp-Session-Id", "Transfer-Encoding", "Upgrade", "User-Agent", "Mcp-Method", "mcp-name-x",
	} {
		if !Telling([]byte(name)) || !Telling([]byte(strings.ToUpper(name))) {
			t.Errorf("%s is not read", name)
		}
	}
	for _, name := range []string{"", "Date", "Server", "Expect", "X-Api-Kez", "Mcp-", "mcp_session_id", "Content-Typo", "Content-Lengte", "Last-Event-IDs"} {
		if Telling([]byte(name)) {
			t.Errorf("%s is read", name)
		}
	}
}

// A line that is known again gives the field that reading it gives, whatever was read before.
func TestAppendLine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"Mcp-Session-Id", "content-type", "Content-Length", "Date", "user-agent", "X", " Cookie ", "mcp-method", ""}
	b, fresh := New(0, &source.Stats{}), New(0, &source.Stats{})
	var got, want []Header
	for range 50_000 {
		line := fmt.Sprintf("%s:%s%d", names[rng.IntN(len(names))], strings.Repeat(" ", rng.IntN(3)), rng.IntN(4000))
		switch rng.IntN(20) {
		case 0:
			line = strings.ReplaceAll(line, ":", "")
		case 1:
			line += strings.Repeat("x", rng.IntN(2*maxName))
		}
		got, want = b.AppendLine(got[:0], []byte(line)), want[:0]
		if name, value, ok := bytes.Cut([]byte(line), []byte(":")); ok {
			want = fresh.AppendField(want, bytes.TrimSpace(name), bytes.TrimSpace(value))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q: %v, want %v", line, got, want)
		}
	}
}

// A builder keeps the bytes of no line that it was lent.
func TestAppendLineKeepsNothing(t *testing.T) {
	b := New(0, &source.Stats{})
	line := []byte("Mcp-Session-Id: aaaa")
	first := b.AppendLine(nil, line)
	copy(line[len(line)-4:], "bbbb")
	second := b.AppendLine(nil, line)
	if first[0].Value != "aaaa" || second[0].Value != "bbbb" {
		t.Errorf("%q and %q", first[0].Value, second[0].Value)
	}
}
