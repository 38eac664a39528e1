package simulator

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

const timestampLayout = "2006-01-02T15:04:05-07:00"

// unitSeries is the time series of one unit, remade when another unit is read.
type unitSeries struct {
	series
	unit                       int
	site, parameter, statistic string
}

// seriesUnits makes every combination of sites, parameters and statistics a unit, sites changing slowest.
func (w *world) seriesUnits(sites, parameters, statistics []string) (units int, at func(unit int) *unitSeries) {
	s := &unitSeries{series: series{record: w.record}, unit: -1}
	return len(sites) * len(parameters) * len(statistics), func(unit int) *unitSeries {
		if unit != s.unit {
			s.unit = unit
			s.site = sites[unit/len(statistics)/len(parameters)]
			s.parameter = parameters[unit/len(statistics)%len(parameters)]
			s.statistic = statistics[unit%len(statistics)]
			s.become(s.site, s.parameter, s.statistic)
		}
		return s
	}
}

// seriesID is the id of a time series, 32 hexadecimal digits.
func (s *series) seriesID() string {
	return string(appendHex(appendHex(nil, mix(s.hash+2), 16), mix(s.hash+3), 16))
}

// observe fills a row with the value of a day.
func (s *unitSeries) observe(rw row, at string, r *tableRow) {
	r.id, r.site = string(s.appendID(nil, rw)), s.site
	r.cells[colSeriesID] = textCell(s.seriesID())
	r.cells[colSite] = textCell(s.site)
	r.cells[colParameter] = textCell(s.parameter)
	r.cells[colStatistic] = textCell(s.statistic)
	r.cells[colTime] = textCell(at)
	r.cells[colValue] = textCell(string(s.appendValue(nil, rw)))
	r.cells[colUnit] = textCell(unitOf(s.parameter))
	r.cells[colApproval] = textCell(string(s.appendApproval(nil, rw)))
	r.cells[colQualifier] = cell{}
	if raw := string(s.appendQualifier(nil, rw)); raw != "null" {
		r.cells[colQualifier] = cell{kind: cellRaw, text: "e", raw: raw}
	}
	r.cells[colModified] = textCell(string(s.modified))
}

// openDaily has the rows of the fast path, in its order and under its numbers: those of the days.
func openDaily(w *world, sel selection) table {
	units, at := w.seriesUnits(sel.sites, orElse(sel.parameters, "00060"), orElse(sel.statistics, "00003"))
	first, last := w.days(sel.times)
	return table{
		units: units,
		span:  func(int) (int, int) { return first, last + 1 },
		read: func(unit, day int, r *tableRow) bool {
			s := at(unit)
			if !w.hasData(s.site) || s.missing(day) {
				return false
			}
			s.observe(s.row(day), string(w.date(day)), r)
			return true
		},
	}
}

// openContinuous has a value every Values.Step, numbered by steps since 1970.
func openContinuous(w *world, sel selection) table {
	units, at := w.seriesUnits(sel.sites, orElse(sel.parameters, "00060", "00065"), orElse(sel.statistics, "00011"))
	step := int64(w.values.Step / time.Second)
	times := sel.times.overlap(w.whole())
	first, end := floorDiv(times.from.Unix()+step-1, step), floorDiv(times.to.Unix(), step)+1
	return table{
		units: units,
		span:  func(int) (int, int) { return first, max(first, end) },
		read: func(unit, number int, r *tableRow) bool {
			s := at(unit)
			second := int64(number) * step
			day := floorDiv(second, secondsPerDay)
			if s.statistic != "00011" || !w.hasData(s.site) || s.missing(day) {
				return false
			}
			rw := row{day: day, hash: mix(s.hash + uint64(number)*0x9e3779b97f4a7c15)}
			s.observe(rw, time.Unix(second, 0).UTC().Format(timestampLayout), r)
			r.cells["method_category"] = textCell("UNKWN")
			return true
		},
	}
}

// openLatest has the last value of each series of another collection.
func openLatest(open func(*world, selection) table) func(*world, selection) table {
	return func(w *world, sel selection) table {
		sel.times = interval{}
		t := open(w, sel)
		span, read := t.span, t.read
		t.span = evenSpan(1)
		t.read = func(unit, _ int, r *tableRow) bool {
			first, end := span(unit)
			for number := end - 1; number >= max(first, end-10*daysPerBlock*24); number-- {
				if read(unit, number, r) {
					return true
				}
			}
			return false
		}
		return t
	}
}

// openFieldMeasurements has a visit about every 60 days.
func openFieldMeasurements(w *world, sel selection) table {
	const every = 60
	units, at := w.seriesUnits(sel.sites, orElse(sel.parameters, "00060", "00065"), []string{"00000"})
	return table{
		units: units,
		span:  w.visits(sel, every),
		read: func(unit, number int, r *tableRow) bool {
			s := at(unit)
			day, there := w.visit(s, number, every)
			if !there {
				return false
			}
			rw := s.row(day)
			s.observe(rw, string(w.date(day)), r)
			moment := dayTime(day).Add(time.Duration(rw.hash%86_400) * time.Second)
			r.cells["field_measurements_series_id"] = textCell(uuidOf(s.hash))
			r.cells["field_visit_id"] = textCell(uuidOf(hashText(w.values.Seed, s.site, strconv.Itoa(day))))
			r.cells["observing_procedure_code"] = textCell("Z")
			r.cells["observing_procedure"] = textCell(pick(s.parameter == "00065", "Gage height, staff gage", "Mid-section"))
			r.cells["vertical_datum"] = textCell("None")
			r.cells["measuring_agency"] = textCell("USGS")
			r.cells["reading_type"] = textCell(readingType(s.parameter))
			r.cells["control_condition"] = orNull("Clear", rw.hash%3 == 0)
			r.cells["measurement_rated"] = orNull("Good", rw.hash%4 == 0)
			r.cells["time_of_day"] = textCell(moment.Format("15:04:05-07:00"))
			calendar(r, day)
			return true
		},
	}
}

