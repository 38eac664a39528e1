package messages

import "fmt"

// Bounds of a query's rank.
const (
	MaxWeight   = 100
	MaxPriority = 10 // and its negative is the lowest
)

// Rank says how a query stands to the others at its service. The zero value is that of most.
type Rank struct {
	Priority int `json:"priority,omitempty"` // -MaxPriority to MaxPriority: what is lower gets nothing while this has work to give out
	Weight   int `json:"weight,omitempty"`   // 1 to MaxWeight, of its share among those of its priority; 0 is 1
}

// Share is the weight that counts.
func (r Rank) Share() int { return max(1, r.Weight) }

// Check refuses numbers that are out of bounds.
func (r Rank) Check() error {
	switch {
	case r.Priority < -MaxPriority || r.Priority > MaxPriority:
		return field("priority", CheckPriority(r.Priority))
	case r.Weight < 0 || r.Weight > MaxWeight:
		return field("weight", CheckWeight(r.Weight))
	}
	return nil
}

// CheckPriority refuses a number that is no priority.
func CheckPriority(n int) error {
	if n < -MaxPriority || n > MaxPriority {
		return fmt.Errorf("%d is out of bounds, want %d to %d", n, -MaxPriority, MaxPriority)
	}
	return nil
}

// CheckWeight refuses a number that nobody may give as a weight.
func CheckWeight(n int) error {
	if n < 1 || n > MaxWeight {
		return fmt.Errorf("%d is out of bounds, want 1 to %d", n, MaxWeight)
	}
	return nil
}
