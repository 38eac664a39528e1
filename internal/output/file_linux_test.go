package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestAFileObeysTheUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "out.csv")
	if _, err := WriteFile(t.Context(), path, CSV, sample(t), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestADirectoryWithoutRightsIsReportedWithTheFix(t *testing.T) {
	directory := t.TempDir()
	if err := os.Chmod(directory, 0o555); err != nil {
		t.Fatal(err)
	}
	table := sample(t)
	done := make(chan error)
	go func() {
		// Root may write anywhere. The file system's user is a property of the thread, which ends with this goroutine.
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		_, err := WriteFile(t.Context(), filepath.Join(directory, "out.csv"), CSV, table, nil)
		done <- err
	}()
	if err := <-done; !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), directory+": change its rights") {
		t.Errorf("got %v", err)
	}
	wantOnly(t, directory, "", "")
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mount a small file system, to fill it: %v; this test needs root", err)
	}
	defer func() {
		if err := syscall.Unmount(directory, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(directory, "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	shape, seen := allTypes()
	table := tableOf(t, shape, seen, manyRows(20_000)...)
	for _, f := range Formats() {
		_, err := WriteFile(t.Context(), path, f, table, nil)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no room in "+directory) {
			t.Errorf("%s: %v", f, err)
		}
		wantOnly(t, directory, "out.csv", "old")
	}
}
