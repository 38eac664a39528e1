package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/jcs"
)

// Variation is one coordinate of the matrix, normalised (LR-8.2).
type Variation struct {
	ID          string          `json:"id"`           // SHA-256 of Coordinate
	FiltersHash string          `json:"filters_hash"` // SHA-256 of its member filters
	Role        string          `json:"role,omitempty"`
	TimeRange   string          `json:"time_range,omitempty"`
	Coordinate  json.RawMessage `json:"coordinate"` // canonical form
}

// Filters gives the variation's filter clauses. The zero Variation has none.
func (v *Variation) Filters() ([]Clause, error) {
	if len(v.Coordinate) == 0 {
		return nil, nil
	}
	var coordinate struct {
		Filters []Clause `json:"filters"`
	}
	if err := json.Unmarshal(v.Coordinate, &coordinate); err != nil {
		return nil, fmt.Errorf("read coordinate of variation %s: %w", v.ID, err)
	}
	return coordinate.Filters, nil
}

// Normalise reads one coordinate: an object with any of the members filters, viewport, role and time_range. The error is an *Error.
func Normalise(coordinate json.RawMessage) (Variation, error) {
	members, err := object(coordinate)
	if err != nil {
		return Variation{}, err
	}
	for name := range members {
		if axisOf(name) < 0 {
			return Variation{}, unknownAxis(members)
		}
	}
	var point point
	for i, axis := range axes() {
		v := value{canonical: axis.absent}
		if raw, ok := members[axis.name]; ok {
			if v, err = axis.read(raw); err != nil {
				return Variation{}, locate(err, axis.name, -1)
			}
		}
		point[i] = v
	}
	return point.variation(), nil
}

// value is one value of an axis.
type value struct {
	canonical []byte
	text      string // of a role and a time range
}

// point has the value of each axis, in the order of axes.
type point [axisCount]value

func (p *point) variation() Variation {
	filters := p[filtersAxis].canonical
	coordinate := bytes.Join([][]byte{ // members in canonical order
		[]byte(`{"filters":`), filters, []byte(`,"role":`), p[roleAxis].canonical, []byte(`,"time_range":`), p[timeRangeAxis].canonical,
		[]byte(`,"viewport":`), p[viewportAxis].canonical, []byte(`}`),
	}, nil)
	return Variation{
		ID: jcs.Sum(coordinate), FiltersHash: jcs.Sum(filters), Role: p[roleAxis].text, TimeRange: p[timeRangeAxis].text, Coordinate: coordinate,
	}
}

// object gives the members of a JSON object in canonical form.
func object(text json.RawMessage) (map[string]json.RawMessage, error) {
	canonical, err := jcs.Canonical(text)
	if err != nil {
		return nil, asError(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(canonical, &members); err != nil || members == nil {
		return nil, &Error{Code: BadVariation, Value: -1, Message: "an object with the members filters, viewport, role and time_range is wanted"}
	}
	return members, nil
}

func asError(err error) error {
	if bad, ok := errors.AsType[*jcs.Error](err); ok {
		return &Error{Code: Code(bad.Code), Value: -1, Message: bad.Error()}
	}
	return err
}

func locate(err error, axis string, index int) error {
	if bad, ok := errors.AsType[*Error](err); ok {
		placed := *bad
		placed.Axis, placed.Value = axis, index
		return &placed
	}
	return err
}
