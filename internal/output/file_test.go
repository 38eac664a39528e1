package output

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// wantOnly checks that a directory holds one file of that name and content, or nothing when the name is empty.
func wantOnly(t *testing.T, directory, name, content string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		if len(entries) > 0 {
			t.Errorf("%s is left behind", entries[0].Name())
		}
		return
	}
	got, err := os.ReadFile(filepath.Join(directory, name))
	if err != nil || string(got) != content || len(entries) != 1 {
		t.Errorf("%d files, %s holds %.40q (%v), want %.40q", len(entries), name, got, err, content)
	}
}

func TestAFileIsWrittenWholeInPlaceOfTheOldOne(t *testing.T) {
	for _, f := range Formats() {
		directory, table := t.TempDir(), sample(t)
		path := filepath.Join(directory, strings.Repeat("n", 240)+"."+string(f))
		for range 2 {
			size, err := WriteFile(t.Context(), path, f, table, someMeta())
			want := string(encode(t, f, table))
			if err != nil || size != int64(len(want)) {
				t.Fatalf("%d bytes, %v; want %d", size, err, len(want))
			}
			wantOnly(t, directory, filepath.Base(path), want)
		}
	}
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	for _, old := range []string{"", "old"} {
		directory := t.TempDir()
		path, name := filepath.Join(directory, "out.csv"), ""
		if old != "" {
			name = "out.csv"
			if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := save(path, func(w io.Writer) error {
			if _, err := io.WriteString(w, "half"); err != nil {
				return err
			}
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		})
		if err := explain(path, err); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some") {
			t.Errorf("full disk: %v", err)
		}
		wantOnly(t, directory, name, old)

		cause := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := WriteFile(ctx, path, Parquet, sample(t), nil); !errors.Is(err, cause) {
			t.Errorf("cancelled: %v", err)
		}
		wantOnly(t, directory, name, old)
	}
}

func TestATargetThatCannotBeAFileIsRefusedWithTheFix(t *testing.T) {
	directory := t.TempDir()
	at := func(name string) string { return filepath.Join(directory, name) }
	for _, err := range []error{
		os.WriteFile(at("file.csv"), []byte("kept"), 0o644), os.Symlink("file.csv", at("link.csv")),
		os.Symlink("nowhere", at("dangling.csv")), os.Mkdir(at("directory.csv"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]string{
		at("link.csv"):                        "symbolic link",
		at("dangling.csv"):                    "symbolic link",
		at("directory.csv"):                   "is a directory",
		at("missing/out.csv"):                 "create it",
		at("file.csv/out.csv"):                "no directory",
		at(strings.Repeat("n", 300) + ".csv"): "shorter name",
		os.DevNull:                            "standard output",
	}
	for path, fix := range cases {
		_, err := WriteFile(t.Context(), path, CSV, sample(t), nil)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), fix) {
			t.Errorf("%s: %v, want %q", path, err, fix)
		}
	}
	if got, err := os.ReadFile(at("file.csv")); string(got) != "kept" {
		t.Errorf("file.csv holds %q, %v", got, err)
	}
	entries, err := os.ReadDir(directory)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}

func TestEverySystemErrorComesWithItsFix(t *testing.T) {
	cases := map[error]string{
		syscall.EROFS: "read-only", syscall.EDQUOT: "free some", syscall.EACCES: "may not create", syscall.ENOENT: "does not exist",
	}
	for cause, fix := range cases {
		err := explain("d/out.csv", &fs.PathError{Op: "open", Path: "d/.braid-x", Err: cause})
		if !errors.Is(err, cause) || !strings.Contains(err.Error(), fix) || !strings.HasPrefix(err.Error(), "write d/out.csv: ") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
