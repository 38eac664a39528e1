package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// ServeAtMost is Serve with another bound of connections.
func ServeAtMost(ctx context.Context, listener net.Listener, handler http.Handler, connections int64) error {
	return serveWithin(ctx, listener, handler, slog.New(slog.DiscardHandler), bounds{stopGrace, connections})
}
