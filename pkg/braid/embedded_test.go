package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

const (
	chunks        = 6
	pagesPerChunk = 2
	requests      = chunks * pagesPerChunk
	daysOfChunk   = 30
)

// upstream starts a simulated service whose pages hold half a chunk.
func upstream(t *testing.T, cfg simulator.Config) (*simulator.Simulator, string) {
	t.Helper()
	cfg.PageRows = daysOfChunk/2 + 1
	s := simulator.New(cfg)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	base, wait, err := s.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	return s, base
}

func daily() *query.Spec {
	sites := make([]string, chunks)
	for i := range sites {
		sites[i] = fmt.Sprintf("USGS-%08d", 1_000_000+i)
	}
	return &query.Spec{
		V: query.SpecVersion, Name: "daily", Service: "usgs-waterdata", Collection: "daily", MaxChunks: chunks,
		Values: service.Values{
			"monitoring_location_id": sites, "parameter_code": {"00060"}, "statistic_id": {"00003"}, "time": {"2024-01-01", "2024-01-30"},
		},
	}
}

// open opens everything in this process, against base.
func open(t *testing.T, base string, edit func(*braid.EmbeddedConfig)) *braid.Embedded {
	t.Helper()
	cfg := braid.EmbeddedConfig{
		Dir: t.TempDir(), FastSync: true, Workers: 2, Concurrency: 2, InFlight: 2, LeaseTTL: 2 * time.Second, Grace: time.Second,
		Definitions: braid.Definitions{Base: map[string]string{"usgs-waterdata": base + "/ogcapi/v0"}},
		Getenv:      func(string) string { return "" },
	}
	if edit != nil {
		edit(&cfg)
	}
	e, err := braid.OpenEmbedded(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func submit(t *testing.T, c braid.Coordinator, spec *query.Spec) *messages.Query {
	t.Helper()
	q, err := c.Submit(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// settled waits until a run of a query is over.
func settled(t *testing.T, c braid.Coordinator, id string, run int) *messages.Query {
	t.Helper()
	var q *messages.Query
	testkit.Until(t, fmt.Sprintf("run %d of %s is over", run, id), func() bool {
		status, err := c.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		q = status.Query
		return q.Run >= run && !q.State.Active()
	})
	return q
}

func csv(t *testing.T, c braid.Coordinator, id string) string {
	t.Helper()
	var table bytes.Buffer
	if _, err := c.Table(t.Context(), id, "csv", false, &table); err != nil {
		t.Fatal(err)
	}
	return table.String()
}

// undisturbed is the table that the query makes when nothing goes wrong.
func undisturbed(t *testing.T, base string) string {
	t.Helper()
	e := open(t, base, nil)
	testkit.Run(t, e.Run)
	q := submit(t, e, daily())
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete || end.Chunks != chunks {
		t.Fatalf("undisturbed it is %+v", end)
	}
	return csv(t, e, q.ID)
}

func TestAQueryInterruptedAtAnyRequestResumesToTheSameTable(t *testing.T) {
	s, base := upstream(t, simulator.Config{})
	want := undisturbed(t, base)
	if seen := s.Counters(); seen.OK != requests || strings.Count(want, "\n") != 1+int(seen.Rows) {
		t.Fatalf("undisturbed it took %d requests for %d rows", seen.OK, seen.Rows)
	}
	for k := range requests {
		t.Run(fmt.Sprintf("at request %d", k), func(t *testing.T) {
			t.Parallel() // most of the time goes by at a closed gate
			interruptAt(t, k, want)
		})
	}
}

// interruptAt runs the query against a service that refuses request k, resumes it and compares.
func interruptAt(t *testing.T, k int, want string) {
	// The wait that the service asks for is longer than a worker waits out with the chunk in hand.
	fault := simulator.Fault{Kind: simulator.Fault429, After: k, Times: 1, Delay: 3 * time.Second}
	s, base := upstream(t, simulator.Config{Faults: []simulator.Fault{fault}})
	e := open(t, base, nil)
	testkit.Run(t, e.Run)
	q := submit(t, e, daily())
	stopped := settled(t, e, q.ID, 1)
	if stopped.State != messages.Interrupted || stopped.Stop.Kind != string(messages.QuotaExhausted) {
		t.Fatalf("it is %s because of %+v", stopped.State, stopped.Stop)
	}
	testkit.Until(t, "the gate is open again", func() bool { return time.Now().After(stopped.Stop.Until) })
	if _, err := e.Resume(t.Context(), q.ID, nil); err != nil {
		t.Fatal(err)
	}
	if end := settled(t, e, q.ID, 2); end.State != messages.Complete {
		t.Fatalf("resumed it is %s because of %+v", end.State, end.Stop)
	}
	if got := csv(t, e, q.ID); got != want {
		t.Errorf("the table differs from the undisturbed one:\n%s", got)
	}
	seen := s.Counters()
	// The first pages of the two chunks under way, and that of a third one, whose worker may get the slot that the refused one
	// gives back a moment before the word of the gate.
	if most := int64(requests + 1 + 3*(pagesPerChunk-1)); seen.Requests > most {
		t.Errorf("it took %d requests, want at most %d: the refused one, and the first pages of chunks under way", seen.Requests, most)
	}
	if seen.MostInFlight > 2 {
		t.Errorf("%d requests were in flight, the cap is 2", seen.MostInFlight)
	}
}

func TestFaultsOfTheServiceDoNotShowInTheTable(t *testing.T) {
	s, base := upstream(t, simulator.Config{})
	want := undisturbed(t, base)
	err := s.Update(func(c *simulator.Config) {
		c.Faults = []simulator.Fault{
			{Kind: simulator.FaultResetAfter, After: 1, Times: 1},
			{Kind: simulator.FaultCutJSON, After: 2, Times: 1},
			{Kind: simulator.FaultEmptyPage, After: 3, Times: 1},
			{Kind: simulator.Fault502, After: 4, Times: 1},
			{Kind: simulator.FaultWrongCount, After: 5, Times: 1},
			{Kind: simulator.FaultTruncated, After: 6, Times: 1},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, base, nil)
	testkit.Run(t, e.Run)
	q := submit(t, e, daily())
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if got := csv(t, e, q.ID); got != want {
		t.Errorf("the table differs from the undisturbed one:\n%s", got)
	}
	if len(s.Counters().Faults) < 5 {
		t.Errorf("only %v struck", s.Counters().Faults)
	}
}

func TestAProcessThatEndedIsFollowedByOneThatResumes(t *testing.T) {
	s, base := upstream(t, simulator.Config{Latency: 50 * time.Millisecond})
	want := undisturbed(t, base)
	s.Reset()
	dir := t.TempDir()
	var id string
	t.Run("the first process", func(t *testing.T) {
		e := open(t, base, func(c *braid.EmbeddedConfig) { c.Dir = dir })
		running := testkit.Run(t, e.Run)
		id = submit(t, e, daily()).ID
		testkit.Until(t, "something has been fetched", func() bool { return s.Counters().OK > 2 })
		if err := e.Interrupt(t.Context(), id, "the user went home"); err != nil {
			t.Fatal(err)
		}
		if err := running.Stop(t); err != nil {
			t.Fatal(err)
		}
	})
	e := open(t, base, func(c *braid.EmbeddedConfig) { c.Dir = dir })
	if err := e.Park(t.Context()); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, e.Run)
	status, err := e.Status(t.Context(), id)
	if err != nil || status.Query.State != messages.Interrupted || status.Query.Stop.Reason != "the user went home" {
		t.Fatalf("%+v, %v", status, err)
	}
	survey, err := e.Survey(t.Context(), status.Query)
	if err != nil {
		t.Fatal(err)
	}
	before := s.Counters().Requests
	if _, err := e.Resume(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	if end := settled(t, e, id, 2); end.State != messages.Complete {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if got := csv(t, e, id); got != want {
		t.Errorf("the table differs from the undisturbed one:\n%s", got)
	}
	if n, most := s.Counters().Requests-before, int64(pagesPerChunk*(chunks-survey.Completed.Roots())); n > most {
		t.Errorf("the resume took %d requests, want at most the %d of chunks without a result", n, most)
	}
}

func TestADirectoryThatIsInUseIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	open(t, "http://127.0.0.1:1", func(c *braid.EmbeddedConfig) { c.Dir, c.Workers = dir, 0 })
	if _, err := braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{Dir: dir}); !errors.Is(err, bus.ErrDirInUse) {
		t.Errorf("got %v, want ErrDirInUse", err)
	}
}

func TestADefinitionsRetriesAreCountedAsItWritesThem(t *testing.T) {
	s, base := upstream(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.Fault503}}})
	text, ok := service.Builtin("usgs-waterdata")
	if !ok {
		t.Fatal("no definition")
	}
	folder := t.TempDir()
	quick := "retry: {attempts: 3, base: 1ms, cap: 1ms} # in all, the first one included\n" + string(text)
	if err := os.WriteFile(filepath.Join(folder, "usgs-waterdata.yaml"), []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, base, func(c *braid.EmbeddedConfig) { c.Definitions.Dir = folder })
	testkit.Run(t, e.Run)
	one := daily()
	one.Values["monitoring_location_id"], one.MaxChunks = one.Values["monitoring_location_id"][:1], 0
	q := submit(t, e, one)
	if end := settled(t, e, q.ID, 1); end.State != messages.Interrupted || end.Stop.Kind != string(messages.ServiceInterrupted) {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if n := s.Counters().Requests; n != 3 {
		t.Errorf("%d requests, want the 3 attempts of the definition", n)
	}
}

// tide is an adapter for a service that no definition can describe.
type tide struct{}

func (tide) FetchPage(_ context.Context, task json.RawMessage, _ service.Walk) (service.Page, error) {
	var request service.Request
	if err := json.Unmarshal(task, &request); err != nil {
		return service.Page{}, err
	}
	address, err := url.Parse(request.URL)
	if err != nil {
		return service.Page{}, err
	}
	row := fmt.Sprintf(`{"harbour":%q,"height":"3.10"}`, address.Query().Get("harbour")) + "\n"
	return service.Page{Rows: []byte(row), Count: 1, Columns: []string{"harbour", "height"}, Status: 200}, nil
}

func TestAWorkerOfAnotherProcessBringsItsOwnAdapter(t *testing.T) {
	folder := t.TempDir()
	const text = `
schema: service/v1
name: tides
base_url: https://tides.example
hosts: [{host: tides.example}]
collections:
  heights:
    request: {path: /heights}
    params: {harbour: {type: text}}
    axes: [{each: harbour}]
    rows: {format: json, at: '$[*]'}
    fields: {harbour: {type: text}, height: {type: decimal}}
`
	if err := os.WriteFile(filepath.Join(folder, "tides.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	e := open(t, "", func(c *braid.EmbeddedConfig) {
		c.Workers, c.Listen, c.Definitions = 0, "127.0.0.1:0", braid.Definitions{Dir: folder}
	})
	testkit.Run(t, e.Run)
	w, err := braid.OpenWorker(t.Context(), braid.WorkerConfig{
		NATS: braid.NATS{URL: e.ClientURL()}, Adapters: map[string]service.Adapter{"tides": tide{}}, Grace: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	if err := w.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	testkit.Run(t, w.Run)
	q := submit(t, e, &query.Spec{
		V: query.SpecVersion, Name: "tides", Service: "tides", Collection: "heights",
		Values: service.Values{"harbour": {"Brest", "Leith", "Cuxhaven"}},
	})
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if got, want := csv(t, e, q.ID), "harbour,height\nBrest,3.10\nLeith,3.10\nCuxhaven,3.10\n"; strings.ReplaceAll(got, "\r\n", "\n") != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
}

func TestASeparateCoordinatorAndWorkerDoTheSame(t *testing.T) {
	_, base := upstream(t, simulator.Config{})
	want := undisturbed(t, base)
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	nats := braid.NATS{URL: server.ClientURL()}
	c, err := braid.OpenCoordinator(t.Context(), braid.CoordinatorConfig{
		NATS: nats, LeaseTTL: 2 * time.Second, InFlight: 2,
		Definitions: braid.Definitions{Base: map[string]string{"usgs-waterdata": base + "/ogcapi/v0"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Led(t.Context()); !errors.Is(err, braid.ErrNoLeader) {
		t.Errorf("nobody leads yet, and it says %v", err)
	}
	testkit.Run(t, c.Run)
	testkit.Until(t, "it leads", func() bool { return c.Led(t.Context()) == nil })
	w, err := braid.OpenWorker(t.Context(), braid.WorkerConfig{NATS: nats, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	testkit.Run(t, w.Run)
	q := submit(t, c, daily())
	if end := settled(t, c, q.ID, 1); end.State != messages.Complete {
		t.Fatalf("it is %s because of %+v", end.State, end.Stop)
	}
	if got := csv(t, c, q.ID); got != want {
		t.Errorf("the table differs from the embedded one:\n%s", got)
	}
}

func TestNobodyAtTheAddressIsSaidSo(t *testing.T) {
	nats := braid.NATS{URL: "nats://me:s3cret@127.0.0.1:1"}
	if _, err := braid.OpenWorker(t.Context(), braid.WorkerConfig{NATS: nats}); !errors.Is(err, messages.ErrUnreachable) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a worker: %v", err)
	}
	if _, err := braid.OpenCoordinator(t.Context(), braid.CoordinatorConfig{NATS: nats}); !errors.Is(err, messages.ErrUnreachable) {
		t.Errorf("a coordinator: %v", err)
	}
}
