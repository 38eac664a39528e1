package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func runsShape(rule DuplicateRule, runs ...int64) Shape {
	s := Shape{
		Fields: []Field{{Name: "k", Type: Text}, {Name: "v", Type: Text}, {Name: "at", Type: Timestamp}}, Key: []string{"k"}, OnDuplicate: rule,
		Finalize: []Operation{{Sort: []string{"k"}}}, Runs: runs,
	}
	if rule == KeepNewest {
		s.NewestBy = "at"
	}
	return s
}

func version(k, v, day string) string {
	return fmt.Sprintf(`{"k":%q,"v":%q,"at":"2024-01-%sT00:00:00Z"}`, k, v, day)
}

// told gives the keys and values of a table, and its report.
func told(t rapid.TB, shape Shape, rows ...string) (string, Report, error) {
	t.Helper()
	table, err := Build(context.Background(), shape, []string{"k", "v", "at"}, oneChunk(rows), nil)
	if err != nil {
		return "", Report{}, err
	}
	var cells []string
	for row, err := range table.Rows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		cells = append(cells, row[0].Text+row[1].Text)
	}
	return strings.Join(cells, " "), table.Report, nil
}

func TestARowOfANewerRunTakesThePlaceOfItsLike(t *testing.T) {
	rows := []string{
		version("b", "1", "09"), version("d", "1", "01"),
		version("a", "2", "02"), version("b", "2", "02"),
		version("a", "3", "03"), version("c", "3", "03"),
	}
	for rule, want := range map[DuplicateRule]string{KeepFirst: "a3 b2 c3 d1", FailIfDifferent: "a3 b2 c3 d1", KeepNewest: "a3 b1 c3 d1"} {
		got, report, err := told(t, runsShape(rule, 2, 2, 2), rows...)
		if err != nil || got != want || report.Replaced != 2 || report.Duplicates != 0 || report.Different != 0 {
			t.Errorf("%s: %q %+v %v, want %q", rule, got, report, err, want)
		}
	}
}

func TestRowsOfOneRunAreHeldToTheRuleAsEver(t *testing.T) {
	rows := []string{version("b", "2", "02"), version("b", "1", "02"), version("a", "3", "03")}
	if _, _, err := told(t, runsShape(FailIfDifferent, 2, 1), rows...); !errors.Is(err, ErrDifferentDuplicates) {
		t.Errorf("rows of the older run differ: %v", err)
	}
	got, report, err := told(t, runsShape(KeepFirst, 2, 1), rows...)
	if err != nil || got != "a3 b2" || report.Duplicates != 1 || report.Different != 1 || report.Replaced != 0 {
		t.Errorf("%q %+v %v", got, report, err)
	}
	if got, report, err = told(t, runsShape(FailIfDifferent, 2, 0, 1, 0), rows...); err == nil {
		t.Errorf("runs without rows move the bounds of others: %q %+v", got, report)
	}
}

// However often a query goes on, its table is that of the last version of each key.
func TestATableOfManyRunsHasTheLastVersionOfEachRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := map[string]string{}
		var rows []string
		var runs []int64
		for n := range rapid.IntRange(1, 5).Draw(t, "runs") {
			keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 0, 6, rapid.ID[int]).Draw(t, "keys")
			var own []string
			for _, key := range keys {
				k, v := string(rune('a'+key)), fmt.Sprint(n)
				last[k] = v
				own = append(own, version(k, v, "01"))
			}
			rows, runs = append(rows, own...), append(runs, int64(len(own)))
		}
		var want []string
		for k, v := range sorted(last) {
			want = append(want, k+v)
		}
		for _, rule := range []DuplicateRule{KeepFirst, KeepNewest, FailIfDifferent} {
			got, report, err := told(t, runsShape(rule, runs...), rows...)
			if err != nil || got != strings.Join(want, " ") || report.Replaced != int64(len(rows)-len(last)) {
				t.Fatalf("%s: %q %+v %v, want %q", rule, got, report, err, want)
			}
		}
	})
}

func TestTheLatestTimeOfRowsIsFound(t *testing.T) {
	rows := []string{version("a", "1", "03"), `{"k":"b","v":"1","at":"2024-01-03T00:00:01+01:00"}`, `{"k":"c","at":"nonsense"}`, `{"k":"d"}`}
	seen := []string{"k", "v", "at"}
	got, err := Greatest(t.Context(), runsShape(KeepFirst), seen, oneChunk(rows), "at")
	if want := time.Date(2024, 1, 3, 0, 0, 0, 0, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = Greatest(t.Context(), runsShape(KeepFirst), seen, oneChunk(nil), "at"); err != nil || !got.IsZero() {
		t.Errorf("of no rows: %v, %v", got, err)
	}
	if _, err = Greatest(t.Context(), runsShape(KeepFirst), seen, oneChunk(rows), "v"); !errors.Is(err, ErrShape) {
		t.Errorf("of a text: %v", err)
	}
}

// A row without a key is known again by all of itself: in another run it is the same row, within one it never is.
func TestARowWithoutAKeyIsNotThereOnceMoreWithEachRun(t *testing.T) {
	keyless := func(v string) string { return fmt.Sprintf(`{"k":null,"v":%q}`, v) }
	rows := []string{keyless("1"), keyless("2"), keyless("2"), version("a", "1", "01"), keyless("2"), keyless("2"), keyless("3"), version("a", "2", "01")}
	got, report, err := told(t, runsShape(KeepFirst, 4, 4), rows...)
	if err != nil || got != "a2 1 2 2 3" || report.Replaced != 3 || report.Duplicates != 0 {
		t.Errorf("%q %+v %v", got, report, err)
	}
	shape := runsShape(KeepFirst, 2, 2)
	shape.Key = []string{"x_*"} // a part of the key that no row has
	shape.Fields = append(shape.Fields, Field{Name: "x_*", Type: Text})
	if got, report, err = told(t, shape, keyless("1"), keyless("2"), keyless("2"), keyless("3")); err != nil || report.Rows != 3 {
		t.Errorf("%q %+v %v", got, report, err)
	}
}
