//go:build unix

package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/test/rig"
)

// process is a child that is ended, at the latest, when its test is.
type process struct {
	*rig.Process
	t *testing.T
}

// launch starts a program of the rig in dir.
func launch(t *testing.T, dir string, env []string, name string, args ...string) *process {
	t.Helper()
	return &process{rig.Launch(t, dir, env, name, args...), t}
}

func tail(text string) string { return rig.Tail(text) }

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	p.Signal(sig)
}

func (p *process) kill() { p.Kill() }

func (p *process) running() bool { return p.Running() }

// outcome is how a process ended: its exit code, -1 after a signal, and what it said.
type outcome struct {
	code           int
	stdout, stderr string
}

func (p *process) wait(limit time.Duration) outcome {
	p.t.Helper()
	select {
	case <-p.Ended:
	case <-time.After(limit):
		p.t.Fatalf("%s has not ended after %s; it said:\n%s", p.Name, limit, tail(p.Stderr.String()))
	}
	return outcome{p.Cmd.ProcessState.ExitCode(), p.Stdout.String(), p.Stderr.String()}
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
