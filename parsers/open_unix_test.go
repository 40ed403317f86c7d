//go:build unix

package parsers

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe in a directory would wait for ever.
func TestDirectoryWithPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a"), []byte(sample))
	got := texts(open(t, Options{}, dir))
	if g := got[filepath.Join(dir, "pipe")]; !strings.Contains(g, "not a regular file") {
		t.Errorf("got %q", g)
	}
}
