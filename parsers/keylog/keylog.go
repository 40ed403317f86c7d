// Package keylog reads TLS secrets in the format that SSLKEYLOGFILE made common:
// one secret per line, a label, the random of the ClientHello, the secret, in
// hexadecimal. Curl, browsers, Node and Python write it, and a pcapng may hold it.
//
// Secrets leave this package as bytes only; nothing here prints them.
package keylog

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Random is the random of a ClientHello, by which a connection is known.
type Random [32]byte

// Secrets is what a log tells of one connection. A nil slice was not told.
type Secrets struct {
	Master                           []byte // TLS 1.2: the master secret
	ClientHandshake, ServerHandshake []byte // TLS 1.3: of the handshake
	Client, Server                   []byte // TLS 1.3: the first of the application data
}

// String and GoString keep secrets out of every message.
func (*Secrets) String() string { return "[secrets]" }

// GoString is String.
func (*Secrets) GoString() string { return "[secrets]" }

// Log is the secrets of any number of connections.
type Log struct {
	conns map[Random]*Secrets
	full  bool
}

const (
	maxConns = 1 << 18   // connections of one log; about 100 MB
	maxFile  = 256 << 20 // bytes of one log
	maxLine  = 4 << 10
)

// Open reads a key log file. A file without a single usable secret is an error:
// nothing could be decrypted with it.
func Open(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key log: %w", err)
	}
	defer f.Close()
	l := &Log{}
	lines, used, err := l.Read(f)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the key log %s: %w", path, err)
	case used == 0:
		return nil, fmt.Errorf("cannot use the key log %s: none of its %d lines holds a TLS secret; "+
			"each must read LABEL RANDOM SECRET, as a program started with SSLKEYLOGFILE=%s writes them", path, lines, path)
	}
	return l, nil
}

// Read adds the secrets of a log and returns how many lines it has and how many
// of them were of use.
func (l *Log) Read(r io.Reader) (lines, used int, err error) {
	limited := &io.LimitedReader{R: r, N: maxFile + 1}
	br := bufio.NewReaderSize(limited, maxLine)
	for {
		line, err := br.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) { // no secret is that long
			_, err = br.ReadSlice('\n')
		}
		if len(line) > 0 {
			lines++
			if !long && l.add(line) {
				used++
			}
		}
		switch {
		case limited.N == 0:
			return lines, used, fmt.Errorf("it is over %d MiB; keep the lines of the connections in the capture", maxFile>>20)
		case errors.Is(err, io.EOF):
			return lines, used, nil
		case err != nil:
			return lines, used, err
		}
	}
}

// add reads one line. It reports whether the line holds a secret that is of use here.
func (l *Log) add(line []byte) bool {
	line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xEF\xBB\xBF"))
	label, rest, _ := bytes.Cut(line, []byte(" "))
	id, text, ok := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	text = bytes.TrimSpace(text)
	var random Random
	if !ok || len(id) != 2*len(random) || len(text) > 128 {
		return false
	}
	if _, err := hex.Decode(random[:], id); err != nil {
		return false
	}
	secret := make([]byte, hex.DecodedLen(len(text)))
	if n, err := hex.Decode(secret, text); err != nil || n != 32 && n != 48 {
		return false
	}
	var old Secrets
	s := l.conns[random]
	if s == nil {
		s = &old
	}
	switch string(label) {
	case "CLIENT_RANDOM":
		if len(secret) != 48 {
			return false
		}
		s.Master = secret
	case "CLIENT_HANDSHAKE_TRAFFIC_SECRET":
		s.ClientHandshake = secret
	case "SERVER_HANDSHAKE_TRAFFIC_SECRET":
		s.ServerHandshake = secret
	case "CLIENT_TRAFFIC_SECRET_0":
		s.Client = secret
	case "SERVER_TRAFFIC_SECRET_0":
		s.Server = secret
	default: // of early data, exporters and resumption
		return false
	}
	if s == &old {
		if len(l.conns) >= maxConns {
			l.full = true
			return false
		}
		if l.conns == nil {
			l.conns = map[Random]*Secrets{}
		}
		l.conns[random] = s
	}
	return true
}

// Find returns the secrets of a connection, nil if there are none.
func (l *Log) Find(r Random) *Secrets {
	if l == nil {
		return nil
	}
	return l.conns[r]
}

// Len returns the number of connections with secrets.
func (l *Log) Len() int {
	if l == nil {
		return 0
	}
	return len(l.conns)
}

// Full reports whether secrets were left out because there were too many.
func (l *Log) Full() bool { return l != nil && l.full }
