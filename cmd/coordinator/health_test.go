package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/daemon"
	"github.com/braidhq/braid/internal/testkit"
)

// lines is what a daemon has logged so far. It is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func statusOf(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// With tokens the API shows its metrics to readers alone; the address of health shows them to Prometheus, and nothing of the API to anybody.
func TestHealthAndMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	tokens := filepath.Join(t.TempDir(), "tokens.yaml")
	entry := fmt.Sprintf("schema: access/v1\ntokens:\n  - name: ana\n    role: reader\n    sha256: %s\n", strings.Repeat("ab", 32))
	if err := os.WriteFile(tokens, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	health := deadAddress(t)
	log, ended := new(lines), make(chan int, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	args := []string{"--nats-url", server.ClientURL(), "--listen", "127.0.0.1:0", "--health", health, "--tokens", tokens, "--log-format", "json"}
	go func() { ended <- run(ctx, args, func(string) string { return "" }, io.Discard, log) }()
	api := ""
	testkit.Until(t, "it serves", func() bool {
		if found := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(log.String()); found != nil {
			api = found[1]
		} else if len(ended) > 0 {
			t.Fatalf("it has ended: %s", log)
		}
		return api != ""
	})
	if status, _ := statusOf(t, "http://"+api+"/metrics"); status != http.StatusUnauthorized {
		t.Errorf("anybody reads the metrics beside the API: %d", status)
	}
	if status, body := statusOf(t, "http://"+health+"/metrics"); status != http.StatusOK || !strings.Contains(body, "braid_leader") {
		t.Errorf("metrics: %d %.200s", status, body)
	}
	for _, path := range []string{"/v1/queries", "/", "/docs"} {
		if status, _ := statusOf(t, "http://"+health+path); status != http.StatusNotFound {
			t.Errorf("%s at the address of health: %d", path, status)
		}
	}
	testkit.Until(t, "it is ready", func() bool {
		return runWith(t.Context(), nil, "--healthcheck", "--listen", deadAddress(t), "--health", health).code == daemon.ExitOK
	})
	stop()
	if code := testkit.Receive(t, "end", ended); code != daemon.ExitOK {
		t.Errorf("it ends with %d: %s", code, log)
	}
}

func TestAnAddressOfHealthThatIsTakenEndsIt(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	taken := strings.TrimPrefix(server.ClientURL(), "nats://")
	got := runWith(t.Context(), nil, "--nats-url", server.ClientURL(), "--listen", "127.0.0.1:0", "--health", taken)
	if got.code != daemon.ExitError || !strings.Contains(got.stderr, taken) || !strings.Contains(got.stderr, "health") {
		t.Errorf("%+v", got)
	}
}
