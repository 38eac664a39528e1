package main

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
)

func TestWhatPlannersAndServersSayIsToldAtItsPlace(t *testing.T) {
	q, err := query.Parse("q.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere:\n  gauge:\n    - a\n    - b\n  note: {file: n.txt}\nmax_chunks: 5\n"))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := q.Resolve(query.Sources{Open: func(string) ([]byte, error) { return []byte("x\ny\n"), nil }})
	if err != nil {
		t.Fatal(err)
	}
	p := &prepared{query: q, resolved: resolved}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"value in a list":  {&planner.UnsplittableError{Parameter: "gauge", Value: "b", Bytes: 9, Limit: 5}, `q.yaml:7: where.gauge: ` + (&planner.UnsplittableError{Parameter: "gauge", Value: "b", Bytes: 9, Limit: 5}).Error()},
		"value in a file":  {fmt.Errorf("%w: %w", query.ErrInvalid, &planner.UnsplittableError{Parameter: "note", Value: "y", Bytes: 9, Limit: 5}), `n.txt:2: where.note: ` + (&planner.UnsplittableError{Parameter: "note", Value: "y", Bytes: 9, Limit: 5}).Error()},
		"nothing to split": {&planner.UnsplittableError{Bytes: 9, Limit: 5}, `q.yaml:4: where: ` + (&planner.UnsplittableError{Bytes: 9, Limit: 5}).Error()},
		"too many":         {fmt.Errorf("%w: %w: more than 5", query.ErrInvalid, planner.ErrTooMany), "q.yaml:4: where: too many chunks: more than 5"},
		"max_chunks":       {fmt.Errorf("%w: -1", planner.ErrMaxChunks), "q.yaml:9: max_chunks: max_chunks is out of bounds: -1"},
		"a server": {
			&braid.ServerError{Detail: "all", Fields: []braid.FieldError{{Location: "values.note", Message: "wrong"}, {Location: "values.time", Message: "missing"}, {Location: "max_chunks", Message: "large"}}},
			"q.yaml:4: where: time: missing\nq.yaml:8: where.note: wrong\nq.yaml:9: max_chunks: large\n3 problems; nothing was sent",
		},
		"anything else": {errors.New("no room"), "no room"},
	} {
		t.Run(name, func(t *testing.T) {
			got := p.place(test.err)
			if diff := cmp.Diff(test.want, got.Error()); diff != "" || !errors.Is(got, test.err) {
				t.Error(diff)
			}
		})
	}
	if p.place(nil) != nil {
		t.Error("no error has a place")
	}
}
