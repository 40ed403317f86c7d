package envelope

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Export is the name of the journal export format: an entry is lines of KEY=value
// with an empty line behind them, a value with control characters is KEY, the
// number of its bytes (64 bits, little endian) and the bytes (systemd JOURNAL_EXPORT_FORMATS).
const Export = "journald-export"

// IsExport reports whether an input begins as the export format does.
func IsExport(head []byte) bool {
	for _, k := range [...]string{"__CURSOR=", "__REALTIME_TIMESTAMP="} {
		if bytes.HasPrefix(head, []byte(k)) {
			return true
		}
	}
	return false
}

// ExportReader reads entries of the export format.
type ExportReader struct {
	in    *bufio.Reader
	limit int
	names []string
	vals  [][]byte
	used  int

	line   int64 // lines read
	offset int64 // bytes read
	lines  int   // of the entry that was read last
	at     Address
	value  []byte
}

// NewExport returns a reader of in. Values of more than limit bytes are dropped.
func NewExport(in io.Reader, limit int) *ExportReader {
	return &ExportReader{in: bufio.NewReaderSize(in, 1<<16), limit: limit}
}

// Lines is how many lines the entry has that Next read last, with the empty one behind it.
func (r *ExportReader) Lines() int { return r.lines }

// At is where its MESSAGE stands, else where it begins.
func (r *ExportReader) At() Address { return r.at }

// Read is how many bytes were read.
func (r *ExportReader) Read() int64 { return r.offset }

// ErrEntry is returned for an entry that is broken; the next call goes on behind it.
var ErrEntry = errors.New("broken entry of a journal export")

const maxExportFields = 512

// Next reads an entry. It returns io.EOF at the end, an ErrEntry for a broken entry,
// and otherwise the error of the input.
func (r *ExportReader) Next() error {
	r.names, r.used, r.lines, r.at = r.names[:0], 0, 0, Address{N: r.line + 1, Offset: r.offset}
	var bad error
	for {
		at := Address{N: r.line + 1, Offset: r.offset}
		line, tooLong, err := r.readLine()
		if err != nil && len(line) == 0 && !tooLong {
			if r.lines == 0 || !errors.Is(err, io.EOF) {
				return err
			}
			return bad
		}
		if len(line) == 0 && !tooLong {
			if len(r.names) == 0 && bad == nil && err == nil {
				continue // an empty line too many, which belongs to the entry behind it
			}
			return bad
		}
		if tooLong {
			bad = fmt.Errorf("%w: a value is longer than 64 MiB", ErrEntry)
			continue
		}
		name, value, plain := bytes.Cut(line, []byte("="))
		if !fieldName(name) {
			bad = fmt.Errorf("%w: line %d is no field", ErrEntry, at.N)
			continue
		}
		key := string(name)
		if !plain {
			if value, err = r.readBinary(); err != nil {
				bad = err
				if !errors.Is(err, ErrEntry) {
					return err
				}
				continue
			}
		}
		if key == "MESSAGE" {
			r.at = at
		}
		r.keep(key, value)
	}
}

func fieldName(b []byte) bool {
	if len(b) == 0 || len(b) > 128 {
		return false
	}
	for _, c := range b {
		if c != '_' && !isDigit(c) && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// keep stores a field that is needed.
func (r *ExportReader) keep(name string, value []byte) {
	if keyOf([]byte(name)) == keyNone || len(r.names) == maxExportFields {
		if len(r.names) == 0 {
			r.names = append(r.names, "") // there is something in this entry
			r.store(nil)
		}
		return
	}
	r.names = append(r.names, name)
	r.store(value)
}

func (r *ExportReader) store(value []byte) {
	i := len(r.names) - 1
	if i == len(r.vals) {
		r.vals = append(r.vals, nil)
	}
	if cap(r.vals[i]) > maxKept {
		r.vals[i] = nil
	}
	r.vals[i] = append(r.vals[i][:0], value...)
}

// readLine reads up to the next newline. The line is valid until the next read.
func (r *ExportReader) readLine() (line []byte, tooLong bool, err error) {
	r.value = r.value[:0]
	for {
		b, err := r.in.ReadSlice('\n')
		r.offset += int64(len(b))
		if len(r.value)+len(b) > r.limit {
			tooLong, r.value = true, r.value[:0]
		} else if !tooLong {
			r.value = append(r.value, b...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || len(b) > 0 || tooLong || len(r.value) > 0 {
			r.line++
			r.lines++
		}
		return bytes.TrimSuffix(r.value, []byte("\n")), tooLong, err
	}
}

// readBinary reads length, bytes and newline of a value.
func (r *ExportReader) readBinary() ([]byte, error) {
	var size [8]byte
	n, err := io.ReadFull(r.in, size[:])
	r.offset += int64(n)
	if err != nil {
		return nil, r.cut(err)
	}
	r.newlines(size[:])
	length := binary.LittleEndian.Uint64(size[:])
	if length > uint64(r.limit) {
		return nil, fmt.Errorf("%w: a value of %d bytes", ErrEntry, length)
	}
	r.value = r.value[:0]
	for rest := int(length) + 1; rest > 0; {
		chunk := min(rest, 1<<16)
		from := len(r.value)
		r.value = append(r.value, make([]byte, chunk)...)
		n, err := io.ReadFull(r.in, r.value[from:])
		r.offset += int64(n)
		if err != nil {
			return nil, r.cut(err)
		}
		rest -= chunk
	}
	r.newlines(r.value)
	return r.value[:length], nil
}

// newlines counts lines as other tools do, which know nothing of binary values.
func (r *ExportReader) newlines(b []byte) {
	n := bytes.Count(b, []byte("\n"))
	r.line += int64(n)
	r.lines += n
}

func (r *ExportReader) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the input ends inside a value", ErrEntry)
	}
	return err
}

// get is the value of a field, nil if the entry has none.
func (r *ExportReader) get(k key) []byte {
	for i, n := range r.names {
		if n != "" && keyOf([]byte(n)) == k {
			return r.vals[i]
		}
	}
	return nil
}

// PeelExport hands the message of an entry to take.
func (p *Peeler) PeelExport(r *ExportReader) {
	message := r.get(keyJournalMessage)
	p.begin(message, r.at)
	p.saw(Export)
	l := &p.layers[0]
	l.inner, l.time, l.stream, l.why, l.many, l.final = message, r.get(keyJournalTime), nil, "", false, false
	l.who = journalPlace(r.get)
	if message == nil {
		return
	}
	l.inner = bytes.TrimRight(message, "\r\n")
	p.into(l, string(r.get(keyJournalPartial)) == "true")
}
