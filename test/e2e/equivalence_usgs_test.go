//go:build unix

package e2e

import "github.com/braidhq/braid/internal/simulator"

// Sites that the simulator makes up from their names.
const (
	fourSites = "monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074, USGS-01000111]"
	fourWells = "monitoring_location_id: [MBMG-702934, USGS-421502089250502, AKDNR-88, MBMG-702935]"
	inTwo     = "max_chunks: 2"
)

// pagesOf is an upstream with small pages.
func pagesOf(rows int) simulator.Config { return simulator.Config{PageRows: rows} }

// waterDataSamples cover the observations of Water Data and what describes them: requests by GET with lists in the URL, by
// POST with a filter in the body, by a filter in text, and answers that count, or that have an empty page in the middle.
func waterDataSamples() []*sample {
	const tenDays = "time: {from: 2024-01-01, to: 2024-01-10}"
	list := []*sample{
		{
			collection: "daily", where: "{" + fourSites + ", parameter_code: '00060', statistic_id: '00003', " + tenDays + "}",
			keys: inTwo, config: pagesOf(7), chunks: 2, formats: []string{"parquet", "jsonl"},
		},
		{
			collection: "daily", name: "counted", where: "{" + fourSites + ", " + tenDays + "}",
			keys: inTwo, config: simulator.Config{PageRows: 12, CountMatched: true}, chunks: 2,
		},
		{
			collection: "daily", name: "empty page", where: "{" + fourSites + ", " + tenDays + "}", keys: inTwo,
			config: simulator.Config{PageRows: 7, Faults: []simulator.Fault{{
				Kind: simulator.FaultEmptyPage, Contains: "id=USGS-01000000,USGS-01000037&", After: 1, Times: 1,
			}}},
			chunks: 2,
		},
		{
			collection: "daily", name: "filter",
			where: `{filter: "monitoring_location_id = 'USGS-01000000' OR monitoring_location_id = 'USGS-01000037'", ` + tenDays + "}",
			keys:  inTwo, config: pagesOf(7), chunks: 2,
		},
		{
			collection: "daily", name: "body",
			where: `{cql2: '{"op":"in","args":[{"property":"monitoring_location_id"},["USGS-01000000","USGS-01000037"]]}', ` + tenDays + "}",
			keys:  inTwo, config: pagesOf(6), chunks: 2,
		},
		{
			collection: "continuous", // a window for each year, and the instant between them in both
			where:      "{" + fourSites + ", parameter_code: '00060', time: {from: 2023-12-31T00:00:00Z, to: 2024-01-01T23:00:00Z}}",
			config:     pagesOf(6), chunks: 2,
		},
		{collection: "latest-daily", where: "{" + fourSites + "}", keys: inTwo, config: pagesOf(1), chunks: 2},
		{
			collection: "latest-continuous", where: "{" + fourSites + ", parameter_code: '00065'}", keys: inTwo,
			config: pagesOf(1), chunks: 2,
		},
		{
			collection: "monitoring-locations",
			where:      "{monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074, USGS-01000111, USGS-01000148, USGS-01000185]}",
			keys:       inTwo, config: pagesOf(2), chunks: 2, formats: []string{"parquet", "jsonl"},
		},
		{
			collection: "monitoring-locations", name: "all", where: "{}",
			config: simulator.Config{PageRows: 2, Values: simulator.Values{Sites: 5}}, chunks: 1,
		},
		{collection: "time-series-metadata", where: "{" + fourSites + "}", keys: inTwo, config: pagesOf(5), chunks: 2},
		{collection: "combined-metadata", where: "{" + fourSites + "}", keys: inTwo, config: pagesOf(8), chunks: 2},
		{
			collection: "field-measurements", where: "{" + fourSites + ", time: {from: 2024-01-01T00:00:00Z, to: 2024-06-30T00:00:00Z}}",
			keys: inTwo, config: pagesOf(8), chunks: 2,
		},
		{collection: "field-measurements-metadata", where: "{" + fourSites + "}", keys: inTwo, config: pagesOf(2), chunks: 2},
		{
			collection: "channel-measurements",
			where:      "{" + fourSites + ", time: {from: 2022-01-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys:       inTwo, config: pagesOf(8), chunks: 2,
		},
		{
			collection: "peaks", where: "{" + fourSites + ", parameter_code: '00060', time: {from: 2018-10-01T00:00:00Z, to: 2023-09-30T00:00:00Z}}",
			keys: inTwo, config: pagesOf(6), chunks: 2,
		},
	}
	return append(ofService("usgs-waterdata", list), referenceSamples()...)
}

