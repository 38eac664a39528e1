package simulator

import (
	"maps"
	"strconv"
	"time"
)

// wellKey fills in what every NGWMN observation begins with, numbers from 1 within a well.
func (w *world) wellKey(site string, number int, r *tableRow) site {
	s := w.siteOf(site)
	r.site = site
	// Ids are integers over all wells; those of one well follow each other.
	r.id = strconv.FormatUint(s.hash%1_000_000_000*1_000+uint64(number), 10)
	r.cells["agency_code"] = textCell(s.agency)
	r.cells["monitoring_location_number"] = textCell(s.number)
	r.cells[colSite] = textCell(site)
	r.cells["monitoring_location_obs_number"] = rawCell(strconv.Itoa(number))
	return s
}

func openWells(w *world, sel selection) table {
	return table{
		units: len(sel.sites), span: evenSpan(1),
		read: func(unit, _ int, r *tableRow) bool {
			s := w.wellKey(sel.sites[unit], 0, r)
			r.id = s.id
			yes := func(h uint64) cell { return textCell(pick(h%2 == 0, "Yes", "No")) }
			maps.Copy(r.cells, map[string]cell{
				"agency_name": textCell(agencyName(s.agency)), "monitoring_location_name": textCell("Pozo Niño " + s.number),
				"country_code": textCell("US"), "country_name": textCell("United States of America"),
				"state_name": textCell(s.state.name), "county_name": textCell(countyName(s.state, s.county)),
				"site_type": textCell("WELL"), "altitude": textCell(tenths(s.hash % 30_000)),
				"national_aquifer_code":        orNull("S300CAMORD", s.hash%5 != 0),
				"national_aquifer_description": orNull("Cambrian-Ordovician aquifer system", s.hash%5 != 0),
				"aquifer_name":                 textCell("Local, of sand"), "aquifer_type_code": textCell(pick(s.hash%2 == 0, "CONFINED", "UNCONFINED")),
				"qw_sn_flag": yes(s.hash >> 1), "qw_well_type": {}, "wl_sn_flag": yes(s.hash >> 2), "wl_well_type": textCell("Trend"),
			})
			return true
		},
	}
}

// openWaterLevels has one about every 90 days, numbered by these.
func openWaterLevels(w *world, sel selection) table {
	const every = 90
	first, last := w.days(sel.times)
	return table{
		units: len(sel.sites),
		span:  func(int) (int, int) { return floorDiv(int64(first), every), floorDiv(int64(last), every) + 1 },
		read: func(well, number int, r *tableRow) bool {
			s := w.wellKey(sel.sites[well], number-floorDiv(int64(w.first), every)+1, r)
			h := mix(s.hash + uint64(number))
			day := number*every + int(mix(s.hash)%every)
			if day < w.first || day > w.last || !w.hasData(s.id) || unit(mix(h+5)) < w.values.GapShare {
				return false
			}
			depth := string(appendDecimal(nil, 100+h%20_000, 2))
			maps.Copy(r.cells, map[string]cell{
				"sample_time": textCell(dayTime(day).Add(time.Duration(h%86_400) * time.Second).Format("2006-01-02T15:04:05Z")),
				"orig_unit":   textCell("ft"), "orig_value": textCell(depth),
				"accuracy_unit": textCell("ft"), "accuracy_value": textCell(pick(h%4 == 0, "Unknown", "0.01")),
				"data_provided_by":                   textCell(agencyName(s.agency)),
				"water_depth_below_land_surface_ft":  textCell(depth),
				"water_level_above_site_datum_ft":    textCell(string(appendDecimal(nil, 80_000-h%20_000, 2))),
				"water_level_above_navd88_ft":        orNull(string(appendDecimal(nil, 80_000-h%20_000, 2)), h%9 != 0),
				"monitoring_location_vertical_datum": textCell("NAVD88"),
			})
			return true
		},
	}
}

// openLithology has three layers a well.
func openLithology(w *world, sel selection) table {
	layers := []string{"glacial alluvium", "clay, \"blue\"", "bedrock"}
	return table{
		units: len(sel.sites), span: evenSpan(len(layers)),
		read: func(unit, number int, r *tableRow) bool {
			s := w.wellKey(sel.sites[unit], number+1, r)
			maps.Copy(r.cells, map[string]cell{
				"lithology_id":          textCell(s.agency + "." + s.number + ".LITH." + strconv.Itoa(number+1)),
				"lithology_description": textCell(layers[number]), "lithology_controlled_concept": textCell("unknown"),
				"lithology_depth_from": textCell(strconv.Itoa(70 * number)), "lithology_depth_to": textCell(strconv.Itoa(70 * (number + 1))),
				"lithology_depth_from_unit": textCell("ft"), "lithology_depth_to_unit": textCell("ft"),
			})
			return w.hasData(s.id)
		},
	}
}

// openConstruction has a casing and a screen a well.
func openConstruction(w *world, sel selection) table {
	return table{
		units: len(sel.sites), span: evenSpan(2),
		read: func(unit, number int, r *tableRow) bool {
			s := w.wellKey(sel.sites[unit], number+1, r)
			maps.Copy(r.cells, map[string]cell{
				"type": textCell(pick(number == 0, "casing", "screen")), "depth_from": textCell(pick(number == 0, "0", "208")),
				"depth_to": textCell(pick(number == 0, "208", "218")), "depth_from_unit": textCell("Unknown"),
				"depth_to_unit": textCell("Unknown"), "material": orNull("PVC", s.hash%2 == 0), "diameter": textCell("8.00"),
				"diameter_unit": textCell("in"),
			})
			return w.hasData(s.id)
		},
	}
}

// openProviders has two organisations a state.
func openProviders(w *world, _ selection) table {
	return table{
		units: len(w.states), span: evenSpan(2),
		read: func(unit, number int, r *tableRow) bool {
			s := w.states[unit]
			name, code := "DEPARTMENT OF NATURAL RESOURCES", s.postal+"001"
			if number == 0 {
				name, code = "U.S. GEOLOGICAL SURVEY", "USGS-"+s.postal
			}
			r.id = code
			r.cells["agency_code"], r.cells["agency_name"] = textCell(code), textCell(name+", "+s.postal)
			r.cells["organization_type"], r.cells["state"] = textCell("NWIS"), textCell(s.postal)
			r.cells["link"] = textCell("")
			return true
		},
	}
}
