package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Config of the API. The zero value of each field is its default.
type Config struct {
	Version string       // of this build, for the OpenAPI description
	Hosts   []string     // host names that requests may call the server by, beside loopback's; see hostGuard
	Log     *slog.Logger // nil: nothing is logged
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "development"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// api holds what the routes need.
type api struct {
	huma    huma.API
	ports   Ports
	log     *slog.Logger
	version string
	heavy   chan struct{} // has one for each request that costs much
}

// New makes the handler of the whole API. It is safe for concurrent use and starts no goroutine.
func New(cfg Config, ports Ports) http.Handler {
	cfg = cfg.withDefaults()
	mux := http.NewServeMux()
	a := &api{huma: humago.New(mux, openAPIConfig(cfg.Version)), ports: ports, log: cfg.Log, version: cfg.Version, heavy: make(chan struct{}, maxHeavy)}
	a.routeQueries()
	a.routeEvents()
	a.routeResults()
	a.routePlan()
	a.routeQuotas()
	a.routeStorage()
	a.routeHealth()
	a.routeProblems()
	a.routeDescription()
	return watched(cfg.Log, hostGuard(cfg.Hosts, originGuard(routed(mux))))
}
