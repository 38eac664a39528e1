package planner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// parsed is the collection "c" of a definition of which only params, axes and request differ.
func parsed(t tb, request, params string, axes ...string) *service.Collection {
	t.Helper()
	text := "schema: service/v1\nname: s\nbase_url: https://api.example.org\nhosts: [{host: api.example.org}]\ncollections:\n  c:\n" +
		"    request: {" + request + "}\n    params: {" + params + "}\n" +
		"    rows: {format: json, at: '$.data[*]'}\n    fields: {id: {type: text}}\n    key: [id]\n"
	if len(axes) > 0 {
		text += "    axes: [{" + strings.Join(axes, "}, {") + "}]\n"
	}
	d, err := service.Parse("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("c")
	if err != nil {
		t.Fatal(err)
	}
	other := *c
	return &other
}

// divisions gives all ways to cut n values into contiguous pieces, as the ends of the pieces.
func divisions(n int) [][]int {
	var all [][]int
	for mask := range 1 << (n - 1) {
		var cuts []int
		for i := range n - 1 {
			if mask>>i&1 == 1 {
				cuts = append(cuts, i+1)
			}
		}
		all = append(all, append(cuts, n))
	}
	slices.SortStableFunc(all, func(a, b []int) int { return len(a) - len(b) })
	return all
}

func cutAt(values []string, cuts []int) [][]string {
	var pieces [][]string
	start := 0
	for _, end := range cuts {
		pieces = append(pieces, values[start:end])
		start = end
	}
	return pieces
}

// fewestOfAll tries every division of every axis, with every request measured as it is sent; 0 when none fits.
func fewestOfAll(t tb, c *service.Collection, whole service.Values, axes []string) int {
	t.Helper()
	memory := map[string]bool{}
	fits := func(values service.Values) bool {
		key := fmt.Sprint(values)
		known, ok := memory[key]
		if !ok {
			known = within(t, c, values)
			memory[key] = known
		}
		return known
	}
	best := 0
	var try func(i, count int, pieces map[string][][]string)
	try = func(i, count int, pieces map[string][][]string) {
		if best > 0 && count >= best {
			return
		}
		if i < len(axes) {
			for _, cuts := range divisions(len(whole[axes[i]])) {
				pieces[axes[i]] = cutAt(whole[axes[i]], cuts)
				try(i+1, count*len(cuts), pieces)
			}
			return
		}
		for _, chunk := range product(whole, axes, pieces) {
			if !fits(chunk.Values) {
				return
			}
		}
		best = count
	}
	try(0, 1, map[string][][]string{})
	return best
}

func within(t tb, c *service.Collection, values service.Values) bool {
	t.Helper()
	request, err := c.Request(values)
	if err != nil {
		t.Fatal(err)
	}
	l := c.Limits
	for _, list := range values {
		if l.Values > 0 && len(list) > l.Values {
			return false
		}
	}
	return (l.URLBytes == 0 || len(request.URL) <= l.URLBytes) && (l.BodyBytes == 0 || len(request.Body) <= l.BodyBytes) &&
		(l.RequestBytes == 0 || request.Size() <= l.RequestBytes)
}

// shape is a collection whose axes the tests divide, and what limits are near the sizes of its requests.
type shape struct {
	collection       func(t tb) *service.Collection
	axes             []string
	url, body, total [2]int
}

func shapes() map[string]shape {
	none := [2]int{}
	return map[string]shape{
		"comma and repeat": {func(t tb) *service.Collection {
			return parsed(t, "path: /c", "a: {type: text, many: comma}, b: {type: text, many: repeat}", "pack: a", "pack: b")
		}, []string{"a", "b"}, [2]int{50, 130}, none, none},
		"three": {func(t tb) *service.Collection {
			return parsed(t, "path: /c", "a: {type: text, many: comma}, b: {type: text, many: comma}, d: {type: text, many: repeat}", "pack: a", "pack: b", "pack: d")
		}, []string{"a", "b", "d"}, [2]int{60, 130}, none, [2]int{60, 140}},
		"each beside": {func(t tb) *service.Collection {
			return parsed(t, "path: /c", "e: {type: text}, a: {type: text, many: comma}, b: {type: text, many: comma}", "pack: a", "each: e", "pack: b")
		}, []string{"a", "e", "b"}, [2]int{60, 130}, none, none},
		"posted lists": {func(t tb) *service.Collection {
			return parsed(t, "method: POST_IF_MANY, path: /c", "a: {type: text, many: cql2_in}, b: {type: text, many: cql2_in}", "pack: a", "pack: b")
		}, []string{"a", "b"}, [2]int{50, 110}, [2]int{110, 210}, [2]int{120, 260}},
		"a posted list": {func(t tb) *service.Collection {
			return parsed(t, "method: POST_IF_MANY, path: /c", "a: {type: text, many: cql2_in}, b: {type: text, many: comma}", "pack: a", "pack: b")
		}, []string{"a", "b"}, [2]int{50, 110}, [2]int{70, 170}, [2]int{110, 220}},
		"a form": {func(t tb) *service.Collection {
			return parsed(t, "method: POST, path: /c, body: {as: form}", "a: {type: text, many: comma}, b: {type: text, many: repeat}", "pack: a", "pack: b")
		}, []string{"a", "b"}, none, [2]int{20, 100}, none},
		"a document": {func(t tb) *service.Collection {
			return parsed(t, "method: POST, path: /c, body: {as: json}", "a: {type: text, many: repeat}, b: {type: text, many: comma}", "pack: a", "pack: b")
		}, []string{"a", "b"}, none, [2]int{20, 100}, [2]int{60, 150}},
	}
}

func drawLimit(t *rapid.T, bounds [2]int, name string) int {
	if bounds == [2]int{} || rapid.IntRange(0, 3).Draw(t, name+" is none") == 0 {
		return 0
	}
	return rapid.IntRange(bounds[0], bounds[1]).Draw(t, name)
}

func TestNoDivisionOfSeveralAxesHasFewerRequests(t *testing.T) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			c := shape.collection(t)
			rapid.Check(t, func(t *rapid.T) {
				c.Limits.URLBytes = drawLimit(t, shape.url, "url_bytes")
				c.Limits.BodyBytes = drawLimit(t, shape.body, "body_bytes")
				c.Limits.RequestBytes = drawLimit(t, shape.total, "request_bytes")
				c.Limits.Values = drawLimit(t, [2]int{1, 5}, "values")
				whole := service.Values{}
				for _, axis := range shape.axes {
					most := map[bool]int{true: 4, false: 6}[len(shape.axes) > 2]
					if axis == "e" {
						whole[axis] = []string{value().Draw(t, axis)}
						continue
					}
					whole[axis] = rapid.SliceOfN(value(), 1, most).Draw(t, axis)
				}
				want := fewestOfAll(t, c, whole, shape.axes)
				plan, err := planner.Divide(c, whole, planner.Options{})
				switch {
				case errors.Is(err, planner.ErrUnsplittable) && want == 0:
				case err != nil:
					t.Fatalf("%d requests would do: %v", want, err)
				case plan.Len() != want:
					t.Fatalf("%d requests, and %d would do", plan.Len(), want)
				default:
					chunks := slices.Collect(plan.All())
					checkComplete(t, whole, shape.axes, chunks)
					for _, chunk := range chunks {
						if !within(t, c, chunk.Values) {
							t.Fatalf("over a limit: %v", chunk.Values)
						}
					}
				}
			})
		})
	}
}
