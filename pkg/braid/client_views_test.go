package braid_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func sampleGrid() *messages.Grid {
	return &messages.Grid{
		V: 1, Query: "q1", Run: 2, Chunks: 9, From: 3, To: 9, Width: 3, Reading: true,
		Done: []int{1, 0}, Empty: []int{0, 1}, Split: []int{1, 0}, Failed: []int{0, 1}, InFlight: []int{1, 0},
	}
}

func sampleInterruption() *messages.Interruption {
	return &messages.Interruption{V: 1, Query: "q1", Run: 1, Position: "3", Service: "usgs", Kind: messages.QuotaExhausted, Reason: "over", Worker: "w1", At: time.Unix(5, 0).UTC()}
}

func sampleSeries() *messages.Series {
	return &messages.Series{
		V: 1, Query: "q1", Start: time.Unix(60, 0).UTC(), Step: time.Second, Chunks: []int64{1, 0}, Requests: []int64{2, 0}, Rows: []int64{3, 0}, Bytes: []int64{4, 0},
		Median: []*float64{new(1.5), nil}, P95: []*float64{new(2.5), nil}, Wait: []*float64{new(0.0), nil}, Interruptions: []*messages.Interruption{sampleInterruption()},
	}
}

func sampleChunk() messages.Chunk {
	return messages.Chunk{
		Position: "17.0", State: messages.ChunkFailed, Requests: 2, Run: 1, Worker: "w1", Started: time.Unix(3, 0).UTC(), Finished: time.Unix(5, 0).UTC(),
		SlotWait: time.Second, Upstream: time.Minute, Class: "bad_request", Message: "no such site",
	}
}

func sampleChunks() *messages.ChunkList {
	return &messages.ChunkList{V: 1, Query: "q1", Chunks: []messages.Chunk{sampleChunk()}, Next: "17.1"}
}

func sampleDetail() *messages.ChunkDetail {
	return &messages.ChunkDetail{
		V: 1, Query: "q1", Chunk: sampleChunk(), Asks: "site: a", URL: "https://example.org", Failure: &messages.Failure{Class: "bad_request", Message: "no such site"},
		Attempts:      []messages.Execution{{Position: "17.0", Attempt: "a1", Try: 1, Class: "bad_request", Status: 400, Sent: time.Unix(4, 0).UTC()}},
		StoredPages:   []messages.ChunkPage{{Walk: "a0", Rows: 3, Bytes: 9, At: time.Unix(4, 0).UTC()}},
		Interruptions: []*messages.Interruption{sampleInterruption()},
	}
}

func samplePreview() *messages.Preview {
	return &messages.Preview{
		V: 1, Query: "q1", Columns: []messages.PreviewColumn{{Name: "site", Type: "text"}, {Name: "flow", Type: "decimal", Unit: "ft3/s"}},
		Rows: [][]*string{{new("a"), new("1.50")}, {new(""), nil}}, More: true,
	}
}

func sampleService() *messages.ServiceView {
	return &messages.ServiceView{
		V: 1, Name: "rivers", Title: "Rivers", Slots: 4, LeaseTTL: time.Second, Holders: []messages.SlotHolder{{Slot: 1, Worker: "w1", Since: time.Unix(5, 0).UTC()}},
		Pools: sampleQuotas().Quotas, Queries: []messages.ServiceQuery{{ID: "q1", Name: "flows", State: messages.Running}},
		Gate: &messages.Gate{V: 1, Service: "rivers", Until: time.Unix(9, 0).UTC(), Status: 429, Reason: "over", Worker: "w1", At: time.Unix(5, 0).UTC()},
	}
}

func sampleWorkers() *messages.WorkerList {
	return &messages.WorkerList{V: 1, Now: time.Unix(9, 0).UTC(), Workers: []*messages.Worker{{V: 1, ID: "w1", Host: "alpha", Version: "v1", Concurrency: 4, Running: 1}}}
}

func (d *desk) Grid(_ context.Context, id string, from, to, bins int) (*messages.Grid, error) {
	d.note("grid %s %d %d %d", id, from, to, bins)
	return sampleGrid(), d.err
}

func (d *desk) Series(_ context.Context, id string, points int) (*messages.Series, error) {
	d.note("series %s %d", id, points)
	return sampleSeries(), d.err
}

func (d *desk) Chunks(_ context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error) {
	d.note("chunks %s %s %s %d", id, state, from, limit)
	return sampleChunks(), d.err
}

func (d *desk) Chunk(_ context.Context, id string, at messages.Position) (*messages.ChunkDetail, error) {
	d.note("chunk %s %s", id, at)
	return sampleDetail(), d.err
}

func (d *desk) Preview(_ context.Context, id string, limit int) (*messages.Preview, error) {
	d.note("preview %s %d", id, limit)
	return samplePreview(), d.err
}

func (d *desk) Services(context.Context) (*messages.ServiceList, error) {
	d.note("services")
	return &messages.ServiceList{V: 1, Services: []*messages.ServiceView{sampleService()}}, d.err
}

func (d *desk) Service(_ context.Context, name string) (*messages.ServiceView, error) {
	d.note("service %s", name)
	return sampleService(), d.err
}

func (d *desk) Workers(context.Context) (*messages.WorkerList, error) {
	d.note("workers")
	return sampleWorkers(), d.err
}

func TestWhatCannotBeAPositionOrServiceIsNotSent(t *testing.T) {
	d := &desk{}
	client := d.served(t)
	for _, at := range []messages.Position{"", "../x", "01", "1/2", "1?x", messages.Position(strings.Repeat("1.", 40))} {
		if _, err := client.Chunk(t.Context(), "q1", at); !errors.Is(err, query.ErrInvalid) {
			t.Errorf("position %q: %v", at, err)
		}
	}
	for _, name := range []string{"", "../x", "a/b", "a?b"} {
		if _, err := client.Service(t.Context(), name); !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("service %q: %v", name, err)
		}
	}
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}

func TestBoundsOfViewsComeThroughAsTheServerSaysThem(t *testing.T) {
	d := &desk{}
	client := d.served(t)
	if _, err := client.Grid(t.Context(), "q1", 0, 0, 5000); !errors.Is(err, query.ErrInvalid) || !strings.Contains(err.Error(), "bins") {
		t.Errorf("too many bins: %v", err)
	}
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}
