package simulator

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestServeAnswersUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := New(Config{})
	base, wait, err := s.Serve(ctx, ":0")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Errorf("base URL is %s", base)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	_, body, err := fetch(t.Context(), client, base+oneSite)
	if p := readPage(t, []byte(body)); err != nil || p.link("self") != base+oneSite {
		t.Errorf("self is %s, %v", p.link("self"), err)
	}
	cancel()
	if err := errors.Join(wait(), wait()); err != nil {
		t.Errorf("wait: %v", err)
	}
	if _, _, err := fetch(t.Context(), client, base+oneSite); err == nil {
		t.Error("still answers")
	}
}

func TestStoppingCutsAnswersUnderWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	arrived := make(chan struct{})
	tell := sync.OnceFunc(func() { close(arrived) })
	s := New(Config{Latency: time.Hour, Now: func() time.Time { tell(); return time.Now() }})
	base, wait, err := s.Serve(ctx, "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	go func() {
		_, _, err := fetch(t.Context(), client, base+oneSite)
		asked <- err
	}()
	<-arrived
	cancel()
	if err := wait(); err != nil {
		t.Errorf("wait: %v", err)
	}
	if err := <-asked; err == nil {
		t.Error("the request was answered")
	}
}

func TestServeListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.test:80"} {
		if _, _, err := New(Config{}).Serve(t.Context(), addr); !errors.Is(err, ErrNotLoopback) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, _, err := New(Config{}).Serve(t.Context(), "nonsense"); err == nil {
		t.Error("an address without port was taken")
	}
}
