package fetch

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"
)

// TransportConfig tells how connections to a service are made.
type TransportConfig struct {
	Connect  time.Duration                         // longest time to have a connection; 0: no limit but the client's own
	InFlight int                                   // requests in flight at most; so many idle connections are kept for a host
	TLS      *tls.Config                           // nil: the certificates that the system trusts
	Proxy    func(*http.Request) (*url.URL, error) // nil: none
}

const (
	maxHeaderBytes = 256 << 10
	readBuffer     = 64 << 10
	// idleConnection is below the idle timeouts of common servers and balancers, so that the client closes first: a
	// request on a connection that the server is closing is lost.
	idleConnection = 30 * time.Second
)

// NewTransport makes the pool of connections that all clients of one service share. The pool never makes a request
// wait: the slots of the service are the only throttle.
func NewTransport(cfg TransportConfig) *http.Transport {
	dialer := &net.Dialer{Timeout: cfg.Connect, KeepAlive: 15 * time.Second}
	// HTTP/2 would carry all requests over one connection, which limits and stalls them together, and would send those
	// again that a server did not begin with.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        cfg.TLS,
		TLSHandshakeTimeout:    cfg.Connect,
		Proxy:                  cfg.Proxy,
		Protocols:              protocols,
		MaxIdleConnsPerHost:    max(cfg.InFlight, 1),
		IdleConnTimeout:        idleConnection,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         readBuffer,
		DisableCompression:     true, // the body is decompressed, and bounded, by this package
	}
}
