package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/fetch/superset"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

// supersetAdapter is the name by which definitions ask for the adapter that is built in.
const supersetAdapter = "superset"

// supersets are the clients of environments, one for each definition: ordinary queries and load runs share one, and with it its sessions and
// connections.
type supersets struct {
	definition func(ctx context.Context, digest string) ([]byte, error)
	library    *service.Library
	inFlight   int // most requests at once of this process
	config     superset.Config

	mu   sync.Mutex // guards open
	open map[string]*superset.Client
}

// of gives the client of a definition.
func (s *supersets) of(d *service.Definition, digest string) (*superset.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.open[digest]; have != nil {
		return have, nil
	}
	cfg := s.config
	cfg.Transport = superset.NewTransport(fetch.TransportConfig{
		Connect: d.Timeouts.Connect, InFlight: max(s.inFlight, int(d.Limits.InFlight)), Proxy: http.ProxyFromEnvironment,
	})
	client, err := superset.New(d, cfg)
	if err != nil {
		return nil, err
	}
	for old := range s.open {
		if len(s.open) < maxOpen {
			break
		}
		delete(s.open, old) // its connections end by themselves
	}
	s.open[digest] = client
	return client, nil
}

// Client is executor.Clients'.
func (s *supersets) Client(ctx context.Context, environment, digest string) (executor.Client, *load.Environment, error) {
	text, err := s.definition(ctx, digest)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.library.Open(text)
	if err != nil {
		return nil, nil, fmt.Errorf("definition of the environment %s: %w", environment, err)
	}
	where, is := d.Environment()
	if d.Adapter != supersetAdapter || !is {
		return nil, nil, fmt.Errorf("%w: %s is spoken to by %q", executor.ErrNoAdapter, environment, d.Adapter)
	}
	if d.Name != environment {
		return nil, nil, fmt.Errorf("the definition of the environment %s is that of %s", environment, d.Name)
	}
	client, err := s.of(d, digest)
	if err != nil {
		return nil, nil, err
	}
	return client, &where, nil
}

// Serves is executor.Clients'.
func (s *supersets) Serves(_, adapter string) bool {
	return adapter == "" || adapter == supersetAdapter
}

// builtIn stands among the adapters of a worker for one that is made from the definition.
type builtIn struct{}

var errBuiltIn = errors.New("the adapter is made from a definition")

// FetchPage is service.Adapter's. Nobody calls it.
func (builtIn) FetchPage(context.Context, json.RawMessage, service.Walk) (service.Page, error) {
	return service.Page{}, errBuiltIn
}
