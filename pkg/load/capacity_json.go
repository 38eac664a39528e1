package load

import (
	"encoding/json"
	"strconv"
)

// CapacityOf is Capacity of what comes as JSON: the requested capacity, and an object with the members stage, is_production, connection_pool_size,
// load_test_max_concurrent and load_test_reserved_slots, of which an absent or null one has its default. A number with a fraction, a text
// or a boolean in a number's place is refused in the order of LR-2.4. The error is a *CapacityError.
func CapacityOf(requested json.RawMessage, environment map[string]json.RawMessage) (Terms, error) {
	var e Environment
	if raw, ok := given(environment["stage"]); ok {
		if json.Unmarshal(raw, &e.Stage) != nil || e.Stage == "" {
			return Terms{}, &CapacityError{Setting: "stage", Message: "is no text, want DEV, PREPROD or PROD"}
		}
	}
	if _, err := ClassOf(e); err != nil {
		return Terms{}, err
	}
	if raw, ok := given(environment["is_production"]); ok {
		if json.Unmarshal(raw, &e.IsProduction) != nil {
			return Terms{}, &CapacityError{Setting: "is_production", Message: "is neither true nor false"}
		}
	}
	wanted, err := whole("requested", requested)
	if err != nil {
		return Terms{}, err
	}
	if wanted == nil {
		return Terms{}, &CapacityError{Setting: "requested", Message: "is not given, want 1 or more"}
	}
	if *wanted < 1 {
		return Capacity(*wanted, e) // which refuses it before the other numbers are read
	}
	for _, s := range []struct {
		name string
		into **int
	}{
		{"load_test_max_concurrent", &e.EnvMax}, {"connection_pool_size", &e.Pool}, {"load_test_reserved_slots", &e.Reserved},
	} {
		if *s.into, err = whole(s.name, environment[s.name]); err != nil {
			return Terms{}, err
		}
		if _, err := Capacity(*wanted, e); err != nil {
			return Terms{}, err
		}
	}
	return Capacity(*wanted, e)
}

func given(raw json.RawMessage) (json.RawMessage, bool) {
	return raw, len(raw) > 0 && string(raw) != "null"
}

// whole reads an integer literal.
func whole(setting string, raw json.RawMessage) (*int, error) {
	raw, ok := given(raw)
	if !ok {
		return nil, nil
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return nil, &CapacityError{Setting: setting, Message: "is no whole number"}
	}
	return &n, nil
}
