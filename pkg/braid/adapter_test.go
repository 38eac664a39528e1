package braid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// soap is a service that only an adapter can speak to.
const soap = `
schema: service/v1
name: tides
adapter: soap
base_url: https://tides.example
collections:
  heights:
    params: {harbour: {type: text, many: comma}}
    fields: {harbour: {type: text}, height: {type: decimal}}
`

// envelope is its adapter: it takes at most two harbours at once, and counts its calls.
type envelope struct{ calls *atomic.Int32 }

func (e envelope) FetchPage(_ context.Context, data json.RawMessage, _ service.Walk) (service.Page, error) {
	e.calls.Add(1)
	task, err := service.DecodeTask(data)
	if err != nil {
		return service.Page{}, err
	}
	harbours := task.Values["harbour"]
	if len(harbours) > 2 {
		return service.Page{}, &service.ResponseError{Class: service.ClassTooLarge, Message: "too many harbours"}
	}
	var rows bytes.Buffer
	for _, harbour := range harbours {
		fmt.Fprintf(&rows, "{\"harbour\":%q,\"height\":\"3.10\"}\n", harbour)
	}
	return service.Page{Rows: rows.Bytes(), Count: len(harbours), Columns: []string{"harbour", "height"}, Status: 200}, nil
}

// Plan makes one chunk of all, and Split takes the last harbour off: no axis of the definition says so.
func (envelope) Plan(_ *service.Collection, values service.Values, _ planner.Options) (planner.Plan, error) {
	return planner.List{{Values: values}}, nil
}

func (envelope) Split(_ *service.Collection, chunk planner.Chunk, _ planner.Options) (halves [2]planner.Chunk, ok bool) {
	harbours := chunk.Values["harbour"]
	last := len(harbours) - 1
	if last < 1 {
		return halves, false
	}
	for i, some := range [][]string{harbours[:last], harbours[last:]} {
		halves[i] = planner.Chunk{Values: service.Values{"harbour": some}}
	}
	return halves, true
}

func soapAdapters(calls *atomic.Int32) map[string]braid.Adapter {
	e := envelope{calls}
	return map[string]braid.Adapter{"soap": {Fetch: e, Plan: e, Finalize: func(string) []frame.Operation {
		return []frame.Operation{{Rename: map[string]string{"height": "metres"}}}
	}}}
}

func soapFolder(t *testing.T) braid.Definitions {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "tides.yaml"), []byte(soap), 0o600); err != nil {
		t.Fatal(err)
	}
	return braid.Definitions{Dir: folder}
}

func harbours(names ...string) *query.Spec {
	return &query.Spec{
		V: query.SpecVersion, Name: "tides", Service: "tides", Collection: "heights", Values: service.Values{"harbour": names},
	}
}

func TestANamedAdapterPlansFetchesSplitsAndShapes(t *testing.T) {
	var calls atomic.Int32
	e := open(t, "", func(c *braid.EmbeddedConfig) { c.Definitions, c.NamedAdapters = soapFolder(t), soapAdapters(&calls) })
	testkit.Run(t, e.Run)
	spec := harbours("Brest", "Leith", "Cuxhaven", "Oslo")
	spec.Select = []string{"harbour", "metres"}
	summary, err := braid.Plan(braid.PlanConfig{Definitions: soapFolder(t), NamedAdapters: soapAdapters(&calls), Now: time.Now()}, spec)
	if err != nil || summary.Chunks != 1 || summary.FirstURL != "" {
		t.Errorf("planned as %+v, %v", summary, err)
	}
	q := submit(t, e, spec)
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete || end.Chunks != 1 {
		t.Fatalf("it is %s because of %+v, in %d chunks", end.State, end.Stop, end.Chunks)
	}
	want := "harbour,metres\nBrest,3.10\nLeith,3.10\nCuxhaven,3.10\nOslo,3.10\n"
	if got := csv(t, e, q.ID); strings.ReplaceAll(got, "\r\n", "\n") != want {
		t.Errorf("the table is %q, want %q", got, want)
	}
	if n := calls.Load(); n != 5 {
		t.Errorf("%d requests, want 5: four, three and one, two and one", n)
	}
}

func TestAProcessWithoutTheAdapterRefusesTheQuery(t *testing.T) {
	for name, adapters := range map[string]map[string]braid.Adapter{"it has superset": nil, "it has other": {"other": {Fetch: envelope{}}}} {
		e := open(t, "", func(c *braid.EmbeddedConfig) { c.Workers, c.Definitions, c.NamedAdapters = 0, soapFolder(t), adapters })
		_, submitErr := e.Submit(t.Context(), harbours("Brest"))
		_, planErr := e.Plan(t.Context(), harbours("Brest"))
		for _, err := range []error{submitErr, planErr} {
			if !errors.Is(err, query.ErrInvalid) || !strings.Contains(err.Error(), `"soap"`) || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want ErrInvalid with the adapter's name and that %s", err, name)
			}
		}
	}
}

