package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/pkg/braid"
)

// session is a coordinator to talk to: in this process, or on a server.
type session struct {
	braid.Coordinator
	app      *app
	embedded *braid.Embedded // nil against a server
	second   chan os.Signal  // set once the process was asked to stop
}

// open connects to the server, or opens the data directory; workers is how many a query will have in this process.
func (a *app) open(ctx context.Context, workers int) (*session, error) {
	if a.server != "" {
		client, err := a.client()
		if err != nil {
			return nil, err
		}
		return &session{Coordinator: client, app: a}, nil
	}
	e, err := a.openEmbedded(ctx, workers)
	if errors.Is(err, bus.ErrDirInUse) && workers == 0 {
		// The process that runs a query there can be asked.
		if client, socketErr := braid.NewSocketClient(a.dataDir); socketErr == nil {
			return &session{Coordinator: client, app: a}, nil
		}
	}
	if errors.Is(err, bus.ErrDirInUse) {
		return nil, a.inUse(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	s := &session{Coordinator: e, app: a, embedded: e}
	// This process has the data directory for itself: what another one left running is not running any more.
	if err := s.park(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return s, nil
}

func (a *app) openEmbedded(ctx context.Context, workers int) (*braid.Embedded, error) {
	durability, err := a.durability()
	if err != nil {
		return nil, err
	}
	return braid.OpenEmbedded(ctx, braid.EmbeddedConfig{
		Dir: a.dataDir, Workers: workers, Concurrency: a.embedded.concurrency, InFlight: a.operatorsInFlight(), DefaultInFlight: a.defaultInFlight(),
		Listen: a.embedded.listen, Durability: durability, MaxStore: int64(a.embedded.maxStore), LeaseTTL: a.embedded.leaseTTL, Grace: a.embedded.grace,
		Definitions: a.definitions(), Getenv: a.getenv, ConfigDir: filepath.Dir(a.servicesDir), Version: buildinfo.Version(), Log: a.log,
		Telemetry: a.telemetry,
	})
}

// inUse says what the process that has the data directory is doing there, and that it can be asked.
func (a *app) inUse(ctx context.Context, err error) error {
	client, socketErr := braid.NewSocketClient(a.dataDir)
	if socketErr != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, inUseWait)
	defer cancel()
	all, askErr := client.Statuses(ctx)
	if askErr != nil {
		return err
	}
	doing := "it runs no query now"
	url := a.readHouse().URL
	if url != "" {
		doing = "it is a braid up, which serves " + url
	}
	for _, s := range all {
		if s.Query.State.Active() || s.Query.ResumesByItself() {
			runs := fmt.Sprintf("runs query %s (%s), %d of %s", s.Query.ID, s.Query.Name, s.Progress.Completed, count(int64(s.Query.Chunks), "chunk"))
			if url != "" {
				doing += " and " + runs
			} else {
				doing = "it " + runs
			}
			break
		}
	}
	if url != "" {
		return fmt.Errorf("%w\n%s; braid submit QUERY%s gives it a query, and all commands on queries ask it; with another --data-dir this runs beside it", err, doing, a.whereHint())
	}
	return fmt.Errorf("%w\n%s; braid list, status and cancel%s ask it meanwhile; with another --data-dir this runs beside it", err, doing, a.whereHint())
}

const inUseWait = 2 * time.Second

func (s *session) close(ctx context.Context) error {
	defer s.forgetSecond()
	if s.embedded == nil {
		return nil
	}
	s.noteQueries(ctx)
	return s.embedded.Close()
}

// within runs a command with a session that is closed after it.
func (a *app) within(ctx context.Context, workers int, command func(*session) error) error {
	s, err := a.open(ctx, workers)
	if err != nil {
		return err
	}
	err = command(s)
	if closeErr := s.close(ctx); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close the data directory: %w", closeErr))
	}
	return err
}

// withinUp is within, with the braid up that has the data directory in the place of this process, where there is one.
func (a *app) withinUp(ctx context.Context, workers int, command func(*session) error) error {
	if a.server == "" {
		if client, url := a.serverHere(ctx); client != nil {
			a.here = url
			return command(&session{Coordinator: client, app: a})
		}
	}
	return a.within(ctx, workers, command)
}

// working runs the coordinator and workers of this process while follow does its part, and then lets them finish what
// they have in hand. Against a server there is nothing to run.
func (s *session) working(ctx context.Context, follow func(context.Context) error) error {
	if s.embedded == nil {
		return follow(ctx)
	}
	// The engines outlive ctx: a stop is asked of the query first, and of them when follow has returned.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, running := errgroup.WithContext(running)
	parts.Go(func() error { return s.embedded.Run(running) })
	if api, err := s.embedded.OpenSocket(ctx, s.app.dataDir, braid.APIConfig{Version: buildinfo.Version(), Log: s.app.log}); err == nil {
		parts.Go(func() error { return api.Serve(running) })
	} else {
		s.app.line("note", "braid status and the like cannot see this query while it runs: %s", err)
	}
	following, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// When the engines fail, following them is over.
	context.AfterFunc(running, func() { cancel(errEnginesEnded) })
	err := follow(following)
	stop()
	if engineErr := parts.Wait(); engineErr != nil {
		return engineErr
	}
	return err
}

var errEnginesEnded = errors.New("the engines of this process have ended")
