package tail

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/report"
)

func noticed(i int) report.Notice {
	return report.Notice{Occurrence: fmt.Sprintf("%016x", i), Finding: report.Finding{
		Signal: "subscription_bleed", Variant: "unsubscribed", Strength: "confirmed", Domain: "http://a/mcp",
		Summary: fmt.Sprintf("update %d", i), Parties: []report.Party{{Alias: "S1", Role: "cause"}, {Alias: "S2", Role: "victim"}},
	}}
}

func syslogTo(t *testing.T, address string) *Syslog {
	t.Helper()
	s, err := ParseSyslog(address)
	if err != nil {
		t.Fatal(err)
	}
	s.Clock = &waits{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	return s
}

// What a message looks like, whatever a finding holds.
func TestSyslogMessage(t *testing.T) {
	f := func(change func(*report.Notice), want string) {
		t.Helper()
		n := noticed(7)
		change(&n)
		got := string(syslogTo(t, "/dev/log").message(n))
		if !regexp.MustCompile("^" + want + "$").MatchString(got) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	head := func(pri int) string {
		return fmt.Sprintf(`<%d>1 2026-11-30T12:00:00\.000000Z \S+ isodetect \d+ subscription_bleed \[isodetect@32473 occurrence="0000000000000007" `, pri)
	}
	body := `signal="subscription_bleed" variant="unsubscribed" strength="%s" domain="http://a/mcp"\] %s subscription_bleed: update 7; S1 cause; S2 victim`
	f(func(n *report.Notice) {}, head(26)+fmt.Sprintf(body, "confirmed", "CONFIRMED"))
	f(func(n *report.Notice) { n.Finding.Strength, n.Update = "probable", true }, head(28)+`update="true" `+fmt.Sprintf(body, "probable", "PROBABLE"))
	f(func(n *report.Notice) { n.Finding.Strength = "possible" }, head(29)+fmt.Sprintf(body, "possible", "POSSIBLE"))
	f(func(n *report.Notice) { n.Finding.Strength = "hazard" }, head(30)+fmt.Sprintf(body, "hazard", "HAZARD"))
	f(func(n *report.Notice) { n.Finding.Domain = "a\"b]c\\d\ne" }, head(26)+`.* domain="a\\"b\\]c\\\\d\\\\ne"\] .*victim`)
	f(func(n *report.Notice) { n.Finding.Summary = "a\x1b[31m\nb" }, head(26)+`[^\x00-\x1f]*: a\\x1b\[31m\\nb; S1 cause; S2 victim`)

	n := noticed(7)
	n.Finding.Summary = strings.Repeat("ü", 3000)
	if got := syslogTo(t, "/dev/log").message(n); len(got) > maxMessage || !strings.HasSuffix(string(got), "ü…") {
		t.Errorf("a long one has %d octets and ends with %q", len(got), got[len(got)-8:])
	}
}

func TestParseSyslog(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		s, err := ParseSyslog(in)
		got := ""
		if err == nil {
			got = s.Network + " " + s.Address
		}
		if got != want {
			t.Errorf("%s: %q (%v), want %q", in, got, err, want)
		}
	}
	f("/dev/log", "unixgram /dev/log")
	f("udp://10.0.0.1:514", "udp 10.0.0.1:514")
	f("tcp://[::1]:601", "tcp [::1]:601")
	for _, bad := range []string{"", "dev/log", "10.0.0.1:514", "tls://a:1", "udp://", "udp://a", "tcp://:601", "tcp://a:"} {
		f(bad, "")
	}
}

// run starts a sender; end stops it and waits for its end.
func run(s *Syslog) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// A datagram is a message, over the local socket and over UDP.
func TestSyslogDatagrams(t *testing.T) {
	f := func(network, at, address string) {
		t.Helper()
		l, err := net.ListenPacket(network, at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if network == "udp" {
			address += l.LocalAddr().String()
		}
		s := syslogTo(t, address)
		end := run(s)
		buf := make([]byte, 4096)
		for i := range 3 {
			s.Tell(noticed(i))
			n, _, err := l.ReadFrom(buf)
			if got := string(buf[:n]); err != nil || !strings.HasPrefix(got, "<26>1 ") || !strings.Contains(got, fmt.Sprintf("update %d;", i)) {
				t.Errorf("%s: %v %s", network, err, got)
			}
		}
		end()
		if s.Dropped() != 0 {
			t.Errorf("%s: %d dropped", network, s.Dropped())
		}
	}
	sock := filepath.Join(t.TempDir(), "log")
	f("unixgram", sock, sock)
	f("udp", "127.0.0.1:0", "udp://")
}

// octetCounted reads one message of a stream.
func octetCounted(r *bufio.Reader) (string, error) {
	var n int
	if _, err := fmt.Fscanf(r, "%d ", &n); err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return string(b), err
}

// A receiver that goes away gets the next findings once it is back, in their order;
// SIGHUP makes a new connection.
func TestSyslogStream(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := syslogTo(t, "tcp://"+l.Addr().String())
	end := run(s)
	defer end()
	s.Tell(noticed(1))
	s.Tell(noticed(2))
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	take := func(i int) {
		t.Helper()
		if got, err := octetCounted(r); err != nil || !strings.HasSuffix(got, fmt.Sprintf("update %d; S1 cause; S2 victim", i)) {
			t.Errorf("%v %q, want update %d", err, got, i)
		}
	}
	take(1)
	take(2)
	s.Reopen()
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
	s.Tell(noticed(3))
	if c, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	r = bufio.NewReader(c)
	take(3)
	c.Close()
}

// A receiver that is not there costs the watch nothing: so many wait, the others are
// counted, and so is, at the end, what still waits.
func TestSyslogNobodyThere(t *testing.T) {
	s := syslogTo(t, filepath.Join(t.TempDir(), "nobody"))
	told := make(chan string, 10)
	s.Failed = func(err error) { told <- err.Error() }
	s.Clock = &standing{now: time.Unix(1e9, 0)}
	for i := range waitingMost + 5 {
		s.Tell(noticed(i))
	}
	if got := s.Dropped(); got != 5 {
		t.Errorf("%d dropped, want 5", got)
	}
	end := run(s)
	if got := <-told; !strings.Contains(got, "no finding goes to syslog") {
		t.Error(got)
	}
	end()
	if got := <-told; got != "1000 of the findings did not go to syslog" {
		t.Error(got)
	}
	if got := s.Dropped(); got != waitingMost+5 || len(told) > 0 {
		t.Errorf("%d dropped, %d more words", got, len(told))
	}
}

// standing is a clock at which nothing happens until the end.
type standing struct{ now time.Time }

func (c *standing) Now() time.Time                            { return c.now }
func (c *standing) Wait(ctx context.Context, _ time.Duration) { <-ctx.Done() }

// A watch tells syslog what it tells elsewhere, once, also what shows only at the end.
func TestTailTellsSyslog(t *testing.T) {
	sock := filepath.Join(t.TempDir(), "log")
	l, err := net.ListenPacket("unixgram", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := syslogTo(t, sock)
	clock := &stepClock{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), step: func() {}}
	w, err := New(Options{
		Paths: []string{"-"}, Follow: follow.Options{Clock: clock, Stdin: strings.NewReader(bleeding(5).text())}, Clock: clock,
		Syslog: s, Gauges: NewGauges(), Log: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	buf := make([]byte, 4096)
	for range 5 {
		n, _, err := l.ReadFrom(buf)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`^<26>1 .* occurrence="(\w+)" .*S\d+ cause; S\d+ victim$`).FindStringSubmatch(string(buf[:n]))
		if m == nil || got[m[1]] || strings.Contains(string(buf[:n]), "session-0") {
			t.Fatalf("came %s", buf[:n])
		}
		got[m[1]] = true
	}
	if s.Dropped() != 0 {
		t.Errorf("%d dropped", s.Dropped())
	}
}
