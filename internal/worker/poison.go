package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// A chunk that kills whoever runs it must not go round for ever. NATS counts deliveries, and that number alone convicts
// nobody: an item that is handed back counts too, and so does one that merely lay in the hands of a worker that another chunk
// killed. A limit of the queue's own (MaxDeliver) would have both flaws, and would tell nobody durably. So the worker that takes
// such an item decides:
//
//   - The first deliveries, fewer than suspectFrom, are run as any. It costs nothing.
//   - From then on the item is a suspect. Suspects are run one at a time in each worker, so that of those in hand only
//     one is accused when it dies. That one is written down before it is begun, and struck out when it has ended in any orderly way:
//     done, failed, interrupted, handed back, left alone.
//   - Whoever finds that maxKills runs were begun and not ended commits the failure, without asking upstream. The first
//     write wins, as with any result; a resume tries the chunk again, and counts anew.
//
// So five deliveries at most end their workers, and three that were begun and never ended are needed to convict. Counted as well
// is a worker that was cut off or frozen for longer than the queue's patience, until it comes back and strikes its run out: from
// outside it cannot be told from a dead one. An innocent chunk is accused when it was the suspect on its turn while a chunk
// that is no suspect yet killed the worker: that happens at most twice for each such chunk.
const (
	suspectFrom = 3
	maxKills    = 3
	noteWithin  = 5 * time.Second // to write a run down, or strike it out: while the store is away, nobody waits for the turn for long
)

// runWatched is run, for an item that was delivered so often.
func (c *chunk) runWatched(ctx context.Context, deliveries int) error {
	if deliveries < suspectFrom {
		return c.run(ctx)
	}
	// One that is done and was not acknowledged need not wait for its turn.
	if have, err := c.w.ports.Results.HasResult(ctx, c.item.Query, c.item.Position); err != nil || have {
		return err
	}
	if err := c.w.turn.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer c.w.turn.Release(1)
	if err := c.wanted(); err != nil {
		return err
	}
	run := messages.Begun{Attempt: c.w.ports.NewID(), Worker: c.w.cfg.ID, Delivery: deliveries, At: c.w.ports.Now()}
	before, err := c.accuse(ctx, run)
	if err != nil {
		return err
	}
	if len(before) >= maxKills {
		return c.commitFailure(ctx, poisoned(before, deliveries, c.item.Asks))
	}
	c.log.Warn("the item came back without a word more than once; it is run by itself", "deliveries", deliveries, "begun_and_not_ended", len(before))
	err = c.run(ctx)
	// Not deferred: a panic that ends the process is no orderly end.
	c.clear(ctx, run.Attempt)
	return err
}

// accuse writes down that the item is begun now, and gives the runs that were begun before and have not ended. When these are
// enough, nothing is begun.
func (c *chunk) accuse(ctx context.Context, run messages.Begun) (before []messages.Begun, err error) {
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	err = c.w.ports.Records.UpdateSuspect(ctx, c.item.Query, c.item.Position, func(have *messages.Suspect) *messages.Suspect {
		s := messages.Suspect{V: messages.Version, Query: c.item.Query, Run: c.item.Run, Position: c.item.Position}
		if have != nil && have.Run == s.Run {
			s.Begun = have.Begun
		}
		before = s.Begun
		if len(before) >= maxKills {
			return nil
		}
		s.Begun = append(slices.Clone(before), run)
		return &s
	})
	return before, err
}

// clear strikes a run out that has ended. When that fails, the run counts as one that ended its worker.
func (c *chunk) clear(ctx context.Context, attempt string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
	defer cancel()
	err := c.w.ports.Records.UpdateSuspect(ctx, c.item.Query, c.item.Position, func(have *messages.Suspect) *messages.Suspect {
		if have == nil {
			return nil
		}
		s := *have
		s.Begun = nil
		for _, b := range have.Begun {
			if b.Attempt != attempt {
				s.Begun = append(s.Begun, b)
			}
		}
		if len(s.Begun) == len(have.Begun) {
			return nil
		}
		return &s
	})
	if err != nil {
		c.log.Warn("it is not recorded that the item ended in an orderly way", "error", err)
	}
}

// poisoned is the failure of a chunk, with its evidence.
func poisoned(begun []messages.Begun, deliveries int, asks string) *messages.Failure {
	var runs []string
	for _, b := range begun {
		runs = append(runs, fmt.Sprintf("%s at %s (delivery %d)", b.Worker, b.At.UTC().Format(time.RFC3339), b.Delivery))
	}
	f := &messages.Failure{
		Class: messages.ClassPoison,
		Message: fmt.Sprintf("the chunk ends the workers that run it: of %d deliveries, the last %d were begun by workers that were not heard of again: %s",
			deliveries, len(begun), strings.Join(runs, ", ")),
		Hint: "look at what these workers said last, and at the memory they may use",
	}
	if asks != "" {
		f.Hint += "; this chunk asks for " + asks
	}
	return f
}
