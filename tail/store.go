package tail

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/isodetect/isodetect/correlate/snapshot"
)

// Store is the checkpoint of a tail: where it stands in every source, everything
// that the engine knows, what was told, and what a webhook has still to get. One
// transaction writes what belongs together.
type Store struct{ db *bolt.DB }

// What a store holds: one key in bucketState for each part but the graph, which is
// compressed and lies in pieces in a bucket of its own, one in bucketOutbox for each message
// that is not delivered, and one in bucketRefused for each that was refused for good.
var (
	bucketState   = []byte("state")
	bucketOutbox  = []byte("outbox")
	bucketRefused = []byte("refused")
	keyOwner      = []byte("owner")
	keyPositions  = []byte("positions")
	keyTold       = []byte("told")
	keyGraph      = []byte("graph") // the name of the bucket with the graph
)

// ErrOther tells that a checkpoint belongs to other inputs or settings.
var ErrOther = errors.New("it belongs to other inputs or settings")

// OpenStore opens or makes a store. owner names the inputs and settings that it
// belongs to; with anew what it holds is dropped. The error says what to do.
func OpenStore(path, owner string, anew bool) (*Store, error) {
	s := &Store{}
	err := guard(func() error { return s.open(path, owner, anew) })
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("cannot use the checkpoint %s: another isodetect has it open", path)
	}
	if err == nil {
		return s, nil
	}
	switch kind := kindOf(path); {
	case kind == notOurs:
		return nil, fmt.Errorf("cannot use the checkpoint %s: it is something else; name a file that is not there yet", path)
	case kind == ours && anew && !errors.Is(err, fs.ErrPermission):
		// What it holds is to be dropped, and it cannot be read.
		if err = os.Remove(path); err == nil {
			s = &Store{}
			err = guard(func() error { return s.open(path, owner, true) })
		}
		if err == nil {
			return s, nil
		}
	}
	if of := (*fs.PathError)(nil); errors.As(err, &of) { // it cannot be opened or made, anew or not
		return nil, fmt.Errorf("cannot use the checkpoint %s: %w", path, of.Err)
	}
	return nil, fmt.Errorf("cannot use the checkpoint %s: %w; --fresh starts anew", path, err)
}

func (s *Store) open(path, owner string, anew bool) (err error) {
	if s.db, err = bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second}); err != nil {
		if of := (*fs.PathError)(nil); !errors.As(err, &of) && !errors.Is(err, berrors.ErrTimeout) {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
		return err
	}
	err = s.update(func(tx *bolt.Tx) error {
		if anew {
			if err := dropGraphs(tx); err != nil {
				return err
			}
			for _, b := range [][]byte{bucketState, bucketOutbox, bucketRefused} {
				if err := tx.DeleteBucket(b); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
					return err
				}
			}
		}
		for _, b := range [][]byte{bucketOutbox, bucketRefused} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucketIfNotExists(bucketState)
		if err != nil {
			return err
		}
		if old := b.Get(keyOwner); old != nil && string(old) != owner {
			return ErrOther
		}
		return b.Put(keyOwner, []byte(owner))
	})
	if err != nil {
		s.db.Close()
	}
	return err
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Load reads the last checkpoint into positions, graph and told, and reports whether
// there is one.
func (s *Store) Load(positions any, graph any, known snapshot.Known, told any) (found bool, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketState)
		data := b.Get(keyPositions)
		if data == nil {
			return nil
		}
		found = true
		if err := json.Unmarshal(data, positions); err != nil {
			return err
		}
		if err := readGraph(tx.Bucket(b.Get(keyGraph)), graph, known); err != nil {
			return err
		}
		return json.Unmarshal(b.Get(keyTold), told)
	})
	return found, err
}

// Save writes a whole checkpoint.
func (s *Store) Save(positions any, graph any, known snapshot.Known, told any) error {
	at, err := json.Marshal(positions)
	if err != nil {
		return err
	}
	names, err := json.Marshal(told)
	if err != nil {
		return err
	}
	now, err := s.generation()
	if err != nil {
		return err
	}
	next := graphBucket(now + 1)
	if err := s.drop(next); err != nil { // of a save that was broken off
		return err
	}
	if err := (&pieces{store: s, bucket: next}).pack(graph, known); err != nil {
		return err
	}
	return s.update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketState)
		for _, kv := range [][2][]byte{{keyPositions, at}, {keyTold, names}, {keyGraph, next}} {
			if err := b.Put(kv[0], kv[1]); err != nil {
				return err
			}
		}
		return dropGraph(tx, graphBucket(now))
	})
}

// Tell writes what was told, and messages to be delivered: a process that is killed
// between that and the next checkpoint finds these findings again after the restart, and
// does not tell them again.
func (s *Store) Tell(told any, messages [][]byte) error {
	names, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return s.update(func(tx *bolt.Tx) error {
		if err := tx.Bucket(bucketState).Put(keyTold, names); err != nil {
			return err
		}
		b := tx.Bucket(bucketOutbox)
		for _, m := range messages {
			n, err := b.NextSequence()
			if err != nil {
				return err
			}
			if err := b.Put(binary.BigEndian.AppendUint64(nil, n), m); err != nil {
				return err
			}
		}
		return nil
	})
}

// Oldest returns the first message that is not delivered, nil if there is none.
func (s *Store) Oldest() (key uint64, message []byte, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		k, v := tx.Bucket(bucketOutbox).Cursor().First()
		if k != nil {
			key, message = binary.BigEndian.Uint64(k), bytes.Clone(v)
		}
		return nil
	})
	return key, message, err
}

// Delivered drops a message.
func (s *Store) Delivered(key uint64) error {
	return s.update(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketOutbox).Delete(binary.BigEndian.AppendUint64(nil, key))
	})
}

// Refused is a message that its receiver refused for good.
type Refused struct {
	Key string // the idempotency key
	Why string
}

// Refuse takes a message out of the outbox and keeps it aside.
func (s *Store) Refuse(key uint64, why string) error {
	return s.update(func(tx *bolt.Tx) error {
		k := binary.BigEndian.AppendUint64(nil, key)
		outbox := tx.Bucket(bucketOutbox)
		kept := append([]byte(strings.ReplaceAll(why, "\n", " ")+"\n"), outbox.Get(k)...)
		if err := tx.Bucket(bucketRefused).Put(k, kept); err != nil {
			return err
		}
		return outbox.Delete(k)
	})
}

// Refused lists what is kept aside, the oldest first.
func (s *Store) Refused() (list []Refused, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketRefused).ForEach(func(_, v []byte) error {
			why, message, _ := bytes.Cut(v, []byte("\n"))
			key, _, _ := bytes.Cut(message, []byte("\n"))
			list = append(list, Refused{string(key), string(why)})
			return nil
		})
	})
	return list, err
}

// Retry puts what is kept aside back into the outbox, where it stood.
func (s *Store) Retry() error {
	return s.update(func(tx *bolt.Tx) error {
		outbox := tx.Bucket(bucketOutbox)
		err := tx.Bucket(bucketRefused).ForEach(func(k, v []byte) error {
			_, message, _ := bytes.Cut(v, []byte("\n"))
			return outbox.Put(k, message)
		})
		if err != nil {
			return err
		}
		if err := tx.DeleteBucket(bucketRefused); err != nil {
			return err
		}
		_, err = tx.CreateBucket(bucketRefused)
		return err
	})
}
