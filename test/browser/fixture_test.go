//go:build unix

package browser

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/dashboard"
	"github.com/braidhq/braid/pkg/messages"
)

// fixture is a server that has the dashboard, and answers with what a test gives it.
type fixture struct {
	t   *testing.T
	url string

	disconnect func() // ends what every client has open

	mu       sync.Mutex // guards all below
	statuses []*messages.Status
	grid     func(from, to, bins int) *messages.Grid
	series   *messages.Series
	chunks   map[string]*messages.ChunkDetail
	list     []messages.Chunk
	preview  *messages.Preview
	failures *messages.Failures
	asked    map[string]int // requests by the last part of their path
	same     int            // requests that were told that nothing has changed
	coverage *messages.Coverage
	services *messages.ServiceList
	workers  *messages.WorkerList
	token    string // that whoever asks must have; empty: nobody needs one
	role     string
	may      []string
	posts    []string
	watchers map[chan *messages.Status]bool
	late     map[string]chan struct{} // answers that are on their way until it is closed, by path
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	if chromium == nil {
		t.Skip(errNoChromium)
	}
	t.Parallel() // most of a test is waiting
	f := &fixture{t: t, asked: map[string]int{}, chunks: map[string]*messages.ChunkDetail{}, watchers: map[chan *messages.Status]bool{}}
	mux := http.NewServeMux()
	mux.Handle("/", dashboard.New())
	f.route(mux)
	server := httptest.NewServer(mux)
	f.disconnect = server.CloseClientConnections
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.url = server.URL
	return f
}

func (f *fixture) route(mux *http.ServeMux) {
	answer := func(pattern string, what func(r *http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !f.admits(w, r) {
				return
			}
			data, late := f.body(r, what)
			if late != nil {
				select {
				case <-late:
				case <-r.Context().Done():
				}
			}
			if data == nil {
				refuse(w, http.StatusNotFound, "not-found", "Not found", "there is no such thing")
				return
			}
			etag := fmt.Sprintf(`W/"%08x"`, crc32.ChecksumIEEE(data))
			w.Header().Set("ETag", etag)
			w.Header().Set("Cache-Control", "no-store")
			if r.Header.Get("If-None-Match") == etag {
				f.change(func() { f.same++ })
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(data)
		})
	}
	answer("GET /v1/queries", func(*http.Request) any { return map[string]any{"queries": f.statuses} })
	answer("GET /v1/queries/{id}", func(r *http.Request) any { return orNil(f.find(r.PathValue("id"))) })
	answer("GET /v1/queries/{id}/failures", func(*http.Request) any { return orNil(f.failures) })
	answer("GET /v1/queries/{id}/grid", func(r *http.Request) any {
		if f.grid == nil || f.find(r.PathValue("id")) == nil {
			return nil
		}
		number := func(name string, otherwise int) int {
			if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
				return n
			}
			return otherwise
		}
		return f.grid(number("from", 0), number("to", f.find(r.PathValue("id")).Query.Chunks), number("bins", 2000))
	})
	answer("GET /v1/queries/{id}/series", func(*http.Request) any { return orNil(f.series) })
	answer("GET /v1/queries/{id}/chunks", func(r *http.Request) any {
		list := &messages.ChunkList{V: 1, Query: r.PathValue("id"), Chunks: []messages.Chunk{}}
		for _, c := range f.list {
			if state := r.URL.Query().Get("state"); state == "" || state == string(c.State) {
				list.Chunks = append(list.Chunks, c)
			}
		}
		return list
	})
	answer("GET /v1/queries/{id}/chunks/{position}", func(r *http.Request) any { return orNil(f.chunks[r.PathValue("position")]) })
	answer("GET /v1/queries/{id}/rows", func(*http.Request) any { return orNil(f.preview) })
	answer("GET /v1/queries/{id}/coverage", func(*http.Request) any { return orNil(f.coverage) })
	answer("GET /v1/services", func(*http.Request) any { return orNil(f.services) })
	answer("GET /v1/workers", func(*http.Request) any { return orNil(f.workers) })
	answer("GET /v1/whoami", func(*http.Request) any {
		return map[string]any{"name": "ada", "team": "rivers", "role": f.role, "permissions": f.may, "auth": f.token != ""}
	})
	answer("POST /v1/queries/{id}/{verb}", func(r *http.Request) any {
		f.posts = append(f.posts, r.PathValue("verb"))
		return f.find(r.PathValue("id")).Query
	})
	answer("POST /v1/query-file", func(*http.Request) any { return map[string]any{"spec": map[string]any{"v": 1}} })
	mux.HandleFunc("GET /v1/events", f.events)
	mux.HandleFunc("GET /v1/queries/{id}/events", f.events)
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if r.FormValue("token") != f.token {
			refuse(w, http.StatusUnauthorized, "unauthenticated", "Who asks is not known", "")
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: f.token, HttpOnly: true, SameSite: http.SameSiteStrictMode, Path: "/"})
		w.WriteHeader(http.StatusNoContent)
	})
}