// referenceSamples ask each reference table for four codes, on pages of one row. NONE and NEITHER are in none.
func referenceSamples() []*sample {
	var list []*sample
	for _, table := range []struct{ name, codes string }{
		{"agency-codes", "AKDNR, MBMG, USGS, NONE"},
		{"altitude-datums", "NAVD88, NGVD29, NONE, NEITHER"},
		{"aquifer-codes", "112TILL, 300NCBC, NONE, NEITHER"},
		{"aquifer-types", "C, U, NONE, NEITHER"},
		{"coordinate-accuracy-codes", "1, S, NONE, NEITHER"},
		{"coordinate-datum-codes", "NAD27, NAD83, NONE, NEITHER"},
		{"coordinate-method-codes", "G, M, NONE, NEITHER"},
		{"counties", "US-01-001, US-01-003, US-55-005, NONE"},
		{"hydrologic-unit-codes", "01, 0001, 000001, NONE"},
		{"medium-codes", "Surface water, Ground water, Tissue, NONE"},
		{"national-aquifer-codes", "N100GLCIAL, S300CAMORD, NONE, NEITHER"},
		{"parameter-codes", "00010, 00060, 00065, NONE"},
		{"reliability-codes", "C, U, NONE, NEITHER"},
		{"site-types", "GW, LK, ST, NONE"},
		{"states", "US-01, US-02, US-55, NONE"},
		{"statistic-codes", "00001, 00002, 00003, NONE"},
		{"time-zone-codes", "CST, UTC, NONE, NEITHER"},
		{"topographic-codes", "A, V, NONE, NEITHER"},
	} {
		list = append(list, &sample{
			collection: table.name, where: "{id: [" + table.codes + "]}", keys: inTwo, config: pagesOf(1), chunks: 2,
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
		{collection: "sites", where: "{" + fourWells + "}", keys: inTwo, config: pagesOf(1), chunks: 2},
		{
			collection: "waterLevelObs", where: "{" + fourWells + ", time: {from: 2022-01-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys: inTwo, config: pagesOf(12), chunks: 2, formats: []string{"parquet"},
		},
		{
			collection: "waterLevelObs", name: "trailing page",
			where: "{" + fourWells + ", time: {from: 2023-07-01T00:00:00Z, to: 2024-06-30T23:59:59Z}}",
			keys:  inTwo, config: trailing(5), chunks: 2,
		},
		{collection: "lithologyObs", where: "{" + fourWells + "}", keys: inTwo, config: pagesOf(4), chunks: 2},
		{collection: "constructionObs", where: "{" + fourWells + "}", keys: inTwo, config: trailing(2), chunks: 2},
		{collection: "providers", where: "{state: [WI, MN]}", config: pagesOf(1), chunks: 2},
	})
}

// waterUseSamples cover NWDC: CSV, and the next page in a header that names a host which does not serve it.
func waterUseSamples() []*sample {
	paged := func(locations int) simulator.Config { return simulator.Config{PageRows: locations} }
	return ofService("usgs-nwdc", []*sample{
		{
			collection: "water-use", config: paged(4), chunks: 2, formats: []string{"parquet", "jsonl"},
			where: "{model: wu-public-supply-wd, variable: [pswdtot, pswdgw], resolution: monthly, huc: ['01010101', '01010102'], time: {from: 2019-11, to: 2020-02}}",
		},
		{
			collection: "water-use", name: "neighbours", config: paged(15), chunks: 2, // which have a watershed in common
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
