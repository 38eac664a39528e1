package testkit

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is what a Collector has received of a span.
type Span struct {
	Trace, ID, Parent string // in hex; the parent of a root is empty
	Name              string
	Kind              string // INTERNAL, SERVER or CLIENT
	Failed            bool
	Attributes        map[string]string
	Service           string   // of the process
	Links             []string // traces of the spans that it has links to
}

// Collector is an OpenTelemetry collector: it takes spans over OTLP/HTTP, and keeps them.
type Collector struct {
	URL string

	mu      sync.Mutex // guards all below
	spans   []Span
	headers []http.Header
	raw     []byte
}

// NewCollector starts a collector, which ends with the test.
func NewCollector(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.URL = "http://" + listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		if err := c.take(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // it says that it was closed
	}()
	t.Cleanup(func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(stop); err != nil {
			t.Error(err)
		}
		<-served
	})
	return c
}

func (c *Collector) take(r *http.Request) error {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	c.raw = append(c.raw, data...)
	for _, resource := range request.GetResourceSpans() {
		service := attributesOf(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				var links []string
				for _, link := range s.GetLinks() {
					links = append(links, hex.EncodeToString(link.GetTraceId()))
				}
				c.spans = append(c.spans, Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Name: s.GetName(), Kind: s.GetKind().String()[len("SPAN_KIND_"):], Failed: s.GetStatus().GetCode() == 2,
					Attributes: attributesOf(s.GetAttributes()), Service: service, Links: links,
				})
			}
		}
	}
	return nil
}

func attributesOf(list []*common.KeyValue) map[string]string {
	attributes := map[string]string{}
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			attributes[a.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			attributes[a.GetKey()] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_BoolValue:
			attributes[a.GetKey()] = fmt.Sprint(v.BoolValue)
		case *common.AnyValue_DoubleValue:
			attributes[a.GetKey()] = fmt.Sprint(v.DoubleValue)
		}
	}
	return attributes
}

// Spans gives all that was received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers gives those of each request so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// Raw gives all bytes that were received so far, decompressed.
func (c *Collector) Raw() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.raw...)
}
