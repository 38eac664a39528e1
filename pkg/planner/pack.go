package planner

import (
	"maps"

	"github.com/braidhq/braid/pkg/service"
)

// packer divides the values of one parameter, in order, so that each request stays within the limits. Each value is
// measured once, so that trying many divisions needs no further measuring.
type packer struct {
	param  string
	values []string
	limit  int   // bytes of URL
	sizes  []int // bytes of a request with one value alone
	joint  int   // what a further value adds beside its own size: the separator less what all requests share
}

// newPacker measures each value beside others, which are part of every request. A value that alone is over the limit
// there is an UnsplittableError at once.
func newPacker(c *service.Collection, others service.Values, param string, values []string) (*packer, error) {
	p := &packer{param: param, values: values, limit: c.Limits.URLBytes, sizes: make([]int, 0, len(values))}
	with := maps.Clone(others)
	for i := range values {
		with[param] = values[i : i+1]
		size, err := measure(c, with)
		if err != nil {
			return nil, err
		}
		if size > p.limit {
			return nil, p.unsplittable(i, size)
		}
		p.sizes = append(p.sizes, size)
	}
	// Values that are sent one at a time are never in one request.
	with[param] = values[:min(2, len(values))]
	if both, err := measure(c, with); err == nil && len(values) > 1 {
		p.joint = both - p.sizes[0] - p.sizes[1]
	}
	return p, nil
}

// measure gives the bytes of URL of a request; of one whose body is over its own limit, more than the URL's limit.
func measure(c *service.Collection, with service.Values) (int, error) {
	request, err := c.Request(with)
	if err != nil {
		return 0, err
	}
	if most := c.Limits.BodyBytes; most > 0 && len(request.Body) > most {
		return len(request.URL) + c.Limits.URLBytes, nil // over, whatever the URL
	}
	return len(request.URL), nil
}

func (p *packer) unsplittable(i, size int) error {
	return &UnsplittableError{Parameter: p.param, Value: p.values[i], Bytes: size, Limit: p.limit}
}

// pack fills each piece with as many values as fit and most allows: no contiguous division has fewer pieces. beside is
// what the rest of the request has more than the one the values were measured in.
func (p *packer) pack(beside, most int) ([][]string, error) {
	var pieces [][]string
	start, size := 0, 0
	for i := range p.values {
		alone := p.sizes[i] + beside
		if alone > p.limit {
			return nil, p.unsplittable(i, alone)
		}
		grown := size + p.sizes[i] + p.joint
		switch {
		case i == start:
			size = alone
		case grown > p.limit || i-start >= most:
			pieces = append(pieces, p.values[start:i:i])
			start, size = i, alone
		default:
			size = grown
		}
	}
	return append(pieces, p.values[start:len(p.values):len(p.values)]), nil
}

// longest is the piece that takes the most bytes, of pieces that are all the values in order.
func (p *packer) longest(pieces [][]string) []string {
	best, most, start := pieces[0], 0, 0
	for _, piece := range pieces {
		size := p.joint * (len(piece) - 1)
		for _, n := range p.sizes[start : start+len(piece)] {
			size += n
		}
		if start += len(piece); size > most {
			best, most = piece, size
		}
	}
	return best
}

// even divides values into n pieces of equal length, the longer ones first.
func even(values []string, n int) [][]string {
	pieces := make([][]string, 0, n)
	for start := 0; n > 0; n-- {
		end := start + (len(values)-start+n-1)/n
		pieces = append(pieces, values[start:end:end])
		start = end
	}
	return pieces
}