func TestAWorkerWithoutTheAdapterLeavesItsItemsToOthers(t *testing.T) {
	var calls atomic.Int32
	e := open(t, "", func(c *braid.EmbeddedConfig) {
		c.Workers, c.Listen, c.Definitions, c.NamedAdapters = 0, "127.0.0.1:0", soapFolder(t), soapAdapters(&calls)
	})
	testkit.Run(t, e.Run)
	told := &lines{came: make(chan string, 100)}
	start := func(cfg braid.WorkerConfig) {
		cfg.NATS, cfg.Grace, cfg.Log = braid.NATS{URL: e.ClientURL()}, time.Second, slog.New(slog.NewTextHandler(told, nil))
		w, err := braid.OpenWorker(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		testkit.Run(t, w.Run)
	}
	start(braid.WorkerConfig{})
	q := submit(t, e, harbours("Brest", "Leith"))
	for line := ""; !strings.Contains(line, "adapter=soap"); {
		line = testkit.Receive(t, "word that the items are left to others", told.came)
	}
	if status, err := e.Status(t.Context(), q.ID); err != nil || status.Query.State != messages.Running {
		t.Errorf("it is %+v, %v", status, err)
	}
	start(braid.WorkerConfig{Adapters: map[string]service.Adapter{"soap": envelope{&calls}}}) // one that only fetches
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete || calls.Load() != 1 {
		t.Errorf("it is %s because of %+v, after %d requests", end.State, end.Stop, calls.Load())
	}
}

// lines is a log that gives its lines to a test.
type lines struct{ came chan string }

func (l *lines) Write(line []byte) (int, error) {
	select {
	case l.came <- string(line):
	default: // nobody reads so many
	}
	return len(line), nil
}

// fickle plans differently each time that it is asked.
type fickle struct{ asked *atomic.Int32 }

func (f fickle) Plan(_ *service.Collection, values service.Values, _ planner.Options) (planner.Plan, error) {
	turned := slices.Clone(values["harbour"])
	if f.asked.Add(1) > 1 {
		slices.Reverse(turned)
	}
	return planner.List{{Values: service.Values{"harbour": turned}}}, nil
}

// short says that it has more chunks than it gives.
type short struct{ planner.List }

func (short) Len() int { return 2 }

type shortPlanner struct{}

func (shortPlanner) Plan(_ *service.Collection, values service.Values, _ planner.Options) (planner.Plan, error) {
	return short{planner.List{{Values: values}}}, nil
}

type emptyPlanner struct{}

func (emptyPlanner) Plan(*service.Collection, service.Values, planner.Options) (planner.Plan, error) {
	return planner.List{}, nil
}

type brokenPlanner struct{}

func (brokenPlanner) Plan(*service.Collection, service.Values, planner.Options) (planner.Plan, error) {
	return nil, errors.New("the tide is out")
}

func TestAnAdaptersPlanIsHeldToWhatAPlanIs(t *testing.T) {
	var calls, asked atomic.Int32
	for want, plan := range map[string]planner.Planner{
		"yields 1": shortPlanner{}, "0 chunks": emptyPlanner{}, "the tide is out": brokenPlanner{},
	} {
		adapters := map[string]braid.Adapter{"soap": {Fetch: envelope{&calls}, Plan: plan}}
		e := open(t, "", func(c *braid.EmbeddedConfig) { c.Workers, c.Definitions, c.NamedAdapters = 0, soapFolder(t), adapters })
		if _, err := e.Submit(t.Context(), harbours("Brest")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	adapters := map[string]braid.Adapter{"soap": {Fetch: envelope{&calls}, Plan: fickle{&asked}}}
	e := open(t, "", func(c *braid.EmbeddedConfig) { c.Workers, c.Definitions, c.NamedAdapters = 0, soapFolder(t), adapters })
	q := submit(t, e, harbours("Brest", "Leith"))
	if err := e.Interrupt(t.Context(), q.ID, "test"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Resume(t.Context(), q.ID, nil); !errors.Is(err, query.ErrFingerprint) {
		t.Errorf("a resume by a plan that differs gave %v, want ErrFingerprint", err)
	}
}

func TestAnAdapterThatCannotFetchIsRefusedAtOnce(t *testing.T) {
	for want, adapters := range map[string]map[string]braid.Adapter{
		"has no Fetch": {"soap": {}}, "the name of an adapter": {"so ap": {Fetch: envelope{}}},
	} {
		if _, err := braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{Dir: t.TempDir(), NamedAdapters: adapters}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