func readingType(parameter string) string {
	return pick(parameter == "00065", "ReferencePrimary", "Discharge")
}

// calendar fills in the parts of a date.
func calendar(r *tableRow, day int) {
	t := dayTime(day)
	r.cells["year"] = rawCell(strconv.Itoa(t.Year()))
	r.cells["month"] = rawCell(strconv.Itoa(int(t.Month())))
	r.cells["day"] = rawCell(strconv.Itoa(t.Day()))
}

// openChannelMeasurements has one about every 120 days.
func openChannelMeasurements(w *world, sel selection) table {
	const every = 120
	units, at := w.seriesUnits(sel.sites, []string{"00060"}, []string{"channel"})
	return table{
		units: units,
		span:  w.visits(sel, every),
		read: func(unit, number int, r *tableRow) bool {
			s := at(unit)
			day, there := w.visit(s, number, every)
			if !there {
				return false
			}
			rw := s.row(day)
			s.observe(rw, dayTime(day).Add(time.Duration(rw.hash%86_400)*time.Second).Format(timestampLayout), r)
			flow, measured := r.cells[colValue], rw.hash%2 == 0
			maps.Copy(r.cells, map[string]cell{
				"id": textCell(r.id), "field_visit_id": textCell(uuidOf(hashText(w.values.Seed, s.site, strconv.Itoa(day)))),
				"measurement_number": textCell(strconv.Itoa(number - floorDiv(int64(w.first), every) + 1)),
				"channel_name":       textCell(pick(measured, "main.", "Imported Channel 1")),
				"channel_flow":       flow, "channel_flow_unit": textCell("ft^3/s"),
				"channel_width": textCell(tenths(rw.hash % 500)), "channel_width_unit": textCell("ft"),
				"channel_area": textCell(tenths(rw.hash % 900)), "channel_area_unit": textCell("ft^2"),
				"channel_velocity": textCell(string(appendDecimal(nil, rw.hash%300, 2))), "channel_velocity_unit": textCell("ft/s"),
				"channel_location_distance":      textCell(pick(measured, "20.00", "")),
				"channel_location_distance_unit": textCell(pick(measured, "ft", "")),
				"channel_stability":              textCell("Unspecified"), "channel_material": textCell("Unspecified"),
				"channel_evenness": textCell("Unspecified"), "horizontal_velocity_description": textCell("Unspecified"),
				"vertical_velocity_description": textCell("Unspecified"), "longitudinal_velocity_description": textCell("Unknown"),
				"measurement_type": textCell("Wading"), "channel_measurement_type": textCell("point_velocity"),
				"channel_location_direction": textCell(pick(measured, "Downstream", "Unspecified")),
			})
			return true
		},
	}
}

// visits spans the numbers of the periods of so many days that a selection touches; each has one visit.
func (w *world) visits(sel selection, every int) func(int) (int, int) {
	first, last := w.days(sel.times)
	return func(int) (int, int) {
		return floorDiv(int64(first), int64(every)), floorDiv(int64(last), int64(every)) + 1
	}
}

// visit gives the day of a period's visit, if it took place.
func (w *world) visit(s *unitSeries, number, every int) (day int, there bool) {
	day = number*every + int(mix(s.hash)%uint64(every)) //nolint:gosec // every is positive and small
	return day, day >= w.first && day <= w.last && w.hasData(s.site) && !s.missing(day)
}

// openPeaks has the largest value of each water year, numbered by the year.
func openPeaks(w *world, sel selection) table {
	units, at := w.seriesUnits(sel.sites, orElse(sel.parameters, "00060", "00065"), []string{"peak"})
	first, last := w.days(sel.times)
	waterYear := func(day int) int { return dayTime(day).AddDate(0, 3, 0).Year() }
	return table{
		units: units,
		span: func(int) (int, int) {
			if first > last {
				return 0, 0
			}
			return waterYear(first), waterYear(last) + 1
		},
		read: func(unit, year int, r *tableRow) bool {
			s := at(unit)
			october := int(time.Date(year-1, 10, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
			day := october + int(mix(s.hash+uint64(year))%365)
			if !slices.Contains([]string{"00060", "00065"}, s.parameter) || day < w.first || day > w.last || !w.hasData(s.site) || s.missing(day) {
				return false
			}
			rw := s.row(day)
			s.observe(rw, string(w.date(day)), r)
			r.cells["water_year"] = rawCell(strconv.Itoa(year))
			calendar(r, day)
			r.cells["time_of_day"] = orNull(pick(rw.hash%2 == 0, "17:00:00+00:00", "04:30:00+00:00"), rw.hash%3 != 0)
			r.cells["peak_since"] = cell{}
			if rw.hash%8 == 1 {
				r.cells["peak_since"] = rawCell(strconv.Itoa(year - 20))
			}
			if rw.hash%2 == 0 {
				r.cells[colQualifier] = cell{kind: cellRaw, text: "REGULATED", raw: `["REGULATED","GHNOTASSCPKQ"]`}
			}
			return true
		},
	}
}

// uuidOf writes a hash as a UUID.
func uuidOf(hash uint64) string {
	s := series{record: &record{}}
	return string(s.appendID(nil, row{hash: hash}))
}
