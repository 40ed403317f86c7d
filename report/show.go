package report

import "fmt"

// ParseShow reads the words of --show.
func ParseShow(words []string) (Show, error) {
	var s Show
	for _, w := range words {
		switch w {
		case "possible":
			s.Possible = true
		case "hazard":
			s.Hazard = true
		case "rejected":
			s.Rejected = true
		case "suppressed":
			s.Suppressed = true
		case "notes":
			s.Notes = true
		case "":
		default:
			return s, fmt.Errorf("cannot show %q: use possible, hazard, rejected, suppressed, notes", w)
		}
	}
	return s, nil
}
