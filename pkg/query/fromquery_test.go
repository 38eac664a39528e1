package query

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/service"
)

func TestAConditionTakesItsValuesFromAnotherQuery(t *testing.T) {
	q, err := Parse("d/q.yaml", []byte("schema: query/v1\nservice: rivers\ncollection: levels\nwhere:\n  gauge:\n    from_query: wells.yaml\n    column: id\n    prefix: X\n  state: Iowa\nselect: [gauge, extra]\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := service.Parse("rivers.yaml", []byte(strings.Replace(rivers, "    unknown_fields: drop\n", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("levels")
	if err != nil {
		t.Fatal(err)
	}
	condition := q.Where[0]
	if got := condition.PlaceOfQuery(); got != (Place{File: "d/q.yaml", Line: 6, Path: "where.gauge.from_query"}) {
		t.Errorf("the query is named at %+v", got)
	}
	if got := condition.PlaceOfColumn(); got != (Place{File: "d/q.yaml", Line: 7, Path: "where.gauge.column"}) {
		t.Errorf("the column is named at %+v", got)
	}
	r, err := q.Resolve(sources(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(service.Values{"state": {"Iowa"}}, r.Values); diff != "" {
		t.Errorf("before the other query is known: %s", diff)
	}
	if problems := q.Check(c, r); len(problems) > 0 {
		t.Errorf("a parameter whose values are to come is judged: %v", problems)
	}
	own := []string{"AB", "XAB", "CD", "XX"}
	r.Supply(condition, own, "wells.yaml (query k)")
	if diff := cmp.Diff([]string{"XAB", "XCD", "XX"}, r.Values["gauge"]); diff != "" {
		t.Error(diff)
	}
	if own[0] != "AB" {
		t.Error("the values that were given are changed")
	}
	problems := q.Check(c, r)
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), `d/q.yaml:5: where.gauge: `) || !strings.Contains(problems[0].Error(), "XX") {
		t.Errorf("problems %v, want XX at the condition", problems)
	}
	want := []string{
		`select: no field declares the column "extra"; it is text if the service sends it, and else null in each row`,
		"gauge: 1 repeated value was dropped, 3 remain", "gauge: 3 values from wells.yaml (query k)",
	}
	if diff := cmp.Diff(want, r.Notes); diff != "" {
		t.Error(diff)
	}
}

func TestAQueryIsNamedByItsFileOrByItsID(t *testing.T) {
	for name, stored := range map[string]bool{
		"wells.yaml": false, "./wells": false, "d/wells": false, "my wells": false, "../x": false, `d\wells`: false,
		"k3x9a2bq": true, "wells": true,
	} {
		if got := (&FromQuery{Query: name}).IsStored(); got != stored {
			t.Errorf("%q is an id: %v", name, got)
		}
	}
}
