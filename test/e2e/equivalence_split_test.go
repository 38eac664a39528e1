//go:build unix

package e2e

import (
	"slices"

	"github.com/braidhq/braid/internal/simulator"
)

// splitSamples are queries of which the service refuses chunks as too large: the request that is refused is among those that
// are interrupted, and so are the ones of the halves.
func splitSamples() []*sample {
	const threeSites = "monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074]"
	const tenDays = "time: {from: 2024-01-01, to: 2024-01-10}"
	limited := func(pageRows int, queryRows int64) simulator.Config {
		return simulator.Config{PageRows: pageRows, MaxQueryRows: queryRows}
	}
	return slices.Concat(ofService("usgs-waterdata", []*sample{
		{ // 30 rows are halved twice
			collection: "daily", name: "sites", where: "{" + threeSites + ", " + tenDays + "}", config: limited(7, 15),
			chunks: 1, formats: []string{"parquet"},
		},
		{
			collection: "daily", name: "days", where: "{monitoring_location_id: USGS-01000000, " + tenDays + "}", config: limited(3, 6),
			chunks: 1,
		},
		{
			collection: "daily", name: "alternatives", config: limited(7, 15), chunks: 1,
			where: `{filter: "monitoring_location_id = 'USGS-01000000' OR monitoring_location_id = 'USGS-01000037'
  OR monitoring_location_id = 'USGS-01000074'", ` + tenDays + "}",
		},
		{ // a page of the chunk is there already, and belongs to no result
			collection: "daily", name: "behind a page", where: "{" + fourSites + ", " + tenDays + "}", keys: inTwo,
			config: simulator.Config{PageRows: 7, Faults: []simulator.Fault{{
				Kind: simulator.FaultServerLimits, Contains: "id=USGS-01000074,USGS-01000111&", After: 1, Times: 1,
			}}},
			chunks: 2,
		},
		{ // both halves have the instant between them
			collection: "continuous", name: "split", config: limited(4, 8), chunks: 1,
			where: "{monitoring_location_id: USGS-01000000, parameter_code: '00060', time: {from: 2024-01-01T00:00:00Z, to: 2024-01-04T00:00:00Z}}",
		},
		{
			collection: "monitoring-locations", name: "split", chunks: 1,
			config: simulator.Config{PageRows: 2, Faults: []simulator.Fault{{Kind: simulator.Fault413, Times: 1}}},
			where:  "{monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074, USGS-01000111, USGS-01000148, USGS-01000185]}",
		},
	}), ofService("open-hydro", []*sample{
		{collection: "events", name: "split", where: "{kind: [drought, flood, ice]}", config: limited(5, 16), chunks: 1},
	}))
}
