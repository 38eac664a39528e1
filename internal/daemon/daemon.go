// Package daemon is what the daemons' main packages share: settings from flags, environment and file, the log, the exit
// code, and the health check that a container runs.
package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/braidhq/braid/internal/logging"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Exit codes of the daemons.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
)

// ErrUsage reports flags, variables or a settings file that cannot be used.
var ErrUsage = errors.New("wrong use")

// Common are the settings that every daemon has.
type Common struct {
	Config      string
	LogLevel    string
	LogFormat   string
	Endpoint    string  // of an OpenTelemetry collector; empty: nothing is traced
	TraceRatio  float64 // of the traces that begin here
	Healthcheck bool
	Version     bool
}

// Flags makes a daemon's flag set with the common settings.
func (c *Common) Flags(name string, stderr io.Writer) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.SortFlags = false
	flags.StringVar(&c.Config, "config", "", "YAML file of settings; every flag --some-name is a key some_name, and a variable BRAID_SOME_NAME")
	flags.StringVar(&c.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&c.LogFormat, "log-format", "json", "json or text")
	flags.StringVar(&c.Endpoint, "otlp-endpoint", "", "base URL of an OpenTelemetry collector for traces, such as http://127.0.0.1:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT, else nothing is traced)")
	flags.Float64Var(&c.TraceRatio, "trace-ratio", 1, "of the traces that begin here, how many are kept: 0 to 1")
	flags.BoolVar(&c.Healthcheck, "healthcheck", false, "ask the daemon that runs with these settings how it is, and exit 0 or 1")
	flags.BoolVar(&c.Version, "version", false, "print the version")
	settings.OnlyFlags(flags, "healthcheck", "version")
	return flags
}

// Parse reads settings: flags, then the environment, then the file. pflag.ErrHelp means that help was printed; other
// errors wrap ErrUsage.
func (c *Common) Parse(flags *pflag.FlagSet, args []string, getenv func(string) string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return err
		}
		return fmt.Errorf("%w: %w; see --help", ErrUsage, settings.FlagError(err))
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%w: %q is no flag; see --help", ErrUsage, flags.Arg(0))
	}
	path := c.Config
	if path == "" {
		path = getenv(settings.Variable("config"))
	}
	var file *settings.File
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%w: settings file: %w", ErrUsage, err)
		}
		if file, err = settings.ParseFile(path, data, settings.Keys(flags)); err != nil {
			return fmt.Errorf("%w: %w", ErrUsage, err)
		}
	}
	if _, err := settings.Apply(flags, getenv, file); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	c.Endpoint = Endpoint(c.Endpoint, getenv)
	return nil
}

// Endpoint is where traces are sent: as it is set, else as OpenTelemetry's own variables say.
func Endpoint(set string, getenv func(string) string) string {
	if set != "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return set
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT")
}

// Logger makes the daemon's log. The error wraps ErrUsage.
func (c *Common) Logger(stderr io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("%w: --log-level is %q; use debug, info, warn or error", ErrUsage, c.LogLevel)
	}
	log, err := logging.New(stderr, c.LogFormat, level)
	if err != nil {
		return nil, fmt.Errorf("%w: --log-format: %w", ErrUsage, err)
	}
	return log, nil
}

// Exit tells a person how the daemon ended, and gives its exit code.
func Exit(err error, stderr io.Writer) int {
	var yaml strictyaml.Errors
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return ExitOK
	case errors.Is(err, ErrUsage), errors.As(err, &yaml):
		say(stderr, err)
		return ExitUsage
	}
	say(stderr, err)
	return ExitError
}

func say(stderr io.Writer, err error) {
	fmt.Fprintf(stderr, "error    %s\n", strings.ReplaceAll(err.Error(), "\n", "\n         "))
}

// Stopped passes over the error of a start that was cut short because the daemon was told to stop.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Shown is an error whose text may be shown to whoever asks for a daemon's health.
type Shown struct{ Err error }

// Error gives the text.
func (s *Shown) Error() string { return s.Err.Error() }

// Unwrap gives the error itself.
func (s *Shown) Unwrap() error { return s.Err }

// Showing is a check whose errors may be shown: they tell of NATS and of who leads, and hold no secret.
func Showing(check func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return &Shown{Err: err}
		}
		return nil
	}
}

// Health serves at address until ctx ends: GET /healthz is 200 as long as the process answers, and GET /readyz while check gives
// nil, else 503, with the reason where the error is Shown. GET /metrics is the handler's, where there is one. An empty address serves
// nothing.
func Health(ctx context.Context, address string, check func(context.Context) error, metrics http.Handler) error {
	listener, err := ListenHealth(ctx, address)
	if err != nil {
		return err
	}
	return ServeHealth(ctx, listener, check, metrics)
}

// ListenHealth listens for ServeHealth, so that an address that is in use is known before anything else starts. An empty address is no
// listener.
func ListenHealth(ctx context.Context, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // no listener serves nothing
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for health checks: %w; choose another address", err)
	}
	return listener, nil
}

// ServeHealth is Health on a listener, which it closes. A nil one serves nothing.
func ServeHealth(ctx context.Context, listener net.Listener, check func(context.Context) error, metrics http.Handler) error {
	if listener == nil {
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n") // the asker may have gone
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := check(r.Context()); err != nil {
			why := "not ready"
			if shown, ok := errors.AsType[*Shown](err); ok { // of other errors nobody has judged whether they may be
				why += ": " + shown.Error()
			}
			http.Error(w, why, http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n") // likewise
	})
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 8 << 10}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		stopped <- server.Shutdown(last)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve health checks: %w", err)
	}
	if err := <-stopped; err != nil {
		return server.Close() // somebody asks slowly: the daemon stops all the same
	}
	return nil
}

const (
	askWait  = 4 * time.Second // longer than a daemon takes to find that NATS does not answer
	mostTold = 2 << 10
)

// Ask is the --healthcheck of a daemon that serves /readyz at address: whether it can do its work, and else why not.
func Ask(ctx context.Context, address string) error {
	return ask(ctx, address, "http", http.DefaultClient)
}

// AskTLS is Ask of a daemon that serves over TLS. It does not ask who answers, as it tells nothing that is secret and speaks to its own
// machine. certificates are shown where the daemon wants to see one.
func AskTLS(ctx context.Context, address string, certificates ...tls.Certificate) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	return ask(ctx, address, "https", &http.Client{Transport: transport})
}

func ask(ctx context.Context, address, scheme string, client *http.Client) error {
	if address == "" {
		return fmt.Errorf("%w: --healthcheck asks the daemon at its --health address, and there is none; give --health host:port (or BRAID_HEALTH) as the daemon has it", ErrUsage)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is not host:port", ErrUsage, address)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("health check: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // nothing is left to read
	if answer.StatusCode != http.StatusOK {
		// Of an answer that cannot be read the status is enough.
		why, _ := io.ReadAll(io.LimitReader(answer.Body, mostTold))
		return fmt.Errorf("health check: %s: %s", answer.Status, strings.TrimSpace(string(why)))
	}
	return nil
}

// Together runs the parts until ctx ends or one of them fails; then it stops the others and waits for them.
func Together(ctx context.Context, parts ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error { return part(ctx) })
	}
	return group.Wait()
}

// Told is Together, with a line in the log when the daemon is told to stop and one when it has.
func Told(ctx context.Context, log *slog.Logger, parts ...func(context.Context) error) error {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		log.Info("stopping: what is in hand is finished or handed back; a second signal ends the process at once")
	})
	err := Together(ctx, parts...)
	if !stop() {
		<-told
	}
	if err == nil {
		log.Info("stopped")
	}
	return err
}
