package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// target is a process that is a fake Superset.
type target struct {
	base  string
	child *exec.Cmd
	stdin io.Closer
}

// target serves until its standard input ends, so that it does not outlive the measurement.
func (c config) target(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	fake := superset.New(superset.Config{
		Seed: 7, Cache: superset.CacheNull, Latency: superset.Latency{Base: superset.Distribution{Shape: superset.LogNormal, Low: c.latency, Sigma: 0.4}},
	})
	defer fake.Close()
	base, wait, err := fake.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.stdout, base); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what is waited for
		stop()
	}()
	return wait()
}

func startTarget(ctx context.Context, latency time.Duration) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &target{child: exec.CommandContext(ctx, self, "-serve", "-latency", latency.String())}
	t.child.Stderr = os.Stderr
	t.child.Cancel = func() error { return t.child.Process.Signal(syscall.SIGTERM) }
	if t.stdin, err = t.child.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.child.StdoutPipe()
	if err == nil {
		err = t.child.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the target: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("hear from the target: %w", err)
	}
	t.base = strings.TrimSpace(line)
	return t, nil
}

func (t *target) stop() error {
	if err := t.stdin.Close(); err != nil {
		return err
	}
	return t.child.Wait()
}

func (t *target) reset(ctx context.Context) error {
	return ask(ctx, http.MethodPost, t.base+"/_fake/reset", "{}", nil)
}

// recorded gives how long each request for data was there, and how many were at once.
func (t *target) recorded(ctx context.Context) (all []time.Duration, most int, err error) {
	var stats superset.Stats
	if err := ask(ctx, http.MethodGet, t.base+"/_fake/stats?log=1000000", "", &stats); err != nil {
		return nil, 0, err
	}
	for _, r := range stats.Log {
		if r.Route == superset.ChartData {
			all = append(all, r.Left-r.Arrived)
		}
	}
	return all, stats.Routes[superset.ChartData].MaxInFlight, nil
}

// ask sends a request and reads its answer.
func ask(ctx context.Context, method, url, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP %d", url, answer.StatusCode)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}
