package planner

import (
	"math"

	"github.com/braidhq/braid/pkg/service"
)

// size is what a request, or a part of it, takes on the wire, in bytes. Of several pieces it has the largest of each number,
// so that both may be less than url and body together.
type size struct{ url, body, both int }

func sized(url, body int) size { return size{url, body, url + body} }

func (s size) plus(o size) size  { return size{s.url + o.url, s.body + o.body, s.both + o.both} }
func (s size) minus(o size) size { return size{s.url - o.url, s.body - o.body, s.both - o.both} }
func (s size) fits(room size) bool {
	return s.url <= room.url && s.body <= room.body && s.both <= room.both
}

// most has the larger of each number, least the smaller.
func (s size) most(o size) size {
	return size{max(s.url, o.url), max(s.body, o.body), max(s.both, o.both)}
}

func (s size) least(o size) size {
	return size{min(s.url, o.url), min(s.body, o.body), min(s.both, o.both)}
}

// unlimited is far from the overflow of sums.
const unlimited = math.MaxInt / 8

// roomOf gives the limits of a request. Zero in a definition is no limit.
func roomOf(l service.Limits) size {
	bound := func(n int) int {
		if n <= 0 {
			return unlimited
		}
		return n
	}
	room := size{bound(l.URLBytes), bound(l.BodyBytes), bound(l.RequestBytes)}
	return room.least(size{room.both, room.both, unlimited})
}

// measure builds a request as it is sent.
func measure(c *service.Collection, values service.Values) (size, error) {
	request, err := c.Request(values)
	if err != nil {
		return size{}, err
	}
	return sized(len(request.URL), len(request.Body)), nil
}
