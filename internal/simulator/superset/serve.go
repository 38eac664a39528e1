package superset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// stopGrace is how long answers under way may take once the server was told to stop.
const stopGrace = time.Second

// ErrNotLoopback refuses to listen where other machines could reach the server.
var ErrNotLoopback = errors.New("the fake Superset listens on loopback only; use an address such as 127.0.0.1:0")

// Serve listens on addr ("127.0.0.1:8080", ":0" for any free port) and answers there until ctx ends. It returns once
// connections are accepted: the base URL of the server, without a slash at the end, and a wait that returns when the
// server and all its goroutines have ended, with nil if that was because of ctx. wait may be called more than once.
func (s *Server) Serve(ctx context.Context, addr string) (baseURL string, wait func() error, err error) {
	addr, err = loopback(addr)
	if err != nil {
		return "", nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// Latency and stalls end with ctx, so that stopping is quick.
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	stopped := make(chan error, 1)
	cancelStop := context.AfterFunc(ctx, func() { stopped <- stop(ctx, server) })
	wait = sync.OnceValue(func() error {
		err := <-served
		if cancelStop() { // it ended before anyone told it to
			return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
		}
		return <-stopped
	})
	return "http://" + listener.Addr().String(), wait, nil
}

// loopback completes addr and refuses one that is not on loopback.
func loopback(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("read address %q: %w", addr, err)
	}
	switch ip := net.ParseIP(host); {
	case host == "" || host == "localhost":
		return net.JoinHostPort("127.0.0.1", port), nil
	case ip != nil && ip.IsLoopback():
		return addr, nil
	}
	return "", fmt.Errorf("listen on %q: %w", addr, ErrNotLoopback)
}

// stop lets answers under way end, and cuts those that take too long.
func stop(ctx context.Context, server *http.Server) error {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if err != nil {
		return fmt.Errorf("stop the fake Superset: %w", err)
	}
	return nil
}
