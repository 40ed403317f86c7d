package rules

// Recent remembers values by key, those that were used lately for certain: when
// the young half is full it becomes the old one, and the old one is forgotten.
type Recent[K comparable, V any] struct {
	Young, Old map[K]V
}

// maxRecent bounds each half.
const maxRecent = 8192

// Get returns the value of a key and whether it is known.
func (r *Recent[K, V]) Get(k K) (V, bool) {
	if v, ok := r.Young[k]; ok {
		return v, true
	}
	v, ok := r.Old[k]
	if ok {
		r.Put(k, v)
	}
	return v, ok
}

// Put keeps the value of a key.
func (r *Recent[K, V]) Put(k K, v V) {
	if r.Young == nil {
		r.Young = map[K]V{}
	}
	if _, known := r.Young[k]; !known && len(r.Young) >= maxRecent {
		r.Old, r.Young = r.Young, map[K]V{}
	}
	r.Young[k] = v
}

// First reports whether a key was not known yet, and keeps v for it.
func (r *Recent[K, V]) First(k K, v V) bool {
	if _, ok := r.Get(k); ok {
		return false
	}
	r.Put(k, v)
	return true
}
