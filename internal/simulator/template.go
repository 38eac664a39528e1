package simulator

import "strconv"

// The columns of a daily value, in the order the fake service writes them.
const (
	colSeriesID  = "time_series_id"
	colSite      = "monitoring_location_id"
	colParameter = "parameter_code"
	colStatistic = "statistic_id"
	colTime      = "time"
	colValue     = "value"
	colUnit      = "unit_of_measure"
	colApproval  = "approval_status"
	colQualifier = "qualifier"
	colModified  = "last_modified"
)

func dailyColumns() []string {
	return []string{
		colSeriesID, colSite, colParameter, colStatistic, colTime, colValue, colUnit, colApproval, colQualifier, colModified,
	}
}

// blank is a place in a template that differs from row to row.
type blank int

const (
	blankID blank = iota
	blankDate
	blankValue
	blankApproval
	blankQualifier
	blankModified
)

// template is the feature of one series with blanks, so that a row is a few copies. It is refilled for each series.
type template struct {
	text   []byte
	ends   []int // where in text each blank stands
	blanks []blank
}

func (t *template) put(texts ...string) {
	for _, text := range texts {
		t.text = append(t.text, text...)
	}
}

func (t *template) leave(b blank) {
	t.ends = append(t.ends, len(t.text))
	t.blanks = append(t.blanks, b)
}

// fill writes the template of one series. Every text in it was checked to need no escaping in JSON.
func (t *template) fill(q *dailyQuery, s *series, site, parameter, statistic string) {
	t.text, t.ends, t.blanks = t.text[:0], t.ends[:0], t.blanks[:0]
	t.put(`{"type":"Feature","id":"`)
	t.leave(blankID)
	t.put(`","geometry":`)
	t.geometry(q, s.record.values.Seed, site)
	t.put(`,"properties":{`)
	for i, column := range q.columns {
		if i > 0 {
			t.put(",")
		}
		t.put(`"`, column, `":`)
		t.column(column, s, site, parameter, statistic)
	}
	t.put("}}")
}

func (t *template) column(column string, s *series, site, parameter, statistic string) {
	quoted := func(b blank) {
		t.put(`"`)
		t.leave(b)
		t.put(`"`)
	}
	switch column {
	case colSeriesID:
		t.put(`"`)
		t.text = appendHex(appendHex(t.text, mix(s.hash+2), 16), mix(s.hash+3), 16)
		t.put(`"`)
	case colSite:
		t.put(`"`, site, `"`)
	case colParameter:
		t.put(`"`, parameter, `"`)
	case colStatistic:
		t.put(`"`, statistic, `"`)
	case colUnit:
		t.put(`"`, unitOf(parameter), `"`)
	case colTime:
		quoted(blankDate)
	case colValue:
		quoted(blankValue)
	case colApproval:
		quoted(blankApproval)
	case colModified:
		quoted(blankModified)
	case colQualifier:
		t.leave(blankQualifier)
	}
}

// geometry is the place of a site.
func (t *template) geometry(q *dailyQuery, seed uint64, site string) {
	if q.skipGeometry {
		t.put("null")
		return
	}
	t.text = appendGeometry(t.text, seed, site)
}

// placeOf is somewhere on the mainland; a few sites have no place.
func placeOf(seed uint64, site string) (longitude, latitude float64, placed bool) {
	h := hashText(seed+2, site)
	return -(70 + float64(mix(h)%50_000_000)/1e6), 28 + float64(mix(h+1)%20_000_000)/1e6, h%32 != 0
}

func appendGeometry(b []byte, seed uint64, site string) []byte {
	x, y, placed := placeOf(seed, site)
	if !placed {
		return append(b, "null"...)
	}
	b = append(b, `{"type":"Point","coordinates":[`...)
	b = strconv.AppendFloat(b, x, 'f', 6, 64)
	b = append(b, ',')
	b = strconv.AppendFloat(b, y, 'f', 6, 64)
	return append(b, "]}"...)
}

// appendRow writes one row.
func (t *template) appendRow(b []byte, s *series, r row) []byte {
	start := 0
	for i, end := range t.ends {
		b = append(b, t.text[start:end]...)
		start = end
		switch t.blanks[i] {
		case blankID:
			b = s.appendID(b, r)
		case blankDate:
			b = append(b, s.record.date(r.day)...)
		case blankValue:
			b = s.appendValue(b, r)
		case blankApproval:
			b = s.appendApproval(b, r)
		case blankQualifier:
			b = s.appendQualifier(b, r)
		case blankModified:
			b = append(b, s.modified...)
		}
	}
	return append(b, t.text[start:]...)
}

// unitOf is the unit a parameter is measured in.
func unitOf(parameter string) string {
	switch parameter {
	case "00010":
		return "degC"
	case "00045":
		return "in"
	case "00065":
		return "ft"
	}
	return "ft^3/s"
}
