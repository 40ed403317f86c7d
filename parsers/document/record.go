package document

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// What the first reading keeps of each record: its place, its times, its identity.

// record keeps the place and the time of the record that comes.
func (s *survey) record() error {
	p, err := s.value(s.limit)
	if s.probe != nil && len(p.raw) > 0 {
		s.probe(p.raw)
		return errProbed
	}
	if err != nil {
		return err
	}
	return s.keep(p)
}

func (s *survey) keep(p part) error {
	if p.raw == nil {
		s.x.flaw(p.at, true, fmt.Sprintf("a record of more than %d MiB was skipped", s.limit>>20))
		why := "a record was too long to be read"
		s.x.Missing = append(s.x.Missing[:min(len(s.x.Missing), maxFlaws)], Hole{why, true})
		return nil
	}
	if len(s.x.entries) >= maxEntries {
		return errFull
	}
	s.x.Records++
	e := entry{off: p.at.Offset, line: p.at.N, size: int32(p.size)}
	e.time = s.clockOf(p.raw)
	e.id = s.identity(p.raw)
	end := s.endOf(p.raw, e.time)
	if end == 0 || p.raw[0] != '{' {
		s.x.entries = append(s.x.entries, e)
		return nil
	}
	e.phase = Begin
	s.x.entries = append(s.x.entries, e)
	e.phase, e.time = End, end
	s.x.entries = append(s.x.entries, e)
	return nil
}

// clockOf is the time of a record, 0 if it names none.
func (s *survey) clockOf(raw []byte) int64 {
	if s.kind.plain {
		if i := timeIn(raw); i >= 0 {
			ns, _ := s.clock(raw[i:])
			return ns
		}
		return 0
	}
	for _, path := range s.times {
		if ns, ok := s.clock(text(at(raw, path))); ok {
			return ns
		}
	}
	return 0
}

// endOf is when a record that has a beginning ended, 0 if it has not or does not tell.
func (s *survey) endOf(raw []byte, begin int64) int64 {
	if begin == 0 {
		return 0
	}
	if s.until != nil {
		if ns, ok := s.clock(text(at(raw, s.until))); ok && ns >= begin {
			return ns
		}
	}
	if s.took != nil {
		if d, ok := decimal(text(at(raw, s.took)), s.kind.unit); ok && d < 1<<60 && begin < 1<<62 {
			return begin + d
		}
	}
	return 0
}

// identity is a hash of what is equal in two copies of a record, 0 if it names nothing.
func (s *survey) identity(raw []byte) uint64 {
	if s.kind.id == "*" {
		return maphash.Bytes(s.seed, raw)<<2 | 4
	}
	s.room = s.room[:0]
	for _, path := range s.ids {
		v := at(raw, strings.Split(path, "/"))
		if v == nil {
			return 0
		}
		s.room = append(append(s.room, v...), 0)
	}
	if len(s.room) == 0 {
		return 0
	}
	return maphash.Bytes(s.seed, s.room)<<2 | 4
}
