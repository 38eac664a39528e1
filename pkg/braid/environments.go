package braid

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/fetch/superset"
	"github.com/braidhq/braid/internal/loadrun/executor"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

// environments are the clients of a worker for dashboards, one for each pinned definition: load and ordinary queries use the same one, and with it the
// same tokens and connections. It is safe for concurrent use.
type environments struct {
	library    *service.Library
	definition func(ctx context.Context, digest string) ([]byte, error)
	config     superset.Config
	inFlight   int // most requests at once of this process

	mu   sync.Mutex // guards open
	open map[string]*superset.Client
}

func newEnvironments(b *bus.Bus, cfg WorkerConfig, secrets fetch.CredentialSources) *environments {
	return &environments{
		library: cfg.library, definition: b.Definition, inFlight: cfg.Concurrency, open: map[string]*superset.Client{},
		config: superset.Config{
			Credentials: secrets.Resolve, Tokens: b.Tokens(), Now: b.Now, Worker: cfg.ID, UserAgent: "braid/" + cfg.Version, ScratchDir: os.TempDir(),
			Trace: cfg.Telemetry.request(),
		},
	}
}

// Client is executor.Clients'.
func (e *environments) Client(ctx context.Context, environment, digest string) (executor.Client, *load.Environment, error) {
	if c := e.have(digest); c != nil {
		return e.told(c)
	}
	text, err := e.definition(ctx, digest)
	if err != nil {
		return nil, nil, fmt.Errorf("read the definition of the environment %s: %w", environment, err)
	}
	d, err := e.library.Open(text)
	if err != nil {
		return nil, nil, fmt.Errorf("open the definition of the environment %s: %w", environment, err)
	}
	switch {
	case d.Adapter != service.AdapterSuperset:
		return nil, nil, fmt.Errorf("%w: %s is spoken to by %q", executor.ErrNoAdapter, environment, d.Adapter)
	case d.Name != environment:
		return nil, nil, fmt.Errorf("the definition of the environment %s is that of %s", environment, d.Name)
	}
	c, err := e.of(digest, d)
	if err != nil {
		return nil, nil, err
	}
	return e.told(c)
}

func (*environments) told(c *superset.Client) (executor.Client, *load.Environment, error) {
	environment := c.Environment()
	return c, &environment, nil
}

// Serves is executor.Clients'.
func (e *environments) Serves(_, adapter string) bool {
	return adapter == "" || adapter == service.AdapterSuperset
}

func (e *environments) have(digest string) *superset.Client {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[digest]
}

// of gives the client of a definition that is open.
func (e *environments) of(digest string, d *service.Definition) (*superset.Client, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.open[digest]; c != nil {
		return c, nil
	}
	config := e.config
	config.Transport = superset.NewTransport(fetch.TransportConfig{Connect: d.Timeouts.Connect, InFlight: max(e.inFlight, int(d.Limits.InFlight)), Proxy: http.ProxyFromEnvironment})
	c, err := superset.New(d, config)
	if err != nil {
		return nil, fmt.Errorf("speak to the environment %s: %w", d.Name, err)
	}
	for other, idle := range e.open {
		if len(e.open) < maxOpen {
			break
		}
		idle.CloseIdleConnections()
		delete(e.open, other)
	}
	e.open[digest] = c
	return c, nil
}
