package timing

import (
	"cmp"
	"math/big"
)

// NearestRank finds a percentile by nearest rank (LR-3.4): rank is ceil(percent × n / 100), 1 for the least, and value the element of
// that rank. sorted must be in ascending order. percent is above 0 to 100; 0 has the rank 1. ok is false without values and with another percent.
func NearestRank[T cmp.Ordered](sorted []T, percent *big.Rat) (rank int, value T, ok bool) {
	if len(sorted) == 0 || percent.Sign() < 0 || percent.Cmp(big.NewRat(100, 1)) > 0 {
		return 0, value, false
	}
	numerator := new(big.Int).Mul(percent.Num(), big.NewInt(int64(len(sorted))))
	denominator := new(big.Int).Mul(percent.Denom(), big.NewInt(100))
	whole, rest := new(big.Int).QuoRem(numerator, denominator, new(big.Int))
	rank = int(whole.Int64()) // at most len(sorted)
	if rest.Sign() > 0 {
		rank++
	}
	rank = max(rank, 1)
	return rank, sorted[rank-1], true
}

// atPercent is NearestRank for a whole percent, without any allocation.
func atPercent[T cmp.Ordered](sorted []T, percent int) *T {
	if len(sorted) == 0 {
		return nil
	}
	value := sorted[(percent*len(sorted)+99)/100-1]
	return &value
}
