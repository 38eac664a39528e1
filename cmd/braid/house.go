package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// house is what a data directory remembers of the braid up that serves it or has served it last. Only the process that has
// locked the directory writes it.
type house struct {
	Standing bool     `json:"standing"`          // what is active was left by a braid up, and goes on at the next one
	URL      string   `json:"url,omitempty"`     // of the API, while it is served
	Process  int      `json:"process,omitempty"` // likewise
	Parked   []parked `json:"parked,omitempty"`  // queries that another command had to stop meanwhile, and that go on too
}

// parked is a query that goes on at the next braid up.
type parked struct {
	ID       string        `json:"id"`
	WaitUpTo time.Duration `json:"wait_up_to_ns,omitempty"`
}

func (a *app) houseFile() string { return filepath.Join(a.dataDir, "up.json") }

// readHouse gives what is remembered; what cannot be read is as good as nothing.
func (a *app) readHouse() house {
	var h house
	data, err := readFile(a.houseFile())
	if err != nil || json.Unmarshal(data, &h) != nil {
		return house{}
	}
	return h
}

func (a *app) saveHouse(h house) error {
	data, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("remember what braid up serves: %w", err)
	}
	return writePrivate(a.houseFile(), string(data)+"\n")
}

// park stops what another process has left running, so that nothing goes on without being asked for. What a braid up has left is
// remembered: to it, it was asked for.
func (s *session) park(ctx context.Context) error {
	a := s.app
	if h := a.readHouse(); h.Standing || h.URL != "" {
		left := s.unsettled(ctx)
		for _, status := range left {
			h.Parked = append(h.Parked, parked{status.Query.ID, status.Query.WaitUpTo})
		}
		ended := h.URL == "" // in an orderly way: all requests are counted
		h.Standing, h.URL, h.Process = false, "", 0
		// First, so that a process that is killed in between forgets nothing.
		if err := a.saveHouse(h); err != nil {
			return err
		}
		if ended {
			for _, status := range left {
				if err := s.rest(ctx, status.Query); err != nil {
					return err
				}
			}
		}
	}
	return s.embedded.Park(ctx)
}

// rest stops a query that the next braid up goes on with.
func (s *session) rest(ctx context.Context, q *messages.Query) error {
	if !q.State.Active() {
		return nil
	}
	if err := s.embedded.Interrupt(ctx, q.ID, "braid up was stopped; the query goes on at the next one"); err != nil {
		return fmt.Errorf("query %s: %w", q.ID, err)
	}
	status, err := s.Status(ctx, q.ID)
	if err != nil {
		return err
	}
	return s.recount(ctx, status)
}

// unpark sets a query going again, unless somebody has decided about it since.
func (s *session) unpark(ctx context.Context, p parked) error {
	status, err := s.Status(ctx, p.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		return nil
	case err != nil:
		return err
	case status.Query.State != messages.Interrupted:
		return nil
	}
	again := &query.Resumption{WaitUpTo: &p.WaitUpTo}
	_, err = s.Resume(ctx, status.Query.ID, again)
	return err
}
