package braid

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/query"
)

// APIConfig configures the HTTP API.
type APIConfig struct {
	Listen               string   // host:port
	AllowUnauthenticated bool     // let other machines reach it, where something in front of it authenticates
	Hosts                []string // names that requests may call the server by, beside loopback's
	Version              string
	Log                  *slog.Logger
}

// API is the HTTP API, listening.
type API struct {
	listener net.Listener
	handler  http.Handler
	log      *slog.Logger
}

// ListenAPI listens, so that an address that is in use is known before anything else starts.
func (l *Local) ListenAPI(ctx context.Context, cfg APIConfig) (*API, error) {
	listener, err := httpapi.Address{Addr: cfg.Listen, AllowUnauthenticated: cfg.AllowUnauthenticated}.Listen(ctx)
	if err != nil {
		return nil, err
	}
	handler := httpapi.New(httpapi.Config{Version: cfg.Version, Hosts: cfg.Hosts, Log: cfg.Log},
		httpapi.Ports{Commands: l, Views: l, Tables: apiTables{l}})
	return &API{listener, handler, cfg.Log}, nil
}

// Address is where the API listens.
func (a *API) Address() string { return a.listener.Addr().String() }

// Serve answers until ctx ends.
func (a *API) Serve(ctx context.Context) error {
	return httpapi.Serve(ctx, a.listener, a.handler, a.log)
}

type apiTables struct{ local *Local }

func (t apiTables) Table(ctx context.Context, id, format string, partial bool) (*httpapi.Table, error) {
	f, err := output.FormatOf("", format)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	e, err := t.local.Export(ctx, id, partial)
	if err != nil {
		return nil, err
	}
	return &httpapi.Table{
		Query: e.Query.ID, Report: e.Table.Report,
		Write: func(ctx context.Context, w io.Writer) error { return output.Encode(ctx, w, f, e.Table, e.Meta) },
	}, nil
}
