// Package document reads what log stores and tracers export as one document: an
// array, an indented object, objects behind each other without newlines, or a table
// (CSV). It finds the records in it without holding the document, puts them into the order of
// their times, drops those that an export holds twice, and hands each on as the line
// that the store would have written for it alone, so that the envelopes of
// package envelope read both.
package document

import (
	"strings"
)

// Kind is one shape of a document, as a value. Adding one means adding a value to All.
type Kind struct {
	Name    string // as in Stats.Wrappers
	Title   string // one line for `isodetect formats`
	Checked string // "real": held against output of the tool itself; "docs": against its documentation
	Carries string // what its records tell

	Exchanges bool // its records are HTTP requests with their answers, and no lines of a log

	// paths say where the records stand in a value at the top: names of members, with []
	// where the value is a list, and =NAME where the line has it under another name. ""
	// is the value itself. Arrays at the top are entered in any case.
	paths []string
	keep  string // members beside the path that belong to each record below, separated by blanks

	marks string                               // a document holds one of these words, separated by blanks; a quick look
	is    func(has func(key string) bool) bool // whether a record with these members, or a table with these columns, is of this kind
	time  string                               // paths of the member that holds the time, separated by blanks
	until string                               // and of the end, where a record has a beginning and an end
	took  string                               // or of how long it took, in unit
	unit  int64
	id    string // members that are equal in two copies of a record; * = all of it

	plain   bool                 // lines of text
	rows    bool                 // a table: is looks at the names of its columns in lower case
	line    func(c columns) plan // of a table: how a row becomes a line
	ordered bool                 // the order of the document is that of the happenings
	most    []int                // how many records an export holds at most unless asked for more
	more    string               // members of the document that say that there is more
	advice  string               // how to get everything
}

// All lists the kinds in the order in which they are tried.
func All() []Kind {
	return []Kind{
		otlpKind, jaegerKind, zipkinKind, consoleKind,
		lokiAnswerKind, lokiKind,
		cloudwatchEventsKind, cloudwatchSubscriptionKind, cloudwatchResultsKind, cloudwatchRowsKind,
		elasticKind, elasticDumpKind, gcpKind, gcpListKind, victoriaKind,
		inspectorKind, networkKind, snoopKind,
		insightsTable, lokiTable, elasticTable, cloudwatchTable,
		newestKind,
	}
}

// step is one member on the way to the records.
type step struct {
	name, as string
	list     bool
}

func stepsOf(path string) (steps []step) {
	if path == "" {
		return nil
	}
	for _, s := range strings.Split(path, ".") {
		name, list := strings.CutSuffix(s, "[]")
		name, as, renamed := strings.Cut(name, "=")
		if !renamed {
			as = name
		}
		steps = append(steps, step{name, as, list})
	}
	return steps
}

// Address is where a record begins.
type Address struct{ N, Offset int64 }

// Phase tells the two moments of a record that has a beginning and an end.
type Phase uint8

const (
	Whole Phase = iota
	Begin
	End
)
