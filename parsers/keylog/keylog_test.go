package keylog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	random, secret := strings.Repeat("0a", 32), strings.Repeat("5E", 48)
	f := func(text string, lines, used int) {
		t.Helper()
		var l Log
		n, k, err := l.Read(strings.NewReader(text))
		if n != lines || k != used || err != nil {
			t.Errorf("%q: %d lines, %d used, %v; want %d and %d", text, n, k, err, lines, used)
		}
		if s := l.Find(Random([]byte(strings.Repeat("\n", 32)))); (s != nil) != (used > 0) {
			t.Errorf("%q: found %v", text, s != nil)
		}
	}
	f("", 0, 0)
	f("CLIENT_RANDOM "+random+" "+secret, 1, 1)
	f("# a comment\r\n\r\n\xEF\xBB\xBFCLIENT_RANDOM "+random+" "+secret+"\r\n", 3, 1)
	f("CLIENT_TRAFFIC_SECRET_0 "+random+" "+secret[:64]+"\nSERVER_TRAFFIC_SECRET_0  "+random+"  "+secret+" \n", 2, 2)
	f("CLIENT_HANDSHAKE_TRAFFIC_SECRET "+random+" "+secret+"\nSERVER_HANDSHAKE_TRAFFIC_SECRET "+random+" "+secret+"\n", 2, 2)
	f("EXPORTER_SECRET "+random+" "+secret+"\nCLIENT_EARLY_TRAFFIC_SECRET "+random+" "+secret, 2, 0)
	f("CLIENT_RANDOM "+random+" "+secret[:64], 1, 0)               // a master secret has 48 bytes
	f("CLIENT_RANDOM "+random[:62]+" "+secret, 1, 0)               // cut
	f("CLIENT_RANDOM "+random+" "+secret[:95], 1, 0)               // half a byte
	f("CLIENT_RANDOM "+random+" "+secret[:94]+"zz", 1, 0)          // no hexadecimal
	f("CLIENT_RANDOM "+random+" "+strings.Repeat(secret, 2), 1, 0) // too long
	f("CLIENT_RANDOM "+random, 1, 0)
	f(strings.Repeat("x", 100<<10)+"\nCLIENT_RANDOM "+random+" "+secret, 2, 1)
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("one\ntwo of it\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(path, want string) {
		t.Helper()
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	f(filepath.Join(dir, "none"), "cannot read the key log: open")
	f(dir, "cannot read the key log")
	f(empty, "none of its 2 lines holds a TLS secret")
}

// However a message is made, it does not hold the secret.
func TestSecretsAreNotPrinted(t *testing.T) {
	s := &Secrets{Master: []byte("top secret")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(verb, s); text != "[secrets]" {
			t.Errorf("%s prints %q", verb, text)
		}
	}
}

func TestBound(t *testing.T) {
	var l Log
	var b strings.Builder
	secret := strings.Repeat("5e", 32)
	for i := range maxConns + 1 {
		fmt.Fprintf(&b, "CLIENT_TRAFFIC_SECRET_0 %064x %s\n", i, secret)
	}
	if _, used, err := l.Read(strings.NewReader(b.String())); used != maxConns || err != nil || !l.Full() || l.Len() != maxConns {
		t.Errorf("%d used, %d kept, %v, full %v", used, l.Len(), err, l.Full())
	}
}

func FuzzRead(f *testing.F) {
	f.Add("CLIENT_RANDOM " + strings.Repeat("0a", 32) + " " + strings.Repeat("5e", 48))
	f.Add("# x\n\nSERVER_TRAFFIC_SECRET_0 a b")
	f.Fuzz(func(t *testing.T, text string) {
		var l Log
		lines, used, err := l.Read(strings.NewReader(text))
		if err != nil || used > lines || (used > 0) != (l.Len() > 0) {
			t.Fatalf("%d lines, %d used, %d kept, %v", lines, used, l.Len(), err)
		}
	})
}
