package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func sampleGrid() *messages.Grid {
	return &messages.Grid{V: 1, Query: "q1", Run: 1, Chunks: 3, To: 3, Width: 2, Done: []int{1, 0}, Empty: []int{0, 0}, Split: []int{0, 0}, Failed: []int{0, 1}, InFlight: []int{1, 0}}
}

func sampleChunk() messages.Chunk {
	return messages.Chunk{Position: "17.0", State: messages.ChunkDone, Rows: 3, Pages: 1, Requests: 1, Bytes: 9, Run: 1, Worker: "w1", Finished: time.Unix(5, 0).UTC()}
}

func (d *desk) Grid(_ context.Context, id string, from, to, bins int) (*messages.Grid, error) {
	d.note(fmt.Sprintf("grid %s %d %d %d", id, from, to, bins))
	return sampleGrid(), d.err
}

func (d *desk) Series(_ context.Context, id string, points int) (*messages.Series, error) {
	d.note(fmt.Sprintf("series %s %d", id, points))
	return &messages.Series{V: 1, Query: "q1", Interruptions: []*messages.Interruption{}}, d.err
}

func (d *desk) Chunks(_ context.Context, id string, state messages.ChunkState, from messages.Position, limit int) (*messages.ChunkList, error) {
	d.note(fmt.Sprintf("chunks %s %s %s %d", id, state, from, limit))
	return &messages.ChunkList{V: 1, Query: "q1", Chunks: []messages.Chunk{sampleChunk()}, Next: "18"}, d.err
}

func (d *desk) Chunk(_ context.Context, id string, at messages.Position) (*messages.ChunkDetail, error) {
	d.note(fmt.Sprintf("chunk %s %s", id, at))
	return &messages.ChunkDetail{V: 1, Query: "q1", Chunk: sampleChunk()}, d.err
}

func (d *desk) Preview(_ context.Context, id string, limit int) (*messages.Preview, error) {
	d.note(fmt.Sprintf("preview %s %d", id, limit))
	return &messages.Preview{V: 1, Query: "q1", Columns: []messages.PreviewColumn{{Name: "a", Type: "text"}}, Rows: [][]*string{{new("x")}, {nil}}}, d.err
}

func (d *desk) Services(context.Context) (*messages.ServiceList, error) {
	d.note("services")
	return &messages.ServiceList{V: 1, Services: []*messages.ServiceView{{V: 1, Name: "rivers"}}}, d.err
}

func (d *desk) Service(_ context.Context, name string) (*messages.ServiceView, error) {
	d.note("service " + name)
	return &messages.ServiceView{V: 1, Name: "rivers"}, d.err
}

func (d *desk) Workers(context.Context) (*messages.WorkerList, error) {
	d.note("workers")
	return &messages.WorkerList{V: 1, Workers: []*messages.Worker{}}, d.err
}

func TestEachLiveViewAsksItsPort(t *testing.T) {
	for path, asked := range map[string]string{
		"/v1/queries/q1/grid":                                  "grid q1 0 0 2000",
		"/v1/queries/latest/grid?from=3&to=9&bins=4096":        "grid  3 9 4096",
		"/v1/queries/q1/series":                                "series q1 240",
		"/v1/queries/q1/series?points=1000":                    "series q1 1000",
		"/v1/queries/q1/chunks":                                "chunks q1   100",
		"/v1/queries/q1/chunks?state=failed&from=17.0&limit=1": "chunks q1 failed 17.0 1",
		"/v1/queries/q1/chunks/17.0.1":                         "chunk q1 17.0.1",
		"/v1/queries/q1/rows":                                  "preview q1 50",
		"/v1/queries/q1/rows?limit=1000":                       "preview q1 1000",
		"/v1/services":                                         "services",
		"/v1/services/rivers":                                  "service rivers",
		"/v1/workers":                                          "workers",
	} {
		d := &desk{}
		response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", path, "")
		if response.StatusCode != 200 || !slices.Equal(d.asked, []string{asked}) {
			t.Errorf("%s: got %s, asked %q, want %q: %s", path, response.Status, d.asked, asked, body)
		}
	}
}

func TestLiveViewsRefuseWhatIsOutOfBounds(t *testing.T) {
	for path, field := range map[string]string{
		"grid?bins=0": "query.bins", "grid?bins=4097": "query.bins", "grid?bins=x": "query.bins", "grid?bins=99999999999999999999": "query.bins",
		"grid?from=-1": "query.from", "grid?to=-1": "query.to", "grid?from=1.5": "query.from",
		"series?points=0": "query.points", "series?points=1001": "query.points",
		"chunks?limit=0": "query.limit", "chunks?limit=1001": "query.limit", "chunks?state=" + strings.Repeat("x", 21): "query.state",
		"chunks?from=" + strings.Repeat("1", 401): "query.from", "chunks/" + strings.Repeat("1", 401): "path.position",
		"rows?limit=0": "query.limit", "rows?limit=1001": "query.limit", "rows?limit=": "query.limit", "rows?offset=1": "query.offset",
	} {
		d := &desk{}
		response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", "/v1/queries/q1/"+path, "")
		if path == "rows?limit=" && response.StatusCode == 200 {
			continue // nothing is the default
		}
		p := wantProblem(t, response, body, contract.RequestInvalid)
		if len(p.Errors) == 0 || p.Errors[0].Location != field || len(d.asked) > 0 {
			t.Errorf("%.60s: %+v, want one about %s; asked %q", path, p, field, d.asked)
		}
	}
}

