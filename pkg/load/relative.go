package load

import (
	"maps"
	"slices"
)

// RelativeTime tells whether a time range means other dates at another time, so that data that differs proves nothing (LR-5.4).
func RelativeTime(timeRange string) bool { return relative(timeRange) }

// RelativeFilters gives the hashes of the profile's filter lists that mean other dates at another time, sorted.
func (p *Profile) RelativeFilters() []string {
	f := newFindings(p, nil)
	return slices.Sorted(maps.Keys(f.filters))
}

// RelativeCharts gives the charts whose own requests mean other dates at another time, sorted. A time range of the variation stands in their place.
func (s *Snapshot) RelativeCharts() []int64 {
	f := newFindings(&Profile{}, s)
	return slices.Sorted(maps.Keys(f.charts))
}
