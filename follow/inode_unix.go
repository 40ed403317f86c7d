//go:build unix

package follow

import (
	"io/fs"
	"syscall"
)

// notBlocking opens a named pipe that took the place of a file without waiting for a writer.
const notBlocking = syscall.O_NONBLOCK

// inode returns what the system knows a file by.
func inode(info fs.FileInfo) (device, number uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Dev), uint64(st.Ino)
}
