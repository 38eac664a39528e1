package simulator

import "maps"

// openMonitoringLocations has one row a site.
func openMonitoringLocations(w *world, sel selection) table {
	return table{
		units: len(sel.sites), span: evenSpan(1),
		read: func(unit, _ int, r *tableRow) bool {
			s := w.siteOf(sel.sites[unit])
			r.id, r.site = s.id, s.id
			s.describe(r.cells)
			r.cells["id"] = textCell(s.id)
			r.cells["revision_note"], r.cells["revision_created"], r.cells["revision_modified"] = cell{}, cell{}, cell{}
			if s.hash%7 == 0 {
				r.cells["revision_note"] = textCell("Moved 20 ft downstream, \"new\" bridge")
				r.cells["revision_created"] = textCell("2020-05-01T12:00:00+00:00")
				r.cells["revision_modified"] = textCell("2021-06-02T08:30:00.250000+00:00")
			}
			return true
		},
	}
}

// described is one series or set of field measurements that a site has.
type described struct {
	parameter, statistic string
	dataType             string
	period, computation  string
}

func describedSeries() []described {
	return []described{
		{"00060", "00003", "Daily values", "Daily", "Mean"},
		{"00065", "00003", "Daily values", "Daily", "Mean"},
		{"00060", "00011", "Continuous values", "Points", "Instantaneous"},
		{"00065", "00011", "Continuous values", "Points", "Instantaneous"},
	}
}

// openSeriesMetadata has the daily and the continuous series of each site.
func openSeriesMetadata(w *world, sel selection) table {
	list := describedSeries()
	return table{
		units: len(sel.sites), span: evenSpan(len(list)),
		read: func(unit, number int, r *tableRow) bool {
			s := w.siteOf(sel.sites[unit])
			return w.hasData(s.id) && w.describeSeries(s, list[number], r)
		},
	}
}

func (w *world) describeSeries(s site, d described, r *tableRow) bool {
	ts := series{record: w.record}
	ts.become(s.id, d.parameter, d.statistic)
	ts.missing(w.last) // works out when it was modified
	r.id, r.site = ts.seriesID(), s.id
	begin, end := dayTime(w.first).Format(timestampLayout), dayTime(w.last).Format(timestampLayout)
	daily := d.period == "Daily"
	s.describe(r.cells)
	maps.Copy(r.cells, map[string]cell{
		"id": textCell(r.id), colSite: textCell(s.id), colParameter: textCell(d.parameter), colStatistic: textCell(d.statistic),
		colUnit: textCell(unitOf(d.parameter)), "parameter_name": textCell(parameterName(d.parameter)),
		"parameter_description":         textCell(parameterName(d.parameter) + ", " + unitOf(d.parameter)),
		"computation_period_identifier": textCell(d.period), "computation_identifier": textCell(d.computation),
		"data_type": textCell(d.dataType), colModified: textCell("2026-09-22T10:10:05.077878"), "begin": textCell(begin), "end": textCell(end),
		"begin_utc": textCell(begin), "end_utc": textCell(end), "sublocation_identifier": {},
		"primary": orNull("Primary", daily || s.hash%2 == 0), "web_description": {},
		"parent_time_series_id": orNull("769d7201a8044b4ab5218bac4cd282e8", !daily), "reading_type": {},
		"thresholds": {kind: cellRaw, text: "[]"},
	})
	if d.parameter == "00065" && s.hash%2 == 0 {
		r.cells["thresholds"] = rawCell(`[{"Name":"Flood stage","Type":"None","Periods":[{"StartTime":"2010-01-01T00:00:00+00:00","ReferenceValue":12.50}]}]`)
	}
	return true
}

// openCombinedMetadata joins each site with its series and its sets of field measurements.
func openCombinedMetadata(w *world, sel selection) table {
	list := append(describedSeries(),
		described{"00060", "", "Field measurements", "", ""}, described{"00065", "", "Field measurements", "", ""})
	return table{
		units: len(sel.sites), span: evenSpan(len(list)),
		read: func(unit, number int, r *tableRow) bool {
			s := w.siteOf(sel.sites[unit])
			if !w.hasData(s.id) {
				return false
			}
			d := list[number]
			w.describeSeries(s, d, r)
			r.cells[colModified] = textCell("2026-06-05T17:16:13.005607+00:00")
			if d.statistic == "" {
				r.id = uuidOf(hashText(w.values.Seed, s.id, d.parameter, "00000"))
				r.cells["id"] = textCell(r.id)
				for _, name := range []string{
					colStatistic, "computation_identifier", "parent_time_series_id", "primary", "thresholds", colUnit,
				} {
					r.cells[name] = cell{}
				}
				r.cells["reading_type"] = textCell(readingType(d.parameter))
			}
			return true
		},
	}
}

// openFieldMetadata has the sets of field measurements of each site.
func openFieldMetadata(w *world, sel selection) table {
	parameters := []string{"00060", "00065"}
	return table{
		units: len(sel.sites), span: evenSpan(len(parameters)),
		read: func(unit, number int, r *tableRow) bool {
			s, parameter := w.siteOf(sel.sites[unit]), parameters[number]
			r.id, r.site = uuidOf(hashText(w.values.Seed, s.id, parameter, "00000")), s.id
			maps.Copy(r.cells, map[string]cell{
				"id": textCell(r.id), colSite: textCell(s.id), colParameter: textCell(parameter),
				"parameter_name":        textCell(parameterName(parameter)),
				"parameter_description": textCell(parameterName(parameter) + ", " + unitOf(parameter)),
				"reading_type":          textCell(readingType(parameter)),
				"begin":                 textCell(dayTime(w.first).Format(timestampLayout)), "end": textCell(dayTime(w.last).Format(timestampLayout)),
				colModified: textCell("2026-07-30T13:10:33.920488+00:00"),
			})
			return w.hasData(s.id)
		},
	}
}

func parameterName(code string) string {
	switch code {
	case "00010":
		return "Temperature, water"
	case "00045":
		return "Precipitation"
	case "00060":
		return "Discharge"
	case "00065":
		return "Gage height"
	}
	return "Parameter " + code
}
