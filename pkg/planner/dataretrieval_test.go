package planner_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/planner/plantest"
	"github.com/braidhq/braid/pkg/query"
)

// The client halves and this package packs, so what is asserted is what both owe: each combination asked once and in order, no
// request too large, the same refusals; and no more requests than the client makes.
func TestQueriesOfDataretrievalAreDividedAtLeastAsWell(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.ID, func(t *testing.T) {
			switch {
			case v.MaxChunks < 1:
				checkRefusedCap(t, v)
				return
			case v.Error != nil && v.Error.Kind == "numeric_filter":
				s := newSender(t, v)
				if err := s.collection.CheckValues(s.values); err == nil || !strings.Contains(err.Error(), v.Error.Offense) {
					t.Errorf("the filter is accepted: %v", err)
				}
				return
			}
			s := newSender(t, v)
			if err := s.collection.CheckValues(s.values); err != nil && strings.Contains(err.Error(), "without quotes") {
				t.Errorf("the filter is refused: %v", err)
			}
			plan, err := planner.Divide(s.collection, s.values, planner.Options{MaxChunks: v.MaxChunks})
			if err != nil {
				checkRefused(t, v, err)
				return
			}
			plantest.Check(t, plan)
			chunks := slices.Collect(plan.All())
			sizes := s.checkProduct(t, chunks)
			if v.Error != nil {
				s.checkItReallyFits(t, v, chunks)
				return
			}
			s.checkRequests(t, v, chunks)
			s.checkTotal(t, v, chunks, sizes)
		})
	}
}

// checkRefusedCap says that a query file with this max_chunks is refused before anything else is looked at. For the
// planner itself 0 stands for a cap that is not given.
func checkRefusedCap(t *testing.T, v vector) {
	t.Helper()
	text := fmt.Sprintf("schema: query/v1\nservice: s\ncollection: c\nwhere: {a: b}\nmax_chunks: %d\n", v.MaxChunks)
	if _, err := query.Parse("q.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "max_chunks") {
		t.Errorf("%d is accepted: %v", v.MaxChunks, err)
	}
	if v.MaxChunks == 0 {
		return
	}
	s := newSender(t, v)
	if _, err := planner.Divide(s.collection, s.values, planner.Options{MaxChunks: v.MaxChunks}); !errors.Is(err, planner.ErrMaxChunks) {
		t.Errorf("%d: %v", v.MaxChunks, err)
	}
}

func checkRefused(t *testing.T, v vector, err error) {
	t.Helper()
	var unsplittable *planner.UnsplittableError
	if !errors.As(err, &unsplittable) {
		t.Fatal(err)
	}
	switch {
	case v.Error == nil && v.Expect.OverLimit > 0:
		// A defect of the client: it sends a request that is over the limit.
	case v.Error == nil:
		t.Errorf("it is refused, and %d requests do: %v", v.Expect.Total, err)
	case v.Error.Kind != "unchunkable" || v.Error.Reason != string(unsplittable.Reason):
		t.Errorf("it is refused for the reason %s, want %+v", unsplittable.Reason, *v.Error)
	}
	if unsplittable.Limit != v.URLLimit || unsplittable.Bytes <= v.URLLimit || unsplittable.Parameter == "" {
		t.Errorf("the error does not name what is too large: %+v", *unsplittable)
	}
}

// checkItReallyFits lets a query pass that the client refuses because it escapes commas: ours are shorter.
func (s sender) checkItReallyFits(t *testing.T, v vector, chunks []planner.Chunk) {
	t.Helper()
	s.checkRequests(t, v, chunks)
	commas := 0
	for _, chunk := range chunks {
		request, err := s.collection.Request(chunk.Values)
		if err != nil {
			t.Fatal(err)
		}
		commas = max(commas, strings.Count(request.URL, ","))
	}
	if commas == 0 {
		t.Errorf("the client refuses it as %s, and no comma makes the difference", v.Error.Reason)
	}
}

func (s sender) checkRequests(t *testing.T, v vector, chunks []planner.Chunk) {
	t.Helper()
	if len(chunks) == 1 && s.collection.PassesThrough(s.values) {
		return // what only the service can judge is sent as it is
	}
	for i, chunk := range chunks {
		request, err := s.collection.Request(chunk.Values)
		if err != nil {
			t.Fatal(err)
		}
		if n := request.Size(); n > v.URLLimit {
			t.Fatalf("the request of chunk %d has %d bytes, the limit is %d: %v", i, n, v.URLLimit, chunk.Values)
		}
	}
}

// atomsOf gives what a piece of a parameter asks for, one by one.
func (s sender) atomsOf(param string, piece []string) []string {
	if param == s.filter && len(piece) == 1 && len(s.atoms[param]) > 1 {
		return cql2.Split(piece[0])
	}
	return piece
}

// checkProduct says that the chunks are the product of contiguous pieces, the last axis fastest, and gives how many atoms the
// pieces of each axis have.
func (s sender) checkProduct(t *testing.T, chunks []planner.Chunk) map[string][]int {
	t.Helper()
	sizes := map[string][]int{}
	pieces := map[string][][]string{}
	stride := 1
	for _, param := range slices.Backward(s.axes) {
		var atoms []string
		for i := 0; i < len(chunks) && len(atoms) < len(s.atoms[param]); i += stride {
			piece := chunks[i].Values[param]
			pieces[param] = append(pieces[param], piece)
			own := s.atomsOf(param, piece)
			sizes[param], atoms = append(sizes[param], len(own)), append(atoms, own...)
		}
		if diff := cmp.Diff(s.atoms[param], atoms); diff != "" {
			t.Fatalf("the pieces of %s are not its values, once and in order:\n%s", param, diff)
		}
		stride *= max(1, len(pieces[param]))
	}
	if stride != len(chunks) {
		t.Fatalf("%d chunks, and the pieces make %d", len(chunks), stride)
	}
	for i, chunk := range chunks {
		want := maps.Clone(s.values)
		at := i
		for _, param := range slices.Backward(s.axes) {
			want[param] = pieces[param][at%len(pieces[param])]
			at /= len(pieces[param])
		}
		if diff := cmp.Diff(planner.Chunk{Values: want}, chunk); diff != "" {
			t.Fatalf("chunk %d:\n%s", i, diff)
		}
	}
	return sizes
}

func (s sender) checkTotal(t *testing.T, v vector, chunks []planner.Chunk, sizes map[string][]int) {
	t.Helper()
	if v.Expect.OverLimit == 0 && len(chunks) > v.Expect.Total {
		t.Errorf("%d requests, and the client makes %d", len(chunks), v.Expect.Total)
	}
	request, err := s.collection.Request(s.values)
	if err != nil {
		t.Fatal(err)
	}
	if request.Size()+2*strings.Count(request.URL, ",") > v.URLLimit {
		return
	}
	// Where the limit forces nothing, max_chunks makes as many pieces as it does there, of one length where they are not.
	if len(chunks) == 1 {
		if diff := cmp.Diff([]planner.Chunk{{Values: s.values}}, chunks); diff != "" {
			t.Error(diff)
		}
	}
	i := 0
	for _, param := range s.axes {
		if len(v.Expect.Axes) == 0 || len(s.atoms[param]) < 2 {
			continue
		}
		if got := sizes[param]; len(got) != len(v.Expect.Axes[i].Sizes) || slices.Max(got)-slices.Min(got) > 1 {
			t.Errorf("%s has the pieces %v, and %v there", v.Expect.Axes[i].Key, got, v.Expect.Axes[i].Sizes)
		}
		i++
	}
}
