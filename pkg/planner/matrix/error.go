package matrix

import (
	"fmt"
	"strings"
)

// Code says what is wrong with axes or a coordinate.
type Code string

// The codes, beside those of package jcs, which Code has too for a text that is no canonical JSON.
const (
	BadVariation Code = "bad_variation" // no object
	UnknownAxis  Code = "unknown_axis"
	BadAxis      Code = "bad_axis" // no list, an empty one, or too long a one
	BadFilter    Code = "bad_filter"
	BadViewport  Code = "bad_viewport"
	BadRole      Code = "bad_role"
	BadTimeRange Code = "bad_time_range"
)

// Error is why axes or a coordinate cannot be read.
type Error struct {
	Code    Code
	Axis    string // empty: it is none of one axis
	Value   int    // index in the axis's list; -1: of none
	Message string
}

// Error gives the place and the message.
func (e *Error) Error() string {
	var place strings.Builder
	if e.Axis != "" {
		place.WriteString(e.Axis)
		if e.Value >= 0 {
			fmt.Fprintf(&place, "[%d]", e.Value)
		}
		place.WriteString(": ")
	}
	return place.String() + e.Message
}
