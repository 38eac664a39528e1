package frame

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// countedScratch counts the spills that are open, and fails where it is told to.
type countedScratch struct {
	created, open, readers int
	failCreate             int // from this one on, 0: none
	failWrite, failRead    error
}

type countedSpill struct {
	memorySpill
	scratch *countedScratch
}

func (s *countedScratch) Create() (Spill, error) {
	s.created++
	if s.failCreate > 0 && s.created >= s.failCreate {
		return nil, errors.New("no room")
	}
	s.open++
	return &countedSpill{scratch: s}, nil
}

func (s *countedSpill) Write(data []byte) (int, error) {
	if s.scratch.failWrite != nil {
		return 0, s.scratch.failWrite
	}
	return s.memorySpill.Write(data)
}

func (s *countedSpill) Reader() (io.ReadCloser, error) {
	if s.scratch.failRead != nil {
		return nil, s.scratch.failRead
	}
	s.scratch.readers++
	r, err := s.memorySpill.Reader()
	return &countedReader{r, s.scratch}, err
}

func (s *countedSpill) Close() error {
	s.scratch.open--
	return nil
}

type countedReader struct {
	io.Reader
	scratch *countedScratch
}

func (r *countedReader) Close() error {
	r.scratch.readers--
	return nil
}

func entriesOf(t interface{ Fatal(...any) }, s *sorter) []string {
	var all []string
	s.sorted(func(e entry, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(e.key)+"="+string(e.payload))
		return true
	})
	return all
}

func TestEntriesComeBackInOrderHoweverLittleMemoryThereIs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.StringMatching(`[abc\x00]{0,12}`), rapid.ID).Draw(r, "keys")
		scratch := &countedScratch{}
		s := newSorter(scratch, sorterBounds{
			blockBytes: rapid.SampledFrom([]int{1, 60, 300, 1 << 20}).Draw(r, "block"),
			fanIn:      rapid.IntRange(2, 5).Draw(r, "fan-in"),
		})
		var want []string
		for i, key := range keys {
			payload := strings.Repeat("x", i%7)
			want = append(want, key+"="+payload)
			if err := s.add(t.Context(), []byte(key), []byte(payload)); err != nil {
				r.Fatal(err)
			}
		}
		slices.SortFunc(want, func(a, b string) int {
			keyA, _, _ := strings.Cut(a, "=")
			keyB, _, _ := strings.Cut(b, "=")
			return strings.Compare(keyA, keyB)
		})
		for range 2 {
			if diff := cmp.Diff(want, entriesOf(r, s)); diff != "" {
				r.Fatal(diff)
			}
		}
		if err := s.close(); err != nil || scratch.open != 0 || scratch.readers != 0 {
			r.Fatalf("%v; %d spills and %d readers are open", err, scratch.open, scratch.readers)
		}
	})
}

// littleMemory makes each row a run of its own.
func littleMemory() memory { return memory{rows: sorterBounds{1, 3}, keys: sorterBounds{1, 2}} }

func TestTheTableDoesNotDependOnTheMemoryThereIs(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		shape := anyShape().Draw(r, "shape")
		if len(shape.Key) > 0 && rapid.Bool().Draw(r, "newest") {
			shape.OnDuplicate, shape.NewestBy = KeepNewest, "t"
		}
		if rapid.Bool().Draw(r, "limits") {
			limit, less := rapid.IntRange(0, 9).Draw(r, "limit"), rapid.IntRange(0, 9).Draw(r, "less")
			shape.Finalize = append(slices.Clone(shape.Finalize), Operation{Limit: &limit}, Operation{Sort: []string{"u", "k"}},
				Operation{Cast: map[string]Type{"k": Int64}}, Operation{Limit: &less})
		}
		rows := strings.Join(rapid.SliceOfN(rowText(), 0, 20).Draw(r, "rows"), "\n")
		much := build(t, shape, seenColumns, rows)
		scratch := &countedScratch{}
		little, err := buildWithin(t.Context(), littleMemory(), shape, seenColumns, chunksOf(rows), scratch)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(tableText(t, much), tableText(t, little)); diff != "" {
			r.Fatalf("tables differ:\n%s", diff)
		}
		if diff := cmp.Diff(much.Report, little.Report); diff != "" {
			r.Fatalf("reports differ:\n%s", diff)
		}
		if n := len(rowsOf(t, little)); int64(n) != little.Report.Rows {
			r.Fatalf("%d rows, reported %d", n, little.Report.Rows)
		}
		if err := little.Close(); err != nil || scratch.open != 0 || scratch.readers != 0 {
			r.Fatalf("%v; %d spills and %d readers are open", err, scratch.open, scratch.readers)
		}
	})
}

func TestScratchThatFailsFailsTheTableAndLeavesNothingOpen(t *testing.T) {
	limit := 5
	shape := Shape{
		Fields: []Field{{Name: "k", Type: Text}}, Key: []string{"k"},
		Finalize: []Operation{{Sort: []string{"k"}}, {Limit: &limit}, {Sort: []string{"k"}}},
	}
	var rows []string
	for i := range 40 {
		rows = append(rows, fmt.Sprintf(`{"k":"%d"}`, i%30))
	}
	chunk := strings.Join(rows, "\n")
	whole := &countedScratch{}
	table, err := buildWithin(t.Context(), littleMemory(), shape, []string{"k"}, chunksOf(chunk), whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= whole.created; n++ {
		scratch := &countedScratch{failCreate: n}
		_, err := buildWithin(t.Context(), littleMemory(), shape, []string{"k"}, chunksOf(chunk), scratch)
		if err == nil || !strings.Contains(err.Error(), "no room") || scratch.open != 0 || scratch.readers != 0 {
			t.Fatalf("creation %d fails: %v; %d spills and %d readers are open", n, err, scratch.open, scratch.readers)
		}
	}
	for _, scratch := range []*countedScratch{{failWrite: errors.New("no room")}, {failRead: errors.New("no room")}} {
		_, err := buildWithin(t.Context(), littleMemory(), shape, []string{"k"}, chunksOf(chunk), scratch)
		if err == nil || !strings.Contains(err.Error(), "no room") || scratch.open != 0 || scratch.readers != 0 {
			t.Errorf("%v; %d spills and %d readers are open", err, scratch.open, scratch.readers)
		}
	}
}

func TestATableThatIsCancelledLeavesNothingOpen(t *testing.T) {
	for after := range 6 {
		ctx, cancel := context.WithCancelCause(t.Context())
		scratch := &countedScratch{}
		given := 0
		_, err := buildWithin(ctx, littleMemory(), Shape{Fields: []Field{{Name: "k", Type: Text}}, Key: []string{"k"}}, []string{"k"},
			func(yield func([]byte, error) bool) {
				for ; given < 6*checkEvery; given++ {
					if given == after*checkEvery+7 {
						cancel(errors.New("enough"))
					}
					if !yield([]byte(fmt.Sprintf(`{"k":"%d"}`, given)), nil) {
						return
					}
				}
			}, scratch)
		if err == nil || !strings.Contains(err.Error(), "enough") || scratch.open != 0 || scratch.readers != 0 {
			t.Errorf("after %d: %v; %d spills and %d readers are open", after, err, scratch.open, scratch.readers)
		}
		cancel(nil)
	}
}
