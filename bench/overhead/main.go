// Command overhead measures how much of the upstream latency that load runs report is not the target's: a load run at the ceiling of 25
// requests in flight against a fake Superset, whose own record says how long each request was there, from its arrival to the last byte of its
// answer. vegeta sends the same requests to the same target, as many at a time, in turns with the load run, and is held against the same record.
//
// The target runs in a process of its own, on the same machine. Braid is whole in this one, its store included.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"
)

// ceiling is what no load run exceeds.
const ceiling = 25

type config struct {
	rounds, variations int
	latency            time.Duration
	serve              bool
	stdout             io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		log.Fatalln("error:", err)
	}
}

func run(ctx context.Context, stdout io.Writer) error {
	c := config{stdout: stdout}
	flag.IntVar(&c.rounds, "rounds", 3, "turns of each of the two")
	flag.IntVar(&c.variations, "variations", 100, "of nine charts each, in each turn")
	flag.DurationVar(&c.latency, "latency", 50*time.Millisecond, "median time that the target takes for a query")
	flag.BoolVar(&c.serve, "serve", false, "be the target")
	flag.Parse()
	if c.serve {
		return c.target(ctx)
	}
	return c.measure(ctx)
}

func (c config) measure(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "braid-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	target, err := startTarget(ctx, c.latency)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.stop()) }()
	runner, err := openRunner(ctx, dir, target.base, c.variations)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.close()) }()
	attack, err := newAttack(ctx, target.base, runner)
	if err != nil {
		return err
	}
	both := []*sender{{name: "braid", send: runner.send}, {name: "vegeta", send: attack.send}}
	for range c.rounds {
		for _, s := range both {
			if err := s.turn(ctx, target); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return c.table(both)
}

// sender sends all requests once and gives the latency that it has measured of each.
type sender struct {
	name               string
	send               func(ctx context.Context) ([]time.Duration, error)
	reported, recorded []time.Duration // by the sender and by the target, of the same requests
	most               int             // in flight at once
	took               time.Duration
}

func (s *sender) turn(ctx context.Context, target *target) error {
	if err := target.reset(ctx); err != nil {
		return err
	}
	begun := time.Now()
	reported, err := s.send(ctx)
	if err != nil {
		return err
	}
	s.took += time.Since(begun)
	recorded, most, err := target.recorded(ctx)
	if err != nil {
		return err
	}
	if len(recorded) != len(reported) {
		return fmt.Errorf("%d requests were measured, and the target has counted %d", len(reported), len(recorded))
	}
	s.reported, s.recorded = append(s.reported, reported...), append(s.recorded, recorded...)
	s.most = max(s.most, most)
	return nil
}

// table prints what was reported, what was recorded, and by how much they differ.
func (c config) table(senders []*sender) error {
	w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, cell := range cells {
			if d, is := cell.(time.Duration); is {
				cell = fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond))
			}
			_, _ = fmt.Fprintf(w, "%v\t", cell) // Flush tells of an error
		}
		_, _ = fmt.Fprintln(w)
	}
	row("", "requests", "in flight", "a second", "p50 ms", "target's", "more", "p99 ms", "target's", "more", "mean more")
	for _, s := range senders {
		slices.Sort(s.reported)
		slices.Sort(s.recorded)
		cells := []any{s.name, len(s.reported), s.most, int(float64(len(s.reported)) / s.took.Seconds())}
		for _, percent := range []int{50, 99} {
			says, was := nearestRank(s.reported, percent), nearestRank(s.recorded, percent)
			cells = append(cells, says, was, says-was)
		}
		row(append(cells, mean(s.reported)-mean(s.recorded))...)
	}
	return w.Flush()
}

func nearestRank(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, d := range values {
		sum += d
	}
	return sum / time.Duration(max(1, len(values)))
}
