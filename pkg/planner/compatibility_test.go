package planner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// shipped gives a collection of a definition that comes with Braid.
func shipped(t *testing.T, name, collection string) *service.Collection {
	t.Helper()
	data, ok := service.Builtin(name)
	if !ok {
		t.Fatalf("no definition %s", name)
	}
	d, err := service.Parse(name, data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection(collection)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// usualIDs are ids of locations in the usual length, which is 13 bytes.
func usualIDs(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("USGS-%08d", 1_000_000+i)
	}
	return list
}

func requestsOf(t *testing.T, c *service.Collection, values service.Values) []service.Request {
	t.Helper()
	plan, err := planner.Divide(c, values, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []service.Request
	for chunk := range plan.All() {
		request, err := c.Request(chunk.Values)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, request)
	}
	return all
}

func TestALongListIsAsFewRequestsAsThePageOnCompatibilitySays(t *testing.T) {
	c := shipped(t, "usgs-waterdata", "daily")
	all := requestsOf(t, c, service.Values{"monitoring_location_id": usualIDs(10_000), "parameter_code": {"00060"}})
	if len(all) != 18 { // the client's halves are 32, and 21 would do with its commas (U-2.15)
		t.Errorf("%d requests for 10,000 ids, want 18", len(all))
	}
	for _, request := range all {
		if request.Size() > 8000 || strings.Contains(request.URL, "%2C") || strings.Count(request.URL, ",") < 100 {
			t.Errorf("%d bytes: %.120s", request.Size(), request.URL)
		}
	}
	began := time.Now()
	if plan, err := planner.Divide(c, service.Values{"monitoring_location_id": usualIDs(100_000)}, planner.Options{}); err != nil || plan.Len() != 179 {
		t.Fatalf("%v for 100,000 ids", err)
	}
	// A fraction of a second by itself. The client takes 49 s.
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("100,000 ids took %s", took)
	}
}

func TestEachStateOfProvidersIsARequest(t *testing.T) {
	var urls []string
	for _, request := range requestsOf(t, shipped(t, "usgs-ngwmn", "providers"), service.Values{"state": {"WI", "MN"}}) {
		_, query, _ := strings.Cut(request.URL, "?")
		urls = append(urls, query)
	}
	want := []string{"state=WI&f=json&limit=50000", "state=MN&f=json&limit=50000"}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Error(diff)
	}
}