// body is what a request is answered with as things stand, nil for nothing, and what holds the answer up.
func (f *fixture) body(r *http.Request, what func(*http.Request) any) ([]byte, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[path.Base(r.URL.Path)]++
	late := f.late[r.URL.Path]
	v := what(r)
	if v == nil {
		return nil, late
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is of our own types
	}
	return data, late
}

// orNil makes no answer of a nil pointer.
func orNil[T any](v *T) any {
	if v == nil {
		return nil
	}
	return v
}

func refuse(w http.ResponseWriter, status int, slug, title, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "/problems/" + slug, "title": title, "status": status, "detail": detail})
}

func (f *fixture) admits(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cookie, err := r.Cookie("session"); f.token == "" || err == nil && cookie.Value == f.token {
		return true
	}
	refuse(w, http.StatusUnauthorized, "unauthenticated", "Who asks is not known", "send a token")
	return false
}

func (f *fixture) find(id string) *messages.Status {
	for _, s := range f.statuses {
		if s.Query.ID == id {
			return s
		}
	}
	return nil
}

// events sends what stands, and then what tell tells.
func (f *fixture) events(w http.ResponseWriter, r *http.Request) {
	if !f.admits(w, r) {
		return
	}
	id := r.PathValue("id")
	news := make(chan *messages.Status, 64)
	f.mu.Lock()
	f.watchers[news] = true
	standing := append([]*messages.Status(nil), f.statuses...)
	known := id == "" || f.find(id) != nil
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.watchers, news)
	}()
	if !known {
		refuse(w, http.StatusNotFound, "not-found", "Not found", "there is no such query")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	number := 0
	send := func(s *messages.Status) {
		if id != "" && id != s.Query.ID {
			return
		}
		number++
		if s.Progress == nil { // it was removed
			fmt.Fprintf(w, "id: %d\nevent: removed\ndata: {\"id\":%q}\n\n", number, s.Query.ID)
			_ = http.NewResponseController(w).Flush()
			return
		}
		data, _ := json.Marshal(s)
		fmt.Fprintf(w, "id: %d\nevent: status\ndata: %s\n\n", number, data)
		_ = http.NewResponseController(w).Flush()
	}
	fmt.Fprint(w, "retry: 2000\n\n")
	for _, s := range standing {
		send(s)
	}
	for {
		select {
		case s := <-news:
			send(s)
		case <-r.Context().Done():
			return
		}
	}
}

// tell changes a query, and sends it to who watches.
func (f *fixture) tell(id string, change func(*messages.Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, s := range f.statuses {
		if s.Query.ID != id {
			continue
		}
		q, p := *s.Query, *s.Progress
		changed := &messages.Status{Query: &q, Progress: &p}
		change(changed)
		f.statuses[i] = changed
		for news := range f.watchers {
			news <- changed
		}
	}
}

// change changes what is answered.
func (f *fixture) change(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// counts of requests for a view so far.
func (f *fixture) count(view string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[view]
}

// remove removes a query; tells: those that watch hear of it.
func (f *fixture) remove(id string, tells bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.statuses = slices.DeleteFunc(f.statuses, func(s *messages.Status) bool { return s.Query.ID == id })
	for news := range f.watchers {
		if tells {
			news <- &messages.Status{Query: &messages.Query{ID: id}}
		}
	}
}

// newStatus is a query that runs, with a part complete.
func newStatus(id, name string, state messages.QueryState, chunks, completed int) *messages.Status {
	digest := strings.Repeat("5e", 32)
	begun := time.Now().Add(-4 * time.Minute)
	return &messages.Status{
		Query: &messages.Query{
			V: 1, ID: id, Name: name, Service: "usgs-waterdata", Collection: "daily", Definition: digest, Spec: digest, Fingerprint: digest, Chunks: chunks,
			URL: "https://api.waterdata.usgs.gov/ogcapi/v0/collections/daily/items?parameter_code=00060", State: state, Run: 1, Owner: "ada", Team: "rivers",
			Created: begun, Updated: time.Now(),
		},
		Progress: &messages.Progress{
			V: 1, Query: id, Run: 1, Completed: completed, Rows: int64(completed) * 366, Pages: int64(completed), Requests: int64(completed), Bytes: int64(completed) * 41_000,
			Quotas:  []messages.PoolLeft{{Pool: "api-data-gov", Left: 588, Limit: 1000}},
			Workers: &messages.Attendance{Present: 2}, Updated: time.Now(),
		},
	}
}
