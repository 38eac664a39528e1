package coordinator_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// fields is a service with a column of each type, whose chunks ask for several sites and can be split.
const fields = `
schema: service/v1
name: rivers
base_url: https://rivers.example
hosts: [{host: rivers.example}]
limits: {in_flight: 4}
collections:
  daily:
    request: {path: /daily}
    params: {site: {type: text, many: comma}}
    axes: [{pack: site}]
    rows: {format: json, at: '$.data[*]'}
    fields:
      site: {type: text}
      n: {type: int64}
      flow: {type: float64, unit: m^3/s}
      level: {type: decimal}
      open: {type: bool}
      day: {type: date}
      at: {type: timestamp}
      tags: {type: list_text}
      more: {type: json}
      shape: {type: geometry}
      'x_*': {type: int64}
    key: [site, n]
    on_duplicate: {newest: at}
    finalize: [{sort: [flow]}]
`

// rowsAt makes the rows of a site: they depend on it alone, as those of a service do, and some of them come twice.
func rowsAt(site int) []string {
	var rows []string
	for i := range site % 4 {
		row := fmt.Sprintf(`{"site":"s%02d","n":%d,"flow":%d.50,"level":"%d.10","open":%t,"day":"2024-01-%02d","at":"2024-01-01T00:00:%02dZ",`+
			`"tags":["a","é%d"],"more":{"k": [%d, 1e2]},"shape":{"type":"Point","coordinates":[%d.0,1]},"x_%d":7,"odd%d":"t"}`,
			site, i/2, (site*7+i)%3, i, i == 0, 1+site, i, i, site, i, site%3, site%2)
		if i == 1 && site%2 == 0 {
			row = strings.ReplaceAll(row, `"flow":`, `"flow":null,"was":`)
		}
		rows = append(rows, row)
	}
	return rows
}

// arrival is one thing that comes to the store: a result with its pages before it.
type arrival struct {
	position messages.Position
	outcome  messages.Outcome
	pages    [][]string
}

// divided draws how the chunk of some sites comes: split or not, and in which pages.
func divided(t *rapid.T, p messages.Position, sites []int) []arrival {
	if len(sites) > 1 && rapid.Bool().Draw(t, "split "+string(p)) {
		first, second, _ := p.Children()
		middle := len(sites) / 2
		all := append(divided(t, first, sites[:middle]), divided(t, second, sites[middle:])...)
		return append(all, arrival{position: p, outcome: messages.OutcomeSplit})
	}
	a := arrival{position: p, outcome: messages.OutcomeEmpty, pages: [][]string{nil}}
	for _, site := range sites {
		for _, row := range rowsAt(site) {
			a.outcome = messages.OutcomeRows
			if rapid.Bool().Draw(t, "page") {
				a.pages = append(a.pages, nil)
			}
			last := len(a.pages) - 1
			a.pages[last] = append(a.pages[last], row)
		}
	}
	return []arrival{a}
}

// members are the names that rows have, in first-seen order, as a worker notes them.
func members(rows []string) []string {
	var names []string
	seen := map[string]bool{}
	for _, row := range rows {
		gjson.Parse(row).ForEach(func(name, _ gjson.Result) bool {
			if !seen[name.String()] {
				seen[name.String()] = true
				names = append(names, name.String())
			}
			return true
		})
	}
	return names
}

// comes stores what has arrived, as a worker does.
func (r *rig) comes(t *rapid.T, q *messages.Query, a arrival) {
	ctx := context.Background()
	w := r.bus.NewResult(q.ID, "a-"+strings.ToLower(rand.Text()))
	h := &messages.ResultHeader{
		V: messages.Version, Query: q.ID, Run: 1, Position: a.position, Outcome: a.outcome, Pages: len(a.pages), Requests: len(a.pages),
		Worker: "w1", Started: time.Now(), Finished: time.Now(),
	}
	var all []string
	for i, rows := range a.pages {
		all = append(all, rows...)
		text := []byte(strings.Join(append(rows, ""), "\n"))
		h.Rows += int64(len(rows))
		if i == len(a.pages)-1 {
			if err := w.Write(ctx, text); err != nil {
				t.Fatal(err)
			}
			break
		}
		page := &messages.Page{V: messages.Version, Run: 1, Position: a.position, Rows: int64(len(rows)), Columns: members(rows), Worker: "w1", Fetched: time.Now()}
		if _, _, err := w.Store(ctx, page, fmt.Sprint(i+1), text); err != nil {
			t.Fatal(err)
		}
	}
	h.Columns = members(all)
	if err := w.Commit(ctx, h); err != nil {
		t.Fatal(err)
	}
}

// inEveryFormat exports a query whose results are all there.
func inEveryFormat(t *rapid.T, c *coordinator.Coordinator, id string) map[output.Format]string {
	ctx := context.Background()
	e, err := c.Export(ctx, id, false)
	if err != nil {
		t.Fatal(err)
	}
	all := map[output.Format]string{}
	for _, format := range output.Formats() {
		var table bytes.Buffer
		if err := output.Encode(ctx, &table, format, e.Table, e.Meta); err != nil {
			t.Fatal(err)
		}
		all[format] = table.String()
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnyOrderOfArrivalAndAnySplitGiveTheSameBytesInEveryFormat(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.definitions.change(fields)
	c := r.coordinator("c1", r.bus, nil)
	rapid.Check(t, func(t *rapid.T) {
		sites := rapid.SliceOfNDistinct(rapid.IntRange(0, 40), 1, 12, rapid.ID[int]).Draw(t, "sites")
		spec := &query.Spec{V: query.SpecVersion, Name: "test", Service: "rivers", Collection: "daily", Values: service.Values{}, MaxChunks: 3}
		for _, site := range sites {
			spec.Values["site"] = append(spec.Values["site"], fmt.Sprintf("s%02d", site))
		}
		one := r.planned(t, c, spec)
		for i := range one.Chunks {
			whole := divided(t, messages.PositionAt(i), nil)[0]
			for _, site := range chunkOf(sites, one.Chunks, i) {
				whole.pages[0] = append(whole.pages[0], rowsAt(site)...)
			}
			if len(whole.pages[0]) > 0 {
				whole.outcome = messages.OutcomeRows
			}
			r.comes(t, one, whole)
		}
		want := inEveryFormat(t, c, one.ID)

		other := r.planned(t, c, spec)
		var arrivals []arrival
		for i := range other.Chunks {
			arrivals = append(arrivals, divided(t, messages.PositionAt(i), chunkOf(sites, other.Chunks, i))...)
		}
		for _, a := range rapid.Permutation(arrivals).Draw(t, "order") {
			r.comes(t, other, a)
		}
		if diff := cmp.Diff(want, inEveryFormat(t, c, other.ID)); diff != "" {
			t.Fatal(diff)
		}
		for _, q := range []*messages.Query{one, other} {
			if err := r.bus.RemoveQuery(context.Background(), q); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func (r *rig) planned(t *rapid.T, c *coordinator.Coordinator, spec *query.Spec) *messages.Query {
	q, err := c.Submit(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// chunkOf is the sites that the planner gives to a chunk: groups of one size, the last one shorter.
func chunkOf(sites []int, chunks, i int) []int {
	size := (len(sites) + chunks - 1) / chunks
	return sites[min(i*size, len(sites)):min((i+1)*size, len(sites))]
}
