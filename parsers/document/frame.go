package document

// A record of which a store writes many in one object is handed on as that object
// with this record alone in it. What stands in front of the record is its frame.

// frames holds the texts in front of records, each once.
type frames struct {
	texts []string
	index map[string]int32
	bytes int
	over  int // frames that were left out for want of room
}

const (
	maxFrames = 64 << 20 // bytes of all frames of a document
	maxFrame  = 256 << 10
)

// of returns the index of a text. 0 is the empty one.
func (f *frames) of(text string) int32 {
	if f.index == nil {
		f.index = map[string]int32{"": 0}
		f.texts = []string{""}
	}
	if i, ok := f.index[text]; ok {
		return i
	}
	if len(text) > maxFrame || f.bytes+len(text) > maxFrames {
		f.over++
		return -1
	}
	i := int32(len(f.texts))
	f.bytes += len(text)
	f.texts, f.index[text] = append(f.texts, text), i
	return i
}

// around puts the text of a level in front of the frames of the records in run.
func (f *frames) around(run []entry, text string) {
	from, to := int32(-2), int32(0)
	for i := range run {
		e := &run[i]
		if e.frame < 0 {
			continue
		}
		if e.frame != from {
			from, to = e.frame, f.of(text+f.text(e.frame))
		}
		e.frame = to
	}
}

func (f *frames) text(i int32) string {
	if i <= 0 {
		return ""
	}
	return f.texts[i]
}

// closing returns the brackets that a frame opens, from the inside out.
func closing(dst []byte, frame string) []byte {
	from := len(dst)
	quoted := false
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			dst = append(dst, c+2)
		case (c == '}' || c == ']') && len(dst) > from:
			dst = dst[:len(dst)-1]
		}
	}
	for i, j := from, len(dst)-1; i < j; i, j = i+1, j-1 {
		dst[i], dst[j] = dst[j], dst[i]
	}
	return dst
}
