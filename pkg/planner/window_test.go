package planner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/planner/plantest"
	"github.com/braidhq/braid/pkg/service"
)

// timed is a collection with sites to pack and an interval in one form.
func timed(t tb, of, window string) *service.Collection {
	t.Helper()
	return parsed(t, "path: /c", "site: {type: text, many: comma}, time: {type: interval, of: "+of+", send: {time: '{from}/{to}'}}",
		"pack: site", "window: time"+window)
}

func now() time.Time { return time.Date(2024, 5, 17, 13, 45, 30, 500, time.FixedZone("", -5*3600)) }

func windowsOf(t tb, c *service.Collection, values ...string) []string {
	t.Helper()
	plan, err := planner.Divide(c, service.Values{"time": values}, planner.Options{Now: now()})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for chunk := range plan.All() {
		all = append(all, strings.Join(chunk.Values["time"], "/"))
	}
	return all
}

func TestAnIntervalIsDividedOnTheCalendar(t *testing.T) {
	for name, test := range map[string]struct {
		of, window string
		values     []string
		want       string
	}{
		"years from its beginning": {
			"date", ", span: 1y",
			[]string{"2020-02-29", "2023-03-01"},
			"2020-02-29/2021-02-27 2021-02-28/2022-02-27 2022-02-28/2023-02-27 2023-02-28/2023-03-01",
		},
		"calendar years": {
			"date", ", span: 1y, align: calendar_year",
			[]string{"2019-11-05", "2021-03-01"},
			"2019-11-05/2019-12-31 2020-01-01/2020-12-31 2021-01-01/2021-03-01",
		},
		"water years": {
			"date", ", span: 1y, align: water_year",
			[]string{"2019-10-01", "2021-10-01"},
			"2019-10-01/2020-09-30 2020-10-01/2021-09-30 2021-10-01/2021-10-01",
		},
		"three calendar years at a time": {
			"date", ", span: 3y, align: calendar_year",
			[]string{"2018-03-01", "2024-12-31"},
			"2018-03-01/2020-12-31 2021-01-01/2023-12-31 2024-01-01/2024-12-31",
		},
		"months": {
			"date", ", span: 1mo, align: month",
			[]string{"2024-01-31", "2024-03-01"},
			"2024-01-31/2024-01-31 2024-02-01/2024-02-29 2024-03-01/2024-03-01",
		},
		"a month from a day that not all months have": {
			"date", ", span: 1mo",
			[]string{"2023-01-31", "2023-04-01"},
			"2023-01-31/2023-02-27 2023-02-28/2023-03-27 2023-03-28/2023-04-01",
		},
		"days that do not fill a month": {
			"date", ", span: 20d, align: month",
			[]string{"2024-01-10", "2024-02-29"},
			"2024-01-10/2024-01-29 2024-01-30/2024-01-31 2024-02-01/2024-02-20 2024-02-21/2024-02-29",
		},
		"half years in months": {
			"month", ", span: 6mo, align: calendar_year",
			[]string{"2020-09", "2021-12"},
			"2020-09/2020-12 2021-01/2021-06 2021-07/2021-12",
		},
		"years": {"year", ", span: 2y", []string{"1999", "2003"}, "1999/2000 2001/2002 2003/2003"},
		"timestamps": {
			"timestamp", ", span: 1y, align: calendar_year",
			[]string{"2022-06-01T00:00:00Z", "2024-01-01T06:00:00+06:00"},
			"2022-06-01T00:00:00Z/2022-12-31T23:59:59Z 2023-01-01T00:00:00Z/2024-01-01T06:00:00+06:00",
		},
		"timestamps over a change of clocks": {
			"timestamp", ", span: 1d, align: day",
			[]string{"2024-03-09T18:00:00-06:00", "2024-03-11T12:00:00Z"},
			"2024-03-09T18:00:00-06:00/2024-03-10T23:59:59Z 2024-03-11T00:00:00Z/2024-03-11T12:00:00Z",
		},
		"shared timestamps": {
			"timestamp", ", span: 1y, align: calendar_year, boundary: shared",
			[]string{"2022-06-01T00:00:00Z", "2024-02-01T00:00:00Z"},
			"2022-06-01T00:00:00Z/2023-01-01T00:00:00Z 2023-01-01T00:00:00Z/2024-01-01T00:00:00Z 2024-01-01T00:00:00Z/2024-02-01T00:00:00Z",
		},
		"shared days": {
			"date", ", span: 1y, align: calendar_year, boundary: shared",
			[]string{"2022-06-01", "2023-02-01"},
			"2022-06-01/2023-01-01 2023-01-01/2023-02-01",
		},
		"up to now, with the end open": {
			"date", ", span: 1y, align: calendar_year",
			[]string{"2022-06-01", ".."},
			"2022-06-01/2022-12-31 2023-01-01/2023-12-31 2024-01-01/..",
		},
		"begun today":                            {"date", ", span: 1y", []string{"2024-05-17", ".."}, "2024-05-17/.."},
		"still to come":                          {"date", ", span: 1y", []string{"2025-01-01", ".."}, "2025-01-01/.."},
		"as one text":                            {"date", ", span: 1y, align: calendar_year", []string{"2022-06-01/2023-02-01"}, "2022-06-01/2022-12-31 2023-01-01/2023-02-01"},
		"one text that fits one window":          {"date", ", span: 1y", []string{"2022-06-01/2022-07-01"}, "2022-06-01/2022-07-01"},
		"an instant":                             {"timestamp", ", span: 1y", []string{"2022-06-01T00:00:00Z"}, "2022-06-01T00:00:00Z"},
		"no span":                                {"date", "", []string{"1900-01-01", "2023-02-01"}, "1900-01-01/2023-02-01"},
		"no span and an open beginning":          {"date", "", []string{"..", "2023-02-01"}, "../2023-02-01"},
		"no span and a duration":                 {"[timestamp, duration]", "", []string{"P7D"}, "P7D"},
		"a span and a duration":                  {"[timestamp, duration]", ", span: 1y", []string{"P7D"}, "P7D"},
		"exactly one span of timestamps":         {"timestamp", ", span: 1y", []string{"2022-06-01T00:00:00Z", "2023-06-01T00:00:00Z"}, "2022-06-01T00:00:00Z/2023-06-01T00:00:00Z"},
		"one second more":                        {"timestamp", ", span: 1y", []string{"2022-06-01T00:00:00Z", "2023-06-01T00:00:01Z"}, "2022-06-01T00:00:00Z/2023-05-31T23:59:59Z 2023-06-01T00:00:00Z/2023-06-01T00:00:01Z"},
		"the end of the calendar of four digits": {"date", ", span: 1y, align: calendar_year", []string{"9998-06-01", "9999-12-31"}, "9998-06-01/9998-12-31 9999-01-01/9999-12-31"},
	} {
		t.Run(name, func(t *testing.T) {
			got := windowsOf(t, timed(t, test.of, test.window), test.values...)
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnIntervalThatCannotBeDividedIsRefused(t *testing.T) {
	for _, values := range [][]string{{"..", "2023-01-01T00:00:00Z"}, {"../2023-01-01T00:00:00Z"}, {"P7D/2023-01-01T00:00:00Z"}} {
		_, err := planner.Divide(timed(t, "[timestamp, duration]", ", span: 1y"), service.Values{"time": values}, planner.Options{Now: now()})
		var wrong *service.ValueError
		if !errors.As(err, &wrong) || wrong.Parameter != "time" || !errors.Is(err, service.ErrInvalidValue) || !strings.Contains(err.Error(), "beginning") {
			t.Errorf("%q: %v", values, err)
		}
	}
}

func TestTooManyWindowsAreRefused(t *testing.T) {
	c := timed(t, "date", ", span: 1d")
	c.Limits.URLBytes = 100
	for sites, want := range map[int]error{1: nil, 400: planner.ErrTooMany} {
		_, err := planner.Divide(c, service.Values{"site": numbered("s", sites), "time": {"1002-01-01", "2001-12-31"}}, planner.Options{})
		if !errors.Is(err, want) {
			t.Errorf("%d sites: %v", sites, err)
		}
	}
}

// unit is one form of an interval's ends, with its steps.
type unit struct {
	of     string
	layout string
	step   func(t time.Time, n int) time.Time
	most   int // steps of an interval that the test draws
}

func units() []unit {
	return []unit{
		{"date", time.DateOnly, func(t time.Time, n int) time.Time { return t.AddDate(0, 0, n) }, 2000},
		{"month", "2006-01", func(t time.Time, n int) time.Time { return t.AddDate(0, n, 0) }, 100},
		{"year", "2006", func(t time.Time, n int) time.Time { return t.AddDate(n, 0, 0) }, 40},
		{"timestamp", time.RFC3339, func(t time.Time, n int) time.Time { return t.Add(time.Duration(n) * time.Second) }, 400 * 24 * 3600},
	}
}

// drawn is an interval and a rule for its windows.
type drawn struct {
	unit     unit
	span     string
	align    string
	shared   bool
	from, to time.Time
}

func drawInterval(t *rapid.T) drawn {
	t.Helper()
	u := rapid.SampledFrom(units()).Draw(t, "unit")
	spans := map[string][]string{
		"date": {"1y", "2y", "1mo", "5mo", "1d", "7d", "30d", "400d"}, "month": {"1mo", "5mo", "1y", "3y"}, "year": {"1y", "3y"},
		"timestamp": {"1y", "1mo", "30d", "100d"},
	}
	aligns := []string{"none", "day", "month", "calendar_year", "water_year"}
	if u.of == "year" {
		aligns = []string{"none", "calendar_year"}
	}
	d := drawn{unit: u, span: rapid.SampledFrom(spans[u.of]).Draw(t, "span"), align: rapid.SampledFrom(aligns).Draw(t, "align"), shared: rapid.Bool().Draw(t, "shared")}
	start := time.Date(1999+rapid.IntRange(0, 5).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
	d.from = u.step(start, rapid.IntRange(0, u.most/5).Draw(t, "begin"))
	d.to = u.step(d.from, rapid.IntRange(0, u.most).Draw(t, "length"))
	return d
}

func (d drawn) collection(t tb, span string) *service.Collection {
	boundary := map[bool]string{true: "shared", false: "step"}[d.shared]
	return timed(t, d.unit.of, span+", align: "+d.align+", boundary: "+boundary)
}

func (d drawn) text(at time.Time) string { return at.Format(d.unit.layout) }

// checkCover says that intervals follow each other without a gap: they touch when they are shared, else one step is between them.
func (d drawn) checkCover(t *rapid.T, all [][]string) (starts, ends []time.Time) {
	t.Helper()
	for _, ends2 := range all {
		if len(ends2) != 2 {
			t.Fatalf("%q is no pair", ends2)
		}
		from, errFrom := time.Parse(d.unit.layout, ends2[0])
		to, errTo := time.Parse(d.unit.layout, ends2[1])
		if errFrom != nil || errTo != nil || to.Before(from) {
			t.Fatalf("%q is no interval", ends2)
		}
		starts, ends = append(starts, from), append(ends, to)
	}
	if !starts[0].Equal(d.from) || !ends[len(ends)-1].Equal(d.to) {
		t.Fatalf("they go from %s to %s, and the interval from %s to %s", starts[0], ends[len(ends)-1], d.from, d.to)
	}
	for i := 1; i < len(starts); i++ {
		want := d.unit.step(ends[i-1], 1)
		if d.shared {
			want = ends[i-1]
		}
		if !starts[i].Equal(want) || !starts[i].After(starts[i-1]) {
			t.Fatalf("%s follows %s", all[i], all[i-1])
		}
	}
	return starts, ends
}

func isAligned(align string, t time.Time) bool {
	midnight := t.Truncate(24 * time.Hour).Equal(t)
	switch align {
	case "day":
		return midnight
	case "month":
		return midnight && t.Day() == 1
	case "calendar_year":
		return midnight && t.YearDay() == 1
	case "water_year":
		return midnight && t.Day() == 1 && t.Month() == time.October
	}
	return true
}

func (d drawn) behindSpan(from time.Time) time.Time {
	var n int
	var u string
	if _, err := fmt.Sscanf(d.span, "%d%s", &n, &u); err != nil {
		return from
	}
	switch u {
	case "y":
		return from.AddDate(n, 0, 0)
	case "mo":
		return from.AddDate(0, n, 0)
	}
	return from.AddDate(0, 0, n)
}

func TestEveryStepIsInOneWindowThatIsNoLongerThanItsSpan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawInterval(t)
		values := service.Values{"time": {d.text(d.from), d.text(d.to)}}
		plan, err := planner.Divide(d.collection(t, ", span: "+d.span), values, planner.Options{Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		plantest.Check(t, plan)
		var all [][]string
		for chunk := range plan.All() {
			all = append(all, chunk.Values["time"])
		}
		starts, ends := d.checkCover(t, all)
		for i := range starts {
			// Ends are in the window: for timestamps, which are points, it may be as long as the span, else it is shorter by a step.
			longest := d.behindSpan(starts[i])
			if d.unit.of != "timestamp" && !d.shared {
				longest = d.unit.step(longest, -1)
			}
			if ends[i].After(longest) {
				t.Fatalf("%q is longer than %s", all[i], d.span)
			}
			// Where an aligned instant is in the span, the window ends at one.
			fine := d.span != "1d" && d.span != "7d" && !(d.span == "30d" && d.align != "day") && (strings.HasSuffix(d.span, "y") || d.align == "day" || d.align == "month")
			if i > 0 && fine && !isAligned(d.align, starts[i]) {
				t.Fatalf("%q does not begin at a %s", all[i], d.align)
			}
		}
	})
}

func TestMaxChunksDividesAnIntervalWhenThereIsNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawInterval(t)
		sites := rapid.IntRange(1, 3).Draw(t, "sites")
		most := rapid.IntRange(1, 40).Draw(t, "max_chunks")
		span := rapid.SampledFrom([]string{"", ", span: " + d.span}).Draw(t, "with span")
		c := d.collection(t, span)
		c.Limits.URLBytes = 0
		values := service.Values{"site": numbered("s", sites), "time": {d.text(d.from), d.text(d.to)}}
		without, err := planner.Divide(c, values, planner.Options{Now: now()})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := planner.Divide(c, values, planner.Options{Now: now(), MaxChunks: most})
		if err != nil {
			t.Fatal(err)
		}
		chunks := slices.Collect(plan.All())
		if n := len(chunks); n < without.Len() || n > max(without.Len(), most) {
			t.Fatalf("%d chunks, %d without max_chunks, which is %d", n, without.Len(), most)
		}
		first := chunks[0].Values["site"]
		var all [][]string
		for _, chunk := range chunks {
			if slices.Equal(chunk.Values["site"], first) {
				all = append(all, chunk.Values["time"])
			}
		}
		d.checkCover(t, all)
		if len(all) > without.Len() && len(first) > 1 {
			t.Fatalf("the interval is divided, and %d sites are not", len(first))
		}
	})
}

func TestMaxChunksHalvesTheLongestWindow(t *testing.T) {
	c := timed(t, "date", "")
	for _, test := range []struct {
		values []string
		most   int
		want   string
	}{
		{[]string{"2024-01-01", "2024-01-08"}, 2, "2024-01-01/2024-01-04 2024-01-05/2024-01-08"},
		{[]string{"2024-01-01", "2024-01-08"}, 3, "2024-01-01/2024-01-02 2024-01-03/2024-01-04 2024-01-05/2024-01-08"},
		{[]string{"2024-01-01", "2024-01-02"}, 30, "2024-01-01/2024-01-01 2024-01-02/2024-01-02"},
		{[]string{"2024-05-14", ".."}, 2, "2024-05-14/2024-05-15 2024-05-16/.."},
		{[]string{"..", "2024-05-14"}, 2, "../2024-05-14"},
		{[]string{"2024-05-14"}, 2, "2024-05-14"},
	} {
		plan, err := planner.Divide(c, service.Values{"site": {"a"}, "time": test.values}, planner.Options{Now: now(), MaxChunks: test.most})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for chunk := range plan.All() {
			got = append(got, strings.Join(chunk.Values["time"], "/"))
		}
		if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
			t.Errorf("%+v:\n%s", test, diff)
		}
	}
}

