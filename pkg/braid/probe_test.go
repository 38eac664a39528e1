package braid_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/service"
)

const probed = `schema: service/v1
name: rivers
base_url: HOST/v1
hosts: [{host: HOSTPORT, credentials: [key], insecure: true}]
credentials: {key: {send: {header: X-Key}, from: 'env:RIVERS_KEY'}}
quotas: {rivers: {limit: 10, window: 1h, observe: {limit: 'header:X-Quota', remaining: 'header:X-Quota-Left'}}}
limits: {page_rows: 500}
collections:
  levels:
    request: {path: /levels, query: {limit: '{page_rows}'}}
    params: {gauge: {type: text}}
    axes: [{each: gauge}]
    paging: {style: link, next: '$.next'}
    rows: {format: json, at: '$.data[*]'}
    fields: {gauge: {type: text}, level: {type: float64}, time: {type: date}, '*_mgd': {type: decimal}}
    finalize: [{drop: [level]}]
`

// probe sends one request to a server that answers so, and gives the report and what the server saw.
func probe(t *testing.T, values service.Values, answer http.HandlerFunc) (*braid.ProbeReport, []*http.Request) {
	t.Helper()
	var seen []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r)
		answer(w, r)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	d, err := service.Parse("rivers.yaml", []byte(strings.NewReplacer("HOSTPORT", host, "HOST", server.URL).Replace(probed)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("levels")
	if err != nil {
		t.Fatal(err)
	}
	report, err := braid.Probe{
		Collection: c, Values: values, Now: time.Now(),
		Getenv: func(name string) string { return map[string]string{"RIVERS_KEY": "s3cr3t-key-1234"}[name] },
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report.URL = strings.ReplaceAll(report.URL, server.URL, "https://rivers.example")
	if c.Limits.PageRows != 500 {
		t.Errorf("the definition has pages of %d rows after the probe", c.Limits.PageRows)
	}
	return report, seen
}

func TestAProbeComparesOneSmallAnswerWithTheDefinition(t *testing.T) {
	got, seen := probe(t, service.Values{"gauge": {"a", "b"}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Quota", "10")
		w.Header().Set("X-Quota-Left", "9 for "+r.Header.Get("X-Key")) // a server that tells the key to whoever reads its headers
		_, _ = w.Write([]byte(`{"data":[{"gauge":"a","level":1.5,"sum_mgd":"2","extra":1},{"gauge":"a","level":"n/a"}],"next":"/v1/levels?page=2"}`))
	})
	want := &braid.ProbeReport{
		Collection: "levels", Method: "GET", URL: "https://rivers.example/v1/levels?gauge=a&limit=5", Status: 200, Class: service.ClassOK,
		Rows: 2, Columns: []string{"gauge", "level", "sum_mgd", "extra"}, Absent: []string{"time"}, Undeclared: []string{"extra"},
		Bad:  []frame.BadField{{Name: "level", Type: frame.Float64, Count: 1, Originals: []string{"n/a"}}},
		Next: true, Headers: []braid.ProbeHeader{{Name: "X-Quota", Value: "10"}, {Name: "X-Quota-Left", Value: "9 for [hidden]"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(seen) != 1 || seen[0].Header.Get("X-Key") != "s3cr3t-key-1234" {
		t.Errorf("the server saw %d requests", len(seen))
	}
}

func TestAProbeTellsARefusalAndSendsNothingAgain(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		class  service.Class
		says   string
	}{
		"busy":     {503, `{"error":{"code":"BUSY","message":"later"}}`, service.ClassTransient, "later"},
		"quota":    {429, `{}`, service.ClassQuota, "429"},
		"no key":   {403, `{"message":"bad key s3cr3t-key-1234"}`, service.ClassAuth, "[hidden]"},
		"no table": {200, `<html><title>Maintenance</title></html>`, service.ClassTransient, "Maintenance"},
	} {
		t.Run(name, func(t *testing.T) {
			got, seen := probe(t, nil, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			})
			if got.Status != test.status || got.Class != test.class || !strings.Contains(got.Problem, test.says) || strings.Contains(got.Problem, "s3cr3t") {
				t.Errorf("got %+v", got)
			}
			if diff := cmp.Diff([]braid.ProbeHeader{{Name: "Retry-After", Value: "30"}}, got.Headers); diff != "" || len(seen) != 1 {
				t.Errorf("%d requests; headers %s", len(seen), diff)
			}
		})
	}
}
