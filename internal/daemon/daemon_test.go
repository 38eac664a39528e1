package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func noEnv(string) string { return "" }

func parsed(args []string, getenv func(string) string) (daemon.Common, error) {
	var c daemon.Common
	err := c.Parse(c.Flags("test", io.Discard), args, getenv)
	return c, err
}

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "braid.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSettingsComeFromFlagEnvironmentAndFile(t *testing.T) {
	path := settingsFile(t, "log_level: error\nlog_format: text\n")
	c, err := parsed([]string{"--config", path}, noEnv)
	if err != nil || c.LogLevel != "error" || c.LogFormat != "text" {
		t.Errorf("%+v, %v", c, err)
	}
	environment := map[string]string{"BRAID_CONFIG": path, "BRAID_LOG_LEVEL": "warn", "BRAID_VERSION": "1.2.3", "BRAID_HEALTHCHECK": "true"}
	c, err = parsed([]string{"--log-format=json"}, func(name string) string { return environment[name] })
	if err != nil || c.LogLevel != "warn" || c.LogFormat != "json" || c.Version || c.Healthcheck {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWrongUseIsToldAsSuch(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":    {[]string{"--surprise"}, "--surprise"},
		"a word":             {[]string{"start"}, `"start"`},
		"no file":            {[]string{"--config", filepath.Join(t.TempDir(), "none.yaml")}, "none.yaml"},
		"an unknown key":     {[]string{"--config", settingsFile(t, "log_level: info\nlog_levle: info\n")}, "braid.yaml:2"},
		"a file for a file":  {[]string{"--config", settingsFile(t, "config: other.yaml\n")}, "braid.yaml:1"},
		"a flag for a file":  {[]string{"--config", settingsFile(t, "version: true\n")}, "braid.yaml:1"},
		"a value of no kind": {[]string{"--version=perhaps"}, "--version"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(c.args, noEnv)
			if !errors.Is(err, daemon.ErrUsage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestHelpNamesEveryCommonSetting(t *testing.T) {
	var c daemon.Common
	var help bytes.Buffer
	err := c.Parse(c.Flags("test", &help), []string{"--help"}, noEnv)
	if !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("the error is %v", err)
	}
	for _, flag := range []string{"--config", "--log-level", "--log-format", "--healthcheck", "--version"} {
		if !strings.Contains(help.String(), flag) {
			t.Errorf("%s is missing", flag)
		}
	}
}

func TestTheLogIsAsItWasSet(t *testing.T) {
	for _, c := range []struct {
		level, format, want string
	}{
		{"info", "json", `"msg":"shown"`}, {"WARN", "text", "msg=shown"}, {"debug", "text", "msg=shown"}, {"error", "json", ""},
	} {
		var out bytes.Buffer
		log, err := (&daemon.Common{LogLevel: c.level, LogFormat: c.format}).Logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Log(t.Context(), slog.LevelWarn, "shown")
		if got := out.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s and %s write %q", c.level, c.format, got)
		}
	}
	for _, c := range []daemon.Common{{LogLevel: "loud", LogFormat: "json"}, {LogLevel: "", LogFormat: "json"}, {LogLevel: "info", LogFormat: "xml"}} {
		if _, err := c.Logger(io.Discard); !errors.Is(err, daemon.ErrUsage) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestTheExitCodeTellsWhoIsToAct(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		said string
	}{
		"well":         {nil, daemon.ExitOK, ""},
		"help":         {pflag.ErrHelp, daemon.ExitOK, ""},
		"wrong use":    {daemon.ErrUsage, daemon.ExitUsage, "error    wrong use\n"},
		"a wrong file": {strictyaml.Errors{{File: "a", Line: 1, Message: "b"}, {File: "a", Line: 2, Message: "c"}}, daemon.ExitUsage, "error    a:1: b\n         a:2: c\n"},
		"anything":     {io.ErrUnexpectedEOF, daemon.ExitError, "error    unexpected EOF\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			if code := daemon.Exit(c.err, &stderr); code != c.code || stderr.String() != c.said {
				t.Errorf("%d with %q", code, &stderr)
			}
		})
	}
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestADaemonTellsHowItIsUntilItIsStopped(t *testing.T) {
	address := freeAddress(t)
	var sick atomic.Pointer[error]
	check := func(context.Context) error {
		if err := sick.Load(); err != nil {
			return *err
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- daemon.Health(ctx, address, check, nil) }()
	for err := daemon.Ask(t.Context(), address); err != nil; err = daemon.Ask(t.Context(), address) {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default: // not listening yet
		}
	}
	away := fmt.Errorf("look: %w", &daemon.Shown{Err: errors.New("no leader")})
	sick.Store(&away)
	if err := daemon.Ask(t.Context(), address); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("without NATS it says %v", err)
	}
	if answer, err := http.Get("http://" + address + "/healthz"); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("a daemon without NATS lives, and says %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	odd := io.ErrClosedPipe
	sick.Store(&odd)
	if err := daemon.Ask(t.Context(), address); err == nil || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), "pipe") {
		t.Errorf("a sick daemon says %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := daemon.Ask(t.Context(), address); err == nil {
		t.Error("a stopped daemon answers")
	}
}

func TestHealthWithoutAnAddressWaitsForTheEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := daemon.Health(ctx, "", nil, nil); err != nil {
		t.Error(err)
	}
}

