package superset

import (
	"math"
	"math/rand/v2"
	"time"
)

// Chance here is a hash: the same words give the same outcome in every process and every order of arrival.

// mix spreads the bits of x over all 64 (the finalizer of splitmix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashText hashes the texts under a seed (FNV-1a, then mix). Boundaries between texts count.
func hashText(seed uint64, texts ...string) uint64 {
	h := 0xcbf29ce484222325 ^ mix(seed)
	for _, text := range texts {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 0x100000001b3
		}
		h = mix(h)
	}
	return h
}

// unit maps a hash to [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// draw gives the duration that chance holds.
func (d Distribution) draw(chance uint64) time.Duration {
	switch d.Shape {
	case Uniform:
		return d.Low + time.Duration(unit(mix(chance))*float64(d.High-d.Low))
	case LogNormal:
		sigma := d.Sigma
		if sigma == 0 {
			sigma = 0.5
		}
		normal := rand.New(rand.NewPCG(chance, mix(chance))).NormFloat64()
		most := d.High
		if most == 0 {
			most = MaxWait
		}
		return time.Duration(min(float64(d.Low)*math.Exp(sigma*normal), float64(most)))
	default:
		return d.Low
	}
}
