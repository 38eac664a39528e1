package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/buildinfo"
	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// up is what braid up serves.
type up struct {
	api    braid.APIConfig
	nats   string // host:port for workers of other processes
	health string // host:port of health and metrics; empty: beside the API alone
	otlp   string // where traces go
	ratio  float64
	ledger ledgerFlags
}

func (a *app) upCommand() *cobra.Command {
	u := new(up)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Serve the API and the dashboard, and run what is submitted",
		Long: `Runs a server, a coordinator and workers in this process, with the API and the dashboard on one port, until it is
stopped. Queries are submitted with braid submit, or on the page.

Ctrl-C stops in an orderly way: requests in flight may finish, and queries go on by themselves at the next braid up on the
same data directory. A second Ctrl-C stops at once, and nothing complete is lost either way.

The address is set as api_listen in the settings file and as BRAID_API_LISTEN: listen is the port for workers of braid run.

` + exitHelp,
		Example: `  braid up
  braid up --listen 127.0.0.1:9000 --data-dir ./braid-data --workers 4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.embedded.workers == 0 && u.nats == "" {
				return usage("--workers is 0; use at least 1, or 0 with --nats-listen for workers of other processes")
			}
			if err := u.checkTLS(); err != nil {
				return err
			}
			a.server, a.embedded.listen = "", u.nats
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			return a.serveAll(cmd.Context(), u)
		},
	}
	flags := cmd.Flags()
	u.flags(flags)
	a.engineFlagsOn(flags)
	settings.Named(flags, "listen", "api-listen")
	return cmd
}

// flags are those of the API. What a coordinator can be told of it, braid up can be told.
func (u *up) flags(flags *pflag.FlagSet) {
	flags.StringVar(&u.api.Listen, "listen", "127.0.0.1:8080", "host:port of the API and the dashboard; port 0 takes a free one")
	flags.StringVar(&u.nats, "nats-listen", "", "host:port on which workers of other processes may join (default: no port is opened)")
	flags.StringVar(&u.api.Tokens, "tokens", "", "file of the tokens that the API asks for; braid token new makes one (default: none, and the API listens on loopback alone)")
	flags.StringVar(&u.api.TLS.Cert, "tls-cert", "", "file of the API's certificate, in PEM; it is read again when it changes (default: plain HTTP)")
	flags.StringVar(&u.api.TLS.Key, "tls-key", "", "file of the certificate's key, in PEM")
	flags.StringVar(&u.api.TLS.ClientCA, "tls-client-ca", "", "file of the authorities of which every client must have a certificate, in PEM (default: clients need none)")
	flags.StringVar(&u.api.AuditFile, "audit-file", "", "file to which it is written who changes what; nothing is changed while that is not possible (default: the log alone)")
	flags.BoolVar(&u.api.MetricsOpen, "metrics-open", false, "let everybody read /metrics, even when there are tokens")
	flags.BoolVar(&u.api.AllowUnauthenticated, "allow-unauthenticated", false, "let other machines reach the API without tokens, where something in front of it authenticates")
	flags.StringVar(&u.health, "health", "", "host:port of /healthz, /readyz and /metrics without tokens, for probes and Prometheus alone (default: beside the API only)")
	u.ledger.on(flags)
	flags.StringVar(&u.otlp, "otlp-endpoint", "", "base URL of an OpenTelemetry collector for traces, such as http://127.0.0.1:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT, else nothing is traced)")
	flags.Float64Var(&u.ratio, "trace-ratio", 1, "of the traces that begin here, how many are kept: 0 to 1")
	flags.StringSliceVar(&u.api.Hosts, "hosts", nil, "host names that requests may call the API by, beside loopback's")
}

func (u *up) checkTLS() error {
	switch tls := u.api.TLS; {
	case (tls.Cert == "") != (tls.Key == ""):
		return usage("--tls-cert and --tls-key go together")
	case tls.ClientCA != "" && tls.Cert == "":
		return usage("--tls-client-ca needs --tls-cert and --tls-key")
	}
	return nil
}

func (u *up) scheme() string {
	if u.api.TLS.Cert != "" {
		return "https"
	}
	return "http"
}

// serveAll runs everything until ctx ends.
func (a *app) serveAll(ctx context.Context, u *up) error {
	telemetry, err := braid.OpenTelemetry(ctx, braid.TelemetryConfig{
		Name: "braid", Version: buildinfo.Version(), Endpoint: daemon.Endpoint(u.otlp, a.getenv), Ratio: u.ratio, Log: a.log,
	})
	if err != nil {
		return usage("%w", err)
	}
	defer func() {
		if err := telemetry.Close(ctx); err != nil {
			a.log.Warn("the last spans are not sent", "error", err)
		}
	}()
	a.telemetry = telemetry
	e, err := a.openEmbedded(ctx, a.embedded.workers)
	if errors.Is(err, bus.ErrDirInUse) {
		return a.inUse(ctx, err)
	}
	if err != nil {
		return err
	}
	s := &session{Coordinator: e, app: a, embedded: e}
	err = s.serve(ctx, u)
	if closeErr := s.close(ctx); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("close the data directory: %w", closeErr))
	}
	return err
}

func (s *session) serve(ctx context.Context, u *up) error {
	a := s.app
	cfg := u.api
	cfg.Version, cfg.Log = buildinfo.Version(), a.log
	api, err := s.embedded.ListenAPI(ctx, cfg)
	if err != nil {
		return a.cannotListen(ctx, err)
	}
	health, err := daemon.ListenHealth(ctx, u.health)
	if err != nil {
		return &exitError{code: exitInternal, err: err}
	}
	url := u.scheme() + "://" + api.Address()
	feeder, err := u.ledger.feeder(a, s.embedded)
	if err != nil {
		return err
	}
	going, err := s.takeOver(ctx, url)
	if err != nil {
		return err
	}
	// The engines outlive ctx by the time that requests in flight need; the API ends first, so that nothing new is begun.
	parts, running := errgroup.WithContext(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(running)
	defer stop()
	answering, stopAnswering := context.WithCancel(running)
	defer stopAnswering()
	parts.Go(func() error { return s.embedded.Run(running) })
	parts.Go(func() error { return feeder.Run(running) })
	parts.Go(func() error { return api.Serve(answering) })
	parts.Go(func() error {
		return daemon.ServeHealth(running, health, daemon.Showing(s.embedded.Led), a.telemetry.Metrics())
	})
	if socket, err := s.embedded.OpenSocket(ctx, a.dataDir, braid.APIConfig{Version: cfg.Version, Log: a.log}); err == nil {
		parts.Go(func() error { return socket.Serve(running) })
	} else {
		a.line("note", "braid list and the like find this server by --server %s alone: %s", url, err)
	}
	if err := a.tellUp(s, url, going); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		s.onSecond(func() { a.line("stopped", "at once; queries go on at the next braid up") })
		fmt.Fprintln(a.stderr, a.stopping())
	case <-running.Done():
	}
	stopAnswering()
	stop()
	if err := parts.Wait(); err != nil {
		return err
	}
	s.left(context.WithoutCancel(ctx))
	return a.saveHouse(house{Standing: true})
}

// cannotListen tells which process has the address, where it is a server of ours.
func (a *app) cannotListen(ctx context.Context, err error) error {
	if _, exposed := errors.AsType[*net.OpError](err); !exposed || ctx.Err() != nil {
		return usage("%w", err)
	}
	return &exitError{code: exitInternal, err: fmt.Errorf("%w with --listen; port 0 takes a free one", err)}
}

// takeOver sets going what went when the last braid up ended, and notes that this process serves the data directory.
func (s *session) takeOver(ctx context.Context, url string) ([]*messages.Status, error) {
	h := s.app.readHouse()
	for _, parked := range h.Parked {
		if err := s.unpark(ctx, parked); err != nil {
			s.app.line("note", "query %s does not go on by itself: %s; braid resume %s goes on with it", parked.ID, err, parked.ID)
		}
	}
	if err := s.app.saveHouse(house{Standing: true, URL: url, Process: os.Getpid()}); err != nil {
		return nil, err
	}
	return s.unsettled(ctx), nil
}

// unsettled gives the queries that run, or wait and go on by themselves.
func (s *session) unsettled(ctx context.Context) []*messages.Status {
	all, err := s.Statuses(ctx)
	if err != nil {
		return nil
	}
	var going []*messages.Status
	for _, status := range all {
		if !settled(status.Query) {
			going = append(going, status)
		}
	}
	return going
}

// tellUp tells where the server is and how to go on. The URL alone is on stdout, for scripts: where that is no terminal.
func (a *app) tellUp(s *session, url string, going []*messages.Status) error {
	if a.json {
		ids := make([]string, len(going))
		for i, status := range going {
			ids[i] = status.Query.ID
		}
		told := map[string]any{"url": url, "data_dir": a.dataDir, "process": os.Getpid(), "workers": a.embedded.workers, "goes_on": ids}
		if nats := s.embedded.ClientURL(); nats != "" {
			told["nats_url"] = nats
		}
		if err := a.printJSON(told); err != nil {
			return err
		}
	} else if !isTerminal(a.stdout) { // a person reads it below
		if _, err := fmt.Fprintln(a.stdout, url); err != nil {
			return err
		}
	}
	if a.progress == "quiet" {
		return nil
	}
	a.line("serving", "%s  ·  API, documented at %s/docs", url, url)
	a.line("data", "%s", a.dataDir)
	a.line("workers", "%s in this process, each with at most %s at once", thousands(int64(a.embedded.workers)), count(int64(a.embedded.concurrency), "chunk"))
	if nats := s.embedded.ClientURL(); nats != "" {
		a.line("", "more may join: worker --nats-url %s", nats)
	}
	for i, status := range going {
		if i == mostTold {
			a.line("", "and %s more", thousands(int64(len(going)-i)))
			break
		}
		label := "goes on"
		if i > 0 {
			label = ""
		}
		q := status.Query
		a.line(label, "%s (%s)  %s of %s  %s", q.ID, q.Name, thousands(int64(status.Progress.Completed)), count(int64(q.Chunks), "chunk"), a.stateText(q, time.Now()))
	}
	a.line("submit", "braid submit QUERY.yaml%s", a.upHint(url))
	a.line("stop", "Ctrl-C; queries go on at the next braid up")
	return nil
}

const mostTold = 5

// upHint are the flags with which braid submit finds this server.
func (a *app) upHint(url string) string {
	if hint := a.whereHint(); hint == "" && a.selectedContext() == "" && strings.TrimSpace(a.getenv(settings.Variable("server"))) == "" {
		return ""
	}
	return " --server " + url
}

// left tells what waits for the next braid up.
func (s *session) left(ctx context.Context) {
	a, going := s.app, s.unsettled(ctx)
	if a.progress == "quiet" {
		return
	}
	for _, status := range going {
		_ = s.survey(ctx, status) // what was noted last is told then
		a.line("kept", "query %s (%s): %s", status.Query.ID, status.Query.Name, kept(status.Progress.Completed, status.Query.Chunks, status.Progress.KeptPages))
	}
	if len(going) > 0 {
		a.line("continue", "braid up%s", a.whereHint())
	}
}

// serverHere finds the braid up of the data directory, for commands that need a server and were told of none.
func (a *app) serverHere(ctx context.Context) (*braid.Client, string) {
	h := a.readHouse()
	if h.URL == "" {
		return nil, ""
	}
	client, err := braid.NewSocketClient(a.dataDir)
	if err != nil {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, inUseWait)
	defer cancel()
	// A server that was started just now has no leader yet, and takes queries all the same.
	var notReady *braid.ServerError
	if err := client.Ready(ctx); err != nil && !errors.As(err, &notReady) {
		return nil, ""
	}
	return client, h.URL
}
