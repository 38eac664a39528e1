package coordinator_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestCoverageTellsWhatCameOfEachValue(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	// Three sites a chunk; the first chunk is split and s02 has nothing, the second has no rows, the third is refused for quota.
	var answered sync.WaitGroup
	answered.Add(3) // the second chunk, and the halves of the first
	r.work(testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		names := sitesOf(c)
		switch {
		case slices.Contains(names, "s07"):
			answered.Wait()
			return service.Page{}, refuse(service.ClassQuota, 429, 0)
		case slices.Contains(names, "s03"):
			answered.Done()
			return service.Page{Columns: []string{"site", "n"}, Status: 200}, nil
		case len(names) > 2:
			return service.Page{}, refuse(service.ClassTooLarge, 413, 0)
		}
		answered.Done()
		return rowsOf(slices.DeleteFunc(names, func(name string) bool { return name == "s02" })), nil
	}))
	q := r.submit(c, depths(9, 3))
	r.settles(q.ID, 1, messages.Interrupted)
	got, err := c.Coverage(t.Context(), q.ID)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string, state messages.CoverageState, rows int64) messages.Covered {
		return messages.Covered{Parameter: "site", Value: name, State: state, Rows: rows}
	}
	want := []messages.Covered{
		value("s00", messages.CoveredWhole, 2), value("s01", messages.CoveredWhole, 2), value("s02", messages.SaidEmpty, 0),
		value("s03", messages.SaidEmpty, 0), value("s04", messages.SaidEmpty, 0), value("s05", messages.SaidEmpty, 0),
		value("s06", messages.NotFetched, 0), value("s07", messages.NotFetched, 0), value("s08", messages.NotFetched, 0),
	}
	if diff := cmp.Diff(want, got.Values); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

func TestCoverageDoesNotSayEmptyWhereTheRowsDoNotTell(t *testing.T) {
	t.Parallel()
	r := lakeRig(t)
	c := r.lead()
	r.work(testkit.NewScript(func(_ context.Context, _ testkit.Call) (service.Page, error) {
		return testkit.Rows("spelled otherwise", 0, 3, ""), nil
	}))
	q := r.submit(c, depths(2, 1))
	r.settles(q.ID, 1, messages.Complete)
	got, err := c.Coverage(t.Context(), q.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range got.Values {
		if v.State != messages.CoverageUnclear || v.Rows != 0 {
			t.Errorf("%+v", v)
		}
	}
}
