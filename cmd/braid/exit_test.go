package main

import (
	"fmt"
	"testing"

	"github.com/braidhq/braid/pkg/query"
)

func TestFieldsThatMustNotComeAreNoInternalError(t *testing.T) {
	err := fmt.Errorf("table of q: %w: 1 that no field declares (surplus)", query.ErrTable)
	if code := exitCode(t.Context(), err); code != exitIncomplete {
		t.Errorf("exit code %d, want %d", code, exitIncomplete)
	}
}
