package messages

import (
	"encoding/json"
	"fmt"
)

// view is an answer that shows something. What a newer Braid adds to one is passed over: nothing is decided by it.
type view interface{ Validate() error }

// decodeView reads what a coordinator answers.
func decodeView[T any, P interface {
	*T
	view
}](what string, data []byte) (P, error) {
	m := P(new(T))
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", what, ErrInvalid, err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	return m, nil
}
