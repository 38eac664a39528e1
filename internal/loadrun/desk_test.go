package loadrun_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// refused checks that a start was refused by the gate, that nothing was sent, and that there is no run.
func (h *house) refused(err error, kind string, errands int) load.GateError {
	h.t.Helper()
	var gate *load.GateError
	if !errors.As(err, &gate) || gate.Kind != kind {
		h.t.Fatalf("the start gave %v, want the gate's %s", err, kind)
	}
	runs, err := h.desk.Runs(h.t.Context())
	if err != nil || len(runs) > 0 {
		h.t.Fatalf("there are runs: %v, %v", runs, err)
	}
	if h.m.errands != errands {
		h.t.Fatalf("%d requests by way of workers were sent by the start", h.m.errands-errands)
	}
	return *gate
}

func (h *house) approve(v *load.Preview, validFor time.Duration) *load.Approval {
	h.t.Helper()
	a, err := h.desk.Approve(h.t.Context(), operator, v.Gate.Inputs.Profile, load.ApprovalRequest{Hash: v.Gate.Hash, Reason: "release 12", ValidFor: validFor})
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func TestLR_10_4_AStaleOrMissingApprovalSendsNothing(t *testing.T) {
	eight := 8
	for _, c := range []struct {
		name string
		then func(h *house, req *load.StartRequest)
		kind string
	}{
		{"another revision", func(h *house, req *load.StartRequest) {
			h.ready(h.t.Context(), profile("prod", func(p *load.Profile) { p.Seed = 9 }))
			req.Revision = 0
		}, load.GateStale},
		{"another capacity", func(h *house, _ *load.StartRequest) {
			h.change(func() {
				e := h.environments["prod"]
				e.Pool = &eight
				e.Reserved = new(int)
				*e.Reserved = 7
				h.environments["prod"] = e
			})
		}, load.GateStale},
		{"more requests", func(h *house, _ *load.StartRequest) {
			h.change(func() { h.charts = 3 })
			if _, err := h.desk.LookUp(h.t.Context(), operator, "sales"); err != nil {
				h.t.Fatal(err)
			}
		}, load.GateStale},
		{"other dependents, which the caller has seen", func(h *house, req *load.StartRequest) {
			h.change(func() { h.dependents = nil })
			s, err := h.desk.LookUp(h.t.Context(), operator, "sales")
			if err != nil {
				h.t.Fatal(err)
			}
			req.Fingerprint = s.Dependents.Fingerprint
		}, load.GateStale},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			v := h.ready(t.Context(), profile("prod", nil))
			a := h.approve(v, 0)
			req := h.request(v)
			c.then(h, &req)
			for _, id := range []string{"", a.ID} {
				req.Approval = id
				before := h.m.errands
				_, err := h.desk.Start(t.Context(), operator, req)
				if gate := h.refused(err, c.kind, before); gate.GateHash == "" || gate.GateHash == v.Gate.Hash {
					t.Errorf("the refusal has the gate %q", gate.GateHash)
				}
			}
			if a, _, _ = h.m.LoadApproval(t.Context(), a.ID); a.UsedBy != "" {
				t.Error("the approval was used up")
			}
		})
	}
}

func TestLR_10_4_WithoutAnApprovalNothingStarts(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	req, before := h.request(v), h.m.errands
	_, err := h.desk.Start(t.Context(), operator, req)
	h.refused(err, load.GateNoApproval, before)
	req.Approval = "nobody"
	_, err = h.desk.Start(t.Context(), operator, req)
	h.refused(err, load.GateNoApproval, before)
}

func TestLR_10_4_AnExpiredApprovalStartsNothing(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	a := h.approve(v, time.Second)
	stored, revision, _ := h.m.LoadApproval(t.Context(), a.ID)
	stored.Expires = time.Now()
	if _, err := h.m.SaveApproval(t.Context(), stored, revision); err != nil {
		t.Fatal(err)
	}
	req := h.request(v)
	for _, id := range []string{"", a.ID} {
		req.Approval = id
		_, err := h.desk.Start(t.Context(), operator, req)
		h.refused(err, load.GateApprovalExpired, h.m.errands)
	}
}