func TestAnAddressThatIsTakenIsTold(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := daemon.Health(t.Context(), listener.Addr().String(), nil, nil); err == nil || !strings.Contains(err.Error(), "another address") {
		t.Errorf("the error is %v", err)
	}
}

// A daemon that listens everywhere is asked on loopback.
func TestAskReachesWhoeverListensEverywhere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "", "0.0.0.0", "[::]"} {
		if err := daemon.Ask(t.Context(), host+":"+port); err != nil {
			t.Errorf("%q: %v", host, err)
		}
	}
	for _, address := range []string{"", "8081", "localhost"} {
		if err := daemon.Ask(t.Context(), address); !errors.Is(err, daemon.ErrUsage) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := daemon.Ask(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "--health") || !strings.Contains(err.Error(), "BRAID_HEALTH") {
		t.Errorf("without an address: %v", err)
	}
}

func TestTheFirstPartThatFailsStopsTheOthers(t *testing.T) {
	stopped := false
	err := daemon.Together(t.Context(),
		func(ctx context.Context) error { <-ctx.Done(); stopped = true; return nil },
		func(context.Context) error { return io.ErrClosedPipe },
	)
	if !errors.Is(err, io.ErrClosedPipe) || !stopped {
		t.Errorf("stopped %t, %v", stopped, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := daemon.Together(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
		t.Error(err)
	}
}

func TestAStopIsTold(t *testing.T) {
	var told strings.Builder
	ctx, stop := context.WithCancel(t.Context())
	err := daemon.Told(ctx, slog.New(slog.NewTextHandler(&told, nil)), func(ctx context.Context) error {
		stop()
		<-ctx.Done()
		return nil
	})
	stopping, stopped := strings.Index(told.String(), "stopping"), strings.Index(told.String(), "msg=stopped")
	if err != nil || stopping < 0 || stopped < stopping {
		t.Errorf("%v; the log says:\n%s", err, told.String())
	}
}

func TestTheLogHasNoSecret(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		var out strings.Builder
		c := daemon.Common{LogLevel: "info", LogFormat: format}
		log, err := c.Logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log.Warn("connect", "error", errors.New("dial nats://braid:hunter2@nats:4222"), "token", "hunter2")
		if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), "nats:4222") {
			t.Errorf("%s", out.String())
		}
	}
}

func TestTheEndpointOfTracesIsSetOrOpenTelemetrys(t *testing.T) {
	for name, c := range map[string]struct {
		args        []string
		environment map[string]string
		want        string
	}{
		"nothing":            {nil, nil, ""},
		"a flag":             {[]string{"--otlp-endpoint=http://a:1"}, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2"}, "http://a:1"},
		"our variable":       {nil, map[string]string{"BRAID_OTLP_ENDPOINT": "http://a:1", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2"}, "http://a:1"},
		"theirs":             {nil, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2"}, "http://b:2"},
		"theirs, turned off": {nil, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2", "OTEL_SDK_DISABLED": "true"}, ""},
		"no traces":          {nil, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2", "OTEL_TRACES_EXPORTER": "none"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var common daemon.Common
			flags := common.Flags("x", io.Discard)
			if err := common.Parse(flags, c.args, func(name string) string { return c.environment[name] }); err != nil || common.Endpoint != c.want {
				t.Errorf("%q, %v; want %q", common.Endpoint, err, c.want)
			}
		})
	}
}
