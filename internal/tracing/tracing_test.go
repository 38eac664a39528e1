package tracing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/tracing"
	"github.com/braidhq/braid/pkg/messages"
)

const secret = "Zx9-hunter2"

func tracer(t *testing.T, cfg tracing.Config) *tracing.Tracer {
	t.Helper()
	made, err := tracing.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return made
}

func byName(spans []testkit.Span) map[string]testkit.Span {
	named := map[string]testkit.Span{}
	for _, s := range spans {
		named[s.Name] = s
	}
	return named
}

func TestATraceGoesOnFromItsParent(t *testing.T) {
	c := testkit.NewCollector(t)
	one := tracer(t, tracing.Config{Endpoint: c.URL, Ratio: 1, Service: "one", Headers: map[string]string{"X-Collector-Key": "k"}})
	two := tracer(t, tracing.Config{Endpoint: c.URL + "/", Ratio: 0, Service: "two"}) // what comes from elsewhere is as its parent says
	ctx, end := one.Start(t.Context(), "first", slog.String("query", "q1"), slog.Int("n", 3), slog.Bool("b", true))
	parent := one.Parent(ctx)
	if messages.TraceID(parent) == "" {
		t.Fatalf("the parent is %q", parent)
	}
	there, endThere := two.Start(two.Join(context.Background(), parent), "second")
	_, request := two.Request(there, http.MethodGet, "https://host.example:8443/items?api_key="+secret+"&limit=5&"+secret+"#"+secret)
	request(503, nil)
	endThere(fmt.Errorf("dial nats://u:%s@h: %w", secret, errors.New("refused")))
	end(nil, slog.String("late", strings.Repeat("é", 5000)))
	if err := errors.Join(one.Close(t.Context()), two.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	spans := byName(c.Spans())
	first, second, sent := spans["first"], spans["second"], spans["GET"]
	if first.Parent != "" || second.Parent != first.ID || sent.Parent != second.ID || first.Trace == "" || second.Trace != first.Trace || sent.Trace != first.Trace {
		t.Errorf("they are no tree: %+v", c.Spans())
	}
	if first.Service != "one" || second.Service != "two" || first.Attributes["braid.query"] != "q1" || first.Attributes["braid.n"] != "3" || first.Attributes["braid.b"] != "true" {
		t.Errorf("%+v", first)
	}
	if n := len(first.Attributes["braid.late"]); n > 1024 || n < 1000 {
		t.Errorf("an attribute has %d bytes", len(first.Attributes["braid.late"]))
	}
	if sent.Kind != "CLIENT" || !sent.Failed || !second.Failed || first.Failed {
		t.Errorf("kinds and outcomes: %+v", c.Spans())
	}
	for key, want := range map[string]string{
		"http.request.method": "GET", "http.response.status_code": "503", "error.type": "503", "server.address": "host.example", "server.port": "8443",
		"url.full": "https://host.example:8443/items?api_key=REDACTED&limit=REDACTED&REDACTED",
	} {
		if sent.Attributes[key] != want {
			t.Errorf("%s is %q, want %q", key, sent.Attributes[key], want)
		}
	}
	if strings.Contains(string(c.Raw()), secret) {
		t.Error("a secret was sent to the collector")
	}
	if headers := c.Headers(); headers[0].Get("X-Collector-Key") != "k" && headers[len(headers)-1].Get("X-Collector-Key") != "k" {
		t.Errorf("%v", headers)
	}
}

func TestARequestOfAClientIsTheChildOfItsSpan(t *testing.T) {
	c := testkit.NewCollector(t)
	tr := tracer(t, tracing.Config{Endpoint: c.URL, Ratio: 1})
	_, end := tr.Serve(t.Context(), http.MethodPost, "/v1/queries", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", true)
	end("/v1/queries", 201)
	for _, odd := range []string{"", "00-x", "00-00000000000000000000000000000000-0000000000000000-01", strings.Repeat("a", 1<<20), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx: y"} {
		_, end := tr.Serve(t.Context(), http.MethodGet, "/odd", odd, true)
		end("", 404)
	}
	_, quiet := tr.Serve(t.Context(), http.MethodGet, "/unsampled", "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-00", true)
	quiet("/unsampled", 200)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans()
	if len(spans) != 6 {
		t.Fatalf("%d spans: %+v", len(spans), spans)
	}
	served := byName(spans)["POST /v1/queries"]
	if served.Trace != "0af7651916cd43dd8448eb211c80319c" || served.Parent != "b7ad6b7169203331" || served.Kind != "SERVER" || served.Attributes["http.route"] != "/v1/queries" {
		t.Errorf("%+v", served)
	}
	for _, s := range spans {
		if s.Name == "GET" && s.Parent != "" {
			t.Errorf("it has a parent that nobody sent: %+v", s)
		}
	}
}

// Whoever nobody knows decides neither that a trace is kept nor that it is not, nor which one a request is of.
func TestAClientThatNobodyKnowsDecidesNothing(t *testing.T) {
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	for _, sampled := range []string{"00", "01"} {
		for ratio, want := range map[float64]int{0: 0, 1: 1} {
			c := testkit.NewCollector(t)
			tr := tracer(t, tracing.Config{Endpoint: c.URL, Ratio: ratio})
			ctx, end := tr.Serve(t.Context(), http.MethodGet, "/v1/queries", "00-"+theirs+"-b7ad6b7169203331-"+sampled, false)
			if own := messages.TraceID(tr.Parent(ctx)); own == "" || own == theirs {
				t.Errorf("it is of the trace %q", own)
			}
			end("/v1/queries", 401)
			if err := tr.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			spans := c.Spans()
			if len(spans) != want {
				t.Errorf("sampled %s, ratio %v: %d spans, want %d", sampled, ratio, len(spans), want)
			}
			for _, s := range spans {
				if s.Trace == theirs || s.Parent != "" || len(s.Links) != 1 || s.Links[0] != theirs {
					t.Errorf("%+v", s)
				}
			}
		}
	}
}

// Methods that clients make up name no spans.
func TestMethodsAreFew(t *testing.T) {
	c := testkit.NewCollector(t)
	tr := tracer(t, tracing.Config{Endpoint: c.URL, Ratio: 1})
	for _, method := range []string{"BREW", "get", strings.Repeat("X", 1<<16), "\xff", ""} {
		_, end := tr.Serve(t.Context(), method, "/v1/queries", "", true)
		end("", 405)
		_, end = tr.Serve(t.Context(), method, "/v1/queries", "", true)
		end("/v1/queries", 405)
		_, sent := tr.Request(t.Context(), method, "http://host.example/")
		sent(405, nil)
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Spans()); n != 15 {
		t.Errorf("%d spans", n)
	}
	for _, s := range c.Spans() {
		if s.Name != "HTTP" && s.Name != "HTTP /v1/queries" || s.Attributes["http.request.method"] != "_OTHER" {
			t.Errorf("%+v", s)
		}
	}
}

// A collector that is away, or refuses, or hangs costs spans and nothing else.
func TestACollectorThatIsAwayStopsNothing(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	tr, err := tracing.New(t.Context(), tracing.Config{Endpoint: "http://" + address, Ratio: 1, OnError: func(error) { told.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	const many = 20_000 // more than wait in the queue
	for range many {
		_, end := tr.Start(t.Context(), "work")
		end(nil)
	}
	_ = tr.Close(t.Context()) // it may say that the last were not sent
	sent, dropped := tr.Spans()
	if sent != 0 || dropped < many-5000 || told.Load() == 0 {
		t.Errorf("%d sent, %d dropped of %d; told %d times", sent, dropped, many, told.Load())
	}
}

func TestWithoutAnEndpointNothingIsTraced(t *testing.T) {
	tr, err := tracing.New(t.Context(), tracing.Config{})
	if err != nil || tr != nil {
		t.Fatalf("%v, %v", tr, err)
	}
	ctx, end := tr.Start(tr.Join(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), "x")
	end(errors.New("x"))
	_, done := tr.Request(ctx, "GET", "http://x")
	done(200, nil)
	_, served := tr.Serve(ctx, "GET", "/", "", true)
	served("/", 200)
	if tr.Parent(ctx) != "" || tr.Close(ctx) != nil {
		t.Error("a nil tracer traces")
	}
}

func TestWhatIsWrongWithAConfigIsSaid(t *testing.T) {
	for name, cfg := range map[string]tracing.Config{
		"no URL":         {Endpoint: "collector"},
		"no host":        {Endpoint: "http://"},
		"another scheme": {Endpoint: "grpc://h:4317"},
		"a password":     {Endpoint: "http://u:" + secret + "@h"},
		"a query":        {Endpoint: "http://h?k=" + secret},
		"no part":        {Endpoint: "http://h", Ratio: 1.5},
		"negative":       {Endpoint: "http://h", Ratio: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tracing.New(t.Context(), cfg)
			if !errors.Is(err, tracing.ErrConfig) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}
