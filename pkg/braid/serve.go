package braid

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/braidhq/braid/internal/dashboard"
	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/feed"
	"github.com/braidhq/braid/internal/output"
)

// APIConfig configures the HTTP API.
type APIConfig struct {
	Listen               string   // host:port
	Tokens               string   // file of the tokens that it asks for, made by braid token; empty: none, and only loopback is listened on
	AllowUnauthenticated bool     // let other machines reach it without tokens, where something in front of it authenticates
	MetricsOpen          bool     // let everybody read /metrics, even when there are tokens
	AuditFile            string   // where changes and refusals are written down; nothing is changed while it cannot be written. Empty: the log alone
	TLS                  TLSFiles // zero: plain HTTP
	Hosts                []string // names that requests may call the server by, beside loopback's
	Version              string
	Log                  *slog.Logger
}

// TLSFiles name the files of a server's certificate, in PEM. They are read again when they change.
type TLSFiles struct {
	Cert     string // its certificate, and those of the authorities between it and the root
	Key      string
	ClientCA string // authorities of clients' certificates: whoever has none of theirs is not answered; empty: clients need none
}

// API is the HTTP API, listening.
type API struct {
	access   *httpapi.Access // nil: the server knows no tokens
	tls      *httpapi.TLS    // nil: plain HTTP
	listener net.Listener
	handler  http.Handler
	shelf    *output.Shelf
	feed     *feed.Hub
	stopping chan struct{}
	log      *slog.Logger
}

// ListenAPI listens, so that an address that is in use is known before anything else starts.
func (l *Local) ListenAPI(ctx context.Context, cfg APIConfig) (*API, error) {
	door, err := openDoor(cfg)
	if err != nil {
		return nil, err
	}
	listener, err := httpapi.Address{
		Addr: cfg.Listen, Authenticated: door.access != nil, AllowUnauthenticated: cfg.AllowUnauthenticated, TLS: door.tls,
	}.Listen(ctx)
	if err != nil {
		return nil, err
	}
	door.warn(listener, cfg)
	return l.api(listener, cfg, door), nil
}

func (l *Local) api(listener net.Listener, cfg APIConfig, door door) *API {
	shelf := output.NewShelf(l.scratchDir, time.Now)
	hub := feed.New(l.bus, cfg.Log)
	stopping := make(chan struct{})
	handler := httpapi.New(httpapi.Config{
		Version: cfg.Version, Hosts: cfg.Hosts, Log: cfg.Log, Access: door.access, Audit: door.audit,
		Metrics: l.telemetry.Metrics(), Observe: l.telemetry.observe(), Subscribed: l.telemetry.Subscribed,
		Dashboard: dashboard.New(),
	}, httpapi.Ports{Commands: l, Views: l, Tables: newAPITables(l, shelf), Feed: hub, Leader: l.bus.LeaderName, Definition: l.engine.Definition, Loads: l.desk, Stopping: stopping})
	return &API{access: door.access, tls: door.tls, listener: listener, handler: handler, shelf: shelf, feed: hub, stopping: stopping, log: cfg.Log}
}

// Address is where the API listens.
func (a *API) Address() string { return a.listener.Addr().String() }

// Serve answers until ctx ends.
func (a *API) Serve(ctx context.Context) error {
	defer a.shelf.Close()
	ctx, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { a.sweep(ctx) })
	beside.Go(func() {
		<-ctx.Done()
		close(a.stopping)
	})
	beside.Go(func() { httpapi.Watch(ctx, a.access, a.tls) })
	beside.Go(func() { a.feed.Run(ctx) }) // which ends the streams of events as soon as ctx does, so that nobody waits for them
	return httpapi.Serve(ctx, a.listener, a.handler, a.log)
}

// sweep gives up tables that nobody asks for any more.
func (a *API) sweep(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.shelf.Sweep()
		case <-ctx.Done():
			return
		}
	}
}
