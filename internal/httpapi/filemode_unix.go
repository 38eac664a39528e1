//go:build unix

package httpapi

import (
	"io/fs"
	"syscall"
)

// ownersOf gives the user and the group of a file.
func ownersOf(info fs.FileInfo) (owner, group int, known bool) {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(of.Uid), int(of.Gid), true
}