// The windows of a service that does not take an open end are longer on the wire than the open interval.
func TestWindowsOfMaxChunksThatDoNotFitAreNotMade(t *testing.T) {
	c := timed(t, "date", "")
	values := service.Values{"time": {"2020-01-01", ".."}}
	c.Limits.URLBytes = size(t, c, values)
	plan, err := planner.Divide(c, values, planner.Options{Now: now(), MaxChunks: 8})
	if err != nil || plan.Len() != 1 {
		t.Errorf("%v, %v", plan, err)
	}
}

func TestTheAxesKeepTheirOrderWithWindowsBetween(t *testing.T) {
	c := parsed(t, "path: /c", "e: {type: text}, a: {type: text, many: comma}, time: {type: interval, of: year}", "each: e", "window: time, span: 1y", "pack: a")
	c.Limits.URLBytes = 70 // four of the values fit, beside the year
	plan, err := planner.Divide(c, service.Values{"e": {"x", "y"}, "time": {"2001", "2002"}, "a": {"one", "two", "three", "four", "five"}}, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plantest.Check(t, plan)
	var got []string
	for chunk := range plan.All() {
		v := chunk.Values
		got = append(got, v["e"][0]+" "+v["time"][0]+" "+strings.Join(v["a"], ","))
	}
	want := []string{
		"x 2001 one,two,three,four", "x 2001 five", "x 2002 one,two,three,four", "x 2002 five",
		"y 2001 one,two,three,four", "y 2001 five", "y 2002 one,two,three,four", "y 2002 five",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
