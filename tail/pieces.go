package tail

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"github.com/isodetect/isodetect/correlate/snapshot"
)

// pieces is a compressed snapshot in parts of one size. A single buffer would grow by
// doubling, to several times what all the sessions take.
type pieces [][]byte

const (
	pieceSize = 256 << 10
	window    = 256 << 10 // of the compression, which holds it several times
)

// Write adds to the last piece. It is io.Writer.
func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		last := len(*p) - 1
		if last < 0 || len((*p)[last]) == pieceSize {
			*p = append(*p, make([]byte, 0, pieceSize))
			last++
		}
		n := min(len(rest), pieceSize-len((*p)[last]))
		(*p)[last] = append((*p)[last], rest[:n]...)
		rest = rest[n:]
	}
	return len(b), nil
}

// packGraph is a compressed snapshot of graph.
func packGraph(graph any, known snapshot.Known) (pieces, error) {
	var p pieces
	z, err := zstd.NewWriter(&p, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	if err := snapshot.Write(z, graph, known); err != nil {
		z.Close()
		return nil, err
	}
	return p, z.Close()
}

// put writes the pieces in place of those of the checkpoint before.
func (p pieces) put(tx *bolt.Tx) error {
	if err := tx.DeleteBucket(bucketGraph); err != nil {
		return err
	}
	b, err := tx.CreateBucket(bucketGraph)
	if err != nil {
		return err
	}
	for i, piece := range p {
		if err := b.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), piece); err != nil {
			return err
		}
	}
	return nil
}

// readGraph reads what packGraph made.
func readGraph(b *bolt.Bucket, graph any, known snapshot.Known) error {
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
