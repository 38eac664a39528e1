package fetch_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

func TestAFailedConnectionIsTransientUnlessItWouldFailAgain(t *testing.T) {
	tlsServer := httptest.NewUnstartedServer(answer(200, onePage))
	tlsServer.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of the client that does not trust it
	tlsServer.StartTLS()
	t.Cleanup(tlsServer.Close)
	dial := func(err error) func(context.Context, string, string) (net.Conn, error) {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: err}
		}
	}
	to := func(address string) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	for name, c := range map[string]struct {
		dial    func(context.Context, string, string) (net.Conn, error)
		class   service.Class
		message string
	}{
		"no such host":        {dial(&net.DNSError{Err: "no such host", Name: "example.com", IsNotFound: true}), service.ClassBadRequest, "no host example.com"},
		"name server is down": {dial(&net.DNSError{Err: "server misbehaving", Name: "example.com", IsTemporary: true}), service.ClassTransient, "example.com was not found: server misbehaving"},
		"name server is slow": {dial(&net.DNSError{Err: "i/o timeout", Name: "example.com", IsTimeout: true, IsNotFound: true}), service.ClassTransient, "i/o timeout"},
		"refused":             {to("127.0.0.1:1"), service.ClassTransient, "refused"},
		"bad certificate":     {to(tlsServer.Listener.Addr().String()), service.ClassBadRequest, "certificate of example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			transport := fetch.NewTransport(fetch.TransportConfig{})
			transport.DialContext = c.dial
			open := collection(t, "open")
			client := newClient(t, open, fetch.Config{Transport: transport})
			_, err := client.FetchPage(t.Context(), task(t, open), service.Walk{})
			refused := refusal(t, err, c.class)
			if !strings.Contains(refused.Message, c.message) || refused.Status != 0 || refused.Err == nil {
				t.Errorf("got status %d, message %q, cause %v; want 0, %q and a cause", refused.Status, refused.Message, refused.Err, c.message)
			}
		})
	}
}

func TestRequestsAreHTTP1EvenWhereTheServerOffersMore(t *testing.T) {
	protocol := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		protocol <- r.Proto
		fmt.Fprint(out, onePage)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trusted := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport := fetch.NewTransport(fetch.TransportConfig{TLS: &tls.Config{RootCAs: trusted}})
	d := definition(t, "open")
	if err := d.Rebase(server.URL); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, d.Collections[0], fetch.Config{Transport: transport})
	if _, err := client.FetchPage(t.Context(), task(t, d.Collections[0]), service.Walk{}); err != nil {
		t.Fatal(err)
	}
	if got := <-protocol; got != "HTTP/1.1" {
		t.Errorf("sent by %s", got)
	}
}

// pipes is a listener without sockets, so that a server fits into a bubble of fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.conns <- server
	return client, nil
}

func TestTimeoutsEndARequestAndTellWhichOfThemItWas(t *testing.T) {
	pause := func(r *http.Request, d time.Duration) {
		select {
		case <-time.After(d): // fake time
		case <-r.Context().Done():
		}
	}
	drip := func(every time.Duration, times int) http.HandlerFunc {
		return func(out http.ResponseWriter, r *http.Request) {
			fmt.Fprint(out, `{"items":[`)
			for range times {
				out.(http.Flusher).Flush()
				pause(r, every)
				fmt.Fprint(out, " ")
			}
			fmt.Fprint(out, `]}`)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc // nil: nobody accepts the connection
		key     string           // empty: no timeout
		after   time.Duration
	}{
		"no connection": {nil, "timeouts.connect", 5 * time.Second},
		"no answer":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "timeouts.stall", 10 * time.Second},
		"late answer": {func(out http.ResponseWriter, r *http.Request) {
			pause(r, 9*time.Second)
			drip(9*time.Second, 1)(out, r)
		}, "", 18 * time.Second},
		"stalled in the body":      {drip(11*time.Second, 1), "timeouts.stall", 10 * time.Second},
		"slow but within the page": {drip(9*time.Second, 3), "", 27 * time.Second},
		"slow for ever":            {drip(9*time.Second, 9), "timeouts.page", 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				server := &http.Server{Handler: c.handler}
				transport := fetch.NewTransport(fetch.TransportConfig{})
				transport.DialContext = listener.dial
				served := make(chan struct{})
				if c.handler == nil {
					close(served)
					transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
						<-ctx.Done()
						return nil, ctx.Err()
					}
				} else {
					go func() {
						defer close(served)
						_ = server.Serve(listener)
					}()
				}
				d := definition(t, "keyed")
				if err := d.Rebase("http://127.0.0.1:1"); err != nil {
					t.Fatal(err)
				}
				client := newClient(t, d.Collections[0], fetch.Config{Transport: transport})
				began := time.Now()
				_, err := client.FetchPage(t.Context(), task(t, d.Collections[0]), service.Walk{})
				took := time.Since(began)
				client.CloseIdleConnections()
				_ = server.Close()
				<-served
				if took != c.after {
					t.Errorf("the request ended after %s, want %s", took, c.after)
				}
				if c.key == "" {
					if err != nil {
						t.Errorf("got error %v", err)
					}
					return
				}
				if refused := refusal(t, err, service.ClassTransient); !strings.Contains(refused.Message, c.key) {
					t.Errorf("message %q does not name %s", refused.Message, c.key)
				}
			})
		})
	}
}
