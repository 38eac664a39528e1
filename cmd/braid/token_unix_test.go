//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A server that reads the file as its group's goes on doing so when a token is revoked: else it would go on with the token as well.
func TestTheFileStaysReadableToTheServersGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	for mode, want := range map[os.FileMode]os.FileMode{0o640: 0o640, 0o600: 0o600, 0o644: 0o640, 0o604: 0o600, 0o400: 0o600} {
		_ = os.Remove(file) // there is none at first
		if code, _, stderr := braidWith(t, "token", "new", "--name", "ana", "--role", "reader", "--file", file); code != exitOK {
			t.Fatal(stderr)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		group := os.Getegid()
		if os.Geteuid() == 0 {
			group = 54321
			if err := os.Chown(file, 0, group); err != nil {
				t.Skip(err)
			}
		}
		if code, _, stderr := braidWith(t, "token", "revoke", "ana", "--file", file); code != exitOK {
			t.Fatal(stderr)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if of := info.Sys().(*syscall.Stat_t); info.Mode().Perm() != want || int(of.Gid) != group {
			t.Errorf("of mode %o it has become one of mode %o and the group %d, want %o and %d", mode, info.Mode().Perm(), of.Gid, want, group)
		}
	}
}