func TestLR_10_5_OneApprovalStartsOneRun(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	a := h.approve(v, 0)
	before := h.m.errands
	var all sync.WaitGroup
	errs := make([]error, 50)
	for i := range errs {
		desk, req := h.newDesk(), h.request(v)
		if i%2 == 0 {
			req.Approval = a.ID
		}
		if i%3 == 0 {
			req.Key = fmt.Sprint("key ", i)
		}
		all.Go(func() { _, errs[i] = desk.Start(t.Context(), operator, req) })
	}
	all.Wait()
	started := 0
	for _, err := range errs {
		var gate *load.GateError
		switch {
		case err == nil:
			started++
		case !errors.As(err, &gate) || gate.Kind != load.GateApprovalUsed:
			t.Errorf("a start gave %v", err)
		}
	}
	runs, err := h.desk.Runs(t.Context())
	if err != nil || started != 1 || len(runs) != 1 || h.m.errands != before {
		t.Fatalf("%d starts, %d runs (%v), %d requests", started, len(runs), err, h.m.errands-before)
	}
	used, _, _ := h.m.LoadApproval(t.Context(), a.ID)
	if r := runs[0].Run; used.UsedBy != r.ID || r.Approval == nil || r.Approval.Reason != "release 12" || r.GateHash != a.Hash {
		t.Errorf("the approval is %+v, the run %+v", used, r)
	}
}

func TestLR_10_6_PermissionsAreCheckedAtTheStart(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	h.approve(v, 0)
	req, before := h.request(v), h.m.errands
	for _, by := range []load.Actor{{Name: "eve"}, {Name: "ann", Run: true}, {Name: "max", Prod: true}} {
		_, err := h.desk.Start(t.Context(), by, req)
		h.refused(err, load.GateNoPermission, before)
	}
	if _, err := h.desk.Start(t.Context(), operator, req); err != nil {
		t.Error(err)
	}
}

func TestLR_10_2_OutsideOfPRODNoApprovalIsNeeded(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("dev", nil))
	if v.Gate.Approval {
		t.Error("the gate of DEV asks for an approval")
	}
	if r, err := h.desk.Start(t.Context(), runner, h.request(v)); err != nil || r.Approval != nil || r.Total != 12 || r.State != load.Preparing || r.Slots != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := h.desk.Approve(t.Context(), operator, "sales", load.ApprovalRequest{Hash: v.Gate.Hash, Reason: "x"}); !errors.Is(err, load.ErrState) {
		t.Errorf("an approval for DEV gave %v", err)
	}
}

func TestLR_10_1_AFlagMakesItPROD(t *testing.T) {
	h := newHouse(t)
	h.change(func() { e := h.environments["dev"]; e.IsProduction = true; h.environments["dev"] = e })
	v := h.ready(t.Context(), profile("dev", nil))
	if !v.Gate.Approval || v.Gate.Class != load.Prod {
		t.Errorf("%+v", v.Gate)
	}
	_, err := h.desk.Start(t.Context(), operator, h.request(v))
	h.refused(err, load.GateNoApproval, h.m.errands)
}

func TestLR_10_7_TheGateSaysThatForceRewritesTheCache(t *testing.T) {
	h := newHouse(t)
	if v := h.ready(t.Context(), profile("prod", func(p *load.Profile) { p.Force = true })); !v.Gate.RewritesCache {
		t.Errorf("%+v", v.Gate)
	}
}

