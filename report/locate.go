package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/isodetect/isodetect/event"
	"github.com/isodetect/isodetect/parsers/source"
)

// locate returns what shows a record: a sed or jq command, or a Wireshark display
// filter, which wants the capture open; "" for standard input, which is gone.
func locate(in *source.Input, at event.Address) string {
	if at.Unit == event.UnitFrame {
		return fmt.Sprintf("frame.number == %d", at.N)
	}
	if in.Path == "-" || at.Unit == event.UnitEntry && !inHAR(in.Stats.Format) {
		return "" // no command shows one record of such an archive
	}
	cmd := fmt.Sprintf("sed -n %dp", at.N)
	if at.Unit == event.UnitEntry {
		cmd = fmt.Sprintf("jq '.log.entries[%d]'", at.N)
	}
	file := shellQuote(in.Path)
	if unpack := unpackers(in.Stats.Wrappers); unpack != "" {
		return strings.Replace(unpack, "FILE", file, 1) + " | " + cmd
	}
	return cmd + " " + file
}

// inHAR reports whether jq finds the entries of a format: not in those that hold the same in another form.
func inHAR(format string) bool {
	switch format {
	case "har-zip", "mitmproxy", "burp", "saz":
		return false
	}
	return true
}

// unpackers returns the commands that undo the compressions of an input.
func unpackers(wrappers []string) string {
	tools := map[string]string{"gzip": "gzip -dc", "zstd": "zstd -dc", "bzip2": "bzip2 -dc", "utf-16le": "iconv -f utf-16", "utf-16be": "iconv -f utf-16"}
	var chain []string
	for _, w := range wrappers {
		tool, ok := tools[w]
		if !ok {
			continue
		}
		if len(chain) == 0 {
			tool += " FILE"
		}
		chain = append(chain, tool)
	}
	return strings.Join(chain, " | ")
}

// shellQuote quotes a path for a POSIX shell where it needs it. A path with
// control or bidi characters is written in the $'…' form, which shows them.
func shellQuote(path string) string {
	safe := path != "" && path[0] != '-'
	for i := 0; i < len(path) && safe; i++ {
		c := path[i]
		safe = letter(c) || c >= '0' && c <= '9' || strings.IndexByte("/._-+,:@%", c) >= 0
	}
	if safe {
		return path
	}
	if path != "" && path[0] == '-' {
		path = "./" + path
	}
	if escape(path) != path {
		return "$'" + ansiC(path) + "'"
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// ansiC escapes a path for the shell's $'…' form: what a terminal may not see,
// becomes the bytes that it is.
func ansiC(path string) string {
	var b strings.Builder
	for len(path) > 0 {
		_, n := utf8.DecodeRuneInString(path)
		char := path[:n]
		path = path[n:]
		switch {
		case char == "'" || char == `\`:
			b.WriteString(`\` + char)
			continue
		case escape(char) == char:
			b.WriteString(char)
			continue
		}
		for i := range n {
			fmt.Fprintf(&b, `\x%02x`, char[i])
			if i == n-1 && path != "" && isHex(path[0]) {
				b.WriteString("'$'") // bash takes two digits, some shells take all that follow
			}
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
