package feed

import (
	"strconv"
	"strings"
)

const endSuffix = "-end"

// Mark is the last event that a reader has seen. The zero Mark is none.
type Mark struct {
	revision uint64
	end      bool
}

// ParseMark reads an id of an event. What is none is the zero Mark: such a reader is told how things stand.
func ParseMark(id string) Mark {
	number, end := strings.CutSuffix(id, endSuffix)
	revision, err := strconv.ParseUint(number, 10, 64)
	if err != nil || revision == 0 || strconv.FormatUint(revision, 10) != number {
		return Mark{}
	}
	return Mark{revision, end}
}
