package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

const key = "s3cret-of-the-tides"

func (s *tides) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func serve(t *testing.T, refuseAt int) (*tides, string) {
	t.Helper()
	s := &tides{key: []byte(key), refuseAt: refuseAt}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, server.URL
}

// definitions gives the definition of the example, with one try a request, so that each refusal is an interruption.
func definitions(t *testing.T) braid.Definitions {
	t.Helper()
	text, err := os.ReadFile("services/tides.yaml")
	if err != nil {
		t.Fatal(err)
	}
	once := bytes.Replace(text, []byte("attempts: 3"), []byte("attempts: 1"), 1)
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/tides.yaml", once, 0o600); err != nil {
		t.Fatal(err)
	}
	return braid.Definitions{Dir: dir}
}

// open starts everything in this process and runs it; the function that it returns ends it.
func open(t *testing.T, dir, base string, edit func(*braid.EmbeddedConfig)) (e *braid.Embedded, end func()) {
	t.Helper()
	cfg := braid.EmbeddedConfig{
		Dir: dir, FastSync: true, Workers: 1, LeaseTTL: 2 * time.Second, Grace: time.Second,
		Definitions: definitions(t), NamedAdapters: adapters(base, key), Getenv: func(string) string { return "" },
	}
	if edit != nil {
		edit(&cfg)
	}
	e, err := braid.OpenEmbedded(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	running := testkit.Run(t, e.Run)
	var once sync.Once
	end = func() {
		once.Do(func() {
			if err := running.Stop(t); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return e, end
}

func heights() *query.Spec {
	return &query.Spec{
		V: query.SpecVersion, Name: "heights", Service: "tides", Collection: "heights",
		Values: service.Values{
			"station": {"north-01", "south-05", "north-02", "north-03", "south-06", "north-04"}, "period": {"2024-01-01", "2024-01-31"},
		},
	}
}

func settled(t *testing.T, e *braid.Embedded, id string, run int) *messages.Query {
	t.Helper()
	var q *messages.Query
	testkit.Until(t, fmt.Sprintf("run %d is over", run), func() bool {
		status, err := e.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		q = status.Query
		return q.Run == run && !q.State.Active()
	})
	return q
}

func table(t *testing.T, e *braid.Embedded, id string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := e.Table(t.Context(), id, "csv", false, &out); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

const finished = `station,time,height
north-01,2024-01-01T00:00:00Z,1.10
north-02,2024-01-02T00:00:00Z,1.20
north-03,2024-01-03T00:00:00Z,1.30
north-04,2024-01-04T00:00:00Z,1.40
south-05,2024-01-05T00:00:00Z,1.50
south-06,2024-01-06T00:00:00Z,1.60
`

func TestReportsArePlannedOrderedFetchedAndShaped(t *testing.T) {
	s, base := serve(t, 0)
	e, _ := open(t, t.TempDir(), base, nil)
	q, err := e.Submit(t.Context(), heights())
	if err != nil || q.Chunks != 2 {
		t.Fatalf("%+v, %v; want a chunk for each basin", q, err)
	}
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if diff := cmp.Diff(finished, table(t, e, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	// The north with its four stations is refused, and divided into two reports of one page each.
	if n := len(s.requests()); n != undisturbed {
		t.Errorf("%d requests: %v", n, s.requests())
	}
}

const undisturbed = 1 + 2 + 2 + 2

func TestAnInterruptedReportIsGoneOnWithByAnotherProcess(t *testing.T) {
	for k := range undisturbed {
		t.Run(fmt.Sprintf("at request %d", k), func(t *testing.T) {
			t.Parallel()
			s, base := serve(t, k+1)
			dir := t.TempDir()
			e, end := open(t, dir, base, nil)
			q, err := e.Submit(t.Context(), heights())
			if err != nil {
				t.Fatal(err)
			}
			if stopped := settled(t, e, q.ID, 1); stopped.State != messages.Interrupted || !strings.Contains(stopped.Stop.Reason, "maintenance") {
				t.Fatalf("it is %s because of %+v", stopped.State, stopped.Stop)
			}
			end()
			e, _ = open(t, dir, base, nil)
			if _, err := e.Resume(t.Context(), q.ID, nil); err != nil {
				t.Fatal(err)
			}
			if resumed := settled(t, e, q.ID, 2); resumed.State != messages.Complete {
				t.Fatalf("it is %s because of %+v", resumed.State, resumed.Stop)
			}
			if diff := cmp.Diff(finished, table(t, e, q.ID)); diff != "" {
				t.Errorf("the table differs (-want +got):\n%s", diff)
			}
			if n := len(s.requests()); n != undisturbed+1 {
				t.Errorf("%d requests, want one more than %d: %v", n, undisturbed, s.requests())
			}
		})
	}
}

func TestAWrongKeyStopsTheQueryAndIsNotTold(t *testing.T) {
	s, base := serve(t, 0)
	const wrong = "not-the-key"
	e, _ := open(t, t.TempDir(), base, func(c *braid.EmbeddedConfig) { c.NamedAdapters = adapters(base, wrong) })
	q, err := e.Submit(t.Context(), heights())
	if err != nil {
		t.Fatal(err)
	}
	end := settled(t, e, q.ID, 1)
	told, err := json.Marshal(end)
	if err != nil || end.State != messages.Failed || end.Stop.Class != string(service.ClassAuth) || strings.Contains(string(told), wrong) {
		t.Errorf("it is %s, %v", told, err)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were answered", n)
	}
}

func TestACursorIsReadAsItWasWritten(t *testing.T) {
	for _, c := range []cursor{{}, {7, 1}, {1 << 40, 900}} {
		if got, err := parseCursor(c.String()); got != c || err != nil {
			t.Errorf("%v is read as %v, %v", c, got, err)
		}
	}
	for _, text := range []string{"", "7", "7/", "/1", "a/1", "7/1/1", "../1"} {
		if c, err := parseCursor(text); err == nil {
			t.Errorf("%q is read as %v", text, c)
		}
	}
}

func TestTheCommandSaysHowItIsUsed(t *testing.T) {
	for _, args := range [][]string{nil, {"nobody"}, {"worker", "more"}} {
		var told bytes.Buffer
		if code := run(context.Background(), args, func(string) string { return "" }, &told); code != 2 || !strings.HasPrefix(told.String(), "usage:") {
			t.Errorf("%v gives %d, %q", args, code, told.String())
		}
	}
}
