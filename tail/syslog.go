package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/signals"
)

// Syslog sends each finding as one message of RFC 5424. The watch never waits for it:
// what the receiver does not take waits in memory, at most waitingMost messages, and
// what finds no room there is counted.
type Syslog struct {
	Network, Address string // unixgram, udp or tcp, and where
	Clock            Clock
	// Failed is told, once until a message goes out again, why none does, and at the
	// end how many were not sent.
	Failed func(error)

	dropped atomic.Int64
	once    sync.Once
	queue   chan []byte
	anew    chan struct{}
	conn    *connection // of Run alone
}

const (
	waitingMost = 1000
	sendWithin  = 2 * time.Second
	maxMessage  = 2048 // octets, which RFC 5424 (section 6.1) asks every receiver to take
	facility    = 3    // system daemons
)

// ParseSyslog reads where messages go: the path of a local socket, udp://HOST:PORT or
// tcp://HOST:PORT. Nothing is opened yet.
func ParseSyslog(text string) (*Syslog, error) {
	network, address, found := strings.Cut(text, "://")
	if !found && filepath.IsAbs(text) {
		return &Syslog{Network: "unixgram", Address: text}, nil
	}
	if !found || network != "udp" && network != "tcp" {
		return nil, errors.New("use the path of a socket such as /dev/log, udp://HOST:PORT or tcp://HOST:PORT")
	}
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		return nil, fmt.Errorf("use %s://HOST:PORT, such as %s://127.0.0.1:514", network, network)
	}
	return &Syslog{Network: network, Address: address}, nil
}

func (s *Syslog) fill() {
	s.once.Do(func() { s.queue, s.anew = make(chan []byte, waitingMost), make(chan struct{}, 1) })
}

// Tell hands a finding over. It does not wait.
func (s *Syslog) Tell(n report.Notice) {
	s.fill()
	select {
	case s.queue <- s.message(n):
	default:
		s.dropped.Add(1)
	}
}

// Dropped is how many findings were not sent and will not be.
func (s *Syslog) Dropped() int64 { return s.dropped.Load() }

// Reopen lets the next message go over a new connection.
func (s *Syslog) Reopen() {
	s.fill()
	select {
	case s.anew <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends, and then what still waits, for at most sendWithin.
func (s *Syslog) Run(ctx context.Context) {
	s.fill()
	defer s.hangUp()
	backoff, failing := minBackoff, false
	for {
		select {
		case <-ctx.Done():
			s.last(nil)
			return
		case <-s.anew:
			s.hangUp()
		case m := <-s.queue:
			for err := s.send(m); err != nil; err = s.send(m) {
				s.hangUp()
				if !failing && s.Failed != nil {
					s.Failed(fmt.Errorf("no finding goes to syslog: %w", err))
				}
				failing = true
				if s.Clock.Wait(ctx, backoff); ctx.Err() != nil {
					s.last(m)
					return
				}
				backoff = min(2*backoff, time.Minute)
			}
			backoff, failing = minBackoff, false
		}
	}
}

// last sends what waits, m first, until one cannot be sent.
func (s *Syslog) last(m []byte) {
	end := time.Now().Add(sendWithin)
	for lost := int64(0); ; m = nil {
		if m == nil {
			select {
			case m = <-s.queue:
			default:
				if lost > 0 && s.Failed != nil {
					s.Failed(fmt.Errorf("%d of the findings did not go to syslog", lost))
				}
				return
			}
		}
		if lost > 0 || time.Now().After(end) || s.send(m) != nil {
			lost++
			s.dropped.Add(1)
		}
	}
}

// connection is one to the receiver.
type connection struct {
	net.Conn
	over chan struct{} // the receiver has closed it; nil where there is no such thing
}

// send sends one message over the connection, which it opens if there is none.
func (s *Syslog) send(m []byte) error {
	if s.conn != nil && s.conn.over != nil {
		select {
		case <-s.conn.over:
			s.hangUp()
		default:
		}
	}
	if s.conn == nil {
		c, err := net.DialTimeout(s.Network, s.Address, sendWithin)
		if err != nil {
			return err
		}
		s.conn = &connection{Conn: c}
		if s.Network == "tcp" { // what is written to a closed one vanishes without an error
			over := make(chan struct{})
			s.conn.over = over
			go func() {
				io.Copy(io.Discard, c)
				close(over)
			}()
		}
	}
	if s.Network == "tcp" { // octet counting, RFC 6587 section 3.4.1
		m = append(fmt.Appendf(nil, "%d ", len(m)), m...)
	}
	s.conn.SetWriteDeadline(time.Now().Add(sendWithin))
	_, err := s.conn.Write(m)
	return err
}

func (s *Syslog) hangUp() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

// severities are those of RFC 5424, section 6.2.1, by the strength of a finding.
var severities = map[string]int{
	signals.Confirmed.String(): 2, // critical
	signals.Probable.String():  4, // warning
	signals.Possible.String():  5, // notice
	signals.Hazard.String():    6, // informational
}

// message is a finding as RFC 5424 writes it, without the framing of a stream.
func (s *Syslog) message(n report.Notice) []byte {
	f := n.Finding
	severity, ok := severities[f.Strength]
	if !ok {
		severity = 5
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "-"
	}
	b := fmt.Appendf(nil, "<%d>1 %s %s isodetect %d %s [isodetect@32473", facility*8+severity,
		s.Clock.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), printUSASCII(host, 255), os.Getpid(), printUSASCII(f.Signal, 32))
	param := func(name, value string) {
		if value != "" {
			b = fmt.Appendf(b, ` %s="%s"`, name, paramValue(value))
		}
	}
	param("occurrence", n.Occurrence)
	param("update", map[bool]string{true: "true"}[n.Update])
	param("signal", f.Signal)
	param("variant", f.Variant)
	param("strength", f.Strength)
	param("family", f.Family)
	param("fingerprint", f.Fingerprint)
	param("first_seen", f.FirstSeen)
	param("domain", f.Domain)
	b = append(b, "] "...)
	b = append(b, strings.ToUpper(f.Strength)+" "+f.Signal+": "+report.Printable(f.Summary)...)
	for _, p := range f.Parties {
		b = append(b, "; "+report.Printable(p.Alias+" "+p.Role)...)
	}
	return cutAt(b, maxMessage)
}

// paramValue escapes a value of structured data (RFC 5424, section 6.3.3), bounded.
func paramValue(text string) string {
	return strings.NewReplacer(`"`, `\"`, `\`, `\\`, `]`, `\]`).Replace(string(cutAt([]byte(report.Printable(text)), 256)))
}

// printUSASCII is a field of the header: no space, nothing beyond ASCII.
func printUSASCII(text string, most int) string {
	return strings.Map(func(r rune) rune {
		if r < 33 || r > 126 {
			return '_'
		}
		return r
	}, text[:min(len(text), most)])
}

// cutAt cuts between two characters.
func cutAt(b []byte, most int) []byte {
	if len(b) <= most {
		return b
	}
	const more = "…"
	n := most - len(more)
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return append(b[:n], more...)
}
