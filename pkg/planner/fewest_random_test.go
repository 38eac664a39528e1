package planner_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// randomLists is a collection with one to three lists, any of which may be posted, limits near the sizes of its requests, and
// values of a query.
func randomLists(t *testing.T, seed int64) (*service.Collection, []string, service.Values) {
	t.Helper()
	alphabet := []string{"a", "é", "/", "\"", " x", "日本", "&", "b"}
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	var names, params, axes []string
	values, method := service.Values{}, "GET"
	for i := range 1 + r.IntN(3) {
		many := []string{"comma", "repeat", "cql2_in"}[r.IntN(3)]
		if many == "cql2_in" {
			method = "POST_IF_MANY"
		}
		name := fmt.Sprintf("p%d", i)
		names = append(names, name)
		params = append(params, fmt.Sprintf("%s: {type: text, many: %s}", name, many))
		axes = append(axes, "pack: "+name)
		for j := range 1 + r.IntN(5) {
			v := fmt.Sprint(j)
			for q := r.IntN(14); q > 0; q-- {
				v += alphabet[r.IntN(len(alphabet))]
			}
			values[name] = append(values[name], strings.TrimSpace(v))
		}
	}
	c := parsed(t, "path: /c, method: "+method, strings.Join(params, ", "), axes...)
	c.Limits.URLBytes = 64 + r.IntN(200)
	if r.IntN(2) == 0 {
		c.Limits.BodyBytes = 80 + r.IntN(250)
	}
	if r.IntN(3) == 0 {
		c.Limits.RequestBytes = 100 + r.IntN(300)
	}
	if r.IntN(3) == 0 {
		c.Limits.Values = 1 + r.IntN(4)
	}
	return c, names, values
}

func TestPostedListsBesideOthersHaveTheFewestRequests(t *testing.T) {
	// About one in a thousand needs more of a search than most: values of several axes share the room of the URL, requests in
	// which no axis sends several values do without the frame of a body, and some divide only so.
	for seed := range int64(3000) {
		c, names, values := randomLists(t, seed)
		want := fewestOfAll(t, c, values, names)
		plan, err := planner.Divide(c, values, planner.Options{})
		switch {
		case want == 0 && errors.Is(err, planner.ErrUnsplittable):
		case err != nil:
			t.Errorf("seed %d: %d requests would do: %v", seed, want, err)
		case plan.Len() != want:
			t.Errorf("seed %d: %d requests, and %d would do", seed, plan.Len(), want)
		default:
			checkComplete(t, values, names, slices.Collect(plan.All()))
		}
	}
}

func TestManyValuesAloneCostNoMoreThanNone(t *testing.T) {
	var params, axes []string
	values := service.Values{}
	for i := range 3 {
		name := fmt.Sprintf("p%d", i)
		params, axes = append(params, name+": {type: text, many: cql2_in}"), append(axes, "pack: "+name)
		for j := range 200 {
			values[name] = append(values[name], fmt.Sprintf("%03d%s", j, strings.Repeat("x", j*7919%97)))
		}
	}
	for _, url := range []int{120, 200, 300, 8000} {
		c := parsed(t, "path: /c, method: POST_IF_MANY", strings.Join(params, ", "), axes...)
		c.Limits.BodyBytes = 3000
		c.Limits.URLBytes = 27 // with no value
		none, err := planner.Divide(c, values, planner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Limits.URLBytes = url
		plan, err := planner.Divide(c, values, planner.Options{})
		if err != nil || plan.Len() > none.Len() {
			t.Errorf("url_bytes %d: %v; without values alone %d requests would do", url, err, none.Len())
		}
	}
}
