package report

import (
	"bytes"
	"strings"

	"github.com/isodetect/isodetect/parsers/source"
)

// headlines are the words that a text report can begin with.
var headlines = []string{"ISOLATION FAILURE", "BELOW THRESHOLD", "CLEAN", "INCONCLUSIVE", "INPUT ERROR", "GATE FAILED", "## isodetect: ", "::error title=isodetect", "::warning title=isodetect", "::notice title=isodetect"}

// Is reports whether a file that begins with head is a report of an earlier run.
func Is(head []byte) bool {
	if source.IsReport(head) || bytes.Contains(head, []byte(`<testsuites name="isodetect"`)) {
		return true
	}
	text := strings.TrimPrefix(string(head), "\x1b[")
	if text != string(head) { // coloured
		_, text, _ = strings.Cut(text, "m")
	}
	for _, h := range headlines {
		if strings.HasPrefix(text, h) {
			return true
		}
	}
	return false
}
