package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/httpapi/feed"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// storeDesk tells how queries stand in a real store.
type storeDesk struct {
	*desk
	bus *bus.Bus
}

func (d storeDesk) Status(ctx context.Context, id string) (*messages.Status, error) {
	q, _, err := d.bus.LoadQuery(ctx, id)
	if err != nil {
		return nil, err
	}
	return &messages.Status{Query: q}, nil
}

// eventful serves the API over a store, with its feed.
func eventful(t *testing.T, b *bus.Bus) *httptest.Server {
	t.Helper()
	hub := feed.New(b, nil)
	testkit.Run(t, func(ctx context.Context) error {
		hub.Run(ctx)
		return nil
	})
	d := storeDesk{&desk{}, b}
	server := httptest.NewServer(httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d, Feed: hub}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server
}

func store(t *testing.T, b *bus.Bus, id string) {
	t.Helper()
	q := testkit.Query(id, 3)
	q.Spec = testkit.Digest("spec")
	if err := b.CreateQuery(t.Context(), q, []byte("spec")); err != nil {
		t.Fatal(err)
	}
}

func advance(t *testing.T, b *bus.Bus, id string, completed int) {
	t.Helper()
	if err := b.SaveProgress(t.Context(), &messages.Progress{V: 1, Query: id, Run: 1, Completed: completed}); err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, b *bus.Bus, id string, state messages.QueryState) {
	t.Helper()
	q, revision, err := b.LoadQuery(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	q.State = state
	if _, err := b.SaveQuery(t.Context(), q, revision); err != nil {
		t.Fatal(err)
	}
}

// sse is one client of a stream.
type sse struct {
	t        *testing.T
	response *http.Response
	lines    *bufio.Scanner
}

func follow(t *testing.T, server *httptest.Server, path, last string) *sse {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return &sse{t, response, bufio.NewScanner(response.Body)}
}

type told struct{ id, kind, data string }

// next gives the next event; the zero one at the end.
func (s *sse) next() told {
	s.t.Helper()
	var e told
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
		}
	}
	return told{}
}

// until reads until an event is of a kind and has a text.
func (s *sse) until(kind, text string) told {
	s.t.Helper()
	for {
		e := s.next()
		if e.kind == kind && strings.Contains(e.data, text) {
			return e
		}
		if e.kind == "" || e.kind == "end" {
			s.t.Fatalf("the stream ended with %+v, before a %s with %s", e, kind, text)
		}
	}
}

func TestAStreamTellsAQueryToItsEnd(t *testing.T) {
	b := testkit.Bus(t)
	server := eventful(t, b)
	store(t, b, "q1")
	s := follow(t, server, "/v1/queries/q1/events", "")
	if kind := s.response.Header.Get("Content-Type"); s.response.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("got %s %s", s.response.Status, kind)
	}
	if !s.lines.Scan() || s.lines.Text() != "retry: 2000" {
		t.Errorf("the stream begins with %q", s.lines.Text())
	}
	first := s.until("status", `"state":"running"`)
	advance(t, b, "q1", 1)
	s.until("status", `"completed":1`)
	advance(t, b, "q1", 3)
	settle(t, b, "q1", messages.Complete)
	final := s.until("status", `"state":"complete"`)
	var status messages.Status
	if err := json.Unmarshal([]byte(final.data), &status); err != nil || status.Progress.Completed != 3 {
		t.Errorf("the final status is %s, %v", final.data, err)
	}
	end := s.next()
	if end.kind != "end" || end.data != `{"id":"q1","state":"complete"}` || s.next() != (told{}) {
		t.Errorf("the last event is %+v", end)
	}
	// Who comes back is told what it has not seen.
	if again := follow(t, server, "/v1/queries/q1/events", end.id); again.response.StatusCode != 204 {
		t.Errorf("after the end: %s", again.response.Status)
	}
	if again := follow(t, server, "/v1/queries/q1/events", final.id); again.next() != end {
		t.Error("who saw the final status is not told the end")
	}
	if again := follow(t, server, "/v1/queries/q1/events?last_event_id="+end.id, ""); again.response.StatusCode != 204 {
		t.Errorf("after the end, by parameter: %s", again.response.Status)
	}
	again := follow(t, server, "/v1/queries/q1/events", first.id)
	again.until("status", `"completed":1`)
	if e := again.until("status", `"state":"complete"`); e != final {
		t.Errorf("sent again is %+v, want %+v", e, final)
	}
	// Another coordinator understands the ids.
	if other := follow(t, eventful(t, b), "/v1/queries/q1/events", end.id); other.response.StatusCode != 204 {
		t.Errorf("another coordinator: %s", other.response.Status)
	}
}

