package document

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Tables (CSV, RFC 4180): the first row names the columns, a quoted value may go over
// lines. A row becomes the object that the store writes of the same record.

// columns are the names of the columns of a table in lower case, with their places.
type columns map[string]int

func (c columns) has(name string) bool {
	_, ok := c[strings.ToLower(name)]
	return ok
}

// columnsOf reads the first row.
func columnsOf(head []byte) columns {
	row, _, _ := bytes.Cut(head, []byte("\n"))
	if len(row) > maxHeader || bytes.IndexByte(row, ',') < 0 {
		return nil
	}
	names, err := new(rowReader).fields(row)
	if err != nil {
		return nil
	}
	c := columns{}
	for i, n := range names {
		if n = strings.ToLower(strings.TrimSpace(n)); n != "" {
			if _, twice := c[n]; !twice {
				c[n] = i
			}
		}
	}
	return c
}

const maxHeader = 16 << 10

// rowReader takes rows apart.
type rowReader struct {
	in  *bytes.Reader
	csv *csv.Reader
}

// fields are the values of one row, valid until the next call.
func (r *rowReader) fields(row []byte) ([]string, error) {
	if r.csv == nil {
		r.in = bytes.NewReader(nil)
		r.csv = csv.NewReader(r.in)
		r.csv.FieldsPerRecord, r.csv.LazyQuotes, r.csv.ReuseRecord = -1, true, true
	}
	r.in.Reset(row)
	fields, err := r.csv.Read()
	if r.in.Len() > 0 || err != nil { // quotes that make no sense: nothing of it may stay behind
		r.csv = nil
	}
	return fields, err
}

// plan says how a row becomes a line: texts and values in turn.
type plan []piece

type piece struct {
	text   string
	column int // -1 = only text
	form   valueForm
}

type valueForm uint8

const (
	formText   valueForm = iota
	formTime             // as Kibana writes it too
	formUTC              // a time without a zone is UTC
	formObject           // JSON, if it is an object
)

// line is the row as an object.
func (p plan) line(dst []byte, row []string) []byte {
	for _, x := range p {
		dst = append(dst, x.text...)
		if x.column < 0 {
			continue
		}
		v := ""
		if x.column < len(row) {
			v = row[x.column]
		}
		dst = x.form.append(dst, v)
	}
	return dst
}

func (f valueForm) append(dst []byte, v string) []byte {
	switch f {
	case formObject:
		if strings.HasPrefix(v, "{") && json.Valid([]byte(v)) {
			return append(dst, v...)
		}
		return append(dst, "{}"...)
	case formTime, formUTC:
		if t, err := time.Parse("Jan 2, 2006 @ 15:04:05.000", v); err == nil {
			v = t.Format("2006-01-02T15:04:05.000")
		}
		if f == formUTC && len(v) >= len("2006-01-02 15:04:05") && strings.Trim(v, "0123456789-: .") == "" {
			v += "Z"
		}
	default:
		if v == "-" || v == "" {
			return append(dst, "null"...)
		}
	}
	b, _ := json.Marshal(v)
	return append(dst, b...)
}

// nested makes a plan of dotted names, as {"a":{"b":…}}, without the columns in but.
func nested(c columns, but ...string) plan {
	var names []string
	for n := range c {
		if !contains(strings.Join(but, " "), n) && !strings.ContainsAny(n, `"\`) && strings.Trim(n, ".") == n {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	var p plan
	var open []string
	for i, n := range names {
		if i+1 < len(names) && strings.HasPrefix(names[i+1], n+".") {
			continue // a value and an object cannot both stand there
		}
		path := strings.Split(n, ".")
		same := 0
		for same < len(open) && same < len(path)-1 && open[same] == path[same] {
			same++
		}
		text := strings.Repeat("}", len(open)-same)
		if p != nil {
			text += ","
		}
		for _, part := range path[same : len(path)-1] {
			text += `"` + part + `":{`
		}
		open = path[:len(path)-1]
		p = append(p, piece{text + `"` + path[len(path)-1] + `":`, c[n], formText})
	}
	return append(p, piece{strings.Repeat("}", len(open)), -1, 0})
}

// table is the first reading of a table.
func (s *survey) table() error {
	if b, _ := s.br.Peek(3); string(b) == "\xef\xbb\xbf" {
		s.skip(b)
	}
	head, err := s.row()
	if err != nil {
		return eof(err)
	}
	c := columnsOf(append(bytes.TrimRight(head.raw, "\r\n"), '\n'))
	s.x.plan = s.kind.line(c)
	for {
		p, err := s.row()
		if err != nil && (len(p.raw) == 0 || !errors.Is(err, io.EOF)) {
			return eof(err)
		}
		if err != nil { // the last row has no newline, or its quote does not end
			if s.odd {
				return s.tornRow(p)
			}
		}
		switch {
		case len(bytes.TrimSpace(p.raw)) == 0 && p.raw != nil:
		case p.raw == nil:
			if err := s.keep(p); err != nil {
				return s.ended(err)
			}
		default:
			if err := s.tableRow(p); err != nil {
				return s.ended(err)
			}
		}
	}
}

func (s *survey) ended(err error) error {
	_, err = s.broken(err)
	return err
}

func (s *survey) tornRow(p part) error {
	s.x.flaw(p.at, true, "the table ends inside a quoted value: the row is not whole")
	why := "the document ends in the middle: what followed is not there"
	s.x.Missing = append(s.x.Missing, Hole{why, true}, Hole{why, false})
	return nil
}

func eof(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// tableRow keeps the place of a row; its time and id are those of its line.
func (s *survey) tableRow(p part) error {
	fields, err := s.rowOf.fields(p.raw)
	if err != nil {
		s.x.flaw(p.at, true, fmt.Sprintf("row cannot be taken apart (%v) and was skipped", err))
		return nil
	}
	s.lineOf = s.x.plan.line(s.lineOf[:0], fields)
	p.raw = s.lineOf
	return s.keep(p)
}

// row reads up to the next newline outside of quotes.
func (s *survey) row() (part, error) {
	p := part{at: s.here()}
	s.buf, s.odd = s.buf[:0], false
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	over := false
	for {
		b, err := s.br.ReadSlice('\n')
		s.off += int64(len(b))
		s.line += int64(bytes.Count(b, []byte("\n")))
		if bytes.Count(b, []byte(`"`))%2 == 1 {
			s.odd = !s.odd
		}
		if over = over || len(s.buf)+len(b) > s.limit; over {
			s.buf = s.buf[:0]
		} else {
			s.buf = append(s.buf, b...)
		}
		p.size = s.off - p.at.Offset
		full := errors.Is(err, bufferFull)
		if !over {
			p.raw = s.buf
		}
		if err != nil && !full {
			return p, err
		}
		if !full && (!s.odd || over) {
			return p, nil
		}
	}
}
