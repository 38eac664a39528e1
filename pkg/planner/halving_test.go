package planner_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// halvingClient is the way in which dataretrieval divides, written down again from its rules and as plainly as they are.
type halvingClient struct {
	names  []string
	pieces [][][]string
	limit  int
}

func escapedText(piece []string) int { return len(url.QueryEscape(strings.Join(piece, ","))) }

// largest gives of each axis the piece that is greatest by a measure, the first on a tie, of those with least values or more.
func (h halvingClient) largest(axis, least int, measure func([]string) int) int {
	best := -1
	for i, piece := range h.pieces[axis] {
		if len(piece) >= least && (best < 0 || measure(piece) > measure(h.pieces[axis][best])) {
			best = i
		}
	}
	return best
}

func (h halvingClient) fits() bool {
	form := ""
	for axis, name := range h.names {
		piece := h.pieces[axis][h.largest(axis, 1, escapedText)]
		form += "&" + name + "=" + url.QueryEscape(strings.Join(piece, ","))
	}
	return len("https://api.example.org/c?")+len(form)-1 <= h.limit
}

func (h halvingClient) total() int {
	total := 1
	for _, pieces := range h.pieces {
		total *= len(pieces)
	}
	return total
}

// halve halves the greatest piece of the axes that may be halved.
func (h halvingClient) halve(measure func([]string) int, may func(axis int) bool) bool {
	best, at := -1, -1
	for axis := range h.pieces {
		i := h.largest(axis, 2, measure)
		if i >= 0 && may(axis) && (best < 0 || measure(h.pieces[axis][i]) > measure(h.pieces[best][at])) {
			best, at = axis, i
		}
	}
	if best < 0 {
		return false
	}
	piece := h.pieces[best][at]
	h.pieces[best] = slices.Replace(slices.Clone(h.pieces[best]), at, at+1, piece[:len(piece)/2], piece[len(piece)/2:])
	return true
}

// divide gives the number of chunks; 0 when halving does not end in requests that fit.
func (h halvingClient) divide(maxChunks int) int {
	for !h.fits() {
		if !h.halve(escapedText, func(int) bool { return true }) {
			return 0
		}
	}
	within := func(axis int) bool { return h.total()+h.total()/len(h.pieces[axis]) <= maxChunks }
	for h.total() < maxChunks && h.halve(func(piece []string) int { return len(piece) }, within) {
	}
	return h.total()
}

func TestNoPlanHasMoreChunksThanHalvingGives(t *testing.T) {
	names := []string{"a", "b", "d"}
	c := parsed(t, "path: /c", "a: {type: text, many: comma}, b: {type: text, many: comma}, d: {type: text, many: comma}", "pack: a", "pack: b", "pack: d")
	rapid.Check(t, func(t *rapid.T) {
		whole := service.Values{}
		h := halvingClient{limit: rapid.IntRange(60, 300).Draw(t, "limit")}
		for _, name := range names[:rapid.IntRange(1, 3).Draw(t, "axes")] {
			whole[name] = rapid.SliceOfN(value(), 2, 25).Draw(t, name)
			h.names, h.pieces = append(h.names, name), append(h.pieces, [][]string{whole[name]})
		}
		c.Limits.URLBytes = h.limit
		first := rapid.IntRange(1, 100).Draw(t, "max_chunks")
		for most := first; most < first+20; most++ {
			plan, err := planner.Divide(c, whole, planner.Options{MaxChunks: most})
			client := halvingClient{h.names, slices.Clone(h.pieces), h.limit}
			want := client.divide(most)
			switch {
			case err != nil && want > 0:
				t.Fatalf("halving gives %d chunks: %v", want, err)
			case err != nil || want == 0:
				return
			case plan.Len() > want:
				t.Fatalf("max_chunks %d: %d chunks, and halving gives %d", most, plan.Len(), want)
			}
			for chunk := range plan.All() {
				if !within(t, c, chunk.Values) {
					t.Fatalf("max_chunks %d: over the limit: %v", most, chunk.Values)
				}
			}
		}
	})
}
