package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// tally adds up what stretches of one kind came to.
type tally struct {
	chunks    int
	lasted    time.Duration
	cpu       time.Duration // of this process
	stretches int
}

func (t *tally) add(from, to *messages.Progress, cpu time.Duration) {
	t.chunks += to.Completed - from.Completed
	t.lasted += to.Updated.Sub(from.Updated)
	t.cpu += cpu
	t.stretches++
}

// perChunk is the processor time of this process for each chunk, in microseconds.
func (t *tally) perChunk() float64 { return float64(t.cpu.Microseconds()) / float64(t.chunks) }

// processorTime is what a process has used by now, or those that it started and that have ended.
func processorTime(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (t *tally) rate() float64 { return float64(t.chunks) / t.lasted.Seconds() }

var errOver = errors.New("the query is over")

// stretches lets watchers come and go until the query is complete. Those of the last stretch stay to its end.
func (c config) stretches(ctx context.Context, e *braid.Embedded, id, address string) error {
	var alone, watched tally
	_, err := c.stretchOf(ctx, e, id, nil) // until it runs evenly
	var last *clients
	for err == nil {
		if _, err = c.stretchOf(ctx, e, id, &alone); err != nil {
			break
		}
		if last, err = c.start(ctx, id, address); err != nil {
			return err
		}
		var now *messages.Progress
		if now, err = c.stretchOf(ctx, e, id, &watched); err != nil || now.Completed > c.chunks*3/4 {
			break
		}
		if err := last.leave(); err != nil {
			return err
		}
	}
	if err != nil && !errors.Is(err, errOver) || last == nil {
		return fmt.Errorf("it was over before the watchers came; let it have more chunks: %w", err)
	}
	ended, err := last.ended()
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d chunks; %d clients follow by server-sent events, %d requests/s besides\n\n%-18s %10s %14s %10s\n", c.chunks, c.clients, c.rate, "", "chunks/s", "CPU µs/chunk", "stretches")
	for _, row := range []struct {
		name string
		t    tally
	}{{"without watchers", alone}, {"with watchers", watched}} {
		fmt.Fprintf(c.stdout, "%-18s %10.0f %14.0f %10d\n", row.name, row.t.rate(), row.t.perChunk(), row.t.stretches)
	}
	fmt.Fprintf(c.stdout, "\nthe clients' own processor time: %.2f of a processor\n", processorTime(syscall.RUSAGE_CHILDREN).Seconds()/watched.lasted.Seconds())
	fmt.Fprintf(c.stdout, "\nwith watchers: %.2f of the rate without; %d of %d saw the last event\n", watched.rate()/alone.rate(), ended, c.clients)
	if ended != c.clients {
		return errors.New("some clients have not seen the last event")
	}
	return nil
}

// stretchOf lets the query run for a while, and adds what was done by the times at which progress was told.
func (c config) stretchOf(ctx context.Context, e *braid.Embedded, id string, t *tally) (*messages.Progress, error) {
	from, err := told(ctx, e, id, time.Time{})
	if err != nil {
		return nil, err
	}
	cpu := processorTime(syscall.RUSAGE_SELF)
	to, err := told(ctx, e, id, from.Updated.Add(c.stretch))
	if err == nil && t != nil {
		t.add(from, to, processorTime(syscall.RUSAGE_SELF)-cpu)
	}
	return to, err
}

// told waits for the first progress that is newer than now, and than since.
func told(ctx context.Context, e *braid.Embedded, id string, since time.Time) (*messages.Progress, error) {
	var first time.Time
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		status, err := e.Status(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case !status.Query.State.Active():
			return nil, fmt.Errorf("%w: it is %s", errOver, status.Query.State)
		case first.IsZero():
			first = status.Progress.Updated
		case status.Progress.Updated.After(first) && !status.Progress.Updated.Before(since):
			return status.Progress, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// clients is a process of clients.
type clients struct {
	cmd *exec.Cmd
	out *bufio.Scanner
}

// start returns when each client has had its first event.
func (c config) start(ctx context.Context, id, address string) (*clients, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// In life the clients are on other machines: here they give way to what is measured.
	cmd := exec.CommandContext(ctx, "nice", "-n", "19", self, "-address", address, "-query", id, "-clients", strconv.Itoa(c.clients), "-requests", strconv.Itoa(c.rate))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	all := &clients{cmd, bufio.NewScanner(out)}
	if !all.out.Scan() || all.out.Text() != connected {
		return nil, errors.Join(fmt.Errorf("the clients did not connect: %q", all.out.Text()), cmd.Wait())
	}
	return all, nil
}

// leave ends the clients.
func (p *clients) leave() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_, err := p.ended()
	return err
}

// ended waits until all clients are gone, and gives how many saw the last event.
func (p *clients) ended() (int, error) {
	var text string
	for p.out.Scan() {
		text = p.out.Text()
	}
	if err := p.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("the clients: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(text))
}
