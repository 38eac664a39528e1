package executor_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// ordinary publishes n items of a query to the environment, and has the real worker run them against the same upstream.
func (r *rig) ordinary(id string, n int, held time.Duration) *testkit.Script {
	r.t.Helper()
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		r.up.begin(-1)
		defer r.up.end()
		<-time.After(held)
		return testkit.Rows(c.Task, 0, 1, ""), nil
	})
	if err := r.bus.EnsureQueue(r.t.Context(), environment, 100, 3*time.Second); err != nil {
		r.t.Fatal(err)
	}
	q := testkit.Query("q", n)
	q.Service, q.Spec = environment, testkit.Digest("spec")
	if err := r.bus.CreateQuery(r.t.Context(), q, []byte("spec")); err != nil {
		r.t.Fatal(err)
	}
	items := make([]*messages.Item, n)
	for i := range items {
		items[i] = testkit.Item("q", i)
		items[i].Service = environment
	}
	if _, err := r.bus.PublishItems(r.t.Context(), items); err != nil {
		r.t.Fatal(err)
	}
	up := &testkit.Upstreams{Adapter: script, QuotaWait: time.Hour}
	testkit.Run(r.t, testkit.Worker(r.t, r.bus, worker.Config{ID: id, Grace: 10 * time.Second}, up, nil).Run)
	return script
}

func TestLR_2_8_OrdinaryRequestsAndLoadTogetherNeverExceedThePool(t *testing.T) {
	up := &upstream{answer: held(10 * time.Millisecond)}
	r := newRig(t, up)
	r.service(6)
	run := r.start("run1", 60, func(run *load.Run) { run.Capacity.EnvLoadLimit, run.Slots = 4, 4 })
	r.apart().work("w1", nil)
	r.apart().work("w2", nil)
	script := r.apart().ordinary("w3", 150, 10*time.Millisecond)
	k := r.recorded("run1", run.Total)
	testkit.Until(t, "all ordinary requests are sent", func() bool { return len(script.Calls()) == 150 })
	requests, most, _ := up.counted()
	if most > 6 || most < 5 {
		t.Errorf("%d were in flight at once, of a pool of 6", most)
	}
	if requests != 150+len(k.admissions) || k.outcomes()["success/"] != run.Total {
		t.Errorf("%d requests: 150 ordinary ones and %d admissions; %v", requests, len(k.admissions), k.outcomes())
	}
}

func TestLR_2_8_ReservedPlacesAreForOrdinaryRequestsHoweverMuchLoadThereIs(t *testing.T) {
	up := &upstream{answer: held(time.Hour)}
	r := newRig(t, up)
	r.service(6)
	for _, id := range []string{"run1", "run2"} {
		r.start(id, 20, func(run *load.Run) { run.Capacity.EnvLoadLimit, run.Slots = 4, 4 })
	}
	r.apart().work("w1", func(s *setup) { s.Grace = time.Millisecond })
	testkit.Until(t, "load is at its limit", func() bool { _, _, now := up.counted(); return now == 4 })
	script := r.apart().ordinary("w2", 40, 5*time.Millisecond)
	testkit.Until(t, "all ordinary requests are sent", func() bool { return len(script.Calls()) == 40 })
	if most := script.Most(); most != 2 {
		t.Errorf("%d ordinary requests were in flight at once, of 2 reserved places", most)
	}
	if _, most, _ := up.counted(); most != 6 {
		t.Errorf("%d were in flight at once, of a pool of 6", most)
	}
}

func TestLR_2_7_TheTokenOfLoadComesBeforeThePlaceAmongAllRequests(t *testing.T) {
	up := &upstream{answer: held(time.Hour)}
	r := newRig(t, up)
	r.service(20)
	r.start("run1", 5, func(run *load.Run) { run.Capacity.EnvLoadLimit, run.Slots = 2, 5 })
	r.work("w1", func(s *setup) { s.Grace = time.Millisecond })
	testkit.Until(t, "two are in flight, and three have a place of the run", func() bool {
		_, _, now := up.counted()
		return now == 2 && r.heldPlaces(environment+"/"+load.PlacesOf("run1"), 5) == 5
	})
	if load, shared := r.heldPlaces(environment+"/load", 2), r.heldPlaces(environment, 20); load != 2 || shared != 2 {
		t.Errorf("%d tokens and %d places among all requests are held", load, shared)
	}
}

// heldPlaces counts the places of a name that somebody holds.
func (r *rig) heldPlaces(name string, n int) int {
	r.t.Helper()
	held := 0
	for i := range n {
		entry, err := r.bus.Leases().Get(r.t.Context(), name+"."+strconv.Itoa(i))
		if err != nil {
			r.t.Fatal(err)
		}
		if len(entry.Value) > 0 {
			held++
		}
	}
	return held
}

func TestLR_1_3_APlaceOfTheRunIsGivenBackBehindTheRecord(t *testing.T) {
	up := &upstream{}
	r := newRig(t, up)
	r.service(20)
	run := r.start("run1", 4, func(run *load.Run) { run.Slots = 2 })
	hold := make(chan struct{})
	r.work("w1", func(s *setup) { s.Executions = waitingExecutions{r.bus, hold} })
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	testkit.Until(t, "two have their answer", func() bool { requests, _, now := up.counted(); return requests == 2 && now == 0 })
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 15 { // as long as no record is stored
		<-tick.C
		if requests, _, _ := up.counted(); requests != 2 || r.heldPlaces(environment+"/"+load.PlacesOf("run1"), 2) != 2 {
			t.Fatalf("%d requests, and %d places are held", requests, r.heldPlaces(environment+"/"+load.PlacesOf("run1"), 2))
		}
	}
	release()
	r.agrees(r.recorded("run1", run.Total))
}
