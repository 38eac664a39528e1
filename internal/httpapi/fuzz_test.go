package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
)

// wantOrderly sends a request to the handler. Whatever it was, there is an answer, it is no failure of ours, and a refusal is a problem.
func wantOrderly(t *testing.T, handler http.Handler, request *http.Request) {
	t.Helper()
	got := newAnswer()
	handler.ServeHTTP(got, request)
	kind := got.header.Get("Content-Type")
	switch {
	case got.status >= 500:
		t.Errorf("%s %q: %d %s", request.Method, request.URL, got.status, got.body.String())
	case got.status >= 400:
		if _, err := contract.DecodeProblem(got.body.Bytes()); err != nil || kind != contract.ProblemType {
			t.Errorf("%s %q: %d with %q, %v: %s", request.Method, request.URL, got.status, kind, err, got.body.String())
		}
	}
	if len(got.body.Bytes()) > 64<<10 {
		t.Errorf("%s %q: an answer of %d bytes", request.Method, request.URL, got.body.Len())
	}
	for name, values := range got.header {
		for _, value := range append(values, name) {
			if strings.ContainsAny(value, "\r\n\x00") {
				t.Errorf("the header %q has a line's end: %q", name, value)
			}
		}
	}
}

func FuzzSubmitBody(f *testing.F) {
	for _, seed := range []string{
		validSpec, "", "{}", "[]", "null", `{"v":1,"v":1}`, `{"name":"\ud800"}`, `{"":{"":[[{}]]}}`, `{"values":{"a":["\u0000"]}}`, `{"run":{"on_quota":{"wait_up_to":"1h"}}}`,
		"\"\\", `{"a":"\u`, `{"max_rows":1e999}`, `{"wait_up_to":"1h","failed":true}`, `{"in_flight":"unbounded","priority":-11}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	handler := (&desk{}).handler(httpapi.Config{})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/v1/queries", "/v1/plan", "/v1/queries/q1/resume"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			wantOrderly(t, handler, request)
		}
	})
}

func FuzzPathAndHeaders(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "/v1/queries", "limit=1&after=x", "Idempotency-Key", "a"},
		{"POST", "/v1/queries/q1/resume", "", "Content-Type", "text/plain"},
		{"GET", "/v1/queries/../../etc/passwd", "", "Range", "bytes=0-0,-1"},
		{"DELETE", "/v1/queries/%2e%2e", "", "Origin", "null"},
		{"GET", "/v1/queries/q1/results", "format=csv&partial=true", "If-None-Match", `W/"x"`},
		{"OPTIONS", "/v1/queries/latest/events", "last_event_id=1", "Last-Event-ID", "-1"},
		{"GET", "/v1/queries/q1/results", "format=csv", "Range", "bytes=9-"},
		{"POST", "/v1/gc", "older_than=30d&dry_run=1", "Content-Length", "-1"},
		{"HEAD", "/problems/not-found", "", "Accept", "*/*;q=x"},
		{"TRACE", "//v1//queries", "%zz", "Host", "evil.example"},
		{"GET", "/readyz", "x=y", "Accept", "application/cbor"},
		{"GET", "/v1/events", "", "Accept-Encoding", "gzip"},
		{"PATCH", "/docs", "", "Sec-Fetch-Site", "cross-site"},
		{"POST", "/v1/queries", "", "Idempotency-Key", "\"\\"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	d := &desk{etag: `"x"`}
	handler := d.handler(httpapi.Config{})
	f.Fuzz(func(t *testing.T, method, path, query, name, value string) {
		if strings.HasSuffix(path, "/events") {
			return // without a feed they are not ready, as is tried elsewhere
		}
		request, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", strings.NewReader(validSpec))
		if err != nil {
			return // net/http would not have let it in either
		}
		request.URL = &url.URL{Scheme: "http", Host: "localhost", Path: path, RawQuery: query}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(name, value)
		wantOrderly(t, handler, request)
	})
}
