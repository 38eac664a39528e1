package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestValuesThatTheServiceWouldRefuseAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		values Values
		kind   error
		want   string
	}{
		{"fine", Values{"state": {"WI", "IL"}, "site": {"a", "b"}, "tag": {"x,y"}}, nil, ""},
		{"unknown", Values{"state": {"WI"}, "stie": {"a"}}, ErrUnknownParameter, `stie: the collection gauges has no such parameter; did you mean "site"?`},
		{"empty list", Values{"state": {}}, ErrInvalidValue, `state: the list of values is empty`},
		{"empty value", Values{"state": {"WI"}, "site": {"a", ""}}, ErrInvalidValue, `site: a value is empty`},
		{"pattern", Values{"state": {"Wisconsin"}}, ErrInvalidValue, `state: the value "Wisconsin" does not match ^[A-Z]{2}$`},
		{"none of the alternatives", Values{"site": {"a"}}, ErrMissingParameter, `state, basin: give exactly one of them`},
		{"two alternatives", Values{"state": {"WI"}, "basin": {"04"}}, ErrInvalidValue, `state, basin: give exactly one of state, basin`},
		{"comma", Values{"state": {"WI"}, "site": {"a,b"}}, ErrInvalidValue, `the value "a,b" has a comma`},
		{"many", Values{"state": {"WI"}, "depth": {"1", "2"}}, ErrInvalidValue, `depth: 2 values, and the service takes one`},
		{"closed set", Values{"state": {"WI"}, "mode": {"envelope"}}, ErrInvalidValue, `did you mean "envelop"?`},
		{"int", Values{"state": {"WI"}, "count": {"1.5"}}, ErrInvalidValue, `the value "1.5" is no whole number`},
		{"float", Values{"state": {"WI"}, "depth": {"NaN"}}, ErrInvalidValue, `the value "NaN" is no number`},
		{"bool", Values{"state": {"WI"}, "active": {"yes"}}, ErrInvalidValue, `write true or false`},
		{"no such day", Values{"state": {"WI"}, "day": {"2024-02-30"}}, ErrInvalidValue, `write YYYY-MM-DD`},
		{"no offset", Values{"state": {"WI"}, "at": {"2024-02-03T00:00:00"}}, ErrInvalidValue, `with an offset`},
		{"white space", Values{"state": {"WI"}, "site": {" a"}}, ErrInvalidValue, `has white space around it`},
		{"control", Values{"state": {"WI"}, "site": {"a\nb"}}, ErrInvalidValue, `not printable`},
		{"long", Values{"state": {"WI"}, "site": {strings.Repeat("a", 1001)}}, ErrInvalidValue, `has 1001 bytes`},
		{"one year", Values{"state": {"WI"}, "years": {"2024"}}, nil, ""},
		{"three ends", Values{"state": {"WI"}, "years": {"2022", "2023", "2024"}}, ErrInvalidValue, `years: an interval is two values, from and to, or one, not 3`},
		{"no end", Values{"state": {"WI"}, "years": {}}, ErrInvalidValue, `years: the list of values is empty`},
		{"one text", Values{"state": {"WI"}, "years": {"2024/2025"}}, nil, ""},
		{"one text, backwards", Values{"state": {"WI"}, "years": {"2024/2023"}}, ErrInvalidValue, `from 2024 is after to 2023`},
		{"two slashes", Values{"state": {"WI"}, "years": {"2022/2023/2024"}}, ErrInvalidValue, `has more than one slash`},
		{"blank ends", Values{"state": {"WI"}, "years": {"", " "}}, ErrInvalidValue, `both ends are open`},
		{"both ends wrong", Values{"state": {"WI"}, "years": {"x", "y"}}, ErrInvalidValue, "\"x\" is no year or month of the calendar; write YYYY or YYYY-MM, or .. for an open end\n\"y\" is no year"},
		{"no offset in an interval", Values{"state": {"WI"}, "time": {"2024-02-03T00:00:00", ".."}}, ErrInvalidValue, `"2024-02-03T00:00:00" has no offset from UTC; write 2024-02-03T00:00:00Z, or with an offset such as -06:00, or give {from: …, to: …, zone: America/Chicago} in the query`},
		{"a day for a time", Values{"state": {"WI"}, "time": {"2024-02-03", ".."}}, ErrInvalidValue, `write 2024-02-03T00:00:00Z`},
		{"the first day", Values{"state": {"WI"}, "time": {"0001-01-01T00:00:00Z", ".."}}, ErrInvalidValue, `is out of range; the first day is 0001-01-02`},
		{"year 10000 in UTC", Values{"state": {"WI"}, "time": {"9999-12-31T23:00:00-05:00", ".."}}, ErrInvalidValue, `is out of range`},
		{"hexadecimal", Values{"state": {"WI"}, "depth": {"0x1p-2"}}, ErrInvalidValue, `the value "0x1p-2" is no number`},
		{"underscores", Values{"state": {"WI"}, "depth": {"1_000"}}, ErrInvalidValue, `is no number`},
		{"months", Values{"state": {"WI"}, "years": {"2000-01", "2020-12"}}, nil, ""},
		{"open end", Values{"state": {"WI"}, "years": {"2000-01", ".."}}, nil, ""},
		{"both open", Values{"state": {"WI"}, "years": {"..", ".."}}, ErrInvalidValue, `both ends are open`},
		{"two forms", Values{"state": {"WI"}, "years": {"2000", "2020-12"}}, ErrInvalidValue, `give both ends in one form`},
		{"backwards", Values{"state": {"WI"}, "years": {"2020", "2019"}}, ErrInvalidValue, `from 2020 is after to 2019`},
		{"backwards by offset", Values{"state": {"WI"}, "time": {"2020-01-01T00:00:00-06:00", "2020-01-01T01:00:00Z"}}, ErrInvalidValue, `is after`},
		{"duration", Values{"state": {"WI"}, "time": {"P7D", ".."}}, ErrInvalidValue, `write YYYY-MM-DDThh:mm:ssZ, or .. for an open end`},
		{"month 13", Values{"state": {"WI"}, "years": {"2000-13", ".."}}, ErrInvalidValue, `write YYYY or YYYY-MM`},
	}
	c := gauges(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := c.CheckValues(test.values)
			if test.kind == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestAllWrongValuesAreReportedTogether(t *testing.T) {
	err := daily(t).CheckValues(Values{
		"monitoring_location_id": {"05427718", "USGS-1"},
		"parameter_code":         {"60"},
		"tmie":                   {"x"},
		"time":                   {"2024-01-01", "2023-01-01"},
	})
	var errs ValueErrors
	if !errors.As(err, &errs) || len(errs) != 4 {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`"05427718"`, "USGS-05427718", "prefix: USGS-", `"60"`, "00060", `did you mean "time"?`, "is after"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

func TestValuesWithOneProblemAreReportedTogether(t *testing.T) {
	sites := make([]string, 60)
	for i := range sites {
		sites[i] = fmt.Sprintf("%08d", i)
	}
	err := daily(t).CheckValues(Values{"monitoring_location_id": append(sites, "USGS-1", "")})
	var errs ValueErrors
	if !errors.As(err, &errs) || len(errs) != 2 {
		t.Fatalf("got %v", err)
	}
	want := `the value "00000000" (and 59 more like it) does not have the form that the service takes: AGENCY-ID, such as USGS-05427718`
	if !strings.HasPrefix(errs[0].Message, want) || errs[1].Message != "a value is empty" {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAMillionWrongValuesMakeAShortReport(t *testing.T) {
	err := gauges(t).CheckValues(Values{"basin": make([]string, 1_000_000)})
	if err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "a value (and 999999 more like it) is empty") {
		t.Errorf("got %.300v", err)
	}
	different := make([]string, 1000)
	for i := range different {
		different[i] = strings.Repeat("a", 1001+i)
	}
	err = gauges(t).CheckValues(Values{"basin": different})
	if err == nil || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "and 990 more values are wrong") {
		t.Errorf("got %.300v", err)
	}
}

func TestTheEstimateMultipliesValuesAndTime(t *testing.T) {
	c := daily(t)
	now := time.Date(2024, 1, 11, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		c      *Collection
		values Values
		rows   int64
		why    string
	}{
		"closed interval": {c, Values{"monitoring_location_id": {"USGS-1", "USGS-2"}, "parameter_code": {"00060"}, "time": {"2024-01-01", "2024-01-05"}}, 2 * 5, ""},
		"open end":        {c, Values{"monitoring_location_id": {"USGS-1", "USGS-2"}, "parameter_code": {"00060"}, "time": {"2024-01-01", ".."}}, 2 * 10, ""},
		"open begin":      {c, Values{"monitoring_location_id": {"USGS-1"}, "parameter_code": {"00060"}, "time": {"..", "2024-01-01"}}, 0, "time has no begin"},
		"no time":         {c, Values{"monitoring_location_id": {"USGS-1"}, "parameter_code": {"00060"}}, 0, "time is not given"},
		"no sites":        {c, Values{"time": {"2024-01-01", "2024-01-05"}}, 0, "monitoring_location_id is not given"},
		"an empty list":   {c, Values{"monitoring_location_id": {}, "time": {"2024-01-01", "2024-01-05"}}, 0, "monitoring_location_id is not given"},
		"no estimate":     {gauges(t), Values{}, 0, "the definition has no estimate"},
	} {
		rows, err := test.c.EstimateRows(test.values, now)
		if rows != test.rows || (err == nil) != (test.why == "") || err != nil && (!errors.Is(err, ErrNotEstimated) || !strings.Contains(err.Error(), test.why)) {
			t.Errorf("%s: %d rows, %v, want %d, %q", name, rows, err, test.rows, test.why)
		}
	}
}

// A default is sent, and another name is the same parameter: neither is missing.
func TestTheEstimateCountsDefaultsOtherNamesAndSpellings(t *testing.T) {
	const text = `
schema: service/v1
name: rivers
base_url: https://rivers.example
hosts: [{host: rivers.example}]
collections:
  daily:
    request: {path: /daily}
    params:
      site: {type: text, many: comma, aliases: [gauge]}
      state: {type: text, many: comma, values: {WI: [Wisconsin], IL: [Illinois]}}
      quantity: {type: text, default: level}
      kind: {type: text, many: comma}
    rows: {format: json, at: '$[*]'}
    fields: {n: {type: int64}}
    estimate: {rows: {per: [site, state, quantity, kind], absent: {kind: 5}}}
`
	d, err := Parse("rivers.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("daily")
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := c.EstimateRows(Values{"gauge": {"a", "b", "c"}, "state": {"WI", "Wisconsin", "IL"}}, time.Time{}); err != nil || rows != 3*2*5 {
		t.Errorf("%d rows, %v, want 30", rows, err)
	}
	for _, wrong := range []string{"{kimd: 5}", "{kind: 0}", "{kind: 1000001}"} {
		if _, err := Parse("rivers.yaml", []byte(strings.Replace(text, "{kind: 5}", wrong, 1))); err == nil || !strings.Contains(err.Error(), "estimate.rows.absent") {
			t.Errorf("absent: %s: %v", wrong, err)
		}
	}
}