func TestAParameterThatThePortRefusesIsNamed(t *testing.T) {
	for path, name := range map[string]string{"grid": "to", "series": "points", "chunks": "state", "chunks/x": "position", "rows": "limit"} {
		d := &desk{err: fmt.Errorf("query q1: %w", query.Parameterf(name, "it is 9; use 1 to 3"))}
		response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", "/v1/queries/q1/"+path, "")
		p := wantProblem(t, response, body, contract.RequestInvalid)
		want := contract.FieldError{Location: "query." + name, Message: "it is 9; use 1 to 3"}
		if name == "position" {
			want.Location = "path.position"
		}
		if len(p.Errors) != 1 || p.Errors[0] != want || !strings.Contains(p.Detail, name) {
			t.Errorf("%s: %+v", path, p)
		}
	}
}

func TestWhatCannotBeAServiceIsNotLookedFor(t *testing.T) {
	d := &desk{}
	for _, name := range []string{"ri%20vers", "..%2fx", "%00", strings.Repeat("a", 65), "a.b"} {
		response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", "/v1/services/"+name, "")
		wantProblem(t, response, body, "not-found")
	}
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}

func TestAGridThatIsThereAlreadyIsNotSentAgain(t *testing.T) {
	server := serve(t, &desk{}, httpapi.Config{})
	response, body := ask(t, server, "GET", "/v1/queries/q1/grid", "")
	etag := response.Header.Get("ETag")
	var got messages.Grid
	if err := json.Unmarshal([]byte(body), &got); err != nil || !strings.HasPrefix(etag, `W/"`) {
		t.Fatalf("%q: %v", etag, err)
	}
	if diff := cmp.Diff(*sampleGrid(), got); diff != "" {
		t.Error(diff)
	}
	for sent, want := range map[string]int{
		etag: 304, strings.TrimPrefix(etag, "W/"): 304, "*": 304, `"other", ` + etag: 304, `W/"other"`: 200, "nonsense": 200, "": 200,
	} {
		response, body := ask(t, server, "GET", "/v1/queries/q1/grid", "", func(r *http.Request) { r.Header.Set("If-None-Match", sent) })
		if response.StatusCode != want || (want == 304) != (body == "") || response.Header.Get("ETag") != etag {
			t.Errorf("If-None-Match: %s: got %s with %d bytes and the ETag %s", sent, response.Status, len(body), response.Header.Get("ETag"))
		}
	}
}

func TestLiveViewsThatAreAnsweredAreNotWorthALine(t *testing.T) {
	var told strings.Builder
	d := &desk{}
	server := serve(t, d, httpapi.Config{Log: slog.New(slog.NewTextHandler(&told, nil))})
	for _, path := range []string{"/v1/queries/q1/grid", "/v1/queries/q1/series", "/v1/queries/q1/chunks", "/v1/queries/q1/chunks/17", "/v1/queries/q1/rows", "/v1/services", "/v1/services/rivers", "/v1/workers"} {
		ask(t, server, "GET", path, "")
	}
	if told.Len() > 0 {
		t.Errorf("the log says:\n%s", told.String())
	}
	d.err = fmt.Errorf("read: %w", messages.ErrUnreachable)
	ask(t, server, "GET", "/v1/queries/q1/grid", "")
	if !strings.Contains(told.String(), "q1/grid") {
		t.Errorf("nothing of a failure in the log:\n%s", told.String())
	}
}

func TestLiveViewsAreDescribed(t *testing.T) {
	_, body := ask(t, serve(t, &desk{}, httpapi.Config{}), "GET", "/openapi.json", "")
	var d struct {
		Paths      map[string]map[string]struct{ Responses map[string]any }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/queries/{id}/grid", "/v1/queries/{id}/series", "/v1/queries/{id}/chunks", "/v1/queries/{id}/chunks/{position}", "/v1/queries/{id}/rows", "/v1/services", "/v1/services/{name}", "/v1/workers"} {
		if d.Paths[path]["get"].Responses["default"] == nil {
			t.Errorf("%s is not described with its problems", path)
		}
	}
	for _, schema := range []string{"Grid", "Series", "ChunkList", "ChunkDetail", "Preview", "ServiceList", "ServiceView", "WorkerList"} {
		if d.Components.Schemas[schema] == nil {
			t.Errorf("schema %s is missing", schema)
		}
	}
}
