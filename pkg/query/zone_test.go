package query

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the test does not depend on the machine's database

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/service"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func TestATimeWithoutAnOffsetGetsThatOfItsZone(t *testing.T) {
	for _, test := range []struct{ zone, text, want, err string }{
		{"America/Chicago", "2024-01-15T08:00", "2024-01-15T08:00:00-06:00", ""},
		{"America/Chicago", "2024-07-15 08:00:30", "2024-07-15T08:00:30-05:00", ""},
		{"America/Chicago", "2024-07-15T08:00:30.25", "2024-07-15T08:00:30.25-05:00", ""},
		{"UTC", "2024-07-15T08:00", "2024-07-15T08:00:00Z", ""},
		{"America/Chicago", "2024-07-15T08:00:00Z", "2024-07-15T08:00:00Z", ""},
		{"America/Chicago", "2024-07-15T08:00:00+02:00", "2024-07-15T08:00:00+02:00", ""},
		{"America/Chicago", "2024-07-15", "2024-07-15T00:00:00-05:00", ""},
		{"Pacific/Apia", "2011-12-30", "2011-12-30", ""},                     // no moment of it
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00", ""}, // no midnight
		{"America/Sao_Paulo", "2018-11-04T00:00", "", "does not exist in America/Sao_Paulo"},
		{"America/Havana", "2024-11-03", "2024-11-03T00:00:00-04:00", ""}, // two midnights
		{"America/Chicago", "P7D", "P7D", ""},
		{"America/Chicago", "2024-03-10T01:59:59", "2024-03-10T01:59:59-06:00", ""},
		{"America/Chicago", "2024-03-10T02:00", "", "does not exist in America/Chicago"},
		{"America/Chicago", "2024-03-10T02:59:59.9", "", "does not exist in America/Chicago"},
		{"America/Chicago", "2024-03-10T03:00", "2024-03-10T03:00:00-05:00", ""},
		{"America/Chicago", "2024-11-03T00:59:59", "2024-11-03T00:59:59-05:00", ""},
		{"America/Chicago", "2024-11-03T01:30", "", "write 2024-11-03T01:30:00-05:00 or 2024-11-03T01:30:00-06:00"},
		{"America/Chicago", "2024-11-03T02:00", "2024-11-03T02:00:00-06:00", ""},
		{"Australia/Lord_Howe", "2024-04-07T01:45", "", "was twice"}, // by half an hour
		{"Pacific/Apia", "2011-12-30T12:00", "", "does not exist"},   // the day was left out
		{"Pacific/Kiritimati", "2024-01-01T00:00", "2024-01-01T00:00:00+14:00", ""},
		{"America/Chicago", "2024-02-30T08:00", "", "no time of the calendar"},
		{"America/Chicago", "2024-02-03T24:00", "", "no time of the calendar"},
	} {
		got, err := clock{zone: zone(t, test.zone)}.explicit(test.text)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s in %s: got %q, %v", test.text, test.zone, got, err)
		}
	}
}

// What clocks show at an instant is a time that the instant is among the meanings of.
func TestEveryInstantIsAMeaningOfWhatItsClocksShow(t *testing.T) {
	names := []string{"America/Chicago", "America/St_Johns", "Europe/Dublin", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "America/Caracas", "UTC"}
	rapid.Check(t, func(t *rapid.T) {
		z, err := time.LoadLocation(rapid.SampledFrom(names).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(-2_000_000_000, 3_000_000_000).Draw(t, "second"), 0).In(z)
		wall := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
		found := instants(wall, z)
		meant := false
		for i, one := range found {
			meant = meant || one.Equal(at)
			if one.Format(time.DateTime) != wall.Format(time.DateTime) || i > 0 && !found[i-1].Before(one) {
				t.Fatalf("%s gives %v", wall, found)
			}
		}
		if !meant || len(found) > 2 {
			t.Fatalf("%s gives %v, without %s", wall, found, at)
		}
	})
}

