package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

// followed is a server with one query, which each request moves on as the test says.
type followed struct {
	asked, streams atomic.Int64
	ask            func(n int64) (*messages.Status, string) // a status, or the slug of a problem
	stream         func(n int64, w http.ResponseWriter, r *http.Request)
}

func (f *followed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/events") {
		f.stream(f.streams.Add(1), w, r)
		return
	}
	status, slug := f.ask(f.asked.Add(1))
	if slug != "" {
		planted(w, slug)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(status)
}

func planted(w http.ResponseWriter, slug string) {
	kind := contract.KindNamed(slug)
	w.Header().Set("Content-Type", contract.ProblemType)
	w.WriteHeader(kind.Status)
	_ = json.NewEncoder(w).Encode(contract.NewProblem(kind, "as was planted"))
}

func followedStatus(state messages.QueryState, completed int) *messages.Status {
	at := time.Date(2026, 9, 24, 14, 0, completed, 0, time.UTC)
	digest := strings.Repeat("ab", 32)
	return &messages.Status{
		Query: &messages.Query{
			V: 1, ID: "abcd2345", Name: "flow", Service: "usgs-waterdata", Collection: "daily", Definition: digest, Spec: digest, Fingerprint: digest, URL: "https://example.org/",
			Chunks: 8, State: state, Run: 1, Created: at, Updated: at,
		},
		Progress: &messages.Progress{V: 1, Query: "abcd2345", Run: 1, Completed: completed, Updated: at},
	}
}

func event(w http.ResponseWriter, status *messages.Status) {
	data, err := json.Marshal(status)
	if err != nil {
		panic(err)
	}
	_, _ = fmt.Fprintf(w, "id: %d\nevent: status\ndata: %s\n\n", status.Progress.Completed, data)
	_ = http.NewResponseController(w).Flush()
}

// shownProgress notes what a person sees.
type shownProgress struct{ seen []string }

func (p *shownProgress) show(s *messages.Status) {
	p.seen = append(p.seen, fmt.Sprint(s.Progress.Completed))
}
func (p *shownProgress) note(text string) { p.seen = append(p.seen, text) }
func (p *shownProgress) tell(line string) { p.seen = append(p.seen, line) }
func (p *shownProgress) done()            {}

// followOf follows the query of a server. every and quiet are those of the follower.
func followOf(t *testing.T, server *followed, every, quiet time.Duration) (*shownProgress, *messages.Status, error) {
	t.Helper()
	listening := httptest.NewServer(server)
	defer listening.Close()
	client, err := braid.NewClient(listening.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	shown := new(shownProgress)
	s := &session{Coordinator: client, app: &app{server: listening.URL, stderr: io.Discard}}
	f := &follower{session: s, id: "abcd", bar: shown, every: every, quiet: quiet, away: outage{server: listening.URL, say: shown.note}}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	status, err := f.follow(ctx)
	return shown, status, err
}

func TestAServersEventsAreFollowedWithoutAskingAgain(t *testing.T) {
	server := &followed{
		ask: func(n int64) (*messages.Status, string) {
			if n == 1 {
				return followedStatus(messages.Running, 1), ""
			}
			return followedStatus(messages.Complete, 8), ""
		},
		stream: func(_ int64, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/queries/abcd2345/events" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for n := range 4 {
				event(w, followedStatus(messages.Running, n+2))
			}
			event(w, followedStatus(messages.Complete, 8))
		},
	}
	shown, status, err := followOf(t, server, time.Millisecond, time.Hour)
	if got := strings.Join(shown.seen, " "); got != "1 2 3 4 5 8" || err != nil || status.Query.State != messages.Complete {
		t.Errorf("saw %s, %v", got, err)
	}
	if asked, streams := server.asked.Load(), server.streams.Load(); asked != 2 || streams != 1 {
		t.Errorf("asked %d times, %d streams; want at the start and at the end, and one stream", asked, streams)
	}
}

func TestAQuietStreamIsNoReasonToMissAnOutage(t *testing.T) {
	server := &followed{
		ask: func(n int64) (*messages.Status, string) {
			switch {
			case n == 1:
				return followedStatus(messages.Running, 1), ""
			case n < 4:
				return nil, "store-unreachable"
			case n == 4:
				return followedStatus(messages.Running, 2), ""
			}
			return followedStatus(messages.Complete, 8), ""
		},
		stream: func(_ int64, w http.ResponseWriter, r *http.Request) { // it stays open, and tells nothing
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	}
	shown, _, err := followOf(t, server, time.Millisecond, 2*time.Millisecond)
	got := strings.Join(shown.seen, "|")
	if err != nil || strings.Count(got, "cannot reach NATS") != 1 || strings.Count(got, "answers again") != 1 || !strings.HasSuffix(got, "|2|8") {
		t.Errorf("saw %s, %v", got, err)
	}
}

func TestAServerWithoutEventsIsAskedAgainAndAgain(t *testing.T) {
	for _, slug := range []string{contract.NoRoute, contract.NotReady} {
		server := &followed{
			ask: func(n int64) (*messages.Status, string) {
				if n < 5 {
					return followedStatus(messages.Running, int(n)), ""
				}
				return followedStatus(messages.Complete, 8), ""
			},
			stream: func(_ int64, w http.ResponseWriter, _ *http.Request) { planted(w, slug) },
		}
		shown, status, err := followOf(t, server, time.Millisecond, time.Millisecond)
		if err != nil || status.Query.State != messages.Complete || shown.seen[len(shown.seen)-1] != "8" {
			t.Errorf("%s: saw %v, %v", slug, shown.seen, err)
		}
	}
}

func TestAQueryThatIsRemovedAndATokenThatIsRevokedEndTheFollowing(t *testing.T) {
	for slug, want := range map[string]int{"not-found": exitUsage, "unauthenticated": exitCredentials, "forbidden": exitCredentials} {
		server := &followed{
			ask: func(n int64) (*messages.Status, string) {
				if n == 1 {
					return followedStatus(messages.Running, 1), ""
				}
				return nil, slug
			},
			stream: func(_ int64, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "id: 9\nevent: removed\ndata: {\"id\":\"abcd2345\"}\n\n")
			},
		}
		shown, _, err := followOf(t, server, time.Hour, time.Hour)
		if code := exitCode(t.Context(), err); code != want || len(shown.seen) != 1 {
			t.Errorf("%s: exit code %d, saw %v, %v", slug, code, shown.seen, err)
		}
	}
}
