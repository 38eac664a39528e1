package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestIntervalsAreReadInEveryForm(t *testing.T) {
	noon := day("2024-01-01").Add(12 * time.Hour)
	tests := []struct {
		name   string
		of     []Unit
		values []string
		want   Interval
		back   []string
	}{
		{"days", []Unit{UnitDate}, []string{"2024-01-01", "2024-02-29"}, Interval{Unit: UnitDate, From: day("2024-01-01"), Behind: day("2024-03-01")}, []string{"2024-01-01", "2024-02-29"}},
		{"the day that is written", []Unit{UnitDate}, []string{"2024-01-01T23:30:00-05:00", "2024-01-02 00:00:00"}, Interval{Unit: UnitDate, From: day("2024-01-01"), Behind: day("2024-01-03")}, []string{"2024-01-01", "2024-01-02"}},
		{"months", []Unit{UnitYear, UnitMonth}, []string{"2023-12", "2024-02"}, Interval{Unit: UnitMonth, From: day("2023-12-01"), Behind: day("2024-03-01")}, []string{"2023-12", "2024-02"}},
		{"years", []Unit{UnitYear, UnitMonth}, []string{"2023", ".."}, Interval{Unit: UnitYear, From: day("2023-01-01")}, []string{"2023", ".."}},
		{"one year", []Unit{UnitYear, UnitMonth}, []string{"2023"}, Interval{Unit: UnitYear, From: day("2023-01-01"), Behind: day("2024-01-01"), Single: true}, []string{"2023"}},
		{"times", []Unit{UnitTimestamp}, []string{"2024-01-01T07:00:00.999-05:00", "2024-01-01 17:30:00+0530"}, Interval{Unit: UnitTimestamp, From: noon, Behind: noon}, []string{"2024-01-01T12:00:00Z", "2024-01-01T12:00:00Z"}},
		{"one instant", []Unit{UnitTimestamp}, []string{"2024-01-01T12:00:00Z"}, Interval{Unit: UnitTimestamp, From: noon, Behind: noon, Single: true}, []string{"2024-01-01T12:00:00Z"}},
		{"open begin", []Unit{UnitDate}, []string{"", "2024-01-31"}, Interval{Unit: UnitDate, Behind: day("2024-02-01")}, []string{"..", "2024-01-31"}},
		{"from/to", []Unit{UnitDate}, []string{"2024-01-01/2024-01-31"}, Interval{Unit: UnitDate, From: day("2024-01-01"), Behind: day("2024-02-01")}, []string{"2024-01-01", "2024-01-31"}},
		{"from/", []Unit{UnitDate}, []string{"2024-01-01/"}, Interval{Unit: UnitDate, From: day("2024-01-01")}, []string{"2024-01-01", ".."}},
		{"days or times", []Unit{UnitDate, UnitTimestamp}, []string{"2024-01-01T12:00:00Z"}, Interval{Unit: UnitTimestamp, From: noon, Behind: noon, Single: true}, []string{"2024-01-01T12:00:00Z"}},
		{"a duration", []Unit{UnitDate, UnitDuration}, []string{"pt36h"}, Interval{Unit: UnitDuration, text: "pt36h"}, []string{"pt36h"}},
		{"days for the service", []Unit{UnitTimestamp, UnitDuration}, []string{"2024-01-01/2024-02-01"}, Interval{Unit: UnitDuration, text: "2024-01-01/2024-02-01"}, []string{"2024-01-01/2024-02-01"}},
		{"a duration behind a day", []Unit{UnitDate, UnitDuration}, []string{"2024-01-01/P1M"}, Interval{Unit: UnitDuration, text: "2024-01-01/P1M"}, []string{"2024-01-01/P1M"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseInterval(test.of, test.values)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(Interval{}), cmpopts.EquateApproxTime(0)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.back, got.Values()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsNoIntervalIsRefused(t *testing.T) {
	all := []Unit{UnitDate, UnitMonth, UnitYear, UnitTimestamp, UnitDuration}
	for _, values := range [][]string{
		nil,
		{},
		{""},
		{".."},
		{"..", ".."},
		{"/"},
		{"../.."},
		{"a", "b", "c"},
		{"2024-02-30"},
		{"2024-13"},
		{"24"},
		{"2024-1-1"},
		{"20240101"},
		{"now"},
		{"Apr 2024"},
		{"01/02/2024"},
		{"2024-01-01/2024-02-01/2024-03-01"},
		{"2024-02-01/2024-01-01"},
		{"2024-02-01/2024-01-01T00:00:00Z"},
		{"P1D/P7D"},
		{"../P7D/x"},
		{"P"},
		{"PT"},
		{"Pt5"},
		{"P1"},
		{"P1DT"},
		{"P1H"},
		{"PT1D"},
		{"P1D1Y"},
		{"P1.D"},
		{"P.5D"},
		{"P1.5.5D"},
		{"P-1D"},
		{"-P1D"},
		{"P1D "},
		{"P7D", "P1D"},
		{"P7D", ".."},
		{"P1é"},
		{"2024-01-01T12:30Z"},
		{"2024-01-01T24:00:00Z"},
		{"2024-01-01T12:60:00Z"},
		{"2024-01-01T12:00:60Z"},
		{"2024-01-01T12:00:00"},
		{"2024-01-01T12:00:00+24:00"},
		{"2024-01-01T12:00:00.Z"},
		{"2024-01-01T12:00:00.1234567890Z"},
		{"2024-01-01T12:00:00+05"},
		{"2024-01-01T12:00:00 Z"},
		{"2024-01-01X12:00:00Z"},
		{"2024-01-01T12:00:00z"},
		{"0001-01-01"},
		{"0000"},
		{"0001"},
		{"0001-01-01T00:00:00+01:00"},
		{"9999-12-31T23:59:59-01:00"},
		{" 2024-01-01"},
		{"2024-01-01\n"},
		{"２０２４-01-01"},
	} {
		if got, err := ParseInterval(all, values); err == nil {
			t.Errorf("%q is read as %+v", values, got)
		}
	}
	for _, text := range []string{"P7D", "PT36H", "p1m", "P1Y2M3W4DT5H6M7.5S", "P0,5D"} {
		if !isDuration(text) {
			t.Errorf("%s is no duration", text)
		}
		if got, err := ParseInterval([]Unit{UnitDate}, []string{text}); err == nil {
			t.Errorf("%s is read as %+v where durations are not taken", text, got)
		}
	}
}

func TestAnIntervalIsWrittenBackAsItIsRead(t *testing.T) {
	units := []Unit{UnitDate, UnitMonth, UnitYear, UnitTimestamp}
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(units).Draw(t, "unit")
		end := func(name string) string {
			seconds := rapid.Int64Range(-62135510400, 253402214400).Draw(t, name)
			return unit.Write(time.Unix(seconds, 0))
		}
		values := []string{end("from"), end("to")}
		slices.Sort(values)
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 1:
			values[0] = OpenEnd
		case 2:
			values[1] = OpenEnd
		case 3:
			values = values[:1]
		}
		interval, err := ParseInterval(units, values)
		if err != nil {
			if strings.Contains(err.Error(), "out of range") {
				t.Skip()
			}
			t.Fatal(err)
		}
		if diff := cmp.Diff(values, interval.Values()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAnIntervalOfOneInstantIsSentAsOne(t *testing.T) {
	c := gauges(t, "time: {type: interval, of: timestamp}", "time: {type: interval, of: [timestamp, duration], send: {when: 'in {from}/{to}', begin: '{from}/{to}'}}")
	for values, want := range map[string]string{
		"2024-01-01T00:00:00Z": "when=in+2024-01-01T00%3A00%3A00Z&begin=2024-01-01T00%3A00%3A00Z",
		"P7D":                  "when=in+P7D&begin=P7D",
		"2024-01-01/..":        "when=in+2024-01-01%2F..&begin=2024-01-01%2F..",
		"2024-01-01T00:00:00Z/2024-01-01T01:00:00Z": "when=in+2024-01-01T00%3A00%3A00Z%2F2024-01-01T01%3A00%3A00Z&begin=2024-01-01T00%3A00%3A00Z%2F2024-01-01T01%3A00%3A00Z",
	} {
		got, err := c.Request(Values{"time": {values}})
		if err != nil || !strings.Contains(got.URL, want) {
			t.Errorf("%s: got %s, %v\nwant %s", values, got.URL, err, want)
		}
	}
	got, err := gauges(t).Request(Values{"years": {"2024"}})
	if err != nil || !strings.Contains(got.URL, "start=2024&end=2024") {
		t.Errorf("got %s, %v", got.URL, err)
	}
}

func FuzzParseInterval(f *testing.F) {
	for _, text := range []string{"2024-01-01", "2024-01-01T00:00:00.5+05:30", "2024", "2024-01", "P7D", "2024-01-01/P1D", "../2024", ".."} {
		f.Add(text, "")
		f.Add(text, "2024-01-01T00:00:00Z")
	}
	units := []Unit{UnitDate, UnitMonth, UnitYear, UnitTimestamp, UnitDuration}
	f.Fuzz(func(t *testing.T, from, to string) {
		for _, values := range [][]string{{from}, {from, to}} {
			interval, err := ParseInterval(units, values)
			if err != nil {
				continue
			}
			again, err := ParseInterval(units, interval.Values())
			if err != nil || again != interval {
				t.Errorf("%q is read as %+v, written as %q and read as %+v, %v", values, interval, interval.Values(), again, err)
			}
		}
	})
}
