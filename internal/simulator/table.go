package simulator

import "time"

// cell is one value of a row.
type cell struct {
	kind cellKind
	text string // what filters compare
	raw  string // of cellRaw: its JSON, when it differs from text
}

type cellKind int

const (
	cellNull cellKind = iota
	cellText
	cellRaw // a number, a list, an object
)

func textCell(text string) cell { return cell{kind: cellText, text: text} }

func rawCell(text string) cell { return cell{kind: cellRaw, text: text} }

// orNull is a text that some rows lack.
func orNull(text string, has bool) cell {
	if !has {
		return cell{}
	}
	return textCell(text)
}

// appendJSON writes the cell as the service does.
func (c cell) appendJSON(b []byte) []byte {
	switch c.kind {
	case cellText:
		return appendText(b, c.text)
	case cellRaw:
		if c.raw != "" {
			return append(b, c.raw...)
		}
		return append(b, c.text...)
	default:
		return append(b, "null"...)
	}
}

// tableRow is one feature.
type tableRow struct {
	id    string
	site  string // where it is, "" for rows without a place
	cells map[string]cell
}

// table is what one query can see of a collection, before its filter is applied: units (sites or series) one after the
// other, each with its rows. Rows are numbered within their unit, so that a cursor can name one.
type table struct {
	units int
	// span gives the numbers of a unit's rows, from first up to but without end.
	span func(unit int) (first, end int)
	// read fills a row; false: it is missing, as a gap in the record is.
	read func(unit, number int, r *tableRow) bool
}

// size is the number of rows, gaps included.
func (t table) size() int64 {
	var n int64
	for unit := range t.units {
		first, end := t.span(unit)
		n += int64(max(0, end-first))
	}
	return n
}

// evenSpan is the span of units that all have n rows.
func evenSpan(n int) func(int) (int, int) {
	return func(int) (int, int) { return 0, n }
}

// selection is what of a collection a query can match, worked out from its filter.
type selection struct {
	sites      []string // as named, or all of the roster
	parameters []string // nil: not limited
	statistics []string
	times      interval
}

// orElse are the codes of a query, or those a collection has by itself.
func orElse(codes []string, standard ...string) []string {
	if codes == nil {
		return standard
	}
	return codes
}

// world is everything the rows come from. Safe for concurrent use.
type world struct {
	*record
	roster []string
	states []usState
}

func newWorld(v Values) *world {
	return &world{record: newRecord(v), roster: rosterOf(v), states: states()}
}

// now is the end of the record, which durations count back from.
func (w *world) now() time.Time { return dayTime(w.last + 1) }

// whole is the time that the record covers.
func (w *world) whole() interval {
	return interval{dayTime(w.first), dayTime(w.last + 1).Add(-1)}
}

func dayTime(day int) time.Time { return time.Unix(int64(day)*secondsPerDay, 0).UTC() }

// days are the days of the record that an interval touches; first > last: none.
func (w *world) days(i interval) (first, last int) {
	i = i.overlap(w.whole())
	return max(w.first, floorDiv(i.from.Unix(), secondsPerDay)), min(w.last, floorDiv(i.to.Unix(), secondsPerDay))
}

func floorDiv(n, by int64) int {
	q := n / by
	if n%by < 0 {
		q--
	}
	return int(q)
}
