package pcap

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/keylog"
	"github.com/isodetect/isodetect/parsers/pcap/pcaptest"
)

func only12(id uint16) func(client, server *tls.Config) {
	return func(client, server *tls.Config) {
		client.MaxVersion, client.CipherSuites = tls.VersionTLS12, []uint16{id}
		if strings.Contains(tls.CipherSuiteName(id), "_CBC_") || strings.HasPrefix(tls.CipherSuiteName(id), "TLS_RSA") {
			server.CipherSuites = client.CipherSuites
			server.NextProtos = []string{"http/1.1"} // HTTP/2 forbids them (RFC 9113 §9.2.2)
		}
	}
}

func decrypted(n int, with string) string {
	if n == 1 {
		return "TLS: 1 connection decrypted with " + with
	}
	return fmt.Sprintf("TLS: %d connections decrypted with %s", n, with)
}

// Every version and suite that crypto/tls speaks gives the events of the
// conversation in the clear, over HTTP/2 and HTTP/1.1 and for any segmentation.
func TestLiveTLS(t *testing.T) {
	f := func(name string, change func(client, server *tls.Config)) {
		t.Helper()
		for _, proto := range []string{"h2", "http/1.1"} {
			w, keys := talkTLS(t, func(client, server *tls.Config) {
				server.NextProtos = []string{proto}
				change(client, server)
			})
			for _, segment := range []int{3, 1448, 0} {
				t.Logf("%s, %s, segments of %d", name, proto, segment)
				got := readWith(t, logOf(t, keys), ether.Encode(w.packets(segment)))
				expect(t, plainLines(got.lines), conversation)
				expect(t, got.in[0].Stats.Notes, decrypted(w.conns, "the key log"))
				if server := got.events[0].Domain.Server; server != "https://10.0.0.1:8080" {
					t.Errorf("the server is %s", server)
				}
			}
		}
	}
	f("1.3", func(client, _ *tls.Config) { client.MinVersion = tls.VersionTLS13 })
	f("1.3 with a second hello", func(client, server *tls.Config) {
		client.CurvePreferences, server.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}, []tls.CurveID{tls.CurveP384}
	})
	f("1.3 without secrets of the handshake", func(client, _ *tls.Config) {
		client.KeyLogWriter = leaving{client.KeyLogWriter, "HANDSHAKE"}
	})
	for _, s := range tls.CipherSuites() {
		if slices.Contains(s.SupportedVersions, tls.VersionTLS12) && strings.Contains(s.Name, "ECDSA") && !strings.Contains(s.Name, "CBC") {
			f("1.2 with "+s.Name, only12(s.ID))
		}
	}
}

// What goes through a forward proxy is read like what goes straight, and belongs to the server behind it.
func TestLiveTunnel(t *testing.T) {
	for _, proto := range []string{"h2", "http/1.1"} {
		var keys bytes.Buffer
		server := &tls.Config{Certificates: []tls.Certificate{certificate(t)}, NextProtos: []string{proto}}
		w := talkLive(t, func(tr *http.Transport) {
			tr.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, KeyLogWriter: locked{new(sync.Mutex), &keys}}
			tr.Protocols.SetHTTP2(proto == "h2")
			tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy:3128"})
		}, false, server)
		for _, segment := range []int{3, 1448, 0} {
			t.Logf("%s, segments of %d", proto, segment)
			got := readWith(t, logOf(t, keys.String()), ether.Encode(w.packets(segment)))
			var inside []string
			tunnels, inTunnel := 0, map[string]bool{}
			for i, l := range plainLines(got.lines) {
				n, rest, _ := strings.Cut(l, " ")
				if strings.HasPrefix(rest, "opened CONNECT ") {
					inTunnel[n] = true
					tunnels++
				}
				if inTunnel[n] {
					continue
				}
				if got.events[i].Domain.Server != "https://10.0.0.1:8080[10.0.0.1:8080]" {
					t.Errorf("%s: of %s", l, got.events[i].Domain.Server)
				}
				inside = append(inside, rest)
			}
			var want []string
			for l := range strings.Lines(conversation) {
				if _, rest, ok := strings.Cut(strings.TrimSpace(l), " "); ok {
					want = append(want, rest)
				}
			}
			expect(t, inside, strings.Join(want, "\n"))
			if tunnels != w.conns {
				t.Errorf("%d tunnels were told of %d", tunnels, w.conns)
			}
		}
	}
}

// leaving drops the lines that hold a word.
type leaving struct {
	w interface {
		Write([]byte) (int, error)
	}
	word string
}

func (l leaving) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(l.word)) {
		return len(b), nil
	}
	return l.w.Write(b)
}

