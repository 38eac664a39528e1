package fetch_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const onePage = `{"items":[{"id":"a"},{"id":"b"}]}`

// collection reads the collection of a definition in testdata, with replacements in its text.
func collection(t *testing.T, name string, replace ...string) *service.Collection {
	t.Helper()
	return definition(t, name, replace...).Collections[0]
}

func definition(t *testing.T, name string, replace ...string) *service.Definition {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := service.Parse(name, []byte(strings.NewReplacer(replace...).Replace(string(data))))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// world is a set of hosts, each a TLS server on loopback, that records what they are sent.
type world struct {
	transport *http.Transport
	addresses map[string]string

	mu   sync.Mutex
	seen []*http.Request // guarded by mu
}

func newWorld(t *testing.T, hosts map[string]http.HandlerFunc) *world {
	t.Helper()
	w := &world{addresses: make(map[string]string)}
	roots := x509.NewCertPool()
	for host, handler := range hosts {
		server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.seen = append(w.seen, r)
			w.mu.Unlock()
			handler(out, r)
		}))
		t.Cleanup(server.Close)
		roots.AddCert(server.Certificate())
		w.addresses[host+":443"] = server.Listener.Addr().String()
	}
	w.transport = fetch.NewTransport(fetch.TransportConfig{InFlight: 4, TLS: &tls.Config{RootCAs: roots}})
	w.transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		actual, ok := w.addresses[address]
		if !ok {
			return nil, fmt.Errorf("the test has no host %s", address)
		}
		return new(net.Dialer).DialContext(ctx, network, actual)
	}
	t.Cleanup(w.transport.CloseIdleConnections)
	return w
}

// requests are what all hosts were sent, in order.
func (w *world) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *world) client(t *testing.T, c *service.Collection, secret string) *fetch.Client {
	t.Helper()
	return newClient(t, c, fetch.Config{Transport: w.transport, Credentials: fixed(secret)})
}

func newClient(t *testing.T, c *service.Collection, cfg fetch.Config) *fetch.Client {
	t.Helper()
	client, err := fetch.New(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func fixed(secret string) func(service.Credential) (string, bool, error) {
	return func(service.Credential) (string, bool, error) { return secret, secret != "", nil }
}

func task(t *testing.T, c *service.Collection) json.RawMessage {
	t.Helper()
	request, err := c.Request(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, request)
}

func encode(t *testing.T, request service.Request) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// local serves the open definition on plain loopback and gives a client of it with its first task.
func local(t *testing.T, handler http.HandlerFunc) (*fetch.Client, json.RawMessage) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return localAt(t, server.URL)
}

func localAt(t *testing.T, base string) (*fetch.Client, json.RawMessage) {
	t.Helper()
	d := definition(t, "open")
	if err := d.Rebase(base); err != nil {
		t.Fatal(err)
	}
	client := newClient(t, d.Collections[0], fetch.Config{})
	return client, task(t, d.Collections[0])
}

// refusal gives the *service.ResponseError that an error must be, of the class.
func refusal(t *testing.T, err error, class service.Class) *service.ResponseError {
	t.Helper()
	var refused *service.ResponseError
	if !errors.As(err, &refused) {
		t.Fatalf("got error %v, want a ResponseError of class %s", err, class)
	}
	if refused.Class != class {
		t.Fatalf("got class %s (%s), want %s", refused.Class, refused.Message, class)
	}
	return refused
}

func answer(status int, body string, header ...string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			out.Header().Set(header[i], header[i+1])
		}
		out.WriteHeader(status)
		fmt.Fprint(out, body)
	}
}
