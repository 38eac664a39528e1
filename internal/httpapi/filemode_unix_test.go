//go:build unix

package httpapi

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

// fileOf is what is told of a file that has an owner.
type fileOf struct {
	mode         fs.FileMode
	owner, group int
}

func (fileOf) Name() string        { return "tokens.yaml" }
func (fileOf) Size() int64         { return 0 }
func (f fileOf) Mode() fs.FileMode { return f.mode }
func (fileOf) ModTime() time.Time  { return time.Time{} }
func (fileOf) IsDir() bool         { return false }
func (f fileOf) Sys() any {
	return &syscall.Stat_t{Uid: uint32(f.owner), Gid: uint32(f.group)} //nolint:gosec // ids are not negative
}

// A file that root keeps for a daemon is its group's to read. One of our own need not be.
func TestTheGroupOfAnothersFileMayBeOurs(t *testing.T) {
	we, ours := os.Geteuid(), os.Getegid()
	another, strangers := we+1, 1<<30
	for _, c := range []struct {
		what string
		file fileOf
		want bool
	}{
		{"our own", fileOf{0o600, we, ours}, false},
		{"our own, for its group", fileOf{0o640, we, ours}, true},
		{"our own, for all", fileOf{0o604, we, ours}, true},
		{"another's, for our group", fileOf{0o640, another, ours}, false},
		{"another's, for our group, as a mounted secret", fileOf{0o440, another, ours}, false},
		{"another's, for a group that is not ours", fileOf{0o640, another, strangers}, true},
		{"another's, for all", fileOf{0o644, another, ours}, true},
		{"another's, for all but the group", fileOf{0o604, another, ours}, true},
	} {
		if got := readByOthers(c.file); got != c.want {
			t.Errorf("%s: others may read it: %t", c.what, got)
		}
	}
}
