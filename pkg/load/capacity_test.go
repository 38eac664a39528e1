package load_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/load"
)

// readVectors reads the cases of one family.
func readVectors[V any](t *testing.T, name string) []V {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []V `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) < 20 {
		t.Fatalf("%s has %d vectors", name, len(file.Vectors))
	}
	return file.Vectors
}

func TestLR_2_1_CapacityIsThatOfTheVectors(t *testing.T) {
	type vector struct {
		ID string `json:"id"`
		In struct {
			Requested   json.RawMessage            `json:"requested"`
			Environment map[string]json.RawMessage `json:"env"`
		} `json:"in"`
		Want struct {
			load.Terms
			Error string `json:"error"`
		} `json:"want"`
	}
	for _, v := range readVectors[vector](t, "capacity.json") {
		got, err := load.CapacityOf(v.In.Requested, v.In.Environment)
		if v.Want.Error != "" {
			var bad *load.CapacityError
			if !errors.As(err, &bad) || bad.Code() != v.Want.Error || !errors.Is(err, load.ErrCapacity) {
				t.Errorf("%s gives %+v, %v, want %s", v.ID, got, err, v.Want.Error)
			}
			continue
		}
		want := v.Want.Terms
		if err := json.Unmarshal(v.In.Requested, &want.Requested); err != nil {
			t.Fatal(err)
		}
		want.Ceiling = 25
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v: %s", v.ID, err, diff)
		}
	}
}

func TestLR_2_2_AnEnvironmentThatSaysNothingHasTheDefaults(t *testing.T) {
	for class, e := range map[load.Class]load.Environment{load.NonProd: {}, load.Prod: {IsProduction: true}} {
		got, err := load.Capacity(1000, e)
		want := map[load.Class]int{load.NonProd: 10, load.Prod: 5}[class]
		if err != nil || got.Class != class || got.EnvMax != want || got.PoolRoom != 15 || got.Effective != want || got.EnvMaxSource != "default" {
			t.Errorf("%s: %+v, %v", class, got, err)
		}
	}
}

func TestLR_2_3_AnUnknownStageIsNeverNotPROD(t *testing.T) {
	for _, stage := range []string{"STAGING", " ", "PROD1", "production", "PRE PROD"} {
		if got, err := load.Capacity(1, load.Environment{Stage: stage}); !errors.Is(err, load.ErrCapacity) {
			t.Errorf("%q is %+v, %v", stage, got, err)
		}
	}
	for stage, want := range map[string]load.Class{"": load.NonProd, "\tprod\n": load.Prod, "\tPreProd": load.NonProd, "dev": load.NonProd} {
		if got, err := load.ClassOf(load.Environment{Stage: stage}); err != nil || got != want {
			t.Errorf("%q is %s, %v", stage, got, err)
		}
	}
}

func TestLR_2_4_TheFirstInvalidSettingInOrderIsNamed(t *testing.T) {
	for _, c := range []struct{ requested, env, want string }{
		{`1`, `{"stage":7,"is_production":1}`, "stage_invalid"},
		{`1`, `{"stage":""}`, "stage_invalid"},
		{`0`, `{"is_production":"x"}`, "is_production_invalid"},
		{`0`, `{"load_test_max_concurrent":0}`, "requested_invalid"},
		{`"5"`, `{"load_test_max_concurrent":0}`, "requested_invalid"},
		{`5.0`, `{}`, "requested_invalid"},
		{``, `{}`, "requested_invalid"},
		{`1`, `{"load_test_max_concurrent":-1,"connection_pool_size":"x"}`, "load_test_max_concurrent_invalid"},
		{`1`, `{"connection_pool_size":0,"load_test_reserved_slots":true}`, "connection_pool_size_invalid"},
		{`1`, `{"load_test_reserved_slots":-1}`, "load_test_reserved_slots_invalid"},
		{`1`, `{"load_test_reserved_slots":1.5}`, "load_test_reserved_slots_invalid"},
		{`1`, `{"connection_pool_size":[]}`, "connection_pool_size_invalid"},
	} {
		var env map[string]json.RawMessage
		if err := json.Unmarshal([]byte(c.env), &env); err != nil {
			t.Fatal(err)
		}
		_, err := load.CapacityOf(json.RawMessage(c.requested), env)
		var bad *load.CapacityError
		if !errors.As(err, &bad) || bad.Code() != c.want || bad.Message == "" {
			t.Errorf("%s of %s gives %v, want %s", c.requested, c.env, err, c.want)
		}
	}
}

func TestLR_2_5_NoRunsCapacityExceedsTheEnvironments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Ptr(rapid.IntRange(1, 60), true)
		e := load.Environment{IsProduction: rapid.Bool().Draw(t, "prod"), Pool: number.Draw(t, "pool"), EnvMax: number.Draw(t, "max"), Reserved: number.Draw(t, "reserved")}
		got, err := load.Capacity(rapid.IntRange(1, 60).Draw(t, "requested"), e)
		if err != nil {
			t.Fatal(err)
		}
		if got.EnvLoadLimit != min(got.EnvMax, got.PoolRoom, 25) || got.Effective != min(got.Requested, got.EnvLoadLimit) || got.Effective < 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestLR_2_6_EveryTermThatBindsIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool, limit := rapid.IntRange(1, 40).Draw(t, "pool"), rapid.IntRange(1, 40).Draw(t, "max")
		got, err := load.Capacity(rapid.IntRange(1, 40).Draw(t, "requested"), load.Environment{Pool: &pool, EnvMax: &limit})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, term := range []struct {
			name  string
			value int
		}{{"requested", got.Requested}, {"env_max", got.EnvMax}, {"pool_room", got.PoolRoom}, {"ceiling", got.Ceiling}} {
			if term.value == got.Effective {
				want = append(want, term.name)
			}
		}
		if diff := cmp.Diff(want, got.Binding); diff != "" || len(want) == 0 {
			t.Errorf("%+v: %s", got, diff)
		}
	})
}
