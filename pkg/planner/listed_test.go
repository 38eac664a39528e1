package planner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

func TestARequestHasNoMoreValuesThanTheServiceCounts(t *testing.T) {
	c := gauges(t, "url_bytes: 8000, values: 100", "pack: site", "pack: code")
	for _, test := range []struct{ sites, codes, chunks int }{{100, 1, 1}, {101, 1, 2}, {250, 100, 3}, {250, 101, 6}} {
		values := service.Values{"site": numbered("s", test.sites), "code": numbered("c", test.codes)}
		plan, err := planner.Divide(c, values, planner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Len() != test.chunks {
			t.Errorf("%+v: %d chunks", test, plan.Len())
		}
		for chunk := range plan.All() {
			if len(chunk.Values["site"]) > 100 || len(chunk.Values["code"]) > 100 {
				t.Errorf("%+v: a request of %d sites and %d codes", test, len(chunk.Values["site"]), len(chunk.Values["code"]))
			}
		}
	}
}

func TestMaxChunksKeepsToTheNumberOfValues(t *testing.T) {
	c := gauges(t, "url_bytes: 8000, values: 7", "pack: site", "pack: code")
	values := service.Values{"site": numbered("s", 40), "code": numbered("c", 9)}
	for most := range 60 {
		plan, err := planner.Divide(c, values, planner.Options{MaxChunks: most})
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range plan.All() {
			if len(chunk.Values["site"]) > 7 || len(chunk.Values["code"]) > 7 {
				t.Fatalf("max_chunks %d: a request of %d sites and %d codes", most, len(chunk.Values["site"]), len(chunk.Values["code"]))
			}
		}
	}
}

func TestAListThatDoesNotDivideIsRefusedWhenItHasTooManyValues(t *testing.T) {
	c := gauges(t, "url_bytes: 8000, values: 3", "pack: site")
	if _, err := planner.Divide(c, service.Values{"code": numbered("c", 3)}, planner.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := planner.Divide(c, service.Values{"site": numbered("s", 9), "code": numbered("c", 4)}, planner.Options{})
	if !errors.Is(err, planner.ErrUnsplittable) || !strings.Contains(err.Error(), "4 values of code, the service takes 3") {
		t.Errorf("%v", err)
	}
}
