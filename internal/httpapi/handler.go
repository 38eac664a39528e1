package httpapi

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Config of the API. The zero value of each field is its default.
type Config struct {
	Version string       // of this build, for the OpenAPI description
	Hosts   []string     // host names that requests may call the server by, beside loopback's; see hostGuard
	Log     *slog.Logger // nil: nothing is logged
	Access  *Access      // who may do what; nil: everybody may do everything
	Audit   *Audit       // where changes and refusals are written down; nil: in Log alone
	Metrics http.Handler // serves GET /metrics; nil: there is no such route
	Observe Observe      // nil: nobody listens
	// Subscribed is called when somebody begins to follow events, and what it returns when they have left; nil: nobody counts.
	Subscribed func() (left func())
	// BodyBytes bounds the bodies that are in hand at the same time, all together; 0: 256 MiB. Those of up to 64 KiB do not count.
	BodyBytes int64
	// Dashboard serves / and what is below /assets/. Nil: there is no page.
	Dashboard http.Handler
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "development"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Audit == nil {
		c.Audit = &Audit{log: c.Log, now: time.Now}
	}
	if c.BodyBytes == 0 {
		c.BodyBytes = maxBodyBytes
	}
	if c.Subscribed == nil {
		c.Subscribed = func() func() { return func() {} }
	}
	return c
}

// assetsPath is where the files of the dashboard are.
const assetsPath = "/assets/"

// api holds what the routes need.
type api struct {
	huma                    huma.API
	ports                   Ports
	log                     *slog.Logger
	version                 string
	reads, commands, bodies *turns

	subscribed func() (left func())

	access     *Access // nil: the server knows no tokens
	audit      *Audit
	rules      map[string]rule   // by pattern
	operations map[string]string // ids, by pattern
}

// New makes the handler of the whole API. It is safe for concurrent use and starts no goroutine.
func New(cfg Config, ports Ports) http.Handler {
	cfg = cfg.withDefaults()
	mux := http.NewServeMux()
	a := &api{
		huma: humago.New(mux, openAPIConfig(cfg.Version)), ports: ports, log: cfg.Log, version: cfg.Version,
		reads: newTurns(maxReads), commands: newTurns(maxCommands), bodies: newTurns(cfg.BodyBytes),
		access: cfg.Access, audit: cfg.Audit, rules: rules(cfg.Access), subscribed: cfg.Subscribed,
	}
	a.routeQueries()
	a.routeEvents()
	a.routeResults()
	a.routePlan()
	a.routeQueryFile()
	a.routeQuotas()
	a.routeLiveViews()
	a.routeStorage()
	a.routeLoad()
	a.routeHealth()
	a.routeProblems()
	if cfg.Metrics != nil {
		mux.Handle("GET "+metricsPath, cfg.Metrics)
	}
	a.routeWhoami()
	a.routeSessions(mux)
	a.routeDescription()
	if cfg.Dashboard != nil {
		mux.Handle("GET /{$}", cfg.Dashboard)
		mux.Handle("GET "+assetsPath, cfg.Dashboard)
	}
	a.nameOperations()
	return observed(cfg.Observe, cfg.Access, watched(cfg.Log, a.hostGuard(cfg.Hosts, a.originGuard(a.urlGuard(routed(mux, a.admit))))))
}
