package coordinator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestANewCoordinatorGoesOnWhereTheLastOneStood(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.coordinator("c1", r.bus, nil)
	running := testkit.Run(t, first.Run)
	h := hold("s03", "s04")
	r.work(h.adapter)
	q := r.submit(first, sites(30))
	testkit.Receive(t, "held request", h.came)
	testkit.Receive(t, "held request", h.came)
	if err := running.Stop(t); err != nil {
		t.Fatal(err)
	}
	close(h.letGo)
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	r.settles(q.ID, 1, messages.Complete)
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages: something was fetched again", n)
	}
	undisturbed := newRig(t)
	c := undisturbed.lead()
	undisturbed.work(testkit.NewScript(always))
	whole := undisturbed.submit(c, sites(30))
	undisturbed.settles(whole.ID, 1, messages.Complete)
	if diff := cmp.Diff(undisturbed.tables(c, whole.ID), r.tables(second, q.ID)); diff != "" {
		t.Errorf("the table differs from the undisturbed one: %s", diff)
	}
}

func TestAStandbyTakesOverFromALeaderThatStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := r.coordinator("c1", r.bus, nil), r.coordinator("c2", r.bus, nil)
	leading := testkit.Run(t, first.Run)
	testkit.Until(t, "the first one leads", func() bool { return r.leads("c1") })
	testkit.Run(t, second.Run)
	h := hold("s02")
	r.work(h.adapter)
	q := r.submit(second, sites(30)) // a standby accepts commands too
	testkit.Receive(t, "held request", h.came)
	if !r.leads("c1") {
		t.Error("the leader changed without need")
	}
	if err := leading.Stop(t); err != nil {
		t.Fatal(err)
	}
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
	if !r.leads("c2") {
		t.Error("nobody follows the leader that stopped")
	}
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages", n)
	}
}

func TestAStandbyTakesOverFromALeaderThatDies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lone := testkit.Join(t, r.server)
	testkit.Run(t, r.coordinator("c1", lone, nil).Run)
	testkit.Until(t, "the first one leads", func() bool { return r.leads("c1") })
	second := r.coordinator("c2", r.bus, nil)
	testkit.Run(t, second.Run)
	h := hold("s02")
	r.work(h.adapter)
	q := r.submit(second, sites(30))
	testkit.Receive(t, "held request", h.came)
	lone.Close() // from now on nothing that the first one does arrives
	close(h.letGo)
	r.settles(q.ID, 1, messages.Complete)
	if !r.leads("c2") {
		t.Error("nobody follows the leader that died")
	}
	if n := len(h.adapter.Calls()); n != 60 {
		t.Errorf("%d requests for 30 chunks of two pages", n)
	}
}

func (r *rig) leads(id string) bool {
	r.t.Helper()
	e, err := r.bus.Leader().Get(r.t.Context(), "coordinator.0")
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Contains(string(e.Value), id)
}
