package superset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
)

// odd is a server that lets everybody in and answers a chart's request as told.
type odd struct {
	body    string
	status  int
	header  http.Header
	handler http.HandlerFunc
	counted *atomic.Int32
}

func (o odd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case loginPath:
		fmt.Fprint(w, `{"access_token": "an-access-token-of-the-odd-server", "refresh_token": "a-refresh-token-of-it"}`)
	case csrfPath:
		fmt.Fprint(w, `{"result": "the-token-against-forgery"}`)
	default:
		_, _ = io.Copy(io.Discard, r.Body)
		if o.counted != nil {
			o.counted.Add(1)
		}
		if o.handler != nil {
			o.handler(w, r)
			return
		}
		maps.Copy(w.Header(), o.header)
		if o.status != 0 {
			w.WriteHeader(o.status)
		}
		fmt.Fprint(w, o.body)
	}
}

func oddClient(t testing.TB, handler http.Handler) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c, err := New(boards(t, server.URL), Config{
		Credentials: passwords, ScratchDir: t.TempDir(), Transport: NewTransport(fetch.TransportConfig{Connect: 5 * time.Second, InFlight: 4}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// oddRequest is one of a chart with one query.
func oddRequest() load.Request {
	return load.Request{
		Dashboard: 1, Deadline: time.Minute,
		Chart: load.Chart{
			ID: 7, VizType: "table", Queries: 1, Datasource: json.RawMessage(`{"id": 1, "type": "table"}`),
			QueryContext: json.RawMessage(`{"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["a"], "filters": []}]}`),
		},
		Variation: load.Variation{Coordinate: json.RawMessage(`{"filters":[],"role":null,"time_range":null,"viewport":null}`)},
	}
}

func executeAt(t *testing.T, o odd) load.Answer {
	t.Helper()
	answer, err := oddClient(t, o).Execute(context.Background(), oddRequest(), load.Places{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestARequestWhoseConnectionDiesIsNotSentAgain(t *testing.T) {
	var counted atomic.Int32
	drop := func(w http.ResponseWriter, _ *http.Request) {
		if counted.Load() == 1 { // the first is answered, so that the second goes over a kept connection
			fmt.Fprint(w, `{"result": [{}]}`)
			return
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = connection.Close()
		}
	}
	c := oddClient(t, odd{handler: drop, counted: &counted})
	for i, want := range []load.Outcome{load.Success, load.Error} {
		a, err := c.Execute(t.Context(), oddRequest(), load.Places{})
		if err != nil || a.Outcome != want || a.Requests != 1 || want == load.Error && a.Kind != load.Transport {
			t.Errorf("request %d: %+v, %v", i, a, err)
		}
	}
	if counted.Load() != 2 {
		t.Errorf("the server saw %d requests, 2 were sent", counted.Load())
	}
}

func TestASecretThatTheServerRepeatsIsInNoField(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"result": [{"is_cached": true, "cached_dttm": null, "cache_timeout": 60, "cache_key": %q, "data": []}]}`, r.Header.Get("Authorization"))
	}
	a := executeAt(t, odd{handler: echo})
	if a.Outcome != load.Success || len(a.Queries) != 1 || a.Queries[0].State != load.Hit || string(a.Queries[0].CacheTimeout) != "60" {
		t.Fatalf("%+v", a)
	}
	if key := string(a.Queries[0].CacheKey); strings.Contains(key, "an-access-token") || !json.Valid(a.Queries[0].CacheKey) {
		t.Errorf("the key is %s", key)
	}
}

// thawed is the context of a process that has stood still beyond the deadline, in the moment in which it goes on.
type thawed struct{ context.Context } //nolint:containedctx // it is one

func (thawed) Deadline() (time.Time, bool) { return time.Now().Add(-time.Nanosecond), true }

func TestNothingIsSentBehindItsDeadline(t *testing.T) {
	var counted atomic.Int32
	c := oddClient(t, odd{counted: &counted, body: `{"result": [{}]}`})
	x := &execution{client: c, request: oddRequest()}
	who, _ := c.identityOf("")
	x.who, x.answer.Admitted = who, time.Now()
	late := thawed{t.Context()}
	if err := x.broken(t.Context(), late, x.sent(late, token{Access: "a", Generation: 1})); err != nil || x.answer.Kind != load.Deadline {
		t.Errorf("%+v, %v", x.answer, err)
	}
	if counted.Load() != 0 {
		t.Errorf("the server has counted %d requests", counted.Load())
	}
}

func TestAKeptConnectionThatWasClosedCostsNoExecution(t *testing.T) {
	// The server closes each connection right behind its answer without saying so, and every request arrives all the same, once.
	var counted atomic.Int32
	closed := make(chan struct{}, 10)
	handler := odd{counted: &counted, body: `{"result": [{}]}`}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateIdle {
			_ = c.Close()
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	c, err := New(boards(t, server.URL), Config{Credentials: passwords, ScratchDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	for range 3 {
		a, err := c.Execute(t.Context(), oddRequest(), load.Places{})
		if err != nil || a.Requests != 1 {
			t.Errorf("%+v, %v", a, err)
		}
		<-closed
	}
	if counted.Load() > 3 {
		t.Errorf("the server saw %d requests, 3 were sent", counted.Load())
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for location, kind := range map[string]string{
		other.URL + "/secret?token=hidden": load.BadBody, "/login/?next=x": load.Auth, other.URL + "/superset/login/": load.Auth, "": load.BadBody, "::": load.BadBody,
	} {
		a := executeAt(t, odd{status: 307, header: http.Header{"Location": {location}}})
		if a.Outcome != load.Error || a.Kind != kind || strings.Contains(a.Message, "token=hidden") {
			t.Errorf("%q: %s, %s", location, a.Kind, a.Message)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestALoginPageIsAuth(t *testing.T) {
	for body, kind := range map[string]string{
		`<!doctype html><form><input name=u><input class="x" type="password"></form>`: load.Auth,
		`<html><form action="/login/" method="post"></form>`:                          load.Auth,
		`<html><title>Welcome</title><p>Everything is fine`:                           load.BadBody,
		``: load.BadBody,
		`{"result": "<input type=\"password\">"}`: load.BadBody,
	} {
		if a := executeAt(t, odd{body: body}); a.Outcome != load.Error || a.Kind != kind {
			t.Errorf("%q: %s, %s", body, a.Kind, a.Message)
		}
	}
}

func TestBodiesThatCannotBeDecompressedAreBad(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"result": [{"data": [1,2,3,4,5,6,7,8]}]}`))
	_ = z.Close()
	whole := zipped.String()
	for name, c := range map[string]struct{ encoding, body, kind string }{
		"no gzip":           {"gzip", "plain text that is long enough", load.BadBody},
		"a wrong checksum":  {"gzip", whole[:len(whole)-8] + "aaaa" + whole[len(whole)-4:], load.BadBody},
		"cut short":         {"gzip", whole[:len(whole)-9], load.Transport},
		"another encoding":  {"br", "x", load.BadBody},
		"whole":             {"gzip", whole, ""},
		"empty, as of gzip": {"gzip", "", load.BadBody},
	} {
		t.Run(name, func(t *testing.T) {
			a := executeAt(t, odd{header: http.Header{"Content-Encoding": {c.encoding}, "Content-Length": {fmt.Sprint(len(c.body))}}, body: c.body})
			if a.Kind != c.kind {
				t.Errorf("%s, %s: %s", a.Outcome, a.Kind, a.Message)
			}
		})
	}
}

func TestLR_5_2_MemoryIsBoundedWhateverTheBody(t *testing.T) {
	const rows, width = 300_000, 1000 // 300 MB
	row := `{"text":"` + strings.Repeat("x", width-12) + `"}`
	big := func(w http.ResponseWriter, _ *http.Request) {
		out := bytes.NewBufferString(`{"result": [{"is_cached": null, "cached_dttm": null, "cache_timeout": 60, "rowcount": 300000, "data": [` + row)
		for range rows - 1 {
			out.WriteByte(',')
			out.WriteString(row)
			if out.Len() > 64<<10 {
				_, _ = out.WriteTo(w)
			}
		}
		out.WriteString("]}]}")
		_, _ = out.WriteTo(w)
	}
	c := oddClient(t, odd{handler: big})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	a, err := c.Execute(t.Context(), oddRequest(), load.Places{})
	runtime.ReadMemStats(&after)
	if err != nil || a.Outcome != load.Success || a.Rows != rows || a.BodyBytes < rows*(width-4) || a.DataSHA256 == "" || !a.Truncated {
		t.Fatalf("%s %s %s: %d rows, %d bytes, %v", a.Outcome, a.Kind, a.Message, a.Rows, a.BodyBytes, err)
	}
	// All that was ever allocated, garbage included, server and client together.
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
		t.Errorf("%d MiB were allocated for a body of %d MiB", allocated>>20, a.BodyBytes>>20)
	}
}

func TestAnAddressWithoutASupersetIsToldAsThat(t *testing.T) {
	c := oddClient(t, http.NotFoundHandler())
	_, err := c.LookUp(t.Context(), &load.LookUp{V: 1, Environment: "boards", Dashboard: "sales"})
	if err == nil || !strings.Contains(err.Error(), "base_url") || strings.Contains(err.Error(), "by its number") {
		t.Errorf("nothing answers logins: %v", err)
	}
}
