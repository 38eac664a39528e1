//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// freeBytes is what may be written below a folder.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:gosec,unconvert // both differ between systems
}

// fileLimit is how many files a process may have open.
func fileLimit() (uint64, bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, false
	}
	return uint64(limit.Cur), true //nolint:unconvert // signed on some systems
}

// ownLike gives a file the owner and the group of another one.
func ownLike(file *os.File, other fs.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	is, known := info.Sys().(*syscall.Stat_t)
	want, knownToo := other.Sys().(*syscall.Stat_t)
	if !known || !knownToo || is.Uid == want.Uid && is.Gid == want.Gid {
		return nil
	}
	return file.Chown(int(want.Uid), int(want.Gid))
}
