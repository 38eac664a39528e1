package braid_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// loadsOver gives load runs in a process, the same ones over its HTTP API, and the fake that they go to.
func loadsOver(t *testing.T) (local, remote braid.LoadRuns, b *fakeBoards) {
	t.Helper()
	_, upstreamBase := upstream(t, simulator.Config{})
	b = newFakeBoards(t)
	e := open(t, upstreamBase, b.into)
	testkit.Run(t, e.Run)
	api, err := e.ListenAPI(t.Context(), braid.APIConfig{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, api.Serve)
	client, err := braid.NewClient("http://" + api.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return e.LoadRuns("ann"), client.LoadRuns(), b
}

func TestALoadRunIsTheSameInItsProcessAndOverHTTP(t *testing.T) {
	local, remote, _ := loadsOver(t)
	preview := prepared(t, remote, "dev")
	if preview.Total != 8 || preview.Gate.Class != load.NonProd {
		t.Fatalf("%+v", preview)
	}
	run, err := remote.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: preview.Gate.Inputs.Fingerprint, Key: "k1"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := remote.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: preview.Gate.Inputs.Fingerprint, Key: "k1"}); err != nil || again.ID != run.ID {
		t.Fatalf("again under its key: %v %v", again, err)
	}
	var last *load.RunStatus
	if err := remote.FollowRun(t.Context(), run.ID[:4], func(s *load.RunStatus) error { last = s; return nil }); err != nil {
		t.Fatal(err)
	}
	if last == nil || last.Run.State != load.Ended || last.Run.Verdict != load.Passed || last.Progress.Recorded != 8 {
		t.Fatalf("the last that is told: %+v", last)
	}
	for name, pair := range map[string]func(braid.LoadRuns) (any, error){
		"report":       func(l braid.LoadRuns) (any, error) { return l.Report(t.Context(), run.ID) },
		"series":       func(l braid.LoadRuns) (any, error) { return l.Series(t.Context(), "latest") },
		"run":          func(l braid.LoadRuns) (any, error) { return l.Run(t.Context(), "") },
		"runs":         func(l braid.LoadRuns) (any, error) { return l.Runs(t.Context()) },
		"profiles":     func(l braid.LoadRuns) (any, error) { return l.Profiles(t.Context()) },
		"profile":      func(l braid.LoadRuns) (any, error) { return l.Profile(t.Context(), "dev") },
		"snapshot":     func(l braid.LoadRuns) (any, error) { return l.Snapshot(t.Context(), "dev") },
		"preview":      func(l braid.LoadRuns) (any, error) { return l.Preview(t.Context(), "dev") },
		"environments": func(l braid.LoadRuns) (any, error) { return l.Environments(t.Context()) },
		"comparison":   func(l braid.LoadRuns) (any, error) { return l.Compare(t.Context(), run.ID, "latest") },
		"execution":    func(l braid.LoadRuns) (any, error) { return l.Execution(t.Context(), run.ID, 2) },
	} {
		here, err := pair(local)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		there, err := pair(remote)
		if err != nil {
			t.Errorf("%s over HTTP: %v", name, err)
			continue
		}
		if x, y := asJSON(t, here), asJSON(t, there); x != y {
			t.Errorf("%s is\n%s\nand over HTTP\n%s", name, x, y)
		}
	}
	var numbers []int
	for next := -1; ; {
		page, following, err := remote.Executions(t.Context(), run.ID, load.ExecutionFilter{After: next, Limit: 3, Role: "Gamma"})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.Role != "Gamma" || e.Sample != nil {
				t.Errorf("%d is sent as %s", e.Number, e.Role)
			}
			numbers = append(numbers, e.Number)
		}
		if next = following; next < 0 {
			break
		}
	}
	if len(numbers) != 4 {
		t.Errorf("as Gamma: %v", numbers)
	}
	if err := remote.RemoveRun(t.Context(), run.ID); err != nil {
		t.Error(err)
	}
	if _, err := remote.Run(t.Context(), run.ID); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("a run that was removed: %v", err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantGate(t *testing.T, err error, kind string) *load.GateError {
	t.Helper()
	var gate *load.GateError
	if !errors.As(err, &gate) || gate.Kind != kind {
		t.Fatalf("%v, want a gate that stays shut for %s", err, kind)
	}
	return gate
}

// A gate that stays shut is the same error in the process and over HTTP, and sends nothing: no login and no look at the dashboard.
func TestLR_10_4_AStartThatIsRefusedSendsNothing(t *testing.T) {
	local, remote, b := loadsOver(t)
	for name, loads := range map[string]braid.LoadRuns{"in the process": local, "over HTTP": remote} {
		t.Run(name, func(t *testing.T) {
			profile := profileOf("dev")
			if _, err := loads.SaveProfile(t.Context(), profile, -1); err != nil {
				t.Fatal(err)
			}
			if _, err := loads.LookUp(t.Context(), "dev"); err != nil {
				t.Fatal(err)
			}
			before := b.sent()
			_, err := loads.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: "sha256:other"})
			gate := wantGate(t, err, load.GateFingerprintChanged)
			if gate.Fingerprint == "" || len(gate.Added) == 0 || !gate.Undiffed {
				t.Errorf("%+v", gate)
			}
			_, err = loads.Start(t.Context(), load.StartRequest{Profile: "dev"})
			wantGate(t, err, load.GateFingerprintChanged)
			_, err = loads.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: gate.Fingerprint, Revision: 99})
			wantGate(t, err, load.GateProfileChanged)
			profile.Concurrency++
			next, err := loads.SaveProfile(t.Context(), profile, -1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := loads.SaveProfile(t.Context(), profileOf("dev"), next.Revision-1); !errors.Is(err, messages.ErrConflict) {
				t.Errorf("a revision that is not the last: %v", err)
			}
			_, err = loads.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: gate.Fingerprint})
			wantGate(t, err, load.GateNotLookedUp)
			profile.Concurrency = 0
			if _, err := loads.SaveProfile(t.Context(), profile, -1); !errors.Is(err, load.ErrInvalid) {
				t.Errorf("a profile that can never run: %v", err)
			}
			if now := b.sent(); now != before {
				t.Errorf("%d requests were sent", now-before)
			}
		})
	}
}