// A second connection resumes the session of the first, in both versions.
func TestLiveResumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		w, keys := talkTLS(t, func(client, server *tls.Config) {
			client.MaxVersion = version
			client.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			server.NextProtos = []string{"http/1.1"} // the stream that the client leaves costs its connection
		})
		if w.conns < 2 {
			t.Fatalf("%d connections, want a second one that resumes", w.conns)
		}
		got := readWith(t, logOf(t, keys), ether.Encode(w.packets(0)))
		expect(t, plainLines(got.lines), conversation)
		expect(t, got.in[0].Stats.Notes, decrypted(w.conns, "the key log"))
	}
}

// A block of secrets in the capture does what a key log does, and a key log with
// other secrets beside it does not stand in the way.
func TestLiveSecretsBlock(t *testing.T) {
	w, keys := talkTLS(t, func(_, _ *tls.Config) {})
	ng := pcaptest.File{Link: pcaptest.Ethernet, NG: true}
	for _, big := range []bool{false, true} {
		ng.Big = big
		o := map[bool]binary.AppendByteOrder{false: binary.LittleEndian, true: binary.BigEndian}[big]
		ng.Extra = ng.Block(10, append(o.AppendUint32(o.AppendUint32(nil, 0x544c534b), uint32(len(keys))), keys...))
		got := readWith(t, logOf(t, otherKey), ng.Encode(w.packets(0)))
		expect(t, plainLines(got.lines), conversation)
		expect(t, got.in[0].Stats.Notes, decrypted(w.conns, "the secrets in the capture"))
	}
}

// Secrets behind the packets cannot be used any more, and are named.
func TestLateSecretsBlock(t *testing.T) {
	w, keys := talkTLS(t, func(_, _ *tls.Config) {})
	ng := pcaptest.File{Link: pcaptest.Ethernet, NG: true}
	o := binary.LittleEndian
	file := append(ng.Encode(w.packets(0)), ng.Block(10, append(o.AppendUint32(o.AppendUint32(nil, 0x544c534b), uint32(len(keys))), keys...))...)
	got := readWith(t, logOf(t, otherKey), file)
	if notes := strings.Join(got.in[0].Stats.Notes, "\n"); !strings.Contains(notes, "TLS: secrets stand behind the packets that need them (1 of the connections)") {
		t.Errorf("notes %q", notes)
	}
}

var otherKey = "CLIENT_RANDOM " + strings.Repeat("ab", 32) + " " + strings.Repeat("cd", 48) + "\n"

// What cannot be decrypted is said, with the reason, and makes nothing up.
func TestTLSNotReadable(t *testing.T) {
	w, keys := talkTLS(t, func(client, _ *tls.Config) { client.MinVersion = tls.VersionTLS13 })
	whole := w.packets(0)
	f := func(name string, keys *keylog.Log, packets []pcaptest.Packet, note string) {
		t.Helper()
		got := readWith(t, keys, ether.Encode(packets))
		for _, l := range got.lines {
			if !strings.HasPrefix(l, "0 unreadable TLS") {
				t.Errorf("%s: an event of what cannot be read: %s", name, l)
			}
		}
		if len(got.lines) == 0 {
			t.Errorf("%s: nothing is said", name)
		}
		if notes := strings.Join(got.in[0].Stats.Notes, "\n"); !strings.Contains(notes, note) {
			t.Errorf("%s: notes %q, want %q", name, notes, note)
		}
	}
	swapped := strings.NewReplacer("CLIENT_TRAFFIC", "SERVER_TRAFFIC", "SERVER_TRAFFIC", "CLIENT_TRAFFIC").Replace(keys)
	f("no keys", nil, whole, "TLS: 1 connection not readable: no secrets are given: use --tls-keylog FILE")
	f("keys of another connection", logOf(t, otherKey), whole, "TLS: 1 connection not readable: the secrets that are given are of 1 connection, not of this one")
	f("half of the keys", logOf(t, dropLines(keys, "CLIENT_TRAFFIC_SECRET_0")), whole, "only a part of their secrets is given")
	f("wrong keys", logOf(t, dropLines(swapped, "HANDSHAKE")), whole, "its secrets do not fit")
	f("begun before the capture", logOf(t, keys), whole[16:], "its handshake is not in the capture, or not whole")
	f("no ServerHello", logOf(t, keys), without(whole, 5), "its handshake is not in the capture, or not whole")
	w, keys = talkTLS(t, only12(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256))
	f("a suite without AEAD", logOf(t, keys), w.packets(0), "cipher suite 0xc023 is not decrypted")
}

