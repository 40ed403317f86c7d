package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/isodetect/isodetect/parsers/wire"
)

// line is one line of wire JSONL (docs/wire.md).
type line struct {
	TS      string          `json:"ts"`
	K       string          `json:"k"`
	X       string          `json:"x"`
	Conn    string          `json:"conn,omitempty"`
	Peer    string          `json:"peer,omitempty"`
	URL     string          `json:"url,omitempty"`
	Method  string          `json:"http_method,omitempty"`
	Status  int             `json:"status,omitempty"`
	H       *header         `json:"h,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Text    *string         `json:"body_text,omitempty"`
	B64     []byte          `json:"body_b64,omitempty"`
	Cut     bool            `json:"cut,omitempty"`
	ID      string          `json:"id,omitempty"`
	Event   string          `json:"event,omitempty"`
	Data    *string         `json:"data,omitempty"`
	Dir     string          `json:"dir,omitempty"`
	Missing string          `json:"missing,omitempty"`
	By      string          `json:"by,omitempty"`
	Note    string          `json:"note,omitempty"`
}

// header holds a string for a field that stands once and a list for others. A head
// without any field has an empty one: a line without h says that headers were not recorded.
type header map[string]any

const stampLayout = "2006-01-02T15:04:05.000000000Z"

// journal writes lines in the order in which put was called. Every call is one
// write, so that a recording is whole up to its last happening at any moment.
type journal struct {
	mu    sync.Mutex
	w     io.Writer
	buf   bytes.Buffer
	enc   *json.Encoder
	start time.Time // its monotonic clock orders lines also when the wall clock is set
	ended bool

	err    error         // of the first write that failed
	failed chan struct{} // closed then
}

func newJournal(w io.Writer, creator string) (*journal, error) {
	j := &journal{w: w, start: time.Now(), failed: make(chan struct{})}
	j.enc = json.NewEncoder(&j.buf)
	j.enc.SetEscapeHTML(false)
	first := struct {
		Schema  string `json:"schema"`
		Creator string `json:"creator"`
	}{wire.Schema, creator}
	if err := j.enc.Encode(first); err != nil {
		return nil, err
	}
	if err := j.flush(); err != nil {
		return nil, err
	}
	return j, nil
}

// put writes lines that happened together, stamped with the time of the call.
func (j *journal) put(lines ...line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.ended || j.err != nil || len(lines) == 0 {
		return
	}
	now := j.start.Add(time.Since(j.start)).UTC().Format(stampLayout)
	for i := range lines {
		lines[i].TS = now
		if err := j.enc.Encode(&lines[i]); err != nil {
			j.fail(err)
			return
		}
	}
	if err := j.flush(); err != nil {
		j.fail(err)
	}
}

func (j *journal) flush() error {
	n, err := j.w.Write(j.buf.Bytes())
	if err == nil && n < j.buf.Len() {
		err = io.ErrShortWrite
	}
	if j.buf.Cap() > 1<<20 {
		j.buf = bytes.Buffer{}
	}
	j.buf.Reset()
	return err
}

func (j *journal) fail(err error) {
	j.err = err
	close(j.failed)
}

// end closes the window: what happens from now on is not recorded.
func (j *journal) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
}

func (j *journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

var errNoOutput = errors.New("a recorder needs a place to write to")
