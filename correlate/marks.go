package correlate

// MarkSet remembers marks that occurred in a domain, in two generations of at
// most markGeneration each, so that its size stays bounded: when the young one is full the old one is dropped.
type MarkSet struct {
	Young, Old map[uint64]struct{}
	Dropped    bool // a generation was dropped: absence covers the recent past only
}

const markGeneration = 1 << 18

// Has reports whether v was added and is remembered.
func (s *MarkSet) Has(v uint64) bool {
	if _, ok := s.Young[v]; ok {
		return true
	}
	_, ok := s.Old[v]
	return ok
}

// Add remembers v.
func (s *MarkSet) Add(v uint64) {
	if s.Young == nil {
		s.Young = make(map[uint64]struct{})
	}
	if len(s.Young) >= markGeneration {
		s.Dropped = s.Dropped || s.Old != nil
		s.Old, s.Young = s.Young, make(map[uint64]struct{}, markGeneration)
	}
	s.Young[v] = struct{}{}
}
