package planner

import (
	"fmt"

	"github.com/braidhq/braid/pkg/service"
)

// packer divides the values of one parameter, in order, so that each request stays within the limits.
type packer struct {
	collection *service.Collection
	others     service.Values // what the request holds beside the parameter
	param      string
	limit      int   // bytes of URL
	sizes      []int // bytes of a request with one value alone
	joint      int   // what a further value adds beside its own size: the separator less what all requests share
}

// newPacker measures each value once, so that packing needs no further measuring.
func newPacker(c *service.Collection, others service.Values, param string, values []string) (*packer, error) {
	p := &packer{collection: c, others: others, param: param, limit: c.Limits.URLBytes}
	for _, value := range values {
		size, err := p.measure([]string{value})
		if err != nil {
			return nil, err
		}
		p.sizes = append(p.sizes, size)
	}
	if len(values) > 1 {
		both, err := p.measure(values[:2])
		if err != nil {
			return nil, err
		}
		p.joint = both - p.sizes[0] - p.sizes[1]
	}
	return p, nil
}

func (p *packer) measure(values []string) (int, error) {
	with := make(service.Values, len(p.others)+1)
	for name, v := range p.others {
		with[name] = v
	}
	with[p.param] = values
	request, err := p.collection.Request(with)
	if err != nil {
		return 0, err
	}
	if most := p.collection.Limits.BodyBytes; most > 0 && len(request.Body) > most {
		return len(request.URL) + p.limit, nil // over, whatever the URL
	}
	return len(request.URL), nil
}

// pack fills each piece with as many values as fit and most allows: no contiguous division has fewer pieces.
func (p *packer) pack(values []string, most int) ([][]string, error) {
	var pieces [][]string
	start, size := 0, 0
	for i, value := range values {
		if p.sizes[i] > p.limit {
			return nil, &UnsplittableError{Parameter: p.param, Value: value, Bytes: p.sizes[i], Limit: p.limit}
		}
		grown := size + p.sizes[i] + p.joint
		if i > start && (grown > p.limit || i-start >= most) {
			pieces = append(pieces, values[start:i:i])
			start, size = i, 0
		}
		if i == start {
			grown = p.sizes[i]
		}
		size = grown
	}
	pieces = append(pieces, values[start:len(values):len(values)])
	for _, piece := range pieces {
		if size, err := p.measure(piece); err != nil || size > p.limit {
			return nil, fmt.Errorf("a request of %d values of %s has %d bytes, over the limit of %d it was packed to: %w", len(piece), p.param, size, p.limit, err)
		}
	}
	return pieces, nil
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
