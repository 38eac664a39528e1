package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// firstOf asks for the first rows of sites, each of which has four in two pages.
func firstOf(n int, rows int64) *query.Spec {
	spec := sites(n)
	spec.MaxRows = rows
	return spec
}

// siteTable is the table of the first rows.
func siteTable(rows int) string {
	var table strings.Builder
	table.WriteString("site,n\n")
	for i := range rows {
		fmt.Fprintf(&table, "s%02d,%d\n", i/4, i%4)
	}
	return table.String()
}

func TestOnlyAsManyRowsAreAskedForAsAreWanted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wanted         int64
		rows, requests int
	}{
		{1, 1, 1}, {2, 2, 1}, {3, 3, 2}, {4, 4, 2}, {9, 9, 5}, {11, 11, 6}, {12, 12, 6}, {500, 80, 40},
	} {
		t.Run(fmt.Sprint(test.wanted), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := r.lead()
			script := testkit.NewScript(always)
			r.work(script)
			q := r.submit(c, firstOf(20, test.wanted))
			r.settles(q.ID, 1, messages.Complete)
			if diff := cmp.Diff(siteTable(test.rows), r.csv(c, q.ID)); diff != "" {
				t.Errorf("the table differs (-want +got):\n%s", diff)
			}
			if n := len(script.Calls()); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			if most := script.Most(); most != 1 {
				t.Errorf("%d requests at once", most)
			}
			if _, err := c.Resume(t.Context(), q.ID, resumeAsBefore()); !errors.Is(err, query.ErrState) {
				t.Errorf("a resume of the complete query gave %v", err)
			}
		})
	}
}

func TestPagesAreNoLargerThanTheRowsThatAreWanted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.definitions.change(strings.NewReplacer(
		"limits: {in_flight: 4}", "limits: {in_flight: 4, page_rows: 1000}",
		"request: {path: /daily}", "request: {path: /daily, query: {limit: '{page_rows}'}}").Replace(rivers))
	c := r.lead()
	script := testkit.NewScript(always)
	r.work(script)
	for wanted, size := range map[int64]string{3: "limit=3", 5000: "limit=1000", 0: "limit=1000"} {
		before := len(script.Calls())
		q := r.submit(c, firstOf(2, wanted))
		r.settles(q.ID, 1, messages.Complete)
		if url := taskOf(t, script.Calls()[before]).URL; !strings.HasSuffix(url, size) {
			t.Errorf("with max_rows %d the request is %s", wanted, url)
		}
	}
}

func TestTheFirstRowsAreTheSameWhereverTheQueryWasInterrupted(t *testing.T) {
	t.Parallel()
	for k := range 5 {
		t.Run(fmt.Sprintf("at request %d", k), func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			first := r.coordinator("c1", r.bus, nil)
			running := testkit.Run(t, first.Run)
			var asked atomic.Int32
			script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
				if int(asked.Add(1)) == k+1 {
					return service.Page{}, refuse(service.ClassQuota, 429, time.Millisecond)
				}
				return two(c)
			})
			r.work(script)
			q := r.submit(first, firstOf(20, 9))
			testkit.Until(t, "the first run is over", func() bool { return !r.query(q.ID).State.Active() })
			if err := running.Stop(t); err != nil {
				t.Fatal(err)
			}
			second := r.coordinator("c2", r.bus, nil)
			testkit.Run(t, second.Run)
			if r.query(q.ID).State == messages.Interrupted { // the gate may have been open again when the worker looked
				r.resume(second, q.ID)
			}
			testkit.Until(t, "it is complete", func() bool { return r.query(q.ID).State == messages.Complete })
			if diff := cmp.Diff(siteTable(9), r.csv(second, q.ID)); diff != "" {
				t.Errorf("the table differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstRowsDoNotDependOnWhatElseIsThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	q := r.submit(c, firstOf(20, 9))
	r.putEarly(q, 1)
	r.putEarly(q, 7)
	r.work(testkit.NewScript(always))
	testkit.Run(t, c.Run)
	r.settles(q.ID, 1, messages.Complete)
	r.putEarly(q, 12) // as by a coordinator that is not the leader any more
	if diff := cmp.Diff(siteTable(9), r.csv(c, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}

// putEarly stores a result of two rows that nobody has asked for yet.
func (r *rig) putEarly(q *messages.Query, position int) {
	r.t.Helper()
	w := r.bus.NewResult(q.ID, fmt.Sprintf("early-%d", position))
	if err := w.Write(r.t.Context(), testkit.Rows("early", 0, 2, "").Rows); err != nil {
		r.t.Fatal(err)
	}
	h := testkit.Header(q.ID, position, 2)
	h.Columns = []string{"site", "n", "early"}
	if err := w.Commit(r.t.Context(), h); err != nil {
		r.t.Fatal(err)
	}
}

func TestALostResultOfTheFirstRowsIsFetchedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	var fewer atomic.Bool
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if fewer.Load() && siteOf(c) == "s01" && c.Cursor == "p2" {
			return service.Page{Status: 200}, nil
		}
		return two(c)
	})
	r.work(script)
	q := r.submit(c, firstOf(20, 9))
	r.settles(q.ID, 1, messages.Complete)
	fewer.Store(true) // the service has lost rows of s01 meanwhile
	r.purge("RESULTS", "braid.result."+q.ID+".1")
	if _, err := c.Export(t.Context(), q.ID, false); !errors.Is(err, messages.ErrDamaged) {
		t.Fatalf("export gave %v, want ErrDamaged", err)
	}
	r.resume(c, q.ID)
	r.settles(q.ID, 2, messages.Complete)
	want := "site,n\ns00,0\ns00,1\ns00,2\ns00,3\ns01,0\ns01,1\ns02,0\ns02,1\ns02,2\n"
	if diff := cmp.Diff(want, r.csv(c, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}
