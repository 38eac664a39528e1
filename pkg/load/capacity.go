package load

import (
	"errors"
	"fmt"
	"strings"
)

// Terms are the terms of a run's capacity, and which of them bound it (LR-2.1, 2.6).
type Terms struct {
	Class        Class    `json:"class"`
	Requested    int      `json:"requested"`
	EnvMax       int      `json:"env_max"`
	EnvMaxSource string   `json:"env_max_source"` // default or configured
	PoolRoom     int      `json:"pool_room"`
	Ceiling      int      `json:"ceiling"`
	EnvLoadLimit int      `json:"env_load_limit"` // of all runs of the environment together
	Effective    int      `json:"effective"`      // of this run
	Binding      []string `json:"binding"`        // requested, env_max, pool_room, ceiling: those that are equal to Effective
}

// The numbers of an environment that says nothing else (LR-2.2).
const (
	MaxCapacity     = 25 // of any run, and of all runs of an environment together; not to be configured
	DefaultPool     = 20
	DefaultReserved = 5
	DefaultEnvMax   = 10
	DefaultProdMax  = 5 // in PROD
)

// ErrCapacity is wrapped by every CapacityError.
var ErrCapacity = errors.New("invalid capacity")

// CapacityError is a setting that no capacity can be reckoned with (LR-2.4).
type CapacityError struct {
	Setting string // stage, is_production, requested, load_test_max_concurrent, connection_pool_size or load_test_reserved_slots
	Message string
}

// Error names the setting and what it may be.
func (e *CapacityError) Error() string { return e.Setting + " " + e.Message }

// Unwrap gives ErrCapacity.
func (e *CapacityError) Unwrap() error { return ErrCapacity }

// Code is the setting's name with _invalid behind it.
func (e *CapacityError) Code() string { return e.Setting + "_invalid" }

// ClassOf tells how careful one must be: PROD when the stage says so or the flag is set (LR-2.3, 10.1). The error is a *CapacityError.
func ClassOf(e Environment) (Class, error) {
	switch stage := strings.ToUpper(strings.TrimSpace(e.Stage)); {
	case stage == "PROD":
		return Prod, nil
	case stage != "DEV" && stage != "PREPROD" && e.Stage != "":
		return "", &CapacityError{Setting: "stage", Message: fmt.Sprintf("is %.40q, want DEV, PREPROD or PROD", e.Stage)}
	}
	if e.IsProduction {
		return Prod, nil
	}
	return NonProd, nil
}

// PoolOf is how many requests of all kinds may be in flight to the environment.
func PoolOf(e Environment) int { return or(e.Pool, DefaultPool) }

// Capacity gives how many executions of a run that asks for so many may be in flight, and of all runs of the environment together (LR-2.1 to
// 2.6). The error is a *CapacityError for the first setting that is invalid.
func Capacity(requested int, e Environment) (Terms, error) {
	class, err := ClassOf(e)
	if err != nil {
		return Terms{}, err
	}
	t := Terms{Class: class, Requested: requested, EnvMax: DefaultEnvMax, EnvMaxSource: "default", Ceiling: MaxCapacity}
	if class == Prod {
		t.EnvMax = DefaultProdMax
	}
	if e.EnvMax != nil {
		t.EnvMax, t.EnvMaxSource = *e.EnvMax, "configured"
	}
	pool, reserved := PoolOf(e), or(e.Reserved, DefaultReserved)
	for _, s := range []struct {
		name        string
		value, from int
	}{
		{"requested", requested, 1},
		{"load_test_max_concurrent", t.EnvMax, 1},
		{"connection_pool_size", pool, 1},
		{"load_test_reserved_slots", reserved, 0},
	} {
		if s.value < s.from {
			return Terms{}, &CapacityError{Setting: s.name, Message: fmt.Sprintf("is %d, want %d or more", s.value, s.from)}
		}
	}
	t.PoolRoom = max(1, pool-reserved)
	t.EnvLoadLimit = min(t.EnvMax, t.PoolRoom, t.Ceiling)
	t.Effective = min(requested, t.EnvLoadLimit)
	for _, term := range []struct {
		name  string
		value int
	}{{"requested", requested}, {"env_max", t.EnvMax}, {"pool_room", t.PoolRoom}, {"ceiling", t.Ceiling}} {
		if term.value == t.Effective {
			t.Binding = append(t.Binding, term.name)
		}
	}
	return t, nil
}

func or(value *int, otherwise int) int {
	if value == nil {
		return otherwise
	}
	return *value
}
