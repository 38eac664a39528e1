package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ErrExposed refuses to listen where other machines could reach an API that authenticates nobody.
var ErrExposed = errors.New("the API has no authentication and listens on loopback only")

var errStopping = errors.New("the server is stopping")

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	// stopGrace is how long requests under way may take once the server was told to stop.
	stopGrace = 10 * time.Second
)

// Address is where the API listens.
type Address struct {
	Addr string // host:port, such as 127.0.0.1:7420; port 0 is any free one
	// Authenticated tells that the API asks for tokens, and so may be reached by other machines.
	Authenticated bool
	// AllowUnauthenticated lets other machines reach the API: whoever does may run, read and remove queries. It is for
	// networks where something in front of the server authenticates.
	AllowUnauthenticated bool
	TLS                  *TLS // nil: plain HTTP
}

// Listen opens the address. The error wraps ErrExposed when other machines could reach it and that was not allowed.
func (a Address) Listen(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(a.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; write host:port, such as 127.0.0.1:7420", a.Addr, err)
	}
	exposed := fmt.Errorf("listen on %s: %w: whoever reaches this address could run, read and remove queries; "+
		"give it tokens (--tokens), use 127.0.0.1, or --allow-unauthenticated where something in front of it authenticates", a.Addr, ErrExposed)
	mayExpose := a.AllowUnauthenticated || a.Authenticated
	if ip := net.ParseIP(host); !mayExpose && (host == "" || ip != nil && !ip.IsLoopback()) {
		return nil, exposed
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", a.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address", a.Addr, err)
	}
	// A name is judged by what it turned out to be. Nobody has been answered yet.
	if tcp, ok := listener.Addr().(*net.TCPAddr); !mayExpose && (!ok || !tcp.IP.IsLoopback()) {
		return nil, errors.Join(exposed, listener.Close())
	}
	if a.TLS != nil {
		return tls.NewListener(listener, a.TLS.config()), nil
	}
	return listener, nil
}

// Serve answers on the listener, which it closes, until ctx ends. Requests under way are then given a grace period and
// cut after it; Serve returns when all of them have ended, with nil if it ended because of ctx. A nil log drops what
// there is to say.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return serveWithin(ctx, listener, handler, log, bounds{stopGrace, maxConnections})
}

// bounds of a server.
type bounds struct {
	grace       time.Duration // of requests under way when it stops
	connections int64
}

func serveWithin(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger, b bounds) error {
	base, cutOff := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cutOff(nil)
	var connections sync.WaitGroup
	var open atomic.Int64
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		// Shutdown waits for requests, Close for nothing: the states tell when each connection's goroutine has ended. New
		// ones are reported by the goroutine that accepts, which has ended before the wait begins.
		ConnState: func(connection net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				connections.Add(1)
				if open.Add(1) > b.connections {
					turnAway(connection, b.connections) // its goroutine finds it closed
				}
			case http.StateClosed, http.StateHijacked:
				open.Add(-1)
				connections.Done()
			case http.StateActive, http.StateIdle:
			}
		},
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	var broken error
	select {
	case broken = <-served:
	case <-ctx.Done():
	}
	// Requests under way may end, and those that take too long are cut.
	waiting, cancel := context.WithTimeout(base, b.grace)
	defer cancel()
	err := server.Shutdown(waiting)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests under way are cut", "after", b.grace)
		cutOff(errStopping)
		err = server.Close()
	}
	if broken == nil {
		if broken = <-served; errors.Is(broken, http.ErrServerClosed) {
			broken = nil // it was told to
		}
	}
	connections.Wait()
	switch {
	case broken != nil:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), broken)
	case err != nil:
		return fmt.Errorf("stop serving on %s: %w", listener.Addr(), err)
	}
	return nil
}
