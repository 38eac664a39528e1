package coordinator_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func under(key string) messages.Submission { return messages.Submission{Key: testkit.Digest(key)} }

func TestWhatIsSubmittedAgainUnderAKeyIsTheSameQuery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	first, err := c.SubmitAs(t.Context(), sites(3), under("a"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.SubmitAs(t.Context(), sites(3), under("a"))
	if !errors.Is(err, query.ErrRepeated) || again == nil || again.ID != first.ID {
		t.Errorf("again: %+v, %v, want %s", again, err, first.ID)
	}
	// Another key, another owner's key, and none are other queries.
	for i, by := range []messages.Submission{under("b"), under("c"), {}, {}} {
		other, err := c.SubmitAs(t.Context(), sites(3), by)
		if err != nil || other.ID == first.ID {
			t.Errorf("submission %d: %+v, %v", i, other, err)
		}
	}
	otherwise := sites(3)
	otherwise.Run.InFlight = 2 // which is not pinned with the query
	for name, spec := range map[string]*query.Spec{"other values": sites(4), "other settings": otherwise} {
		if q, err := c.SubmitAs(t.Context(), spec, under("a")); !errors.Is(err, query.ErrKeyReused) || q != nil {
			t.Errorf("%s under the same key: %+v, %v", name, q, err)
		}
	}
	// It stays so whatever becomes of the query.
	if _, err := c.Cancel(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if again, err := c.SubmitAs(t.Context(), sites(3), under("a")); !errors.Is(err, query.ErrRepeated) || again.State != messages.Cancelled {
		t.Errorf("after it was cancelled: %+v, %v", again, err)
	}
	// One that was removed is submitted anew, though its id is not free yet.
	if err := c.Remove(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	anew, err := c.SubmitAs(t.Context(), sites(3), under("a"))
	if err != nil || anew.State != messages.Running {
		t.Fatalf("after it was removed: %+v, %v", anew, err)
	}
	if again, err := c.SubmitAs(t.Context(), sites(3), under("a")); !errors.Is(err, query.ErrRepeated) || again.ID != anew.ID {
		t.Errorf("again, after it was removed: %+v, %v", again, err)
	}
}

func TestOneKeySubmittedToManyCoordinatorsAtOnceIsOneQuery(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const coordinators, each = 4, 8
	var submitting sync.WaitGroup
	var mu sync.Mutex
	ids, created := map[string]int{}, 0
	begin := make(chan struct{})
	for i := range coordinators {
		c := r.coordinator(fmt.Sprintf("c%d", i), testkit.Join(t, r.server), nil)
		for range each {
			submitting.Go(func() {
				<-begin
				q, err := c.SubmitAs(t.Context(), sites(3), under("a"))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case q == nil:
					t.Errorf("submit: %v", err)
					return
				case err == nil:
					created++
				case !errors.Is(err, query.ErrRepeated):
					t.Errorf("submit: %v", err)
				}
				ids[q.ID]++
			})
		}
	}
	close(begin)
	submitting.Wait()
	all, err := r.bus.ListQueries(t.Context())
	if err != nil || len(all) != 1 || len(ids) != 1 || created != 1 {
		t.Errorf("%d queries, %v; %d were created, of ids %v", len(all), err, created, ids)
	}
}

func TestAKeyWhoseIDIsTakenGetsAnotherAndKeepsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	// The id that the key would get is another query's.
	probe, err := c.SubmitAs(t.Context(), sites(2), under("a"))
	if err != nil {
		t.Fatal(err)
	}
	q, revision, err := r.bus.LoadQuery(t.Context(), probe.ID)
	if err != nil {
		t.Fatal(err)
	}
	q.Key = testkit.Digest("somebody else's")
	if _, err := r.bus.SaveQuery(t.Context(), q, revision); err != nil {
		t.Fatal(err)
	}
	second, err := c.SubmitAs(t.Context(), sites(3), under("a"))
	if err != nil || second.ID == probe.ID {
		t.Fatalf("got %+v, %v", second, err)
	}
	again, err := c.SubmitAs(t.Context(), sites(3), under("a"))
	if !errors.Is(err, query.ErrRepeated) || again.ID != second.ID {
		t.Errorf("again: %+v, %v, want %s", again, err, second.ID)
	}
	if err := messages.CheckName(second.ID); err != nil || strings.ToLower(second.ID) != second.ID {
		t.Errorf("the id is %q: %v", second.ID, err)
	}
}

func TestPagesOfQueriesAreTheNewestFirstWithTheirProgress(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	var want []string
	for i := range 7 {
		q, err := c.SubmitAs(t.Context(), sites(2), messages.Submission{Owner: []string{"ada", "bob"}[i%2]})
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{q.ID}, want...)
	}
	if err := r.bus.SaveProgress(t.Context(), &messages.Progress{V: 1, Query: want[0], Run: 1, Completed: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cancel(t.Context(), want[3]); err != nil {
		t.Fatal(err)
	}
	page := func(s messages.Selection) (ids []string, more bool) {
		t.Helper()
		statuses, more, err := c.Select(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, status := range statuses {
			if ids = append(ids, status.Query.ID); status.Progress == nil || status.Progress.Query != status.Query.ID {
				t.Errorf("the progress of %s is %+v", status.Query.ID, status.Progress)
			}
		}
		return ids, more
	}
	all, more := page(messages.Selection{})
	if strings.Join(all, " ") != strings.Join(want, " ") || more {
		t.Errorf("all: %v, want %v", all, want)
	}
	first, more := page(messages.Selection{Limit: 4})
	if strings.Join(first, " ") != strings.Join(want[:4], " ") || !more {
		t.Errorf("the first page: %v more=%v", first, more)
	}
	last, _, err := r.bus.LoadQuery(t.Context(), want[3])
	if err != nil {
		t.Fatal(err)
	}
	rest, more := page(messages.Selection{Limit: 3, After: last.Place()})
	if strings.Join(rest, " ") != strings.Join(want[4:], " ") || more {
		t.Errorf("the second page: %v more=%v", rest, more)
	}
	if ids, _ := page(messages.Selection{States: []messages.QueryState{messages.Cancelled, messages.Failed}}); len(ids) != 1 || ids[0] != want[3] {
		t.Errorf("cancelled: %v", ids)
	}
	if ids, _ := page(messages.Selection{Owner: "bob"}); len(ids) != 3 {
		t.Errorf("of bob: %v", ids)
	}
	statuses, _, err := c.Select(t.Context(), messages.Selection{Limit: 1})
	if err != nil || statuses[0].Progress.Completed != 1 {
		t.Errorf("the newest is %+v, %v", statuses[0].Progress, err)
	}
}
