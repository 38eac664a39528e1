package output

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/braidhq/braid/pkg/frame"
)

// WriteFile writes a table to a file, in place of the regular file that may be there, and gives the size in bytes. The
// file gets the mode 0644 as the process's umask allows. With an error nothing has changed under path, except that an
// error of the last step, bringing the directory to the disk, leaves the new file there whole.
//
// A symbolic link, a directory or a device is refused. Errors name the path and what to do about it; they wrap what the
// system said, or the cause of ctx.
func WriteFile(ctx context.Context, path string, f Format, t *frame.Table, meta map[string]string) (int64, error) {
	size, err := save(path, func(w io.Writer) error { return Encode(ctx, w, f, t, meta) })
	if err != nil {
		return 0, explain(path, err)
	}
	return size, nil
}

// save puts what fill writes under path: whole or not at all.
func save(path string, fill func(io.Writer) error) (int64, error) {
	if err := checkTarget(path); err != nil {
		return 0, err
	}
	directory := filepath.Dir(path)
	// The name is short whatever the target's is, and O_EXCL makes it ours. OpenFile, unlike CreateTemp, obeys the umask.
	temporary := filepath.Join(directory, ".braid-"+rand.Text()[:16])
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	renamed := false
	defer func() {
		if !renamed {
			_ = os.Remove(temporary)
		}
	}()
	size, err := complete(file, fill)
	if err != nil {
		return 0, err
	}
	if err := os.Rename(temporary, path); err != nil {
		return 0, err
	}
	renamed = true
	return size, syncDirectory(directory)
}

// complete fills the file, brings it to the disk, closes it in any case and gives its size.
func complete(file *os.File, fill func(io.Writer) error) (size int64, err error) {
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := fill(file); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Errors of a target that is there but must not be replaced.
var (
	errLink      = errors.New("is a symbolic link, which writing would replace; give the path of the file it leads to")
	errDirectory = errors.New("is a directory; give the path of a file in it")
	errReadOnly  = errors.New("is read-only; let it be written (chmod u+w), or write elsewhere")
	errSpecial   = errors.New("is no regular file; give the path of a file, or - for standard output")
)

func checkTarget(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	case info.IsDir():
		return errDirectory
	case !info.Mode().IsRegular():
		return errSpecial
	case info.Mode().Perm()&0o200 == 0:
		return errReadOnly // a rename would replace it all the same
	}
	return nil
}

// syncDirectory makes a rename outlive a loss of power. Windows cannot and need not sync a directory, and some file
// systems say that they do not know how.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	err = directory.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, directory.Close())
}

func explain(path string, err error) error {
	directory := filepath.Dir(path)
	fix := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fix = fmt.Sprintf("; the directory %s does not exist: create it, or write elsewhere", directory)
	case errors.Is(err, syscall.ENOTDIR):
		fix = fmt.Sprintf("; %s is no directory: write elsewhere", directory)
	case errors.Is(err, fs.ErrPermission):
		fix = fmt.Sprintf("; this user may not create files in %s: change its rights, or write elsewhere", directory)
	case errors.Is(err, syscall.EROFS):
		fix = fmt.Sprintf("; %s is read-only: write elsewhere", directory)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		fix = fmt.Sprintf("; there is no room in %s: free some, or write elsewhere", directory)
	case errors.Is(err, syscall.ENAMETOOLONG):
		fix = "; give a shorter name"
	}
	return fmt.Errorf("write %s: %w%s", path, err, fix)
}

// CheckTarget finds out before any work is done whether a file could be written under path. Errors wrap ErrTarget.
func CheckTarget(path string) error {
	err := checkTarget(path)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(filepath.Dir(path)); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(filepath.Dir(path), ".braid-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTarget, explain(path, err))
	}
	return nil
}

// Save puts what fill writes under path, whole or not at all, like WriteFile. Errors wrap ErrTarget and what fill said.
func Save(path string, fill func(io.Writer) error) (int64, error) {
	size, err := save(path, fill)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrTarget, explain(path, err))
	}
	return size, nil
}

// ErrTarget reports a file that cannot be written.
var ErrTarget = errors.New("the table cannot be written")