func dropLines(text, word string) string {
	var out []string
	for l := range strings.Lines(text) {
		if !strings.Contains(l, word) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

func without(p []pcaptest.Packet, i int) []pcaptest.Packet {
	return slices.Delete(slices.Clone(p), i, i+1)
}

// Keys for one of two connections: it is read, the other is said, and every
// packet of the other is a hole for the server's domain.
func TestKeysForSome(t *testing.T) {
	w, keys := talkTLS(t, func(_, server *tls.Config) { server.NextProtos = []string{"http/1.1"} })
	if w.conns != 2 {
		t.Fatalf("%d connections, want 2", w.conns)
	}
	first := strings.Fields(keys)[1]
	got := readWith(t, logOf(t, onlyLines(keys, first)), ether.Encode(w.packets(0)))
	var whole []string
	dark := 0
	for i, l := range got.lines {
		if ev := got.events[i]; ev.Kind == event.Gap && ev.Exchange.N == 0 {
			if ev.Domain.Path != "/mcp" || ev.Sender.Conn != "" {
				t.Errorf("a hole in %+v of %q, want one of the whole domain", ev.Domain, ev.Sender.Conn)
			}
			dark++
			continue
		}
		whole = append(whole, l)
	}
	wants := strings.Split(strings.TrimSpace(conversation), "\n")
	// Which of the two connections ends first is up to the machine that runs the test.
	told := plainLines(whole)
	slices.SortStableFunc(told, func(a, b string) int {
		return strings.Count(a, "unreadable") - strings.Count(b, "unreadable")
	})
	expect(t, told, strings.Join(wants[:len(wants)-3], "\n")+"\n0 unreadable TLS that the given secrets do not open 1 https://10.0.0.1:8080")
	if dark < 3 {
		t.Errorf("%d packets of the other connection are holes", dark)
	}
	expect(t, got.in[0].Stats.Notes, decrypted(1, "the key log")+"\nTLS: 1 connection not readable: the secrets that are given are of 1 connection, not of this one")
}

func onlyLines(text, word string) string {
	var out []string
	for l := range strings.Lines(text) {
		if strings.Contains(l, word) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

// Behind a lost segment the next record is found by its number, in every suite.
func TestTLSHoles(t *testing.T) {
	f := func(name string, change func(client, server *tls.Config)) {
		t.Helper()
		w, keys := talkTLS(t, change)
		whole := readWith(t, logOf(t, keys), ether.Encode(w.packets(700)))
		want := messageSet(whole)
		all := w.packets(700)
		resumed := 0
		for i, p := range all {
			if len(p.Payload) == 0 || i < 40 {
				continue
			}
			got := readWith(t, logOf(t, keys), ether.Encode(without(all, i)))
			for m := range messageSet(got) {
				if !want[m] {
					t.Fatalf("%s: without packet %d there is a message that nobody sent: %s", name, i, m)
				}
			}
			lost := slices.IndexFunc(got.lines, func(l string) bool { return strings.Contains(l, " gap ") })
			if lost < 0 {
				lost = slices.IndexFunc(got.lines, func(l string) bool { return strings.Contains(l, " unreadable ") })
			}
			if lost >= 0 && slices.ContainsFunc(got.lines[lost:], func(l string) bool {
				return strings.Contains(l, " message ") || strings.Contains(l, " closed by server")
			}) {
				resumed++
			}
			if lost < 0 && !slices.Equal(got.lines, whole.lines) {
				t.Errorf("%s: packet %d is lost, and nothing says so:\n%s", name, i, strings.Join(got.lines, "\n"))
			}
			if notes := strings.Join(got.in[0].Stats.Notes, "; "); strings.Contains(notes, "in part") {
				t.Errorf("%s: without packet %d: %s", name, i, notes)
			}
		}
		if resumed < 20 {
			t.Errorf("%s: reading went on behind %d holes only", name, resumed)
		}
	}
	f("1.3 with HTTP/2", func(_, _ *tls.Config) {})
	f("1.3 with HTTP/1.1", func(_, server *tls.Config) { server.NextProtos = []string{"http/1.1"} })
	f("1.2 with AES-GCM", only12(tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256))
	f("1.2 with ChaCha20", only12(tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256))
}

// messageSet is what was said, and by whom, leaving out of which exchange: a hole
// changes the numbers.
func messageSet(r result) map[string]bool {
	set := map[string]bool{}
	for _, ev := range r.events {
		if ev.Kind == event.Message {
			set[fmt.Sprintf("%s %s %s %s", ev.Dir, ev.RPC.Kind, ev.RPC.Method, ev.RPC.ID)] = true
		}
	}
	return set
}

// A key update changes the keys of a direction in the middle; crypto/tls begins
// none itself, so the records are made by hand.
func TestKeyUpdate(t *testing.T) {
	secrets := &keylog.Secrets{Client: bytes.Repeat([]byte{1}, 32), Server: bytes.Repeat([]byte{2}, 32)}
	s, _, _ := suiteOf(0x1303)
	tt := &tlsConn{secrets: secrets, suite: s, v13: true, ready: true}
	if err := tt.half[1].keys13(s, nil, secrets.Server); err != nil {
		t.Fatal(err)
	}
	tt.half[1].credit = firstTrial
	c := &conn{a: newAssembler(&emitter{}, &keyring{}, nil), tls: tt, client: 0}
	secret := secrets.Server
	n := 0
	for generation := range 3 {
		k, err := seal13(s, secret)
		if err != nil {
			t.Fatal(err)
		}
		for seq := range uint64(3) {
			text := fmt.Sprintf("%d/%d", generation, seq)
			plain, kind, ok := c.openRecord(1, sealed13(k, seq, recordData, text))
			if !ok || kind != recordData || string(plain) != text {
				t.Fatalf("record %s: %q, %v", text, plain, ok)
			}
			n++
		}
		if secret, err = nextSecret(s, secret); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, ok := c.openRecord(1, bytes.Repeat([]byte{23, 3, 3, 0, 20}, 5)); ok {
		t.Error("garbage decrypts")
	}
}

// sealed13 makes a record.
func sealed13(k *seal, seq uint64, kind byte, text string) []byte {
	nonce := k.iv
	for i := range 8 {
		nonce[4+i] ^= byte(seq >> (56 - 8*i))
	}
	n := len(text) + 1 + k.aead.Overhead()
	head := []byte{recordData, 3, 3, byte(n >> 8), byte(n)}
	return k.aead.Seal(head[:5:5], nonce[:], append([]byte(text), kind), head)
}

// Packets of TLS that are doubled, swapped, lost or damaged never make a message
// that nobody sent, and every loss is told.
func TestTLSDisorder(t *testing.T) {
	w, keys := talkTLS(t, func(_, _ *tls.Config) {})
	all := w.packets(300)
	log := logOf(t, keys)
	want := messageSet(readWith(t, log, ether.Encode(all)))
	for seed := range int64(30) {
		rnd := rand.New(rand.NewSource(seed))
		var out []pcaptest.Packet
		for i, p := range all {
			if out = append(out, p); rnd.Intn(4) == 0 {
				out = append(out, all[max(0, i-rnd.Intn(5))])
			}
		}
		for i := 8; i+1 < len(out); i += 3 {
			out[i], out[i+1] = out[i+1], out[i]
		}
		for i := range out {
			out[i].NS = pcaptest.Base + int64(i)*1000
		}
		expect(t, plainLines(readWith(t, log, ether.Encode(out)).lines), conversation)
		for i := range out {
			if rnd.Intn(30) == 0 && len(out[i].Payload) > 0 {
				out[i].Payload = slices.Clone(out[i].Payload)
				out[i].Payload[rnd.Intn(len(out[i].Payload))] ^= 1 << rnd.Intn(8)
			}
		}
		for m := range messageSet(readWith(t, log, ether.Encode(out))) {
			if !want[m] {
				t.Errorf("seed %d: a message that nobody sent: %s", seed, m)
			}
		}
	}
}

// The secrets of a recording stand in no event and no note.
func TestSecretsStayInside(t *testing.T) {
	w, keys := talkTLS(t, func(_, _ *tls.Config) {})
	got := readWith(t, logOf(t, keys), ether.Encode(w.packets(0)))
	text := fmt.Sprintf("%+v %+v", got.events, got.in[0].Stats)
	for _, l := range strings.Split(strings.TrimSpace(keys), "\n") {
		if f := strings.Fields(l); strings.Contains(text, f[2]) || strings.Contains(text, f[1]) {
			t.Errorf("a secret of %s is in what is reported", f[0])
		}
	}
}

// FuzzTLS feeds any bytes as the records of a connection whose keys are known.
func FuzzTLS(f *testing.F) {
	w, keys := talkTLS(f, func(client, _ *tls.Config) { client.MinVersion = tls.VersionTLS13 })
	log := logOf(f, keys)
	all := w.packets(1448)
	file, err := os.ReadFile("testdata/tls_dsb.pcapng")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file[:64], uint16(20), true)
	f.Add([]byte("\x17\x03\x03\x00\x20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), uint16(12), false)
	f.Add([]byte("\x16\x03\x03\x00\x04\x02\x00\x00\x00"), uint16(4), false)
	f.Fuzz(func(t *testing.T, data []byte, at uint16, instead bool) {
		p := slices.Clone(all)
		i := int(at) % len(p)
		p[i].Payload = data
		if !instead { // what follows is pushed back
			for k := i; k < len(p); k++ {
				if p[k].Src == p[i].Src {
					p[k].Seq += uint32(len(data))
				} else {
					p[k].Ack += uint32(len(data))
				}
			}
		}
		readWhole(t, ether.Encode(p), log)
	})
}
