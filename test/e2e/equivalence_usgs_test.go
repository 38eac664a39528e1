//go:build unix

package e2e

import "github.com/braidhq/braid/internal/simulator"

// Sites that the simulator makes up from their names.
const (
	threeSites = "monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074]"
	threeWells = "monitoring_location_id: [MBMG-702934, USGS-421502089250502, AKDNR-88]"
	inTwo      = "max_chunks: 2"
)

// pagesOf is an upstream with small pages.
func pagesOf(rows int) simulator.Config { return simulator.Config{PageRows: rows} }

// waterDataSamples cover the observations of Water Data and what describes them: requests by GET with lists in the URL, by
// POST with a filter in the body, by a filter in text, and answers that count, or that have an empty page in the middle.
func waterDataSamples() []*sample {
	const tenDays = "time: {from: 2024-01-01, to: 2024-01-10}"
	list := []*sample{
		{
			collection: "daily", where: "{" + threeSites + ", parameter_code: '00060', statistic_id: '00003', " + tenDays + "}",
			keys: inTwo, config: pagesOf(7), chunks: 2, requests: 5, formats: []string{"parquet", "jsonl"},
		},
		{
			collection: "daily", name: "counted", where: "{" + threeSites + ", " + tenDays + "}",
			keys: inTwo, config: simulator.Config{PageRows: 7, CountMatched: true}, chunks: 2, requests: 5,
		},
		{
			collection: "daily", name: "empty page", where: "{" + threeSites + ", " + tenDays + "}", keys: inTwo,
			config: simulator.Config{PageRows: 7, Faults: []simulator.Fault{{
				Kind: simulator.FaultEmptyPage, Contains: "id=USGS-01000000&", After: 1, Times: 1,
			}}},
			chunks: 2, requests: 6,
		},
		{
			collection: "daily", name: "filter",
			where: `{filter: "monitoring_location_id = 'USGS-01000000' OR monitoring_location_id = 'USGS-01000037'", ` + tenDays + "}",
			keys:  inTwo, config: pagesOf(7), chunks: 2, requests: 4,
		},
		{
			collection: "daily", name: "body",
			where: `{cql2: '{"op":"in","args":[{"property":"monitoring_location_id"},["USGS-01000000","USGS-01000037"]]}', ` + tenDays + "}",
			keys:  inTwo, config: pagesOf(4), chunks: 2, requests: 6,
		},
		{
			collection: "continuous", // a window for each year, and the instant between them in both
			where:      "{" + threeSites + ", parameter_code: '00060', time: {from: 2023-12-31T00:00:00Z, to: 2024-01-01T23:00:00Z}}",
			config:     pagesOf(6), chunks: 2, requests: 5,
		},
		{collection: "latest-daily", where: "{" + threeSites + "}", keys: inTwo, config: pagesOf(1), chunks: 2, requests: 3},
		{
			collection: "latest-continuous", where: "{" + threeSites + ", parameter_code: '00065'}", keys: inTwo,
			config: pagesOf(1), chunks: 2, requests: 3,
		},
		{
			collection: "monitoring-locations",
			where:      "{monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074, USGS-01000111, USGS-01000148]}",
			keys:       inTwo, config: pagesOf(2), chunks: 2, requests: 3, formats: []string{"parquet", "jsonl"},
		},
		{
			collection: "monitoring-locations", name: "all", where: "{}",
			config: simulator.Config{PageRows: 2, Values: simulator.Values{Sites: 5}}, chunks: 1, requests: 3,
		},
		{collection: "time-series-metadata", where: "{" + threeSites + "}", keys: inTwo, config: pagesOf(3), chunks: 2, requests: 5},
		{collection: "combined-metadata", where: "{" + threeSites + "}", keys: inTwo, config: pagesOf(5), chunks: 2, requests: 5},
		{
			collection: "field-measurements", where: "{" + threeSites + ", time: {from: 2024-01-01, to: 2024-06-30}}",
			keys: inTwo, config: pagesOf(5), chunks: 2, requests: 5,
		},
		{collection: "field-measurements-metadata", where: "{" + threeSites + "}", keys: inTwo, config: pagesOf(1), chunks: 2, requests: 6},
		{
			collection: "channel-measurements",
			where:      "{" + threeSites + ", time: {from: 2022-01-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys:       inTwo, config: pagesOf(5), chunks: 2, requests: 5,
		},
		{
			collection: "peaks", where: "{" + threeSites + ", parameter_code: '00060', time: {from: 2018-10-01, to: 2023-09-30}}",
			keys: inTwo, config: pagesOf(4), chunks: 2, requests: 5,
		},
	}
	return append(ofService("usgs-waterdata", list), referenceSamples()...)
}

