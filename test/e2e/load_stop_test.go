//go:build unix

package e2e

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// follows is a cluster with a standby, so that a coordinator can be killed.
type follows struct{ *loadCluster }

// leader tells which coordinator leads load runs: the one that said so last, and runs.
func (f follows) leader() int {
	f.t.Helper()
	found := -1
	eventually(f.t, limit, "a coordinator that leads load runs", func() bool {
		for i, m := range f.lead {
			if m.running() && strings.Contains(m.Stderr.String(), "leading load runs") {
				found = i
			}
		}
		return found >= 0
	})
	return found
}

func slowly(t *testing.T, fake *dashboards, latency time.Duration) {
	t.Helper()
	fake.change(t, func(c *superset.Config) { c.Latency.Base.Low = latency })
}

// none wants no request of any kind since the mark.
func (c *loadCluster) none(mark string) {
	c.t.Helper()
	if since := c.fake.Counters().Since(mark); since.Name != mark || since.Requests != 0 {
		c.t.Errorf("%d requests after %s: %v", since.Requests, mark, since.Routes)
	}
}

// refused wants a start to be refused for one reason, and nothing to be sent: no login and no metadata either.
func (c *loadCluster) refused(kind string, req load.StartRequest) {
	c.t.Helper()
	c.fake.Mark(kind)
	var gate *load.GateError
	if run, err := c.Start(c.t.Context(), req); !errors.As(err, &gate) || gate.Kind != kind {
		c.t.Errorf("the start is not refused for %s: %s, %v", kind, shown(run), err)
	}
	pass(300 * time.Millisecond) // workers would have heard of a run by now
	c.none(kind)
}

func TestLR_10_4_AGateThatIsNotOpenSendsNothing(t *testing.T) {
	t.Parallel()
	fake := newDashboards(t, superset.Config{Seed: 7})
	c := newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "PROD"}})
	p := &load.Profile{ID: "gated", Charts: nineCharts(), Axes: axesOf(3), Concurrency: 4}
	v := c.save(p)
	req := load.StartRequest{Profile: p.ID, Fingerprint: v.Gate.Inputs.Fingerprint}
	c.refused(load.GateNoApproval, req)
	approve := func(validFor time.Duration) {
		t.Helper()
		fresh, err := c.Preview(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Approve(t.Context(), p.ID, load.ApprovalRequest{Hash: fresh.Gate.Hash, Reason: "release 12", ValidFor: validFor}); err != nil {
			t.Fatal(err)
		}
	}
	approve(time.Second)
	pass(1100 * time.Millisecond)
	c.refused(load.GateApprovalExpired, req)

	approve(0)
	p.Axes = axesOf(4) // other inputs than those that were approved
	c.save(p)
	c.refused(load.GateStale, req)

	fake.SetDependents(31, &superset.Dependents{Charts: []superset.RelatedChart{{ID: 777, Name: "A new one"}}})
	v = c.save(p)
	if v.Gate.Inputs.Fingerprint == req.Fingerprint {
		t.Fatal("a poor test: the dependents have the fingerprint that they had")
	}
	c.refused(load.GateFingerprintChanged, req)
	req.Fingerprint = v.Gate.Inputs.Fingerprint
	c.refused(load.GateStale, req)

	approve(0)
	before := fake.data().Requests
	run, err := c.Start(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	s := c.end(run.ID)
	if sent := fake.data().Requests - before; s.Progress.Success != 36 || sent != 36 || s.Progress.RequestsSent != sent {
		t.Errorf("%d requests: %s", sent, shown(s))
	}
	c.refused(load.GateApprovalUsed, req)
}

func TestLR_7_4_AStopAdmitsNothingMore(t *testing.T) {
	t.Parallel()
	fake := newDashboards(t, superset.Config{Seed: 7, Cache: superset.CacheNull})
	c := newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "DEV"}, grace: 300 * time.Millisecond})
	profile := func(id string, drain time.Duration) *load.Profile {
		return &load.Profile{ID: id, Charts: nineCharts(), Axes: axesOf(60), Concurrency: 8, Deadline: 20 * time.Second, Drain: drain}
	}

	// What was admitted before ends. A worker that cannot hear of the stop admits nothing more either.
	slowly(t, fake, 5*time.Millisecond)
	for _, id := range []string{"stopped-1", "stopped-2", "stopped-3"} {
		before := fake.data().Requests
		p := profile(id, 10*time.Second)
		p.Axes = axesOf(300)
		run := c.begin(p)
		c.recorded(c, run.ID, 30)
		c.work[0].signal(syscall.SIGSTOP)
		admitted := c.stop(c, run.ID)
		c.work[0].signal(syscall.SIGCONT)
		s := c.end(run.ID)
		if sent := fake.data().Requests - before; sent != admitted || s.Run.Ending != load.Stopped || s.Progress.Success != sent || s.Progress.RequestsSent != sent || s.Progress.NotDispatched+s.Progress.Cancelled+sent != run.Total {
			t.Errorf("%d requests, %d admitted before the stop: %s", sent, admitted, shown(s))
		}
	}

	// What does not end in time is cut.
	slowly(t, fake, 15*time.Second)
	before := fake.data().Requests
	run := c.begin(profile("drained", time.Second))
	eventually(t, limit, "all places in use", func() bool { return fake.data().InFlight == 8 })
	begun := time.Now()
	admitted := c.stop(c, run.ID)
	s := c.end(run.ID)
	if took := time.Since(begun); took < time.Second || took > 10*time.Second {
		t.Errorf("the drain took %s, want a second and a little", took)
	}
	fake.idle(t)
	if sent := fake.data().Requests - before; sent != 8 || sent != admitted || s.Progress.RequestsSent != sent || s.Progress.Kinds[load.DrainOver] != 8 {
		t.Errorf("%d requests: %s", sent, shown(s))
	}

	// A worker that is told to stop in the middle hands over what it cannot end.
	slowly(t, fake, 100*time.Millisecond)
	before = fake.data().Requests
	p := profile("handed", 10*time.Second)
	p.Axes = axesOf(20)
	run = c.begin(p)
	c.recorded(c, run.ID, 20)
	c.work[0].signal(syscall.SIGTERM)
	c.work[0].wait(10*time.Second).mustExit(t, 0)
	s = c.end(run.ID)
	if sent := fake.data().Requests - before; s.Progress.Success != run.Total || s.Progress.RequestsSent != sent || sent > run.Total+8 {
		t.Errorf("%d requests: %s", sent, shown(s))
	}
}

