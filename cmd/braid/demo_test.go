package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// stopper ends a context when it has read a text.
type stopper struct {
	bytes.Buffer
	at   string
	stop context.CancelFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.Contains(s.String(), s.at) {
		s.stop()
	}
	return n, err
}

func TestAStoppedDemoOffersNothingToGoOnWith(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a part of the demo")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	// Neither variable says where the demo writes: the first is that of braid run.
	environment := map[string]string{"HOME": t.TempDir(), "BRAID_OUTPUT": "leak.csv", "BRAID_DIR": filepath.Join(t.TempDir(), "leak")}
	var stderr bytes.Buffer
	out := &stopper{at: "chunks, two workers", stop: cancel}
	code := run(ctx, []string{"demo"}, func(name string) string { return environment[name] }, out, io.Writer(&stderr))
	if code != exitInterrupted {
		t.Errorf("exit code %d, want %d; it said\n%s%s", code, exitInterrupted, out, &stderr)
	}
	if said := stderr.String(); !strings.Contains(said, "the demo was stopped; nothing of it goes on, and "+dir) || strings.Contains(said, "resume") {
		t.Errorf("it said\n%s", said)
	}
}
