package coordinator_test

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func TestWithoutWorkersAQuerySaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log lines
	c, err := coordinator.New(coordinator.Config{ID: "c1", LeaseTTL: 2 * time.Second, LeaderTTL: time.Second}, coordinator.Ports{
		Queries: r.bus, Catalogue: r.bus, Items: r.bus, Results: r.bus, Services: r.bus, Workers: r.bus, Definitions: r.definitions, Leader: r.bus.Leader(),
		NewID: func() string { return strings.ToLower(rand.Text()) }, Now: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, c.Run)
	q := r.submit(c, sites(3))
	progress := func() *messages.Progress {
		p, err := r.bus.LoadProgress(t.Context(), q.ID)
		if err != nil {
			return &messages.Progress{}
		}
		return p
	}
	testkit.Until(t, "the progress says that nobody is there", func() bool { return progress().Alone() })
	const warning = "no worker takes items of the service"
	testkit.Until(t, "the log says so", func() bool { return log.count(warning) > 0 })
	r.work(testkit.NewScript(always))
	r.settles(q.ID, 1, messages.Complete)
	if p := progress(); p.Alone() || log.count(warning) != 1 {
		t.Errorf("in the end %+v; it is told %d times", p.Workers, log.count(warning))
	}
	if err := r.worker.Stop(t); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the worker takes its leave", func() bool { return log.count("a worker has stopped") == 1 })
}
