package fetch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

func TestAPageIsTheAnswersRowsWithItsStatusAndSize(t *testing.T) {
	var got *http.Request
	client, task := local(t, func(out http.ResponseWriter, r *http.Request) {
		got = r
		fmt.Fprint(out, onePage)
	})
	page, err := client.FetchPage(t.Context(), task, service.Walk{})
	if err != nil {
		t.Fatal(err)
	}
	want := service.Page{
		Rows: []byte("{\"id\":\"a\"}\n{\"id\":\"b\"}\n"), Count: 2, Columns: []string{"id"},
		Status: 200, Bytes: int64(len(onePage)), Metered: service.Metered{Requests: 1},
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": "braid", "Lang": "en-US", "Cookie": "", "Referer": "",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("header %s is %q, want %q", name, value, want)
		}
	}
	if got.Method != "GET" || got.URL.String() != "/things" || got.ContentLength != 0 || len(got.TransferEncoding) > 0 {
		t.Errorf("sent %s %s, length %d, transfer encoding %v; want a GET of /things without a body", got.Method, got.URL, got.ContentLength, got.TransferEncoding)
	}
}

func TestACursorIsFetchedWithTheTasksMethodHeaderAndBody(t *testing.T) {
	var sent []string
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": func(out http.ResponseWriter, r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		sent = append(sent, fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header.Get("X-Kind"), body[:n]))
		fmt.Fprint(out, `{"items":[{"id":"a"}],"next":"/v1/things?page=2"}`)
	}})
	client := w.client(t, collection(t, "keyed"), "")
	task := encode(t, service.Request{
		Method: "POST", URL: "https://example.com/v1/things", Header: map[string]string{"X-Kind": "cql"}, Body: []byte("site = 1"),
	})
	page, err := client.FetchPage(t.Context(), task, service.Walk{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.FetchPage(t.Context(), task, service.Walk{Cursor: page.Next}); err != nil {
		t.Fatal(err)
	}
	want := []string{"POST /v1/things cql site = 1", "POST /v1/things?page=2 cql site = 1"}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestATaskThatIsNoRequestIsRefusedBeforeAnythingIsSent(t *testing.T) {
	w := newWorld(t, map[string]http.HandlerFunc{"example.com": answer(200, onePage)})
	client := w.client(t, collection(t, "keyed"), "topsecret1")
	for name, c := range map[string]struct{ task, names string }{
		"nothing":          {``, "JSON"},
		"unknown field":    {`{"method":"GET","url":"https://example.com/","retries":3}`, "retries"},
		"data behind":      {`{"method":"GET","url":"https://example.com/"}{}`, "behind"},
		"method":           {`{"method":"DELETE","url":"https://example.com/"}`, "method"},
		"body of a GET":    {`{"method":"GET","url":"https://example.com/","body":"YQ=="}`, "body"},
		"relative URL":     {`{"method":"GET","url":"/v1"}`, "url"},
		"other host":       {`{"method":"GET","url":"https://evil.example/"}`, "evil.example"},
		"other scheme":     {`{"method":"GET","url":"file:///etc/passwd"}`, "scheme"},
		"host header":      {`{"method":"GET","url":"https://example.com/","header":{"Host":"evil.example"}}`, "Host"},
		"authorization":    {`{"method":"GET","url":"https://example.com/","header":{"authorization":"x"}}`, "authorization"},
		"credential":       {`{"method":"GET","url":"https://example.com/","header":{"x-api-key":"x"}}`, "credential key"},
		"permits a repeat": {`{"method":"POST","url":"https://example.com/","header":{"Idempotency-Key":"x"}}`, "Idempotency-Key"},
		"size":             {`"` + strings.Repeat("x", 1<<20) + `"`, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.FetchPage(t.Context(), json.RawMessage(c.task), service.Walk{})
			if refused := refusal(t, err, service.ClassBadRequest); !strings.Contains(refused.Message, c.names) {
				t.Errorf("message %q does not name %q", refused.Message, c.names)
			}
		})
	}
	for _, cursor := range []string{"/v1/things?page=2", "https://evil.example/things", "http://[", "ftp://example.com/"} {
		t.Run("cursor "+cursor, func(t *testing.T) {
			_, err := client.FetchPage(t.Context(), task(t, collection(t, "keyed")), service.Walk{Cursor: cursor})
			if refused := refusal(t, err, service.ClassBadLink); !errors.Is(err, service.ErrLink) {
				t.Errorf("%q does not wrap ErrLink", refused.Message)
			}
		})
	}
	if n := len(w.requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAnEndedContextGivesItsCauseAndNoClass(t *testing.T) {
	stopping := errors.New("stopping")
	for name, handler := range map[string]func(started func()) http.HandlerFunc{
		"before the answer": func(started func()) http.HandlerFunc {
			return func(_ http.ResponseWriter, r *http.Request) {
				started()
				<-r.Context().Done()
			}
		},
		"in the body": func(started func()) http.HandlerFunc {
			return func(out http.ResponseWriter, r *http.Request) {
				fmt.Fprint(out, `{"items":[`)
				out.(http.Flusher).Flush()
				started()
				<-r.Context().Done()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			client, task := local(t, handler(func() { cancel(stopping) }))
			_, err := client.FetchPage(ctx, task, service.Walk{})
			var refused *service.ResponseError
			if !errors.Is(err, stopping) || errors.As(err, &refused) {
				t.Errorf("got error %v, want the cause of the context and no ResponseError", err)
			}
		})
	}
	t.Run("before the call", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
		defer cancel()
		client, task := local(t, answer(200, onePage))
		if _, err := client.FetchPage(ctx, task, service.Walk{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want a deadline", err)
		}
	})
}

func TestConnectionsAreKeptForTheNextRequest(t *testing.T) {
	var mu sync.Mutex
	connections := make(map[string]bool)
	var status atomic.Int32
	client, task := local(t, func(out http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		out.WriteHeader(int(status.Load()))
		fmt.Fprint(out, onePage)
	})
	for _, code := range []int32{200, 503, 429, 200} {
		status.Store(code)
		_, _ = client.FetchPage(t.Context(), task, service.Walk{})
	}
	if len(connections) != 1 {
		t.Errorf("four requests one after another used %d connections, want 1", len(connections))
	}
}

func TestThePoolDoesNotMakeRequestsWait(t *testing.T) {
	const n = 12 // three times what the pool keeps
	var arrived sync.WaitGroup
	arrived.Add(n)
	client, task := local(t, func(out http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait() // returns only when all requests are in flight
		fmt.Fprint(out, onePage)
	})
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() {
			if _, err := client.FetchPage(t.Context(), task, service.Walk{}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
}

func TestAConfigThatBreaksAPromiseIsRefused(t *testing.T) {
	c := collection(t, "open")
	for name, cfg := range map[string]fetch.Config{
		"negative in flight":      {InFlight: -1},
		"unbounded decompression": {Transport: &http.Transport{}},
	} {
		if _, err := fetch.New(c, cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := fetch.New(nil, fetch.Config{}); err == nil {
		t.Error("no collection: no error")
	}
}
