package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/daemon"
)

// ran is how one run of the program ended.
type ran struct {
	code           int
	stdout, stderr string
}

func runWith(ctx context.Context, env map[string]string, args ...string) ran {
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, func(name string) string { return env[name] }, &stdout, &stderr)
	return ran{code, stdout.String(), stderr.String()}
}

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "braid.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// deadAddress is one where nobody listens.
func deadAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestHelpNamesEverySettingAndIsNoError(t *testing.T) {
	got := runWith(t.Context(), nil, "--help")
	if got.code != daemon.ExitOK {
		t.Errorf("it ends with %d", got.code)
	}
	for _, flag := range []string{"--nats-url", "--nats-wait", "--listen", "--health", "--lease-ttl", "--config", "--log-level", "--version", "--healthcheck"} {
		if !strings.Contains(got.stdout+got.stderr, flag) {
			t.Errorf("%s is missing", flag)
		}
	}
}

func TestTheVersionIsAllThatIsPrinted(t *testing.T) {
	got := runWith(t.Context(), map[string]string{"BRAID_VERSION": "a variable of somebody else"}, "--version")
	if name, version, _ := strings.Cut(strings.TrimSpace(got.stdout), " "); got.code != daemon.ExitOK || name != "coordinator" || version == "" || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

func TestWrongUseEndsBeforeAnythingIsTried(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"a flag":             {nil, []string{"--surprise"}, []string{"--surprise", "--help"}},
		"a word":             {nil, []string{"start"}, []string{"start", "--help"}},
		"a flag's value":     {nil, []string{"--lease-ttl=soon"}, []string{"--lease-ttl"}},
		"a variable":         {map[string]string{"BRAID_LEASE_TTL": "soon"}, nil, []string{"BRAID_LEASE_TTL", "duration"}},
		"a key of the file":  {nil, []string{"--config", settingsFile(t, "log_level: info\n\nlease_ttl: soon\n")}, []string{"braid.yaml", "lease_ttl"}},
		"an unknown key":     {nil, []string{"--config", settingsFile(t, "log_level: info\n\nnats_ulr: x\n")}, []string{"braid.yaml:3", "nats_ulr", "nats_url"}},
		"no file":            {map[string]string{"BRAID_CONFIG": "/nowhere/braid.yaml"}, nil, []string{"/nowhere/braid.yaml"}},
		"a log level":        {nil, []string{"--log-level=loud"}, []string{"--log-level", "loud", "debug"}},
		"a log format":       {nil, []string{"--log-format=xml"}, []string{"--log-format", "xml", "json"}},
		"half a certificate": {nil, []string{"--tls-cert=cert.pem"}, []string{"--tls-key"}},
		"clients without us": {nil, []string{"--tls-client-ca=ca.pem"}, []string{"--tls-cert"}},
		"an address":         {nil, []string{"--healthcheck", "--listen=nowhere"}, []string{"nowhere", "host:port"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := runWith(t.Context(), c.env, c.args...)
			if got.code != daemon.ExitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "error    ") {
				t.Errorf("%+v", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("it does not tell %q: %s", want, got.stderr)
				}
			}
		})
	}
}

func TestTheHealthCheckTellsWhetherTheDaemonIsWell(t *testing.T) {
	if got := runWith(t.Context(), nil, "--healthcheck", "--listen="+deadAddress(t)); got.code != daemon.ExitError || !strings.Contains(got.stderr, "health check") {
		t.Errorf("nobody listens: %+v", got)
	}
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	file := settingsFile(t, "listen: "+server.Listener.Addr().String()+"\n")
	if got := runWith(t.Context(), nil, "--healthcheck", "--config", file); got.code != daemon.ExitOK {
		t.Errorf("all is well: %+v", got)
	}
	status = http.StatusServiceUnavailable
	if got := runWith(t.Context(), nil, "--healthcheck", "--config", file); got.code != daemon.ExitError || !strings.Contains(got.stderr, "503") {
		t.Errorf("it is not ready: %+v", got)
	}
}

func TestWithoutNATSItSaysSoAndEnds(t *testing.T) {
	address := deadAddress(t)
	got := runWith(t.Context(), nil, "--nats-url=nats://"+address, "--nats-wait=0s", "--listen=127.0.0.1:0")
	if got.code != daemon.ExitError || !strings.Contains(got.stderr, address) || !strings.Contains(got.stderr, "NATS") {
		t.Errorf("%+v", got)
	}
}

func TestAStopEndsTheWaitForNATS(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	runWith(ctx, nil, "--nats-url=nats://"+deadAddress(t), "--nats-wait=24h", "--listen=127.0.0.1:0") // returns
}
