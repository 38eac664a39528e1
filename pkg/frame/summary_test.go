package frame

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func daily() Shape {
	return Shape{
		Fields: []Field{
			{Name: "site", Type: Text},
			{Name: "code", Type: Text},
			{Name: "day", Type: Date},
			{Name: "flow", Type: Decimal, UnitFrom: "unit"},
			{Name: "unit", Type: Text},
			{Name: "status", Type: Text},
			{Name: "changed", Type: Timestamp},
		},
		Key: []string{"site", "code", "day"}, OnDuplicate: KeepNewest, NewestBy: "changed",
		Finalize: []Operation{{Sort: []string{"site", "code", "day"}}},
		Roles: Roles{
			Sites: "site", Time: "day", Value: "flow", Status: "status", Series: []string{"code"}, Every: 24 * time.Hour,
			From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Behind: time.Date(2024, 1, 4, 0, 0, 0, 0, time.UTC),
		},
	}
}

func dailyRow(site, code, day, flow, unit, status, changed string) string {
	return fmt.Sprintf(`{"site":%q,"code":%q,"day":%q,"flow":%s,"unit":%q,"status":%q,"changed":%q}`, site, code, day, flow, unit, status, changed)
}

// summed reads a table through and gives what its rows were summed up to.
func summed(t rapid.TB, shape Shape, rows ...string) *Summary {
	t.Helper()
	seen := []string{"site", "code", "day", "flow", "unit", "status", "changed"}
	table, err := Build(context.Background(), shape, seen, oneChunk(rows), nil)
	if err != nil {
		t.Fatal(err)
	}
	watched, summary := table.Summarized()
	for _, err := range watched.Rows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return summary()
}

func oneChunk(rows []string) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) { yield([]byte(strings.Join(rows, "\n")+"\n"), nil) }
}

func TestATableIsSummedUpInWhatAPersonAsksFirst(t *testing.T) {
	const old, young = "2024-02-01T00:00:00Z", "2024-03-01T00:00:00+01:00"
	rows := []string{
		dailyRow("b", "1", "2024-01-03", "3", "m", "Approved", old),
		dailyRow("a", "1", "2024-01-02", "2", "ft", "Approved", old),
		dailyRow("a", "1", "2024-01-01", "1", "ft", "Approved", old),
		dailyRow("a", "1", "2024-01-03", "3", "ft", "Provisional", old),
		dailyRow("a", "2", "2024-01-01", "1", "ft", "Approved", old),
		dailyRow("a", "2", "2024-01-02", "null", "ft", "Approved", old),
		dailyRow("a", "2", "2024-01-03", "1", "ft", "Approved", old),
		dailyRow("c", "1", "2024-01-01", "1", "ft", "Approved", old),
		dailyRow("c", "1", "2024-01-02", "1", "ft", "Approved", old),
		dailyRow("c", "1", "2024-01-03", "1", "ft", "Approved", old),
		dailyRow("c", "1", "2024-01-03", "1.5", "ft", "Provisional", young), // takes the place of the one before
	}
	want := &Summary{
		From: "2024-01-01", To: "2024-01-03", Sites: 3, Whole: 1, Gappy: 2, Values: 9, Nulls: 1,
		Statuses: []Tallied{{"Approved", 8}, {"Provisional", 2}}, Units: []Tallied{{"ft", 8}, {"m", 1}}, Newest: young,
		NewestAt: time.Date(2024, 2, 29, 23, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, summed(t, daily(), rows...)); diff != "" {
		t.Error(diff)
	}
	narrow := daily()
	narrow.Select = []string{"day"} // what is left out of the table still tells
	if diff := cmp.Diff(want, summed(t, narrow, rows...)); diff != "" {
		t.Error(diff)
	}
}

func TestGapsAreReckonedOnlyWhereTheyCanBe(t *testing.T) {
	row := func(day string) string { return dailyRow("a", "1", day, "1", "ft", "x", "2024-02-01T00:00:00Z") }
	for name, change := range map[string]func(*Shape){
		"an open end":        func(s *Shape) { s.Roles.Behind = time.Time{} },
		"no step":            func(s *Shape) { s.Roles.Every = 0 },
		"not in order":       func(s *Shape) { s.Finalize = []Operation{{Sort: []string{"status"}}} },
		"no column of sites": func(s *Shape) { s.Roles.Sites = "" },
		"time is no time":    func(s *Shape) { s.Fields[2].Type = Text },
	} {
		shape := daily()
		change(&shape)
		if s := summed(t, shape, row("2024-01-03"), row("2024-01-01"), row("2024-01-02")); s.Whole+s.Gappy != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := summed(t, daily(), row("2024-01-03"), row("2024-01-01"), row("2024-01-02"), row("2025-01-01")); s.Whole != 1 || s.To != "2025-01-01" {
		t.Errorf("a day that was not asked for: %+v", s)
	}
}

func TestASummaryOfManyStatusesStaysShort(t *testing.T) {
	var rows []string
	for i := range 100 {
		rows = append(rows, dailyRow("a", fmt.Sprint(i), "2024-01-01", "1", "ft", fmt.Sprint("s", i), "2024-02-01T00:00:00Z"))
	}
	s := summed(t, daily(), rows...)
	total := int64(0)
	for _, status := range s.Statuses {
		total += status.Count
	}
	if len(s.Statuses) > maxTallied+1 || total != 100 || s.Statuses[0] != (Tallied{"", 92}) {
		t.Errorf("%+v", s.Statuses)
	}
}

func TestASummaryDoesNotDependOnTheOrderOfRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []string
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 11), 0, 12, rapid.ID[int]).Draw(t, "rows") {
			rows = append(rows, dailyRow(string(rune('a'+n/6)), fmt.Sprint(n/3%2), fmt.Sprintf("2024-01-%02d", 1+n%3), "1", "ft", "x", "2024-02-01T00:00:00Z"))
		}
		want := summed(t, daily(), rows...)
		slices.Sort(rows)
		if diff := cmp.Diff(want, summed(t, daily(), rows...)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnitsFollowTheirColumnsThroughFinalize(t *testing.T) {
	shape := Shape{
		Fields:   []Field{{Name: "flow", Type: Decimal, UnitFrom: "unit"}, {Name: "unit", Type: Text}, {Name: "area", Type: Decimal, Unit: "mi^2"}},
		Finalize: []Operation{{Rename: map[string]string{"unit": "flow_unit", "area": "drainage"}}, {Cast: map[string]Type{"flow": Float64}}},
	}
	columns, err := ColumnsOf(shape, nil)
	want := []Column{
		{Name: "flow", Type: Float64, Declared: true, UnitColumn: "flow_unit"},
		{Name: "flow_unit", Type: Text, Declared: true},
		{Name: "drainage", Type: Decimal, Declared: true, Unit: "mi^2"},
	}
	if diff := cmp.Diff(want, columns); err != nil || diff != "" {
		t.Error(err, diff)
	}
	shape.Select = []string{"flow"}
	if columns, err = ColumnsOf(shape, nil); err != nil || columns[0].UnitColumn != "" {
		t.Errorf("%+v, %v: the column of the unit is not in the table", columns, err)
	}
}