func TestZonesAreTheConditionsOwnOrTheQuerys(t *testing.T) {
	q, err := Parse("q.yaml", []byte(`schema: query/v1
service: s
collection: c
zone: America/Chicago
where:
  a: {from: 2024-01-01T00:00, to: 2024-01-02T00:00:00Z}
  b: {from: 2024-01-01T00:00, zone: Europe/Berlin}
  c: {at: 2024-07-01T12:00}
  d: {at: 2024-07-01T12:00, zone: UTC}
  e: 2024-07-01T12:00
  f: {at: today}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Resolve(sources(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"a": {"2024-01-01T00:00:00-06:00", "2024-01-02T00:00:00Z"},
		"b": {"2024-01-01T00:00:00+01:00", ".."},
		"c": {"2024-07-01T12:00:00-05:00"},
		"d": {"2024-07-01T12:00:00Z"},
		"e": {"2024-07-01T12:00"},
		"f": {"2024-09-30T00:00:00-05:00"},
	}
	if diff := cmp.Diff(want, map[string][]string(r.Values)); diff != "" {
		t.Error(diff)
	}
}

func TestWrongZonesAndTimesAreToldAtTheirLinesAllTogether(t *testing.T) {
	q, err := Parse("q.yaml", []byte(`schema: query/v1
service: s
collection: c
zone: Amerika/Chicago
where:
  a:
    from: 2024-03-10T02:30
    to: 2024-11-03T01:30
    zone: America/Chicago
  b: {at: 2024-07-01T12:00, zone: Local}
  c: {at: 2024-07-01T12:00}
  d: {file: nowhere.txt}
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := q.Resolve(sources(nil))
	want := `q.yaml:4: zone: there is no time zone "Amerika/Chicago"; write a name of the IANA database, such as America/Chicago or UTC
q.yaml:7: where.a.from: "2024-03-10T02:30" does not exist in America/Chicago, where clocks were put forward over it; write another time, or one with its offset
q.yaml:8: where.a.to: "2024-11-03T01:30" was twice in America/Chicago, where clocks were put back; write 2024-11-03T01:30:00-05:00 or 2024-11-03T01:30:00-06:00
q.yaml:10: where.b: there is no time zone "Local"; write a name of the IANA database, such as America/Chicago or UTC
q.yaml:12: where.d: read the values in nowhere.txt: file does not exist`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if r == nil || len(r.Values) > 0 {
		t.Errorf("resolved %+v beside the error", r)
	}
}

func TestTodayInAZoneIsItsFirstMoment(t *testing.T) {
	today := time.Date(2018, 11, 4, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ zone, other, want string }{
		{"America/Chicago", "2018-01-01", "2018-11-04T00:00:00-05:00"},
		{"America/Chicago", "", "2018-11-04T00:00:00-05:00"},
		{"America/Chicago", "2018-01-01T00:00:00Z", "2018-11-04T00:00:00-05:00"},
		{"America/Chicago", "2018-01", "2018-11"},
		{"America/Chicago", "2018", "2018"},
		{"America/Sao_Paulo", "2018-01-01", "2018-11-04T01:00:00-02:00"},
		{"America/Sao_Paulo", "2018-01-01T08:00", "2018-11-04T01:00:00-02:00"},
		{"Pacific/Kiritimati", "2018-01-01", "2018-11-05T00:00:00+14:00"},
	} {
		c := clock{today: today, zone: zone(t, test.zone)}
		if got, err := c.end("today", test.other); err != nil || got != test.want {
			t.Errorf("beside %q in %s: %s, %v, want %s", test.other, test.zone, got, err, test.want)
		}
		// Where a service takes days it stays the day, and where it takes times both ends are times.
		for _, unit := range []service.Unit{service.UnitDate, service.UnitTimestamp} {
			if len(test.other) < len("2018-01-01") {
				continue
			}
			ends, fromErr, toErr := Interval{From: test.other, To: "today"}.values(c)
			interval, err := service.ParseInterval([]service.Unit{unit}, ends)
			if fromErr != nil || toErr != nil || err != nil {
				t.Errorf("%s to today in %s as %s: %v, %v, %v", test.other, test.zone, unit, fromErr, toErr, err)
			}
			if day := interval.Values()[1]; unit == service.UnitDate && day != test.want[:len(day)] {
				t.Errorf("the day is %s", day)
			}
		}
	}
}
