package simulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rosterOf are the sites that a query sees which names none, sorted. Any other site of the right form exists too.
func rosterOf(v Values) []string {
	list := make([]string, 0, v.Sites)
	for i := range v.Sites {
		h := hashText(v.Seed+7, strconv.Itoa(i))
		agency, digits := "USGS", 8
		switch h % 8 {
		case 0:
			digits = 15
		case 1:
			agency = "AKDNR"
		case 2:
			agency = "MBMG"
		}
		list = append(list, fmt.Sprintf("%s-%0*d", agency, digits, 1_000_000+i*1_000+int(mix(h)%1_000)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// site is the description of one site, a pure function of its id.
type site struct {
	id, agency, number string
	hash               uint64
	state              usState
	county             int // FIPS code within the state
}

func (w *world) siteOf(id string) site {
	agency, number, _ := strings.Cut(id, "-")
	h := hashText(w.values.Seed+3, id)
	return site{
		id: id, agency: agency, number: number, hash: h,
		state: w.states[h%uint64(len(w.states))], county: 1 + 2*int(mix(h)%countiesPerState),
	}
}

// describe fills in the columns of siteColumns.
func (s site) describe(cells map[string]cell) {
	h := mix(s.hash + 1)
	well := h%4 == 0
	put := func(name, value string) { cells[name] = textCell(value) }
	put("agency_code", s.agency)
	put("agency_name", agencyName(s.agency))
	put("monitoring_location_number", s.number)
	put("monitoring_location_name", s.name(well))
	put("district_code", s.state.fips)
	put("country_code", "US")
	put("country_name", "United States of America")
	put("state_code", s.state.fips)
	put("state_name", s.state.name)
	put("county_code", fmt.Sprintf("%03d", s.county))
	put("county_name", countyName(s.state, s.county))
	cells["minor_civil_division_code"] = orNull(fmt.Sprintf("%05d", h%100_000), h%3 != 0)
	put("site_type_code", pick(well, "GW", "ST"))
	put("site_type", pick(well, "Well", "Stream"))
	put("hydrologic_unit_code", fmt.Sprintf("%02d%010d", 1+h%21, mix(h)%10_000_000_000))
	cells["basin_code"] = cell{}
	cells["altitude"] = rawCell(tenths(h % 90_000))
	cells["altitude_accuracy"] = rawCell("1.0")
	put("altitude_method_code", "N")
	put("altitude_method_name", "Interpolated from Digital Elevation Model")
	put("vertical_datum", "NAVD88")
	put("vertical_datum_name", "North American Vertical Datum of 1988")
	put("horizontal_positional_accuracy_code", "S")
	put("horizontal_positional_accuracy", "Accurate to + or - 1 sec.")
	put("horizontal_position_method_code", "M")
	put("horizontal_position_method_name", "Interpolated from map")
	put("original_horizontal_datum", "NAD83")
	put("original_horizontal_datum_name", "North American Datum of 1983")
	cells["drainage_area"], cells["contributing_drainage_area"] = cell{}, cell{}
	if !well {
		cells["drainage_area"] = rawCell(tenths(h % 50_000))
	}
	put("time_zone_abbreviation", "CST")
	put("uses_daylight_savings", pick(h%5 == 0, "N", "Y"))
	cells["construction_date"] = orNull(pick(h%2 == 0, "1955", "1955-06-01"), well)
	cells["aquifer_code"] = orNull("112TILL", well)
	cells["national_aquifer_code"] = orNull("N100GLCIAL", well && h%3 != 1)
	cells["aquifer_type_code"] = orNull(pick(h%2 == 0, "U", "C"), well && h%3 != 2)
	cells["well_constructed_depth"], cells["hole_constructed_depth"] = cell{}, cell{}
	if well {
		cells["well_constructed_depth"] = rawCell(tenths(100 + h%4_000))
	}
	cells["depth_source_code"] = orNull("Z", well && h%3 != 0)
}

// name is upper case as the service has it; some hold a letter beyond ASCII.
func (s site) name(well bool) string {
	if well {
		return s.state.postal + "-" + strconv.Itoa(int(s.hash%1_000))
	}
	rivers := []string{"YAHARA RIVER", "PHEASANT BRANCH", "RÍO GRANDE", "CAÑON CREEK", "BLACK EARTH CREEK"}
	return rivers[s.hash%uint64(len(rivers))] + " NEAR " + strings.ToUpper(countyName(s.state, s.county)) + ", " + s.state.postal
}

func agencyName(code string) string {
	switch code {
	case "USGS":
		return "U.S. Geological Survey"
	case "AKDNR":
		return "Alaska Department of Natural Resources"
	case "MBMG":
		return "Montana Bureau of Mines and Geology"
	}
	return "Agency " + code
}

func pick(first bool, one, other string) string {
	if first {
		return one
	}
	return other
}

// tenths writes n tenths as a JSON number, 871.0.
func tenths(n uint64) string {
	return strconv.FormatUint(n/10, 10) + "." + strconv.FormatUint(n%10, 10)
}
