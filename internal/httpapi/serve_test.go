package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
)

func TestOnlyLoopbackIsListenedOnWithoutPermission(t *testing.T) {
	for addr, allowed := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.0.0.2:0": true,
		":0": false, "0.0.0.0:0": false, "[::]:0": false, "192.0.2.1:0": false,
	} {
		listener, err := httpapi.Address{Addr: addr}.Listen(t.Context())
		if allowed && err != nil || !allowed && !errors.Is(err, httpapi.ErrExposed) {
			t.Errorf("%s: %v", addr, err)
		}
		if !allowed && (err == nil || !strings.Contains(err.Error(), "--allow-unauthenticated")) {
			t.Errorf("%s: the error does not tell what to do: %v", addr, err)
		}
		if listener != nil {
			_ = listener.Close()
		}
	}
	if _, err := (httpapi.Address{Addr: "7420"}).Listen(t.Context()); err == nil || errors.Is(err, httpapi.ErrExposed) {
		t.Errorf("an address without port: %v", err)
	}
}

func TestAnExplicitPermissionOpensEveryAddress(t *testing.T) {
	// The wildcard is opened and closed at once; nothing is served there.
	listener, err := httpapi.Address{Addr: ":0", AllowUnauthenticated: true}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
}

// started runs Serve and gives the base URL and what Serve returns.
func started(ctx context.Context, t *testing.T, d *desk) (string, <-chan error) {
	t.Helper()
	listener, err := httpapi.Address{Addr: "127.0.0.1:0"}.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	log := slog.New(slog.DiscardHandler)
	go func() { done <- httpapi.Serve(ctx, listener, d.handler(httpapi.Config{Log: log}), log) }()
	return "http://" + listener.Addr().String(), done
}

// heldContent is a table that is not read before goOn.
type heldContent struct {
	*strings.Reader
	begun func()
	goOn  chan struct{}
}

func (h *heldContent) Read(p []byte) (int, error) {
	h.begun()
	<-h.goOn
	return h.Reader.Read(p)
}

func TestAStopLetsRequestsUnderWayEnd(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	begun, goOn := make(chan struct{}), make(chan struct{})
	d := &desk{content: &heldContent{Reader: strings.NewReader("whole"), begun: sync.OnceFunc(func() { close(begun) }), goOn: goOn}}
	url, done := started(ctx, t, d)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := get(t, client, url+"/v1/queries/q1/results?format=csv")
		answered <- answer{text, err}
	}()
	<-begun
	stop()
	waitUntilRefused(t, strings.TrimPrefix(url, "http://"))
	select {
	case err := <-done:
		t.Fatalf("Serve returned with a request under way: %v", err)
	default:
	}
	close(goOn)
	if a := <-answered; a.err != nil || a.text != "whole" {
		t.Errorf("the request under way got %q, %v", a.text, a.err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeTellsOfAListenerThatBroke(t *testing.T) {
	listener, err := httpapi.Address{Addr: "127.0.0.1:0"}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close()
	if err := httpapi.Serve(t.Context(), listener, http.NotFoundHandler(), slog.New(slog.DiscardHandler)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func get(t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// waitUntilRefused returns once nobody accepts at the address any more.
func waitUntilRefused(t *testing.T, address string) {
	t.Helper()
	for t.Context().Err() == nil {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}
