//go:build unix

package e2e

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
	"time"
)

// process is a child that is ended, at the latest, when its test is.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	stdout buffer
	stderr buffer
	ended  chan struct{} // closed when the process has been waited for
}

// buffer is output that may be read while it grows.
type buffer struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// launch starts a program of binDir, or one named by its path, in dir. Its environment holds nothing of this one's but
// what env gives: no credential, proxy or setting of the machine reaches a test.
func launch(t *testing.T, dir string, env []string, name string, args ...string) *process {
	t.Helper()
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(binDir(), name)
	}
	p := &process{t: t, name: name, cmd: exec.CommandContext(t.Context(), path, args...), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{"PATH=" + binDir() + ":/usr/bin:/bin", "TMPDIR=" + os.TempDir()}, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s\n%s", name, strings.Join(args, " "), tail(p.stderr.String()))
		}
	})
	return p
}

// tail keeps a log of failure readable.
func tail(text string) string {
	const most = 6000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("send %s to %s: %v", sig, p.name, err)
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// outcome is how a process ended: its exit code, -1 after a signal, and what it said.
type outcome struct {
	code           int
	stdout, stderr string
}

func (p *process) wait(limit time.Duration) outcome {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(limit):
		p.t.Fatalf("%s has not ended after %s; it said:\n%s", p.name, limit, tail(p.stderr.String()))
	}
	return outcome{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(limit)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}

// pass lets time go by, where it is the time itself that the test is about.
func pass(d time.Duration) { <-time.After(d) }

// line gives the text behind a label at the start of a line of stderr, such as "continue".
func (o outcome) line(t *testing.T, label string) string {
	t.Helper()
	for line := range strings.Lines(o.stderr) {
		if rest, found := strings.CutPrefix(line, label+" "); found {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no line %q in:\n%s", label, o.stderr)
	return ""
}

func (o outcome) mustExit(t *testing.T, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", o.code, code, tail(o.stdout), tail(o.stderr))
	}
	return o
}

// mustSay wants every word on stderr.
func (o outcome) mustSay(t *testing.T, words ...string) outcome {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(o.stderr, word) {
			t.Errorf("stderr does not say %q:\n%s", word, o.stderr)
		}
	}
	return o
}
