package scenario

import (
	"fmt"
	"os"
	"strings"
)

// LoadRows reads rows.txt: the id of every row and "Never" clause with its words.
func LoadRows(path string) (ids []string, words map[string]string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read rows: %w", err)
	}
	words = map[string]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		id, w, ok := strings.Cut(line, "\t")
		if !ok || words[id] != "" {
			return nil, nil, fmt.Errorf("cannot read rows at line %d: want a new id, a tab, and words", i+1)
		}
		words[id] = w
		ids = append(ids, id)
	}
	return ids, words, nil
}
