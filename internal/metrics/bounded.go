package metrics

import (
	"slices"
	"sync"
)

const (
	// Other stands for all values of a label beyond the bound.
	Other       = "other"
	maxServices = 100
	maxLabel    = 64 // bytes of a value
)

// bounded keeps the values of a label few, whoever makes them up: the first ones stand for themselves.
type bounded struct {
	most int

	mu    sync.Mutex // guards known
	known map[string]struct{}
}

func newBounded(most int) *bounded { return &bounded{most: most, known: map[string]struct{}{}} }

func (b *bounded) label(value string) string {
	if value = legible(value); value == "" {
		return Other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, have := b.known[value]; have {
		return value
	}
	if len(b.known) >= b.most {
		return Other
	}
	b.known[value] = struct{}{}
	return value
}

// oneOf gives the value when it is among those that are known, else Other.
func oneOf(value string, known ...string) string {
	if slices.Contains(known, value) {
		return value
	}
	return Other
}

// statusClass is 2xx for 200, and none for 0.
func statusClass(status int) string {
	switch {
	case status == 0:
		return "none"
	case status < 100 || status > 599:
		return Other
	}
	return string(rune('0'+status/100)) + "xx"
}
