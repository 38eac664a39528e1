package timing

import "math/big"

// Rate is a part of a whole, exact.
type Rate struct {
	Part  int `json:"num"`
	Whole int `json:"den"`
}

// RateOf gives nil when nothing is there to have a part of (LR-3.5).
func RateOf(part, whole int) *Rate {
	if whole == 0 {
		return nil
	}
	return &Rate{Part: part, Whole: whole}
}

// Rat is the exact value.
func (r Rate) Rat() *big.Rat { return big.NewRat(int64(r.Part), int64(r.Whole)) }
