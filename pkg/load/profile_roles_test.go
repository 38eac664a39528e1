package load_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/load"
)

func TestARoleThatTheEnvironmentDoesNotHaveIsRefusedBeforeAnythingIsSent(t *testing.T) {
	e := load.Environment{Name: "dashboards", Roles: []load.Role{{Name: "Alpha"}, {Name: "Gamma"}}}
	p, s := profile(t, `{"role":["Admin","Gamma","Nobody"]}`), dashboard()
	p.Thresholds = []load.Threshold{{Metric: "error_rate", Max: "0.1"}, {Metric: "error_rate", Role: "Gone", Max: "0.1"}}
	_, err := load.PreviewOf(p, s, selected(t, p, s), e)
	if !errors.Is(err, load.ErrProfile) {
		t.Fatal(err)
	}
	for _, want := range []string{`axes.role: the environment dashboards has no role "Admin"; its roles are Alpha, Gamma`, `"Nobody"`, `thresholds[1].role: the environment dashboards has no role "Gone"`, "environment.roles"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
	if strings.Contains(err.Error(), `no role "Gamma"`) {
		t.Error(err)
	}
	for _, axes := range []string{"{}", `{"role":["Gamma"]}`} {
		if err := profile(t, axes).CheckRoles(e); err != nil {
			t.Errorf("%s: %v", axes, err)
		}
	}
}
