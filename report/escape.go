package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// escape makes a text safe to print: control characters, characters that change
// the direction or order of text or are invisible, and bytes that are not UTF-8
// are written as escapes.
func escape(s string) string {
	if !strings.ContainsFunc(s, unsafe) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unsafe(r):
			b.WriteString(escapeRune(r))
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// Printable makes a text safe to print on a terminal.
func Printable(s string) string { return escape(s) }

func escapeRune(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	case 0x1b:
		return `\x1b`
	}
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// unsafe reports whether a terminal or a reader could be deceived by r.
func unsafe(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r <= 0x9f: // C0, DEL, C1
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff: // soft hyphen, Arabic letter mark, BOM
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e: // zero width, marks, separators, embeddings
	case r >= 0x2060 && r <= 0x206f: // joiners and isolates
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe0fff: // annotations, tags
	default:
		return false
	}
	return true
}

// cut shortens s to at most n bytes at a rune boundary and marks that it did.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