func TestLR_10_5_AnApprovalStartsOneRunOverHTTP(t *testing.T) {
	_, remote, b := loadsOver(t)
	preview := prepared(t, remote, "prod")
	if preview.Gate.Class != load.Prod || !preview.Gate.Approval || !reflect.DeepEqual(preview.Gate.Needs, []string{"load:run", "load:prod"}) {
		t.Fatalf("%+v", preview.Gate)
	}
	start := load.StartRequest{Profile: "prod", Fingerprint: preview.Gate.Inputs.Fingerprint}
	before := b.sent()
	_, err := remote.Start(t.Context(), start)
	wantGate(t, err, load.GateNoApproval)
	_, err = remote.Approve(t.Context(), "prod", load.ApprovalRequest{Hash: "00", Reason: "a test"})
	wantGate(t, err, load.GateStale)
	if _, err := remote.Approve(t.Context(), "prod", load.ApprovalRequest{Hash: preview.Gate.Hash}); !errors.Is(err, load.ErrInvalid) {
		t.Errorf("without a reason: %v", err)
	}
	if now := b.sent(); now != before {
		t.Errorf("%d requests were sent", now-before)
	}
	approval, err := remote.Approve(t.Context(), "prod", load.ApprovalRequest{Hash: preview.Gate.Hash, Reason: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	run, err := remote.Start(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	_, err = remote.Start(t.Context(), start)
	wantGate(t, err, load.GateApprovalUsed)
	all, err := remote.Approvals(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != approval.ID || all[0].UsedBy != run.ID {
		t.Errorf("%+v, %v", all, err)
	}
	endedRun(t, remote, run.ID)
}

func TestLR_1_5_AfterAStopOverHTTPNothingMoreIsSent(t *testing.T) {
	_, remote, b := loadsOver(t)
	preview := prepared(t, remote, "dev")
	b.slow(t)
	run, err := remote.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: preview.Gate.Inputs.Fingerprint})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "something is in flight", func() bool {
		return b.charts() > 0
	})
	if stopped, err := remote.Stop(t.Context(), "latest"); err != nil || stopped.ID != run.ID {
		t.Fatalf("%+v %v", stopped, err)
	}
	report, err := remote.Report(t.Context(), endedRun(t, remote, run.ID).Run.ID)
	if err != nil || report.Ending != load.Stopped || report.RequestsSent != b.charts() {
		t.Errorf("%+v %v: %d were sent", report, err, b.charts())
	}
	if _, err := remote.Stop(t.Context(), run.ID); !errors.Is(err, load.ErrState) {
		t.Errorf("once more: %v", err)
	}
}

// Whoever follows and does not care any more is let go with their own error.
func TestFollowingARunEndsWithTheErrorOfWhoFollows(t *testing.T) {
	local, remote, _ := loadsOver(t)
	preview := prepared(t, remote, "dev")
	run, err := remote.Start(t.Context(), load.StartRequest{Profile: "dev", Fingerprint: preview.Gate.Inputs.Fingerprint})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	for name, loads := range map[string]braid.LoadRuns{"in the process": local, "over HTTP": remote} {
		if err := loads.FollowRun(t.Context(), run.ID, func(*load.RunStatus) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := loads.FollowRun(ctx, run.ID, func(*load.RunStatus) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if err := loads.FollowRun(t.Context(), "nowhere", func(*load.RunStatus) error { return nil }); !errors.Is(err, messages.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	endedRun(t, remote, run.ID)
}
