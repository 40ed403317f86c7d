package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON writes the report as indented JSON (schema isodetect/report/v1), followed by a line feed.
func JSON(w io.Writer, r *Report) error {
	return writeJSON(w, "JSON", r)
}

// writeJSON writes a value as indented JSON that no terminal is deceived by.
func writeJSON(w io.Writer, as string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	if err == nil {
		_, err = w.Write(safeJSON(buf.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("cannot write the report as %s: %w", as, err)
	}
	return nil
}

// safeJSON writes characters that could deceive a terminal as JSON escapes. They
// can stand inside strings only, where the escape means the same.
func safeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r < 0x20 || !unsafe(r):
			out = append(out, b[:n]...)
		case r > 0xffff:
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		b = b[n:]
	}
	return out
}
