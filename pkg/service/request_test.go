package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestARequestIsWrittenInDeclaredOrder(t *testing.T) {
	tests := []struct {
		name   string
		values Values
		want   string
	}{
		{"comma stays", Values{"site": {"b,x", "a b"}, "state": {"WI"}}, "site=b%2Cx,a+b&location=state%3AWI&mode=overlap&order=id%2Cts&limit=500"},
		{"repeat", Values{"tag": {"1", "2"}}, "tag=1&tag=2&mode=overlap&order=id%2Cts&limit=500"},
		{"length", Values{"basin": {"0401"}, "mode": {"envelop"}}, "location=huc4%3A0401&mode=envelop&order=id%2Cts&limit=500"},
		{"interval", Values{"years": {"2000", "2001"}}, "mode=overlap&start=2000&end=2001&order=id%2Cts&limit=500"},
		{"open end", Values{"years": {"2000", ".."}}, "mode=overlap&start=2000&order=id%2Cts&limit=500"},
		{"one wire name", Values{"time": {"2000-01-01T00:00:00Z", ".."}}, "mode=overlap&time=2000-01-01T00%3A00%3A00Z%2F..&order=id%2Cts&limit=500"},
	}
	c := gauges(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := c.Request(test.values)
			if err != nil {
				t.Fatal(err)
			}
			want := Request{Method: "GET", URL: "https://api.example.org/v1/gauges?" + test.want, Header: map[string]string{"Accept": "application/json"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if got.Size() != len(want.URL) {
				t.Errorf("size %d, want %d", got.Size(), len(want.URL))
			}
		})
	}
}

func TestTheDailyRequestIsTheServices(t *testing.T) {
	got, err := daily(t).Request(Values{
		"monitoring_location_id": {"USGS-05427718", "USGS-05428500"},
		"parameter_code":         {"00060"},
		"statistic_id":           {"00003"},
		"time":                   {"1984-10-01", "2024-09-30"},
	})
	want := "https://api.waterdata.usgs.gov/ogcapi/v0/collections/daily/items?monitoring_location_id=USGS-05427718,USGS-05428500" +
		"&parameter_code=00060&statistic_id=00003&time=1984-10-01%2F2024-09-30&f=json&lang=en-US&limit=50000&skipGeometry=true"
	if err != nil || got.URL != want {
		t.Errorf("got  %s, %v\nwant %s", got.URL, err, want)
	}
	data, err := json.Marshal(got)
	if err != nil || !strings.HasPrefix(string(data), `{"method":"GET","url":"https://`) {
		t.Errorf("got %s, %v", data, err)
	}
}

func TestAWrongChunkIsNoRequest(t *testing.T) {
	c := gauges(t)
	for _, test := range []struct {
		values Values
		kind   error
	}{
		{Values{"nothing": {"a"}}, ErrUnknownParameter},
		{Values{"site": {}}, ErrInvalidValue},
		{Values{"state": {"WI", "IL"}}, ErrInvalidValue},
		{Values{"time": {"2000"}}, ErrInvalidValue},
	} {
		if _, err := c.Request(test.values); !errors.Is(err, test.kind) {
			t.Errorf("%v: got %v", test.values, err)
		}
	}
}

func TestEveryValueArrivesAsItWasGiven(t *testing.T) {
	c := gauges(t)
	rapid.Check(t, func(t *rapid.T) {
		tags := rapid.SliceOfN(rapid.StringN(1, 20, -1), 1, 5).Draw(t, "tags")
		request, err := c.Request(Values{"tag": tags})
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(request.URL)
		if err != nil {
			t.Fatal(err)
		}
		query, err := url.ParseQuery(u.RawQuery)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tags, query["tag"]); diff != "" {
			t.Fatal(diff)
		}
		if again, err := c.Request(Values{"tag": tags}); err != nil || again.URL != request.URL {
			t.Fatalf("%s, %v differs from %s", again.URL, err, request.URL)
		}
	})
}

func BenchmarkRequestOfFiveHundredSites(b *testing.B) {
	sites := make([]string, 500)
	for i := range sites {
		sites[i] = fmt.Sprintf("USGS-%08d", i)
	}
	c := daily(b)
	for b.Loop() {
		if _, err := c.Request(Values{"monitoring_location_id": sites}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRequestOfOneSite(b *testing.B) {
	c := daily(b)
	values := Values{"monitoring_location_id": {"USGS-05427718"}, "parameter_code": {"00060"}, "time": {"2024-01-01", "2024-12-31"}}
	for b.Loop() {
		if _, err := c.Request(values); err != nil {
			b.Fatal(err)
		}
	}
}
