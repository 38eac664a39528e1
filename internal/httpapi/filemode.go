package httpapi

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
)

// hasModes tells whether files have modes that say who may read them.
func hasModes() bool { return runtime.GOOS != "windows" }

// readByOthers tells whether others than this process may read a file. Its group may where the file is somebody else's, such as root's, and
// the group is one of ours: then that is how we read it. Of a file that is ours, nobody else need be let in.
func readByOthers(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	switch {
	case !hasModes() || mode&0o044 == 0:
		return false
	case mode&0o004 != 0:
		return true
	}
	owner, group, known := ownersOf(info)
	if !known || owner == os.Geteuid() {
		return true
	}
	ours, err := os.Getgroups()
	return group != os.Getegid() && (err != nil || !slices.Contains(ours, group))
}