func TestTheStreamOfAllTellsEachQueryAndItsRemoval(t *testing.T) {
	b := testkit.Bus(t)
	server := eventful(t, b)
	store(t, b, "q1")
	s := follow(t, server, "/v1/events", "")
	s.until("status", `"id":"q1"`)
	store(t, b, "q2")
	mark := s.until("status", `"id":"q2"`)
	settle(t, b, "q1", messages.Failed)
	s.until("status", `"state":"failed"`)
	q, _, err := b.LoadQuery(t.Context(), "q1")
	if err != nil {
		t.Fatal(err)
	}
	one := follow(t, server, "/v1/queries/q2/events", "")
	one.until("status", "running")
	if err := b.RemoveQuery(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if e := s.until("removed", ""); e.data != `{"id":"q1"}` {
		t.Errorf("got %+v", e)
	}
	again := follow(t, server, "/v1/events", mark.id)
	again.until("status", `"state":"failed"`)
	again.until("removed", `"q1"`)
	response, body := ask(t, server, "GET", "/v1/queries/q1/events", "")
	wantProblem(t, response, body, "not-found")
	// A coordinator that was not there has the mark of the removal alone.
	other := follow(t, eventful(t, b), "/v1/events", mark.id)
	other.until("removed", `"q1"`)
}

func TestManyClientsAndOneThatDoesNotReadAllSeeTheEnd(t *testing.T) {
	b := testkit.Bus(t)
	server := eventful(t, b)
	server.Client().Transport = &http.Transport{MaxIdleConnsPerHost: 1}
	store(t, b, "q1")
	dead, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	if _, err := io.WriteString(dead, "GET /v1/queries/q1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	const clients = 100
	var reading sync.WaitGroup
	ends := make(chan told, clients)
	var started sync.WaitGroup
	for range clients {
		started.Add(1)
		reading.Go(func() {
			s := follow(t, server, "/v1/queries/q1/events", "")
			s.until("status", "running")
			started.Done()
			s.until("status", `"complete"`)
			ends <- s.next()
		})
	}
	started.Wait()
	for i := range 20 {
		advance(t, b, "q1", i)
	}
	settle(t, b, "q1", messages.Complete)
	reading.Wait()
	for range clients {
		if e := <-ends; e.kind != "end" {
			t.Fatalf("a client's last event is %+v", e)
		}
	}
}

func TestARestartOfTheStoreLosesNoFinalEvent(t *testing.T) {
	dir := t.TempDir()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	start := func() *bus.Server {
		server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Listen: address, Durability: bus.Fast})
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	nats := start()
	b := testkit.Connect(t, bus.Config{URL: nats.ClientURL()})
	server := eventful(t, b)
	store(t, b, "q1")
	s := follow(t, server, "/v1/queries/q1/events", "")
	s.until("status", "running")
	if err := nats.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the loss is noticed", func() bool { return !b.Connected() })
	nats = start()
	t.Cleanup(func() { _ = nats.Close() })
	testkit.Until(t, "the store is back", b.Connected)
	settle(t, b, "q1", messages.Cancelled)
	s.until("status", `"cancelled"`)
	if e := s.next(); e.kind != "end" {
		t.Errorf("the last event is %+v", e)
	}
}

func TestAStopEndsStreamsAtOnce(t *testing.T) {
	b := testkit.Bus(t)
	store(t, b, "q1")
	hub := feed.New(b, nil)
	d := storeDesk{&desk{}, b}
	listener, err := httpapi.Address{Addr: "127.0.0.1:0"}.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	log := slog.New(slog.DiscardHandler)
	served := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { hub.Run(ctx) })
	go func() {
		served <- httpapi.Serve(ctx, listener, httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d, Feed: hub}), log)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var texts [2]string
	var reading, first sync.WaitGroup
	for i, path := range []string{"/v1/queries/q1/events", "/v1/events"} {
		first.Add(1)
		reading.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+path, nil)
			if err != nil {
				t.Error(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Error(err)
				first.Done()
				return
			}
			defer response.Body.Close()
			reader := bufio.NewReader(response.Body)
			for line := ""; !strings.HasPrefix(line, "data: "); {
				line, _ = reader.ReadString('\n')
			}
			first.Done()
			rest, err := io.ReadAll(reader)
			if err != nil {
				t.Errorf("%s: the stream broke off: %v", path, err)
			}
			texts[i] = string(rest)
		})
	}
	first.Wait()
	begun := time.Now()
	stop()
	reading.Wait()
	if err := testkit.Receive(t, "end of Serve", served); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 5*time.Second { // half of the grace
		t.Errorf("the stop took %v", took)
	}
	running.Wait()
	for _, text := range texts {
		if !strings.HasSuffix(text, ": the server is stopping\nretry: 2000\n\n") {
			t.Errorf("a stream ends with %q", text)
		}
	}
}

