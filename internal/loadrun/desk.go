package loadrun

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Config of a desk and of a controller. The zero value of each field but ID is its default.
type Config struct {
	ID         string        // names this coordinator; required of a controller
	LeaseTTL   time.Duration // of a service's slots, whole seconds; 30 s
	LeaderTTL  time.Duration // a dead controller is followed after this, whole seconds; 4 s
	StallAfter time.Duration // with no news for this long, what has no record is queued again; 1 min
	Keep       time.Duration // runs that ended longer ago are removed; 0: never

	UnservedAfter time.Duration // a run in which no worker takes part for this long ends as failed; 10 min
}

func (c Config) withDefaults() Config {
	if c.LeaseTTL == 0 {
		c.LeaseTTL = 30 * time.Second
	}
	if c.LeaderTTL == 0 {
		c.LeaderTTL = 4 * time.Second
	}
	if c.StallAfter == 0 {
		c.StallAfter = time.Minute
	}
	if c.UnservedAfter == 0 {
		c.UnservedAfter = 10 * time.Minute
	}
	return c
}

// Ports are the connections to the world of a desk and of a controller.
type Ports struct {
	Records      Records
	Files        Files
	Queue        Queue
	Intake       Intake
	Executions   Executions
	Errands      Errands      // of the desk
	Environments Environments // of the desk
	Services     Services     // of the desk
	Leader       lease.Store  // of the controller
	Places       lease.Store  // that workers hold, of the controller; nil: runs that nobody serves wait for ever
	NewID        func() string
	Now          func() time.Time
	Log          *slog.Logger
	Observer     Observer // nil: nobody listens
}

func (p Ports) withDefaults() Ports {
	if p.Observer == nil {
		p.Observer = unobserved{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.NewID == nil {
		p.NewID = func() string { return strings.ToLower(rand.Text()[:8]) }
	}
	return p
}

// Desk is what can be asked about load runs. It is safe for concurrent use, and there may be many at a time.
type Desk struct {
	cfg     Config
	ports   Ports
	log     *slog.Logger
	reading chan struct{} // held by whoever reads a run's executions
	reports *shelf
}

// readings is how many runs are read at once for reports: each is as large as its samples.
const readings = 2

// NewDesk makes a desk.
func NewDesk(cfg Config, ports Ports) *Desk {
	cfg, ports = cfg.withDefaults(), ports.withDefaults()
	return &Desk{cfg: cfg, ports: ports, log: ports.Log, reading: make(chan struct{}, readings), reports: newShelf()}
}

// latest stands for the newest run where an id is asked for.
const latest = "latest"

// find gives the run whose id is, or begins with, prefix; latest is the newest one. Errors wrap messages.ErrNotFound or load.ErrAmbiguous.
func (d *Desk) find(ctx context.Context, prefix string) (*load.Run, uint64, error) {
	if prefix != "" && prefix != latest {
		if err := messages.CheckName(prefix); err != nil {
			return nil, 0, fmt.Errorf("run: %w: %w", load.ErrInvalid, err)
		}
		r, revision, err := d.ports.Records.LoadRun(ctx, prefix)
		if err == nil || !errors.Is(err, messages.ErrNotFound) {
			return r, revision, err
		}
	}
	all, err := d.list(ctx)
	if err != nil {
		return nil, 0, err
	}
	var found []*load.Run
	for _, r := range all {
		if prefix == "" || prefix == latest || strings.HasPrefix(r.ID, prefix) {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 0 && (prefix == "" || prefix == latest):
		return nil, 0, fmt.Errorf("there are no load runs yet (%w); braid load run PROFILE starts one", messages.ErrNotFound)
	case len(found) == 0:
		return nil, 0, fmt.Errorf("load run %.40q: %w; braid load list shows the runs", prefix, messages.ErrNotFound)
	case len(found) > 1 && prefix != "" && prefix != latest:
		return nil, 0, fmt.Errorf("load run %.40q: %w: %s and %s; write more of the id", prefix, load.ErrAmbiguous, found[0].ID, found[1].ID)
	}
	return d.ports.Records.LoadRun(ctx, found[0].ID)
}

// list gives all runs, the newest first.
func (d *Desk) list(ctx context.Context) ([]*load.Run, error) {
	all, err := d.ports.Records.ListRuns(ctx)
	if err != nil {
		return nil, fmt.Errorf("list load runs: %w", err)
	}
	slices.SortFunc(all, func(a, b *load.Run) int {
		if c := b.Created.Compare(a.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}

// letters makes a short id that follows from a digest.
func letters(digest []byte, n int) string {
	return strings.ToLower(base32.StdEncoding.EncodeToString(digest)[:n])
}