// referenceSamples ask each reference table for three codes, on pages of one row; NONE is in none.
func referenceSamples() []*sample {
	var list []*sample
	for _, table := range []struct{ name, codes string }{
		{"agency-codes", "AKDNR, MBMG, USGS"},
		{"altitude-datums", "NONE, NAVD88, NGVD29"},
		{"aquifer-codes", "NONE, 112TILL, 300NCBC"},
		{"aquifer-types", "NONE, C, U"},
		{"coordinate-accuracy-codes", "NONE, 1, S"},
		{"coordinate-datum-codes", "NONE, NAD27, NAD83"},
		{"coordinate-method-codes", "NONE, G, M"},
		{"counties", "US-01-001, US-01-003, US-55-005"},
		{"hydrologic-unit-codes", "01, 0001, 000001"},
		{"medium-codes", "Surface water, Ground water, Tissue"},
		{"national-aquifer-codes", "NONE, N100GLCIAL, S300CAMORD"},
		{"parameter-codes", "00010, 00060, 00065"},
		{"reliability-codes", "NONE, C, U"},
		{"site-types", "GW, LK, ST"},
		{"states", "US-01, US-02, US-55"},
		{"statistic-codes", "00001, 00002, 00003"},
		{"time-zone-codes", "NONE, CST, UTC"},
		{"topographic-codes", "NONE, A, V"},
	} {
		list = append(list, &sample{
			collection: table.name, where: "{id: [" + table.codes + "]}", keys: inTwo, config: pagesOf(1), chunks: 2, requests: 3,
		})
	}
	return ofService("usgs-waterdata", list)
}

// networkSamples cover NGWMN, where the last page of a walk may name a further one, which is empty and names itself.
func networkSamples() []*sample {
	trailing := func(rows int) simulator.Config {
		return simulator.Config{PageRows: rows, Faults: []simulator.Fault{{Kind: simulator.FaultTrailingNext}}}
	}
	return ofService("usgs-ngwmn", []*sample{
		{collection: "sites", where: "{" + threeWells + "}", keys: inTwo, config: pagesOf(1), chunks: 2, requests: 3},
		{
			collection: "waterLevelObs", where: "{" + threeWells + ", time: {from: 2022-01-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys: inTwo, config: pagesOf(8), chunks: 2, requests: 5, formats: []string{"parquet"},
		},
		{
			collection: "waterLevelObs", name: "trailing page",
			where: "{" + threeWells + ", time: {from: 2023-07-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys:  inTwo, config: trailing(5), chunks: 2, requests: 5,
		},
		{collection: "lithologyObs", where: "{" + threeWells + "}", keys: inTwo, config: pagesOf(2), chunks: 2, requests: 5},
		{collection: "constructionObs", where: "{" + threeWells + "}", keys: inTwo, config: trailing(2), chunks: 2, requests: 5},
		{collection: "providers", where: "{state: [WI, MN]}", config: pagesOf(1), chunks: 2, requests: 4},
	})
}

// waterUseSamples cover NWDC: CSV, and the next page in a header that names a host which does not serve it.
func waterUseSamples() []*sample {
	aliased := func(locations int) simulator.Config { return simulator.Config{PageRows: locations, NameAlias: true} }
	return ofService("usgs-nwdc", []*sample{
		{
			collection: "water-use", config: aliased(4), chunks: 2, requests: 4, formats: []string{"parquet", "jsonl"},
			where: "{model: wu-public-supply-wd, variable: [pswdtot, pswdgw], resolution: monthly, huc: ['01010101', '01010102'], time: {from: 2019-11, to: 2020-02}}",
		},
		{
			collection: "water-use", name: "neighbours", config: aliased(15), chunks: 2, requests: 4, // which have a watershed in common
			where: "{model: wu-irrigation-wd, variable: irrwdtot, resolution: annualwy, state: [Michigan, MN], time: {from: 2018, to: 2019}}",
		},
	})
}

func ofService(name string, list []*sample) []*sample {
	for _, s := range list {
		s.service = name
	}
	return list
}
