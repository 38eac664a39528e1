package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/service"
)

// basins plans reports: one is of stations of one basin, which no axis can say.
type basins struct{}

const stationsPerReport = 20

// Plan is planner.Planner's. Equal queries give equal plans: the basins come in the order in which the query names them.
func (basins) Plan(_ *service.Collection, values service.Values, _ planner.Options) (planner.Plan, error) {
	var order []string
	stations := map[string][]string{}
	for _, station := range values["station"] {
		basin, _, _ := strings.Cut(station, "-")
		if stations[basin] == nil {
			order = append(order, basin)
		}
		stations[basin] = append(stations[basin], station)
	}
	var plan planner.List
	for _, basin := range order {
		for some := range slices.Chunk(stations[basin], stationsPerReport) {
			chunk := maps.Clone(values)
			chunk["station"] = some
			plan = append(plan, planner.Chunk{Values: chunk})
		}
	}
	return plan, nil
}

// finalize names the column as people know it.
func finalize(string) []frame.Operation {
	return []frame.Operation{{Rename: map[string]string{"h": "height"}}, {Sort: []string{"time", "station"}}}
}