func TestAnApprovalNeedsAReasonAndTheGateThatWasSeen(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	for _, req := range []load.ApprovalRequest{{Hash: v.Gate.Hash}, {Hash: v.Gate.Hash, Reason: " \n"}, {Hash: v.Gate.Hash, Reason: "x", ValidFor: 8 * 24 * time.Hour}, {Hash: v.Gate.Hash, Reason: "x", ValidFor: -1}} {
		if _, err := h.desk.Approve(t.Context(), operator, "sales", req); !errors.Is(err, load.ErrInvalid) {
			t.Errorf("%+v gave %v", req, err)
		}
	}
	_, err := h.desk.Approve(t.Context(), operator, "sales", load.ApprovalRequest{Hash: "other", Reason: "x"})
	h.refused(err, load.GateStale, h.m.errands)
	_, err = h.desk.Approve(t.Context(), runner, "sales", load.ApprovalRequest{Hash: v.Gate.Hash, Reason: "x"})
	h.refused(err, load.GateNoPermission, h.m.errands)
}

func TestLR_9_1_AProfileIsLookedUpForEachRevision(t *testing.T) {
	h := newHouse(t)
	p, err := h.desk.SaveProfile(t.Context(), runner, profile("dev", nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.desk.Start(t.Context(), runner, load.StartRequest{Profile: p.ID, Fingerprint: "sha256:1"})
	h.refused(err, load.GateNotLookedUp, 0)
	v := h.ready(t.Context(), profile("dev", nil))
	if p, err = h.desk.SaveProfile(t.Context(), runner, profile("dev", func(p *load.Profile) { p.Seed = 3 }), 1); err != nil || p.Revision != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	req := h.request(v)
	req.Revision = 2
	_, err = h.desk.Start(t.Context(), runner, req)
	h.refused(err, load.GateNotLookedUp, 1)
}

func TestLR_9_2_ARunKeepsWhatDependedOnItsData(t *testing.T) {
	h := newHouse(t)
	r := h.start(t.Context(), h.ready(t.Context(), profile("dev", nil)))
	h.change(func() { h.dependents, h.charts = nil, 5 })
	if _, err := h.desk.LookUp(t.Context(), runner, "sales"); err != nil {
		t.Fatal(err)
	}
	status, err := h.desk.Run(t.Context(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.m.Snapshot(t.Context(), status.Run.Snapshot)
	if err != nil || s.Dependents.Fingerprint != status.Run.Fingerprint || len(s.Dependents.Items) != 1 || len(s.Charts) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestLR_9_3_AnotherFingerprintIsRefusedWithTheDifference(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("dev", nil))
	old, added := h.dependents[0], load.Dependent{Kind: "chart", ID: 9, Name: "New", Dataset: 31}
	h.change(func() { h.dependents = []load.Dependent{added} })
	s, err := h.desk.LookUp(t.Context(), runner, "sales")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.desk.Start(t.Context(), runner, h.request(v))
	gate := h.refused(err, load.GateFingerprintChanged, 2)
	if gate.Fingerprint != s.Dependents.Fingerprint || len(gate.Added) != 1 || gate.Added[0] != added || len(gate.Removed) != 1 || gate.Removed[0] != old || gate.Undiffed {
		t.Errorf("%+v", gate)
	}
	for _, named := range []string{"", "sha256:never"} {
		req := h.request(v)
		req.Fingerprint = named
		_, err = h.desk.Start(t.Context(), runner, req)
		if gate := h.refused(err, load.GateFingerprintChanged, 2); !gate.Undiffed || len(gate.Added) != 1 {
			t.Errorf("%+v", gate)
		}
	}
	req := h.request(v)
	req.Fingerprint = gate.Fingerprint
	if _, err := h.desk.Start(t.Context(), runner, req); err != nil {
		t.Errorf("the confirmed start gave %v", err)
	}
}

func TestLR_9_5_UnknownDependentsAreNotNone(t *testing.T) {
	h := newHouse(t)
	if _, err := h.desk.SaveProfile(t.Context(), runner, profile("dev", nil), 0); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []func(*load.LookUp) (*load.Snapshot, error){
		func(*load.LookUp) (*load.Snapshot, error) {
			return nil, fmt.Errorf("worker: %w", &load.LookUpError{Kind: load.GateDependentsUnknown, Message: "503"})
		},
		func(l *load.LookUp) (*load.Snapshot, error) {
			s, err := h.lookUp(l)
			s.Dependents = load.Dependents{}
			return s, err
		},
	} {
		h.m.answer = answer
		_, err := h.desk.LookUp(t.Context(), runner, "sales")
		h.refused(err, load.GateDependentsUnknown, h.m.errands)
		_, err = h.desk.Start(t.Context(), runner, load.StartRequest{Profile: "sales"})
		h.refused(err, load.GateNotLookedUp, h.m.errands)
	}
}

func TestALookUpInPRODNeedsItsPermission(t *testing.T) {
	h := newHouse(t)
	if _, err := h.desk.SaveProfile(t.Context(), runner, profile("prod", nil), 0); err != nil {
		t.Fatal(err)
	}
	_, err := h.desk.LookUp(t.Context(), runner, "sales")
	h.refused(err, load.GateNoPermission, 0)
}

func TestAProfileThatChangedIsNotStartedUnseen(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("dev", nil))
	h.ready(t.Context(), profile("dev", func(p *load.Profile) { p.Cap = 2 }))
	_, err := h.desk.Start(t.Context(), runner, h.request(v))
	if gate := h.refused(err, load.GateProfileChanged, h.m.errands); gate.Revision != 2 {
		t.Errorf("%+v", gate)
	}
}

func TestAProfileThatSaysTheSameStaysAsItIs(t *testing.T) {
	h := newHouse(t)
	first, err := h.desk.SaveProfile(t.Context(), runner, profile("dev", nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.desk.SaveProfile(t.Context(), operator, profile("dev", nil), -1)
	if err != nil || again.Revision != first.Revision || again.Owner != "ann" {
		t.Errorf("%+v, %v", again, err)
	}
	for _, seen := range []int{0, 7} {
		if _, err := h.desk.SaveProfile(t.Context(), runner, profile("dev", nil), seen); !errors.Is(err, messages.ErrConflict) {
			t.Errorf("revision %d gave %v", seen, err)
		}
	}
	if _, err := h.desk.SaveProfile(t.Context(), runner, profile("nowhere", nil), -1); !errors.Is(err, load.ErrInvalid) {
		t.Errorf("an environment that is not there gave %v", err)
	}
}

func TestLR_1_1_StartedAgainUnderAKeyIsTheRunThatThereIs(t *testing.T) {
	h := newHouse(t)
	v := h.ready(t.Context(), profile("prod", nil))
	h.approve(v, 0)
	req := h.request(v)
	req.Key = "nightly 7"
	var all sync.WaitGroup
	ids, errs := make([]string, 20), make([]error, 20)
	for i := range ids {
		desk := h.newDesk()
		all.Go(func() {
			for {
				r, err := desk.Start(context.WithoutCancel(t.Context()), operator, req)
				var gate *load.GateError
				if errors.As(err, &gate) && gate.Kind == load.GateApprovalUsed {
					continue // by the one that is just being made
				}
				if errs[i] = err; r != nil {
					ids[i] = r.ID
				}
				return
			}
		})
	}
	all.Wait()
	made := 0
	for i, err := range errs {
		if err == nil {
			made++
		} else if !errors.Is(err, load.ErrRepeated) {
			t.Errorf("%v", err)
		}
		if ids[i] != ids[0] || ids[i] == "" {
			t.Errorf("the runs are %q", ids)
		}
	}
	if made != 1 {
		t.Errorf("%d starts made a run", made)
	}
	req.Approval = "other"
	if _, err := h.desk.Start(t.Context(), operator, req); !errors.Is(err, load.ErrKeyReused) {
		t.Errorf("another start under the key gave %v", err)
	}
}
