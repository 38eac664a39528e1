package simulator

import (
	"fmt"
	"strconv"
)

// openReference lists the codes of one reference table.
func openReference(name string) func(*world, selection) table {
	return func(w *world, _ selection) table {
		count, fill := w.referenceRows(name)
		return table{
			units: 1, span: evenSpan(count),
			read: func(_, number int, r *tableRow) bool {
				r.id = fill(number, r.cells)
				r.cells["id"] = textCell(r.id)
				return true
			},
		}
	}
}

// referenceRows gives the number of a table's rows, and a function that fills one in and returns its code.
func (w *world) referenceRows(name string) (count int, fill func(int, map[string]cell) string) {
	switch name {
	case "states":
		return len(w.states), func(i int, cells map[string]cell) string {
			s := w.states[i]
			cells["country_code"], cells["state_fips_code"] = textCell("US"), textCell(s.fips)
			cells["state_name"], cells["state_postal_code"] = textCell(s.name), textCell(s.postal)
			return "US-" + s.fips
		}
	case "counties":
		return len(w.states) * countiesPerState, func(i int, cells map[string]cell) string {
			s, county := w.states[i/countiesPerState], 1+2*(i%countiesPerState)
			code := fmt.Sprintf("%03d", county)
			cells["country_code"], cells["state_fips_code"] = textCell("US"), textCell(s.fips)
			cells["county_fips_code"], cells["county_name"] = textCell(code), textCell(countyName(s, county))
			return "US-" + s.fips + "-" + code
		}
	case "hydrologic-unit-codes":
		return w.values.HydrologicUnits, hydrologicUnit
	case "parameter-codes":
		return 5, parameterCode
	case "statistic-codes":
		return pairs("statistic", []string{"00001", "Maximum", "00002", "Minimum", "00003", "Mean", "00011", "Instantaneous"})
	case "time-zone-codes":
		return 2, timeZone
	}
	return w.codes(name)
}

// codes are the small tables, a code and its texts in turn.
func (w *world) codes(name string) (count int, fill func(int, map[string]cell) string) {
	switch name {
	case "agency-codes":
		return pairs("agency", []string{"AKDNR", agencyName("AKDNR"), "MBMG", agencyName("MBMG"), "USGS", agencyName("USGS")})
	case "altitude-datums":
		return pairs("altitude_datum", []string{"NAVD88", "North American Vertical Datum of 1988", "NGVD29", "National Geodetic Vertical Datum of 1929"})
	case "aquifer-codes":
		return pairs("aquifer", []string{"112TILL", "Till", "300NCBC", "Bedrock, non-carbonate, \"crystalline\""})
	case "aquifer-types":
		return pairs("aquifer_type", []string{"C", "Confined single aquifer", "U", "Unconfined single aquifer"})
	case "coordinate-accuracy-codes":
		return pairs("coordinate_accuracy", []string{"1", "Accurate to + or - .1 sec", "S", "Accurate to + or - 1 sec"})
	case "coordinate-datum-codes":
		return pairs("coordinate_datum", []string{"NAD27", "North American Datum of 1927", "NAD83", "North American Datum of 1983"})
	case "coordinate-method-codes":
		return pairs("coordinate_method", []string{"G", "Mapping grade GPS", "M", "Interpolated from map"})
	case "medium-codes":
		return pairs("medium", []string{"Surface water", "WS", "Ground water", "WG", "Tissue", "0"})
	case "national-aquifer-codes":
		return pairs("national_aquifer", []string{"N100GLCIAL", "Glacial aquifers", "S300CAMORD", "Cambrian-Ordovician aquifer system"})
	case "reliability-codes":
		return pairs("reliability", []string{"C", "Data have been checked by the reporting agency", "U", "Unchecked data"})
	case "site-types":
		return pairs("site_type", []string{"GW", "Well", "LK", "Lake, Reservoir, Impoundment", "ST", "Stream"})
	default: // topographic-codes
		return pairs("topography", []string{"A", "Alluvial fan", "V", "Valley flat"})
	}
}

// pairs reads a list of codes, each followed by its text, which stands in every column of the table that begins with the
// prefix and ends in a name or a description.
func pairs(prefix string, list []string) (count int, fill func(int, map[string]cell) string) {
	return len(list) / 2, func(i int, cells map[string]cell) string {
		code, text := list[2*i], list[2*i+1]
		cells[prefix+"_name"] = textCell(text)
		cells[prefix+"_description"] = textCell(text)
		switch prefix {
		case "medium":
			cells["legacy_medium_code"] = textCell(text)
		case "site_type":
			cells["site_type_primary_flag"] = textCell("Y")
		case "topography":
			cells["short_topography_description"] = textCell(text)
			cells["full_topography_description"] = textCell(text + ", in full")
		}
		return code
	}
}

// hydrologicUnit makes codes of 2, 4, 6, 8, 10 and 12 digits, all different.
func hydrologicUnit(i int, cells map[string]cell) string {
	length := 2 + 2*(i%6)
	code := fmt.Sprintf("%0*d", length, 1+i/6)
	if full := strconv.Itoa(1 + i/6); len(full) > length {
		code = fmt.Sprintf("%012d", 500_000_000+i)
	}
	cells["hydrologic_unit_name"] = textCell("Unit " + code)
	cells["hydrologic_unit_classification_code"] = textCell([]string{
		"Region", "Subregion", "Accounting Unit", "Cataloging Unit", "Watershed", "Subwatershed",
	}[i%6])
	return code
}

func parameterCode(i int, cells map[string]cell) string {
	code := []string{"00010", "00045", "00060", "00065", "72019"}[i]
	cells["parameter_name"] = textCell(parameterName(code))
	cells[colUnit] = textCell(unitOf(code))
	cells["parameter_group_code"] = textCell("PHY")
	cells["parameter_description"] = textCell(parameterName(code) + ", " + unitOf(code))
	cells["medium"] = textCell("Water")
	cells["epa_equivalence"] = textCell("Not checked")
	return code // the bases and the fraction are null
}

func timeZone(i int, cells map[string]cell) string {
	zone := [][]string{
		{"CST", "Central Standard Time", "-06:00", "CDT", "Central Daylight Time", "-05:00"},
		{"UTC", "Coordinated Universal Time", "+00:00", "", "", ""},
	}[i]
	cells["time_zone_name"], cells["time_zone_description"] = textCell(zone[1]), textCell(zone[1])
	cells["time_zone_utc_offset"] = textCell(zone[2])
	for j, name := range []string{
		"time_zone_daylight_savings_time_code", "time_zone_daylight_savings_time_name", "time_zone_daylight_savings_utc_offset",
	} {
		cells[name] = orNull(zone[3+j], zone[3+j] != "")
	}
	return zone[0]
}
