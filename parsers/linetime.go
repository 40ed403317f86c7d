package parsers

import (
	"slices"

	"github.com/isodetect/isodetect/parsers/source"
)

// LineTime is the time that one line of a log or recording says, in ns, without regard
// to others; 0 = it says none. modified is when its file was last written, in ns, by
// which times without a date or year are dated.
func LineTime(path string, modified int64, line []byte, opt Options) int64 {
	// All formats of lines read times alike, and wire JSONL says its own as a JSON log does.
	i := slices.IndexFunc(Formats, func(f source.Format) bool { return f.Times != nil })
	times := Formats[i].Times(line, &source.Input{Path: path, Modified: modified}, opt.Source)
	if len(times) == 0 {
		return 0
	}
	return times[0]
}
