package frame

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Roles says what some columns mean, by the names that rows have: of what the rows are, when, what was measured, and how settled it
// is. Each may be empty. A summary needs them, the table does not.
type Roles struct {
	Sites  string // of what a row is, such as a monitoring location
	Time   string
	Value  string // what was measured
	Status string // such as whether a value is approved
	// Series are the columns that tell the series of one site apart; Every is the time between two rows of a series that has no gaps,
	// and From and Behind are the time that was asked for. Without all of these, gaps are not reckoned. A site with fewer series than
	// SeriesAsked has gaps too.
	Series       []string
	SeriesAsked  int
	Every        time.Duration
	From, Behind time.Time
}

// Summary is what a person wants to know of a table first, as far as its columns have roles.
type Summary struct {
	From     string    `json:"from,omitempty"`   // the first time that a row has, in the server's text
	To       string    `json:"to,omitempty"`     // the last one
	Sites    int64     `json:"sites,omitempty"`  // that rows have
	Whole    int64     `json:"whole,omitempty"`  // of these, such as have a value for each step of the time that was asked for, in all their series
	Gappy    int64     `json:"gappy,omitempty"`  // the others; both are 0 when it was not reckoned
	Values   int64     `json:"values,omitempty"` // that are not null
	Nulls    int64     `json:"nulls,omitempty"`
	Statuses []Tallied `json:"statuses,omitempty"` // of the rows, the most frequent first
	Units    []Tallied `json:"units,omitempty"`    // of the values, the most frequent first
	Newest   string    `json:"newest,omitempty"`   // the greatest value in the column that tells which of two rows is newer
	NewestAt time.Time `json:"newest_at,omitzero"` // the instant that it means; the last one of a date. Zero: it means none
}

// Tallied is how often a text was found. The text is empty for rows without one, and for all that there was no room for.
type Tallied struct {
	Text  string `json:"text"`
	Count int64  `json:"count"`
}

const (
	maxTallied = 8
	maxSeries  = 1 << 20
)

// Summarized gives the same table, whose rows are summed up when they are read once, from the first to the last; summary gives what
// was found. One goroutine may read it.
func (t *Table) Summarized() (table *Table, summary func() *Summary) {
	s := newSummarizer(t)
	with := *t
	with.watch = s.add
	return &with, s.summary
}

// summarizer sums up rows as they are stored. Used by one goroutine.
type summarizer struct {
	roles                                   Roles
	site, time, value, status, unit, newest int // places in a stored row, or absentRole
	series                                  []int
	timeType, newestType                    Type

	first, last, latest extreme // times, and the newest
	values, nulls       int64
	statuses, units     map[string]int64
	sites               map[string]struct{}
	manySites           bool             // more than there is room for
	runs                map[string]*pace // by site and series
	steps               int64            // of a series without gaps
	reckons, broken     bool             // gaps are reckoned; they cannot be
	key                 []byte
}

// extreme is the least or the greatest value of a column.
type extreme struct {
	Value
	key   int64
	found bool
}

func (e *extreme) take(v Value, key int64, before bool) {
	if !e.found || before && key < e.key || !before && key > e.key {
		*e = extreme{v, key, true}
	}
}

// pace is one series on its way through time.
type pace struct {
	site  string
	last  int64 // step
	steps int64 // different ones
}

const absentRole = -1

func newSummarizer(t *Table) *summarizer {
	r := t.roles
	s := &summarizer{
		roles: r.Roles, statuses: map[string]int64{}, units: map[string]int64{}, runs: map[string]*pace{}, sites: map[string]struct{}{},
		site: r.place(r.Sites), time: r.place(r.Time), value: r.place(r.Value), status: r.place(r.Status), newest: r.place(r.newestBy), unit: r.place(r.unit()),
	}
	for _, name := range r.Series {
		if i := r.place(name); i != absentRole && i != s.site {
			s.series = append(s.series, i)
		}
	}
	if s.time != absentRole {
		s.timeType = r.columns[s.time].Type
	}
	if s.newest != absentRole {
		s.newestType = r.columns[s.newest].Type
		if !slices.Contains([]Type{Date, Timestamp, Int64}, s.newestType) {
			s.newest = absentRole
		}
	}
	timed := s.timeType == Date || s.timeType == Timestamp
	if s.site != absentRole && timed && r.Every > 0 && !r.From.IsZero() && r.Behind.After(r.From) {
		s.reckons = true
		s.steps = int64(max(1, math.Floor(r.Behind.Sub(r.From).Seconds()/r.Every.Seconds())))
	}
	return s
}

