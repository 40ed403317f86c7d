package scan

import (
	"strings"
	"sync"
)

// named remembers which names of Options.Domains took something. Inputs that are read
// in parallel may ask at once.
type named struct{ took sync.Map }

// watch returns of, and remembers what it answers.
func (n *named) watch(of func(source, server, path string) string) func(source, server, path string) string {
	return func(source, server, path string) string {
		name := of(source, server, path)
		if name != "" {
			n.took.LoadOrStore(name, true)
		}
		return name
	}
}

// idle returns the rules whose name took nothing.
func (n *named) idle(rules []string) (out []string) {
	for _, r := range rules {
		name, _, _ := strings.Cut(r, "=")
		if _, ok := n.took.Load(name); !ok {
			out = append(out, r)
		}
	}
	return out
}
