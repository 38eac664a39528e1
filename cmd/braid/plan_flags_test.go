package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/settings"
)

// What may be said to a run may be said to its plan, so that the one command line becomes the other by its verb.
func TestAPlanTakesEverySettingOfARun(t *testing.T) {
	root := new(app).root()
	run, _, err := root.Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	plan, _, err := root.Find([]string{"plan"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(settings.Keys(run.LocalFlags()), settings.Keys(plan.LocalFlags())); diff != "" {
		t.Errorf("settings of run (-) and of plan (+):\n%s", diff)
	}
}

// A setting with which a run ends at once must not pass its plan.
func TestAPlanRefusesASettingThatARunRefuses(t *testing.T) {
	ask := []string{"--service", "rivers", "--collection", "gauges", "--set", "gauge=a"}
	for _, variable := range []string{
		"WORKERS", "CONCURRENCY", "IN_FLIGHT", "WAIT", "FAIL_ON_EMPTY", "FAST_SYNC", "LEASE_TTL", "GRACE",
	} {
		d := newFolder(t)
		d.env["BRAID_"+variable] = "maybe"
		plan := d.run(append([]string{"plan", "--exit-code"}, ask...)...).mustExit(t, exitUsage)
		run := d.run(append([]string{"run"}, ask...)...).mustExit(t, exitUsage)
		if plan.stderr != run.stderr || !strings.Contains(plan.stderr, "BRAID_"+variable) {
			t.Errorf("plan says\n%s\nrun says\n%s", plan.stderr, run.stderr)
		}
	}
}

func TestThePlanRepeatsTheSettingsThatWereGivenForARun(t *testing.T) {
	d := newFolder(t)
	d.env["BRAID_GRACE"], d.env["BRAID_FAST_SYNC"] = "3s", "true"
	shown := d.run("plan", "--service", "rivers", "--collection", "gauges", "--set", "gauge=a", "--in-flight", "2", "--lease-ttl", "90s",
		"--fast-sync=false", "--fail-on-empty", "--wait").mustExit(t, 0).stdout
	const want = "run it     braid run --service rivers --collection gauges --set gauge=a --in-flight 2 --lease-ttl 1m30s --wait --fail-on-empty --fast-sync=false\n"
	if !strings.HasSuffix(shown, want) {
		t.Errorf("got\n%s\nwant the end\n%s", shown, want)
	}
}
