package main

import (
	"context"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// From these differences on a clock is said to be off: where whole seconds are told, and where NATS's time is.
const (
	coarseDrift = 5 * time.Second
	fineDrift   = 2 * time.Second
)

// clockCheck judges how much this machine's clock is before another, whose it is: "NATS's".
func clockCheck(whose string, before, most time.Duration) check {
	if before.Abs() <= most {
		return check{Name: "clock", Status: fine, Text: fmt.Sprintf("within %s of %s", most, whose)}
	}
	where := "before"
	if before < 0 {
		where = "behind"
	}
	return check{
		"clock", doubtful, fmt.Sprintf("this machine's clock is %s %s %s", before.Abs().Round(time.Second), where, whose),
		"queries go by NATS's clock: times that are set or shown here are off as much", "set the clocks of both machines by NTP",
	}
}

// asksWorkers is whoever tells who works, and with it NATS's time.
type asksWorkers interface {
	Workers(ctx context.Context) (*messages.WorkerList, error)
}

// clockByWorkers compares this machine's clock with the one that a coordinator goes by, which is that of its NATS server. A server
// that does not let us know tells nothing; why is told elsewhere.
func clockByWorkers(ctx context.Context, from asksWorkers, whose string) (c check, told bool) {
	asked := time.Now()
	list, err := from.Workers(ctx)
	if err != nil || list.Now.IsZero() {
		return check{}, false
	}
	return clockCheck(whose, asked.Add(time.Since(asked)/2).Round(0).Sub(list.Now), fineDrift), true
}

// clockOfHouse asks the process that has the data directory.
func (a *app) clockOfHouse(ctx context.Context) []check {
	client, err := braid.NewSocketClient(a.dataDir)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inUseWait)
	defer cancel()
	if c, told := clockByWorkers(ctx, client, "its NATS's"); told {
		return []check{c}
	}
	return nil
}
