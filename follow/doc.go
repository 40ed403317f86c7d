// Package follow reads files while they grow, line by line, for months: through
// rotations, truncations, deletions and restarts. It knows nothing of formats.
//
// # What is the truth
//
// Every look compares what was read with what lies there. A file is known by device
// and inode, by the first KiB of its content and by the bytes before the place that
// was reached, never by its name or size alone; the content counts most, since inodes
// are used again, devices are numbered anew, and a truncated file may be longer than it
// was. Looks are made every 250 ms. Notifications of the system only let one come
// sooner: they may be missing, late or wrong, as on network file systems.
//
// # Rotation
//
// A path is followed as a chain of files. A file that was renamed or deleted, or whose
// symbolic link was pointed elsewhere, stays open; it is read to its end, and while
// its successor is empty, since its writer may not have moved on. It is left once the
// successor holds bytes and nothing came for one look, or for [Options.Idle] if it was
// still written to beside its successor. What comes later is told by [Handler.Lost].
// Files that came and went between two looks are found beside the path by the names
// that rotations give, also compressed with gzip or zstd, and read in their order. If
// their numbers show that one is missing, that is told.
//
// A truncated file is read again from its beginning. If a copy of what was destroyed
// lies beside it, as logrotate's copytruncate makes it, the copy is read first. Each
// truncation is told by Lost in any case: what was written between the last look, or
// the copy, and the truncation cannot be known.
//
// # Lines
//
// A line ends with LF; a CR before it is taken off, as are a byte order mark at the
// beginning of a file and runs of NUL bytes around a line, which truncation leaves
// under writers that do not append. NUL bytes at the end of a file are not read at all
// until others follow: a network file system shows them where bytes have not arrived.
// Bytes without a line end wait for [Options.Idle]. If the rest comes meanwhile, they
// are one line. After that they count as a line, since the writer may have died; a rest
// that comes still later is a line of its own, and a mere line end is dropped.
// A line over [Options.MaxLine] is not kept; Lost tells it.
//
// # Limits
//
// A look reads at most [Options.Share] bytes of each source, so that none starves the
// others. At most [Options.MaxOpen] files are open; quiet ones are closed and found
// again, and those that are gone and were read are let go sooner. Calls of the handler are the back-pressure: nothing is read meanwhile. A
// pattern leads to no file outside of the directory at its beginning, also not
// through symbolic links, and not to compressed or rotated files as sources of their
// own; a path without pattern may be a link. Reads never change access times on
// purpose, and nothing is ever written.
package follow
