package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
)

// MaxValues bounds each axis.
const MaxValues = 100_000

// The axes in the order of the product, the first one slowest (LR-8.5).
const (
	filtersAxis = iota
	viewportAxis
	roleAxis
	timeRangeAxis
	axisCount
)

// axis is one kind of what varies.
type axis struct {
	name   string
	absent []byte // the value of a coordinate without it
	read   func(raw json.RawMessage) (value, error)
}

func axes() [axisCount]axis {
	null := []byte("null")
	return [axisCount]axis{
		filtersAxis:   {"filters", []byte("[]"), readFilters},
		viewportAxis:  {"viewport", null, readViewport},
		roleAxis:      {"role", null, func(raw json.RawMessage) (value, error) { return readText(raw, BadRole, "a role") }},
		timeRangeAxis: {"time_range", null, func(raw json.RawMessage) (value, error) { return readText(raw, BadTimeRange, "a time range") }},
	}
}

// axisOf is the axis of that name, -1 when there is none.
func axisOf(name string) int {
	all := axes()
	return slices.IndexFunc(all[:], func(a axis) bool { return a.name == name })
}

func unknownAxis(members map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if axisOf(name) < 0 {
			return &Error{
				Code: UnknownAxis, Value: -1, Axis: name,
				Message: "there is no such axis; filters, viewport, role and time_range can vary",
			}
		}
	}
	return nil
}

// Axes are the values of each axis, normalised, without duplicates, and ordered by their canonical bytes: the order in which they were given
// changes nothing (LR-8.8).
type Axes struct {
	values [axisCount][]value
}

// Parse reads an object with any of the members filters, viewport, role and time_range, each a list of values. A value of filters is a list of
// clauses. An absent or null member does not vary; an empty list is an error, as it would leave nothing to run. The error is an *Error.
func Parse(text json.RawMessage) (*Axes, error) {
	parsed := &Axes{}
	members := map[string]json.RawMessage{}
	if len(text) > 0 {
		var err error
		if members, err = object(text); err != nil {
			return nil, err
		}
	}
	if err := unknownAxis(members); err != nil {
		return nil, err
	}
	for i, axis := range axes() {
		raw, ok := members[axis.name]
		if !ok || string(raw) == "null" {
			parsed.values[i] = []value{{canonical: axis.absent}}
			continue
		}
		values, err := axis.values(raw)
		if err != nil {
			return nil, err
		}
		parsed.values[i] = values
	}
	return parsed, nil
}

func (a axis) values(raw json.RawMessage) ([]value, error) {
	var given []json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return nil, &Error{Code: BadAxis, Axis: a.name, Value: -1, Message: "a list of values is wanted"}
	}
	switch {
	case len(given) == 0:
		return nil, &Error{Code: BadAxis, Axis: a.name, Value: -1, Message: "the list is empty, which leaves nothing to run; remove the axis, or give it a value"}
	case len(given) > MaxValues:
		return nil, &Error{Code: BadAxis, Axis: a.name, Value: -1, Message: fmt.Sprintf("the list has %d values, at most %d are read", len(given), MaxValues)}
	}
	values := make([]value, len(given))
	for i, raw := range given {
		v, err := a.read(raw)
		if err != nil {
			return nil, locate(err, a.name, i)
		}
		values[i] = v
	}
	slices.SortFunc(values, func(x, y value) int { return bytes.Compare(x.canonical, y.canonical) })
	return slices.CompactFunc(values, func(x, y value) bool { return bytes.Equal(x.canonical, y.canonical) }), nil
}

// Count is the number of coordinates, exact (LR-8.4).
func (a *Axes) Count() *big.Int {
	count := big.NewInt(1)
	for _, values := range a.values {
		count.Mul(count, big.NewInt(int64(len(values))))
	}
	return count
}

// Roles are the roles that vary; an empty text stands for none being named.
func (a *Axes) Roles() []string { return texts(a.values[roleAxis]) }

// TimeRanges are the time ranges that vary; an empty text stands for that of the chart.
func (a *Axes) TimeRanges() []string { return texts(a.values[timeRangeAxis]) }

func texts(values []value) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.text
	}
	return all
}

// Filters are the filter lists that vary, each in canonical form.
func (a *Axes) Filters() []json.RawMessage {
	all := make([]json.RawMessage, len(a.values[filtersAxis]))
	for i, v := range a.values[filtersAxis] {
		all[i] = v.canonical
	}
	return all
}
