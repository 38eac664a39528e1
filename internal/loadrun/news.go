package loadrun

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
)

const (
	newsBacklog   = 1024
	progressEvery = 250 * time.Millisecond // LR-6.4
)

// news is what the stream tells of a run: *load.Admission, *load.Execution, unreadable, caughtUp.
type (
	unreadable struct {
		sequence uint64
		err      error
	}
	caughtUp struct{}
)

// account is what is known of a run from its records, in the order in which they were stored. It is used by one goroutine.
type account struct {
	c        *Controller
	log      *slog.Logger
	at       seen // the record as it was last known
	paper    *paper
	fold     *load.Fold
	tripped  bool
	recorded int                     // numbers with a record
	bad      int                     // records that cannot be read
	flying   map[int]*load.Admission // by number: the admission of the last attempt, when neither it nor a later one has a record
	sent     map[int]int             // requests of that attempt
	caught   bool                    // all that was stored when the reading began has been taken in
	heard    time.Time               // of the last news
	dirty    bool                    // there were news since progress was told
	on       func(e *load.Execution) // with the first record of a number

	leaseTTL, ackWait time.Duration // how long places and items are left with a silent worker
	lost              map[int]bool  // of flying, what is in flight no more, as its worker is gone
	lookedLost        time.Time
	noWorker          bool // nobody takes part
	lookedWorkers     time.Time
	beside            string // the other runs there, as they were told
}

// account begins one. on is called with the record that counts of each number; nil: nobody is.
func (c *Controller) account(ctx context.Context, s seen, on func(*load.Execution)) (*account, error) {
	p, err := readPaper(ctx, c.ports.Files, s.run)
	if err != nil {
		return nil, err
	}
	fold, err := load.NewFold(s.run, p.snapshot)
	if err != nil {
		return nil, fmt.Errorf("load run %s: %w", s.id, err)
	}
	leaseTTL, ackWait, err := c.patience(ctx, s.run.Environment)
	if err != nil {
		return nil, err
	}
	return &account{
		leaseTTL: leaseTTL, ackWait: ackWait,
		c: c, log: c.log.With("run", s.id), at: s, paper: p, fold: fold, flying: map[int]*load.Admission{}, sent: map[int]int{},
		heard: c.ports.Now(), dirty: true, on: on,
	}, nil
}

// reader follows a run's records into news until stop is called, which waits for it.
func (a *account) reader(ctx context.Context) (news chan any, lost chan error, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	news, lost = make(chan any, newsBacklog), make(chan error, 1)
	tell := func(what any) {
		select {
		case news <- what:
		case <-ctx.Done():
		}
	}
	executions, run := a.c.ports.Executions, a.at.id // a.at belongs to whoever uses the account
	var reading sync.WaitGroup
	reading.Go(func() {
		lost <- executions.TrackRun(ctx, run, RunTracker{
			Admission: func(m *load.Admission, _ uint64) { tell(m) },
			Execution: func(m *load.Execution, _ uint64, _ time.Time) { tell(m) },
			Bad:       func(sequence uint64, err error) { tell(unreadable{sequence, err}) },
			CaughtUp:  func() { tell(caughtUp{}) },
		})
	})
	return news, lost, func() { cancel(); reading.Wait() }
}

var errReadingEnded = errors.New("the reading of the run's records ended")

// takeIn takes in one piece of news, and all that came with it until the breaker trips.
func (a *account) takeIn(what any, news <-chan any) {
	a.heard, a.dirty = a.c.ports.Now(), true
	for {
		switch m := what.(type) {
		case caughtUp:
			a.caught = true
		case *load.Admission:
			a.admission(m)
		case *load.Execution:
			a.execution(m)
		case unreadable:
			a.bad++
			a.fold.Bad()
			a.log.Error("a record of the load run cannot be read; it is left out", "sequence", m.sequence, "error", m.err)
		}
		if a.tripped {
			return
		}
		select {
		case what = <-news:
		default:
			return
		}
	}
}

func (a *account) admission(m *load.Admission) {
	a.fold.Admission(m)
	if m.Number < 0 || m.Number >= a.at.run.Total || m.Attempt <= a.fold.RecordedAttempt(m.Number) {
		return
	}
	if have := a.flying[m.Number]; have == nil || have.Attempt < m.Attempt {
		a.flying[m.Number], a.sent[m.Number] = m, 1
	} else if have.Attempt == m.Attempt {
		a.sent[m.Number]++
	}
}

func (a *account) execution(m *load.Execution) {
	if m.Number < 0 || m.Number >= a.at.run.Total {
		a.fold.Execution(m) // it tells of it
		a.log.Error("a record of a number that the load run does not have is left out", "number", m.Number)
		return
	}
	first := !a.fold.Recorded(m.Number)
	a.tripped = a.fold.Execution(m) || a.tripped
	if have := a.flying[m.Number]; have != nil && have.Attempt <= m.Attempt { // else a later attempt is in flight still
		delete(a.flying, m.Number)
		delete(a.sent, m.Number)
		delete(a.lost, m.Number)
	}
	if first {
		a.recorded++
		if a.on != nil {
			a.on(m)
		}
	}
}

// look finds out what the records do not say.
func (a *account) look(ctx context.Context) {
	if !a.caught || a.at.run == nil {
		return
	}
	a.lookForLost(ctx)
	a.lookForWorkers(ctx)
}

// tell stores how the run goes, if there is anything to tell.
func (a *account) tell(ctx context.Context) error {
	if !a.dirty || !a.caught {
		return nil
	}
	p := a.fold.Progress(a.c.ports.Now())
	p.Lost = min(len(a.lost), p.InFlight)
	p.InFlight -= p.Lost
	p.Diagnostics = append(p.Diagnostics, a.notes()...)
	if err := a.c.ports.Records.SaveRunProgress(ctx, p); err != nil {
		return fmt.Errorf("store the progress: %w", err)
	}
	a.dirty = false
	return nil
}

// stands takes over a newer record of the run.
func (a *account) stands(s seen) {
	if s.revision > a.at.revision {
		a.at = s
		if s.run != nil {
			a.fold.Follow(s.run)
		}
	}
}
