package matrix

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
)

// The bounds of a selection.
const (
	MaxCap           = 10_000
	MaxSelectedBytes = 32 << 20 // of all coordinates together
)

// Select gives all coordinates in the order of the product, the last axis fastest, when there are at most limit of them. Of more it draws
// exactly limit, each subset with equal chance, and gives them in the same order (LR-8.5). Equal axes, limit and seed give equal selections on every
// machine. Its cost is that of limit coordinates, however many there are.
func Select(a *Axes, limit int, seed uint64) ([]Variation, error) {
	if limit < 1 || limit > MaxCap {
		return nil, fmt.Errorf("select variations: the cap is %d, want 1 to %d", limit, MaxCap)
	}
	indices := a.draw(limit, seed)
	selected := make([]Variation, len(indices))
	size := 0
	for i, index := range indices {
		p := a.at(index)
		selected[i] = p.variation()
		if size += len(selected[i].Coordinate); size > MaxSelectedBytes {
			return nil, fmt.Errorf("select variations: the first %d of %d have more than %d bytes; use shorter filter lists, or a lower cap", i+1, len(indices), MaxSelectedBytes)
		}
	}
	return selected, nil
}

// draw gives the indices of the selection, ascending.
//
// It is Floyd's sampling: where a reservoir would take in each coordinate that comes by and throw one out, this draws the survivors alone.
func (a *Axes) draw(limit int, seed uint64) []*big.Int {
	count := a.Count()
	var drawn []*big.Int
	if count.Cmp(big.NewInt(int64(limit))) <= 0 {
		for i := range count.Int64() {
			drawn = append(drawn, big.NewInt(i))
		}
		return drawn
	}
	source := newSource(seed)
	taken := make(map[string]bool, limit)
	one := big.NewInt(1)
	for last := new(big.Int).Sub(count, big.NewInt(int64(limit))); last.Cmp(count) < 0; last.Add(last, one) {
		index := below(source, new(big.Int).Add(last, one))
		if taken[string(index.Bytes())] {
			index = new(big.Int).Set(last)
		}
		taken[string(index.Bytes())] = true
		drawn = append(drawn, index)
	}
	slices.SortFunc(drawn, (*big.Int).Cmp)
	return drawn
}

// newSource hashes the seed, so that neighbouring seeds have nothing in common.
func newSource(seed uint64) *rand.ChaCha8 {
	return rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64([]byte("load variations v1:"), seed)))
}

// below draws a number of 0 to bound−1, each with equal chance: what is not below the bound is drawn again.
func below(source *rand.ChaCha8, bound *big.Int) *big.Int {
	size := new(big.Int).Sub(bound, big.NewInt(1)).BitLen()
	words := make([]byte, 8*((size+63)/64))
	for {
		for i := 0; i < len(words); i += 8 {
			binary.BigEndian.PutUint64(words[i:], source.Uint64())
		}
		n := new(big.Int).SetBytes(words)
		if n.Rsh(n, uint(8*len(words)-size)); n.Cmp(bound) < 0 {
			return n
		}
	}
}

// at gives the coordinate of an index: mixed radix, the last axis fastest.
func (a *Axes) at(index *big.Int) point {
	var p point
	rest, digit := new(big.Int).Set(index), new(big.Int)
	for i := axisCount - 1; i >= 0; i-- {
		rest.QuoRem(rest, big.NewInt(int64(len(a.values[i]))), digit)
		p[i] = a.values[i][digit.Int64()]
	}
	return p
}
