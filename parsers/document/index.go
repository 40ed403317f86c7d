package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// entry is what the first reading keeps of a record.
type entry struct {
	time   int64 // ns; 0 = none of its own
	off    int64
	line   int64
	id     uint64 // hash of what tells its copies; 0 = nothing does
	size   int32
	frame  int32 // index in frames: what stands around it
	phase  Phase
	tied   bool // another record has the same time, and nothing says which came first
	again  bool // a copy of a record before it
	behind bool // it follows the record before it, whatever the order
}

// maxEntries bounds the records of one document.
const maxEntries = 4 << 20

// Index is a document after its first reading.
type Index struct {
	kind    *Kind
	entries []entry
	frames  frames
	plan    plan // of a table

	Records   int64 // as they stand in the document, copies and broken ones too
	Malformed int64
	Copies    int64
	Flaws     []Flaw   // located defects, the first few
	Notes     []string // what is to be known of the whole
	Missing   []Hole   // what the document does not hold
}

// Flaw is a located defect.
type Flaw struct {
	At    Address
	Text  string
	Count bool // a record of its own that could not be read
}

// Hole says that records are missing, before all others or behind them.
type Hole struct {
	Why    string
	Before bool
}

func (x *Index) flaw(at Address, count bool, text string) {
	if count {
		x.Records++
		x.Malformed++
	}
	if len(x.Flaws) < maxFlaws {
		x.Flaws = append(x.Flaws, Flaw{at, text, count})
	}
}

const maxFlaws = 20

func (x *Index) note(format string, args ...any) {
	x.Notes = append(x.Notes, fmt.Sprintf(format, args...))
}

// order puts the records into the order of their times. Where no time goes back the
// document's own order counts also between equal times; where none goes forward,
// the reverse; where both happen, nothing says which of two equal ones came first.
func (x *Index) order() {
	if x.kind.ordered {
		return
	}
	up, down := x.directions()
	newest := down > up
	last := int64(0)
	for i := range x.entries { // a record without a time stays behind the one before it
		e := &x.entries[i]
		if e.behind = e.time == 0 || e.phase == End; e.time == 0 {
			e.time = last
		}
		if e.phase != End {
			last = e.time
		}
	}
	if newest {
		x.reverse()
	}
	two := x.kind.until != "" || x.kind.took != ""
	if down > 0 || two {
		slices.SortStableFunc(x.entries, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	}
	switch {
	case two && len(x.entries) > 0:
	case up > 0 && down > 0:
		x.note("the export is not in the order of time (%d times go back): its records were put into it", min(up, down))
	case newest:
		x.note("the export begins with the newest record: its records were put into the order of time")
	}
	x.copies(up > 0 && down > 0)
}

// reverse turns the order of the records around. What stands behind a record for good
// stays behind it.
func (x *Index) reverse() {
	slices.Reverse(x.entries)
	from := 0
	for i := range x.entries {
		if !x.entries[i].behind {
			slices.Reverse(x.entries[from : i+1])
			from = i + 1
		}
	}
	slices.Reverse(x.entries[from:])
}

// directions counts how often the time goes forward and back from one record to the next.
func (x *Index) directions() (up, down int) {
	last := int64(0)
	for i := range x.entries {
		e := &x.entries[i]
		if e.time == 0 || e.phase == End {
			continue
		}
		if last != 0 {
			switch {
			case e.time > last:
				up++
			case e.time < last:
				down++
			}
		}
		last = e.time
	}
	return up, down
}

// copies marks records that stand twice: of one time and one id. Where the order of
// the document says nothing it marks those of equal times too.
func (x *Index) copies(unordered bool) {
	for i := 0; i < len(x.entries); {
		j := i + 1
		for j < len(x.entries) && x.entries[j].time == x.entries[i].time {
			j++
		}
		if j-i > 1 {
			x.group(x.entries[i:j], unordered)
		}
		i = j
	}
	if x.Copies > 0 {
		x.note("duplicates: %d copies of records (same time and %s) were dropped", x.Copies, x.kind.idName())
	}
}

func (x *Index) group(same []entry, unordered bool) {
	type copyOf struct {
		id    uint64
		frame int32
		phase Phase
	}
	seen := map[copyOf]bool{}
	alone := len(same)
	for i := range same {
		e := &same[i]
		key := copyOf{e.id, e.frame, e.phase}
		if e.id != 0 && seen[key] {
			e.again = true
			alone--
			if e.phase != End {
				x.Copies++
			}
			continue
		}
		seen[key] = true
	}
	for i := range same {
		same[i].tied = unordered && alone > 1 && same[0].time != 0
	}
}

func (k *Kind) idName() string {
	switch k.id {
	case "":
		return "place"
	case "*":
		return "text"
	}
	return strings.Join(strings.Fields(k.id), " and ")
}

// capped notes an export that ends where its tool stops unless asked for more.
func (x *Index) capped(more string) {
	why := ""
	n := int(x.Records)
	for _, most := range x.kind.most {
		if n == most {
			why = fmt.Sprintf("the export holds exactly %d records, which is where it is cut off", n)
		}
	}
	if more != "" {
		why = "the export says by " + more + " that it is one page of several"
	}
	if why == "" {
		return
	}
	if x.kind.advice != "" {
		why += "; " + x.kind.advice
	}
	x.note("%s", why)
	// Which end is missing depends on the order that was asked for, which the records
	// tell only if there are several: so both may be.
	x.Missing = append(x.Missing, Hole{why, true}, Hole{why, false})
}
