package scratch

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestASpillGivesBackWhatWasWrittenToAnyNumberOfReaders(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made", "when needed")
	s, err := In(folder).Create()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for i := range 40_000 {
		part := []byte(strings.Repeat("a", i%50) + "\n")
		want.Write(part)
		if _, err := s.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			r, err := s.Reader()
			if err != nil {
				t.Error(err)
				return
			}
			got, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d bytes, want %d; %v", len(got), want.Len(), err)
			}
		})
	}
	readers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAnEmptySpillIsRead(t *testing.T) {
	s, err := In(t.TempDir()).Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(); err != nil {
		t.Fatal(err)
	}
	r, err := s.Reader()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	if err := errors.Join(r.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

func TestAFolderThatCannotBeUsedIsNamedWithTheFix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := In(filepath.Join(file, "below")).Create()
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--scratch-dir") {
		t.Errorf("error %v", err)
	}
}
