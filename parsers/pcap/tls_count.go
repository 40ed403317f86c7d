package pcap

import (
	"crypto/sha256"
	"fmt"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
)

// This file holds where TLS secrets come from, and counts what they opened.

// keyring is the secrets of one recording.
type keyring struct {
	file     *keylog.Log // of --tls-keylog
	embedded keylog.Log  // of the captures
}

func (k *keyring) none() bool { return k.file.Len() == 0 && k.embedded.Len() == 0 }

// find returns the secrets of a connection and where they stand.
func (k *keyring) find(r keylog.Random) (*keylog.Secrets, string) {
	if s := k.file.Find(r); s != nil {
		return s, "the key log"
	}
	if s := k.embedded.Find(r); s != nil {
		return s, "the secrets in the capture"
	}
	return nil, ""
}

// resumption remembers the secrets of TLS 1.2 sessions by what resumes them.
type resumption struct {
	known map[[sha256.Size]byte]*tlsSession
	order [][sha256.Size]byte // oldest first
}

type tlsSession struct {
	secrets *keylog.Secrets
	source  string
}

const maxSessions = 1 << 14

func (r *resumption) keep(name []byte, t *tlsConn) {
	if len(name) == 0 {
		return
	}
	key := sha256.Sum256(name)
	if r.known[key] == nil {
		if r.known == nil {
			r.known = map[[sha256.Size]byte]*tlsSession{}
		}
		if len(r.order) >= maxSessions {
			delete(r.known, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	r.known[key] = &tlsSession{t.secrets, t.source}
}

// find returns the secrets of the first name that is known.
func (r *resumption) find(names ...[]byte) (*keylog.Secrets, string) {
	for _, n := range names {
		if s := r.known[sha256.Sum256(n)]; s != nil && len(n) > 0 {
			return s.secrets, s.source
		}
	}
	return nil, ""
}

// fate of TLS connections of one input.
type tlsFate struct {
	src int32
	why string
	n   int
}

const (
	maxFates  = 256
	maxMissed = 1 << 12 // connections without secrets that are remembered
)

// tally counts a TLS connection.
func (a *assembler) tally(src int32, why string) {
	for i := range a.fates {
		if f := &a.fates[i]; f.src == src && f.why == why {
			f.n++
			return
		}
	}
	if len(a.fates) < maxFates {
		a.fates = append(a.fates, tlsFate{src, why, 1})
	}
}

// noSecrets is the fate of a connection that no secret belongs to, though some are given.
const noSecrets = "not readable"

func conns(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// noteFates tells the inputs what became of their TLS connections.
func (a *assembler) noteFates() {
	for _, f := range a.fates {
		why, these := f.why, "these"
		if f.n == 1 {
			these = "this one"
		}
		if why == noSecrets {
			why += fmt.Sprintf(": the secrets that are given are of %s, not of %s", conns(a.keys.file.Len()+a.keys.embedded.Len()), these)
		}
		a.input(f.src).Stats.Note(fmt.Sprintf("TLS: %s %s", conns(f.n), why))
	}
	a.fates = nil
	late := 0
	for _, r := range a.missed {
		if s, _ := a.keys.find(r); s != nil {
			late++
		}
	}
	if a.missed = nil; late > 0 {
		a.input(a.last.at.Source).Stats.Note(fmt.Sprintf("TLS: secrets stand behind the packets that need them (%d of the connections); put them in front with editcap --inject-secrets tls,FILE", late))
	}
	if a.keys.file.Full() || a.keys.embedded.Full() {
		a.input(a.last.at.Source).Stats.Note("there are more TLS secrets than can be kept; those of later connections were left out")
	}
}

// shade cuts a hole into the domains of a server for what half i of a connection
// to it said that cannot be read: what other connections show is not all there is.
func (a *assembler) shade(c *conn, i int, at spot) {
	dir := event.ToClient
	if i == c.client {
		dir = event.ToServer
	}
	path := ""
	if c.socket {
		path = c.domain.Path
	}
	a.shadeServer(c.server, path, dir, at)
}

// shadeServer cuts a hole into the domains of a server, path "" = of every path.
func (a *assembler) shadeServer(server, path string, dir event.Dir, at spot) {
	a.out.drain() // so that the domains are known
	for _, d := range a.out.domains {
		if d.Server == server && (path == "" || d.Path == path) {
			a.out.own(event.Event{Kind: event.Gap, Time: at.time(), At: at.at, Dir: dir, Domain: d, Loss: event.LossDark, Note: "a connection to this server is not readable"})
		}
	}
}
