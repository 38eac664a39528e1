package loadrun_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/braidhq/braid/pkg/load"
)

func TestAProfileWithARoleThatTheEnvironmentLacksIsNotStoredAndNotRun(t *testing.T) {
	h := newHouse(t)
	as := func(role string) *load.Profile {
		return profile("dev", func(p *load.Profile) { p.Axes = json.RawMessage(`{"role":["` + role + `"]}`) })
	}
	roles := func(names ...string) {
		h.change(func() {
			e := h.environments["dev"]
			e.Roles = nil
			for _, name := range names {
				e.Roles = append(e.Roles, load.Role{Name: name})
			}
			h.environments["dev"] = e
		})
	}
	roles("Alpha", "Gamma")
	if _, err := h.desk.SaveProfile(t.Context(), operator, as("Admin"), -1); !errors.Is(err, load.ErrInvalid) || !errors.Is(err, load.ErrProfile) {
		t.Errorf("stored: %v", err)
	}
	v := h.ready(t.Context(), as("Gamma"))
	roles("Alpha") // the definition changes behind the profile
	if _, err := h.desk.Preview(t.Context(), "sales"); !errors.Is(err, load.ErrInvalid) {
		t.Errorf("previewed: %v", err)
	}
	if _, err := h.desk.Start(t.Context(), operator, h.request(v)); !errors.Is(err, load.ErrInvalid) {
		t.Errorf("started: %v", err)
	}
}
