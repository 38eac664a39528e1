package braid_test

import (
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAQueryIsShownInThisProcess(t *testing.T) {
	_, base := upstream(t, simulator.Config{})
	e := open(t, base, nil)
	testkit.Run(t, e.Run)
	q := submit(t, e, daily())
	if end := settled(t, e, q.ID, 1); end.State != messages.Complete {
		t.Fatalf("it is %+v", end)
	}
	var g *messages.Grid
	testkit.Until(t, "what is stored has been read", func() bool {
		var err error
		if g, err = e.Grid(t.Context(), q.ID[:6], 0, 0, 2); err != nil {
			t.Fatal(err)
		}
		return !g.Reading
	})
	if len(g.Done) != 2 || g.Done[0]+g.Done[1] != chunks {
		t.Errorf("the grid is %+v", g)
	}
	s, err := e.Series(t.Context(), q.ID, 1)
	if err != nil || s.Requests[0] != requests || s.Median[0] == nil {
		t.Errorf("the series is %+v, %v", s, err)
	}
	var d *messages.ChunkDetail
	testkit.Until(t, "workers have told of their requests", func() bool {
		if d, err = e.Chunk(t.Context(), q.ID, "2"); err != nil {
			t.Fatal(err)
		}
		return len(d.Attempts) == pagesPerChunk
	})
	if len(d.StoredPages) != pagesPerChunk || !strings.Contains(d.URL, "USGS-01000002") {
		t.Errorf("the chunk is %+v", d)
	}
	p, err := e.Preview(t.Context(), q.ID, 4)
	if err != nil || len(p.Rows) != 4 || !p.More {
		t.Fatalf("the rows are %+v, %v", p, err)
	}
	types := map[string]string{}
	for _, column := range p.Columns {
		types[column.Name] = column.Type
	}
	if types["monitoring_location_id"] != "text" || types["value"] == "" || types["value"] == "text" {
		t.Errorf("the types are %v", types)
	}
	w, err := e.Workers(t.Context())
	if err != nil || len(w.Workers) != 2 {
		t.Errorf("the workers are %+v, %v", w, err)
	}
	v, err := e.Service(t.Context(), "usgs-waterdata")
	if err != nil || v.Title == "" || v.Slots != 2 || v.Unknown || !strings.HasPrefix(v.URL, base) {
		t.Errorf("the service is %+v, %v", v, err)
	}
	all, err := e.Services(t.Context())
	if err != nil || len(all.Services) < len((braid.Definitions{}).Names()) {
		t.Errorf("the services are %+v, %v", all, err)
	}
}
