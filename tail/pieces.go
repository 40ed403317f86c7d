package tail

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/isodetect/isodetect/correlate/snapshot"
)

// pieces is a compressed snapshot in parts of one size, which are written as they come:
// as a whole, and in one transaction, it would take as much room as all the sessions. It
// lies in a bucket of its own, and counts once the name of that is in the store's state.
type pieces struct {
	store  *Store
	bucket []byte
	n      uint32
	room   []byte
}

const (
	pieceSize = 1 << 20
	window    = 256 << 10 // of the compression, which holds it several times
)

// pack writes a snapshot of graph.
func (p *pieces) pack(graph any, known snapshot.Known) error {
	z, err := zstd.NewWriter(p, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return err
	}
	if err := snapshot.Write(z, graph, known); err != nil {
		z.Close()
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return p.put()
}

// Write is io.Writer.
func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceSize-len(p.room))
		p.room = append(p.room, rest[:n]...)
		if rest = rest[n:]; len(p.room) == pieceSize {
			if err := p.put(); err != nil {
				return len(b) - len(rest), err
			}
		}
	}
	return len(b), nil
}

// put writes the piece that is gathered. It need not last yet: the transaction that
// names the bucket syncs them all.
func (p *pieces) put() error {
	err := p.store.update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(p.bucket)
		if err != nil {
			return err
		}
		return b.Put(binary.BigEndian.AppendUint32(nil, p.n), p.room)
	})
	p.n, p.room = p.n+1, p.room[:0]
	return err
}

// graphBucket is the name of the bucket of one snapshot.
func graphBucket(n uint64) []byte { return fmt.Appendf(nil, "%s%016x", graphs, n) }

const graphs = "graph "

// generation is the number of the snapshot that counts, 0 = none does.
func (s *Store) generation() (n uint64, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		name := tx.Bucket(bucketState).Get(keyGraph)
		if name == nil {
			return nil
		}
		n, err = strconv.ParseUint(strings.TrimPrefix(string(name), graphs), 16, 64)
		return err
	})
	return n, err
}

func (s *Store) drop(bucket []byte) error {
	return s.update(func(tx *bolt.Tx) error { return dropGraph(tx, bucket) })
}

func dropGraph(tx *bolt.Tx, bucket []byte) error {
	if err := tx.DeleteBucket(bucket); !errors.Is(err, berrors.ErrBucketNotFound) {
		return err
	}
	return nil
}

// dropGraphs drops all snapshots.
func dropGraphs(tx *bolt.Tx) error {
	var all [][]byte
	err := tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		if bytes.HasPrefix(name, []byte(graphs)) {
			all = append(all, bytes.Clone(name))
		}
		return nil
	})
	for _, name := range all {
		err = errors.Join(err, tx.DeleteBucket(name))
	}
	return err
}

// readGraph reads what pack wrote.
func readGraph(b *bolt.Bucket, graph any, known snapshot.Known) error {
	if b == nil {
		return errors.New("it is damaged or of another version: what the engine knew is not there")
	}
	c := b.Cursor()
	k, v := c.First()
	z, err := zstd.NewReader(&pieceReader{next: func() []byte {
		if k == nil {
			return nil
		}
		piece := v
		k, v = c.Next()
		return piece
	}}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return err
	}
	defer z.Close()
	return snapshot.Read(z, graph, known)
}

// pieceReader reads pieces one after another.
type pieceReader struct {
	next func() []byte // nil = there are no more
	now  bytes.Reader
}

func (r *pieceReader) Read(p []byte) (int, error) {
	if r.now.Len() == 0 {
		piece := r.next()
		if piece == nil {
			return 0, io.EOF
		}
		r.now.Reset(piece)
	}
	return r.now.Read(p)
}
