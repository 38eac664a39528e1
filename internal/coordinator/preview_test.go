package coordinator_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func cells(p *messages.Preview) [][]string {
	var rows [][]string
	for _, row := range p.Rows {
		var texts []string
		for _, cell := range row {
			if cell == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, *cell)
			}
		}
		rows = append(rows, texts)
	}
	return rows
}

func TestAPreviewIsTheFirstRowsInPositionOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 3)
	c := r.onlooker()
	for limit, want := range map[int]struct {
		rows int
		more bool
	}{1: {1, true}, 5: {5, true}, 11: {11, true}, 12: {12, false}, 1000: {12, false}} {
		p, err := c.Preview(t.Context(), q.ID, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Rows) != want.rows || p.More != want.more {
			t.Errorf("limit %d: %d rows, more %v", limit, len(p.Rows), p.More)
		}
	}
	p, err := c.Preview(t.Context(), q.ID, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]messages.PreviewColumn{{Name: "site", Type: "text"}, {Name: "n", Type: "int64"}}, p.Columns); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"s00", "0"}, {"s00", "1"}, {"s00", "2"}, {"s00", "3"}, {"s01", "0"}}, cells(p)); diff != "" {
		t.Error(diff)
	}
	r.spoil(q.ID, "0", "flipped")
	p, err = c.Preview(t.Context(), q.ID, 1000)
	if err != nil || len(p.Rows) != 8 || !p.More || *p.Rows[0][0] != "s01" {
		t.Errorf("with a damaged result: %v, more %v, %v", cells(p), p.More, err)
	}
	if now := r.query(q.ID); now.State != messages.Complete {
		t.Errorf("a look made the query %s", now.State)
	}
}

func TestAPreviewHasTheColumnsOfTheTable(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.definitions.change(rivers + "    finalize: [{rename: {n: number}}, {add: {source: gauge}}, {sort: [number]}, {limit: 2}]\n")
	r.work(testkit.NewScript(always))
	q := r.finished(r.lead(), 3)
	p, err := r.onlooker().Preview(t.Context(), q.ID, 5)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range p.Columns {
		names = append(names, column.Name)
	}
	if !slices.Equal(names, []string{"site", "number", "source"}) || len(p.Rows) != 5 || *p.Rows[1][1] != "1" {
		t.Errorf("%v: %v", names, cells(p))
	}
}

func TestAPreviewOfNothingHasTheDeclaredColumns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.onlooker()
	q := r.submit(c, sites(3))
	p, err := c.Preview(t.Context(), q.ID, 10)
	if err != nil || len(p.Columns) != 2 || len(p.Rows) != 0 || !p.More {
		t.Errorf("%+v, %v", p, err)
	}
}