func TestLR_11_1_ARunGoesOnWhenItsCoordinatorIsKilled(t *testing.T) {
	t.Parallel()
	fake := newDashboards(t, superset.Config{Seed: 7, Cache: superset.CacheNull, Latency: superset.Latency{Base: superset.Distribution{Low: 100 * time.Millisecond}}})
	f := follows{newLoadCluster(t, fake, loadConfig{environment: environmentText{stage: "DEV"}, coordinators: 2})}
	leads := f.leader()
	other := f.at(1 - leads)
	p := &load.Profile{ID: "taken-over", Charts: nineCharts(), Axes: axesOf(50), Concurrency: 8, Deadline: 20 * time.Second, WarmUp: 9}
	run := f.begin(p)
	f.recorded(other, run.ID, 50)
	f.lead[leads].kill()
	s := f.endAt(other, run.ID)
	if sent := fake.data().Requests; s.Run.Ending != load.Completed || s.Progress.Success != run.Total || sent != run.Total || s.Progress.RequestsSent != sent || s.Progress.Attempts != sent {
		t.Errorf("%d requests of %d: %s", sent, run.Total, shown(s))
	}
	if r, err := other.Report(t.Context(), run.ID); err != nil || r.RequestsSent != run.Total || r.Overall.Success != run.Total-9 || r.WarmUp != 9 {
		t.Errorf("%s, %v", shown(r), err)
	}

	// A stop while nobody leads holds at once.
	before := fake.data().Requests
	v, err := other.Preview(t.Context(), p.ID)
	if err != nil {
		t.Fatal(err)
	}
	if run, err = other.Start(t.Context(), load.StartRequest{Profile: p.ID, Fingerprint: v.Gate.Inputs.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	f.recorded(other, run.ID, 30)
	f.lead[leads].start()
	eventually(t, limit, "the coordinator to be ready", func() bool { return ready(f.urls[leads]) })
	f.lead[1-leads].kill()
	back := f.at(leads)
	admitted := f.stop(back, run.ID)
	s = f.endAt(back, run.ID)
	if sent := fake.data().Requests - before; sent != admitted || s.Run.Ending != load.Stopped || s.Progress.RequestsSent != sent || s.Progress.NotDispatched == 0 {
		t.Errorf("%d requests: %s", sent, shown(s))
	}
}
