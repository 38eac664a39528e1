//go:build unix

package rig

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Process is a child that is ended, at the latest, when its test is.
type Process struct {
	Name   string
	Cmd    *exec.Cmd
	Stdout Buffer
	Stderr Buffer
	Ended  chan struct{} // closed when the process has been waited for

	t testing.TB
}

// Buffer is output that may be read while it grows.
type Buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write is io.Writer's.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Launch starts a program of BinDir, or one named by its path, in dir. Its environment holds nothing of this one's but
// what env gives: no credential, proxy or setting of the machine reaches a test. The end of its log is told when the test
// fails.
func Launch(t testing.TB, dir string, env []string, name string, args ...string) *Process {
	t.Helper()
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(BinDir(), name)
	}
	p := &Process{t: t, Name: name, Cmd: exec.CommandContext(t.Context(), path, args...), Ended: make(chan struct{})}
	p.Cmd.Dir = dir
	p.Cmd.Env = append([]string{"PATH=" + BinDir() + ":/usr/bin:/bin", "TMPDIR=" + os.TempDir()}, env...)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Stdout, &p.Stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.Ended)
		_ = p.Cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s %s\n%s", name, strings.Join(args, " "), Tail(p.Stderr.String()))
		}
	})
	return p
}

// Tail keeps a log of failure readable.
func Tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// Signal sends a signal, if the process is still there.
func (p *Process) Signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("send %s to %s: %v", sig, p.Name, err)
	}
}

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Ended
}

// Running tells whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.Ended:
		return false
	default:
		return true
	}
}