func (s *summarizer) add(stored Row) {
	hasValue := true
	if s.value != absentRole {
		if hasValue = !stored[s.value].Null; hasValue {
			s.values++
		} else {
			s.nulls++
		}
	}
	tally(s.statuses, stored, s.status)
	if hasValue {
		tally(s.units, stored, s.unit)
	}
	if s.newest != absentRole {
		if v := stored[s.newest]; !v.Null {
			s.latest.take(v, keyOf(s.newestType, v), false)
		}
	}
	at, timed := s.moment(stored)
	s.seen(stored, at, timed && hasValue)
}

// moment notes the time of a row.
func (s *summarizer) moment(stored Row) (at int64, timed bool) {
	if s.time == absentRole || stored[s.time].Null || s.timeType != Date && s.timeType != Timestamp {
		return 0, false
	}
	v := stored[s.time]
	at = keyOf(s.timeType, v)
	s.first.take(v, at, true)
	s.last.take(v, at, false)
	return at, true
}

// keyOf orders what has a time, in microseconds since 1970.
func keyOf(t Type, v Value) int64 {
	switch t {
	case Date:
		return int64(v.Days()) * 24 * int64(time.Hour/time.Microsecond)
	case Timestamp:
		return v.Micros()
	case Int64:
		return v.Int64()
	default:
		return 0
	}
}

// seen follows a series from step to step. Rows that are not in the order of time cannot be followed.
func (s *summarizer) seen(stored Row, at int64, valued bool) {
	if s.site == absentRole || stored[s.site].Null || s.manySites {
		return
	}
	site := stored[s.site].Text
	if _, known := s.sites[site]; !known {
		if len(s.sites) >= maxSeries {
			s.manySites = true
			return
		}
		s.sites[site] = struct{}{}
	}
	if !s.reckons || s.broken {
		return
	}
	s.key = append(s.key[:0], site...)
	for _, i := range s.series {
		s.key = append(append(s.key, 0), stored[i].Text...)
	}
	r, known := s.runs[string(s.key)]
	if !known {
		if len(s.runs) >= maxSeries {
			s.broken = true
			return
		}
		r = &pace{site: site, last: -1}
		s.runs[string(s.key)] = r
	}
	from := s.roles.From.UnixMicro()
	if !valued || at < from || at >= s.roles.Behind.UnixMicro() {
		return
	}
	step := (at - from) / s.roles.Every.Microseconds()
	switch {
	case step < r.last:
		s.broken = true
	case step > r.last:
		r.last = step
		r.steps++
	}
}

func (s *summarizer) summary() *Summary {
	sum := &Summary{Values: s.values, Nulls: s.nulls, Statuses: tallied(s.statuses), Units: tallied(s.units)}
	if s.first.found {
		sum.From, sum.To = clip(s.first.Text), clip(s.last.Text)
	}
	if s.latest.found {
		sum.Newest = clip(s.latest.Text)
		switch at := time.UnixMicro(s.latest.key).UTC(); s.newestType {
		case Timestamp:
			sum.NewestAt = at
		case Date:
			sum.NewestAt = at.AddDate(0, 0, 1).Add(-time.Microsecond)
		default: // a number of some kind
		}
	}
	if s.manySites {
		return sum
	}
	sum.Sites = int64(len(s.sites))
	if s.reckons && !s.broken {
		gaps, series := map[string]bool{}, map[string]int{}
		for _, r := range s.runs {
			series[r.site]++
			if r.steps < s.steps {
				gaps[r.site] = true
			}
		}
		for site, n := range series {
			if n < s.roles.SeriesAsked {
				gaps[site] = true
			}
		}
		sum.Gappy = int64(len(gaps))
		sum.Whole = sum.Sites - sum.Gappy
	}
	return sum
}

// tally counts a text; what there is no room for is counted as empty.
func tally(counts map[string]int64, stored Row, at int) {
	if at == absentRole {
		return
	}
	text := ""
	if v := stored[at]; !v.Null {
		text = clip(v.Text)
	}
	if _, known := counts[text]; !known && len(counts) >= maxTallied {
		text = ""
	}
	counts[text]++
}

func tallied(counts map[string]int64) []Tallied {
	var list []Tallied
	for text, count := range sorted(counts) {
		list = append(list, Tallied{text, count})
	}
	slices.SortStableFunc(list, func(a, b Tallied) int { return cmp.Compare(b.Count, a.Count) })
	return list
}

// roles are the roles of columns, with their places in the stored rows.
type roles struct {
	Roles
	newestBy string
	columns  []storedColumn
}

func (r *roles) place(name string) int {
	if name == "" {
		return absentRole
	}
	return slices.IndexFunc(r.columns, func(c storedColumn) bool { return c.Name == name })
}

// unit is the column that has the unit of the values.
func (r *roles) unit() string {
	if i := r.place(r.Value); i != absentRole {
		return r.columns[i].UnitColumn
	}
	return ""
}