func TestAHeadOfAStreamEndsAtOnce(t *testing.T) {
	b := testkit.Bus(t)
	server := eventful(t, b)
	store(t, b, "q1")
	for _, path := range []string{"/v1/events", "/v1/queries/q1/events"} {
		response, body := ask(t, server, "HEAD", path, "")
		if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" || body != "" {
			t.Errorf("%s: %s %v", path, response.Status, response.Header)
		}
	}
}

func TestWithoutAFeedThereIsNoStream(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{})
	for _, path := range []string{"/v1/events", "/v1/queries/q1/events"} {
		response, body := ask(t, server, "GET", path, "")
		wantProblem(t, response, body, contract.NotReady)
	}
}

// oneQuery is a source that shows one running query.
type oneQuery struct{}

func (oneQuery) WatchStandings(ctx context.Context, on func(string, *messages.Query, *messages.Progress, uint64), caughtUp func()) error {
	on("q1", sampleQuery(), nil, 1)
	caughtUp()
	<-ctx.Done()
	return nil
}

func TestAQuietStreamSaysThatItIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := feed.New(oneQuery{}, nil)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			hub.Run(ctx)
		}()
		d := &desk{}
		handler := httpapi.New(httpapi.Config{}, httpapi.Ports{Commands: d, Views: d, Tables: d, Feed: hub})
		asking, hangUp := context.WithTimeout(t.Context(), 61*time.Second)
		defer hangUp()
		request, err := http.NewRequestWithContext(asking, "GET", "http://localhost/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := newAnswer()
		handler.ServeHTTP(got, request)
		if n := strings.Count(got.body.String(), ": keep-alive\n\n"); n != 4 {
			t.Errorf("%d signs of life in a minute: %s", n, got.body.String())
		}
		stop()
		<-done
	})
}

func BenchmarkEventsForManyClients(b *testing.B) {
	hub := feed.New(oneQuery{}, nil)
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { hub.Run(ctx) })
	defer running.Wait()
	defer stop()
	<-hub.Ready()
	for b.Loop() {
		for range 500 {
			r := hub.Query("q1", feed.Mark{})
			events, _ := r.Take()
			for _, e := range events {
				_, _ = fmt.Fprint(io.Discard, e.ID(), len(e.Bytes()))
			}
			r.Close()
		}
	}
}
