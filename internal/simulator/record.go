package simulator

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Values shapes the fake record. The data are a pure function of it: the same Values give the same rows everywhere.
type Values struct {
	// Seed picks another world of data.
	Seed uint64
	// First and Last are the dates of record of every series, YYYY-MM-DD, 1800 to 2199.
	// Empty: 1980-01-01 and 2024-12-31.
	First, Last string
	// GapShare is the part of the record, 0 to 1, that is missing, in pieces of seven days.
	GapShare float64
	// NoDataShare is the part of the sites, 0 to 1, chosen by a hash of the id, that have no data at all.
	NoDataShare float64
	// Version counts how often the record was refreshed: another version has the same values under other feature ids
	// and with later last_modified.
	Version int
	// ProvisionalDays is how many days at the end of the record are not approved yet. 0: 365.
	ProvisionalDays int
	// Step is the time between two continuous values, 1s to 24h. 0: 6h; the real service has 15m.
	Step time.Duration
	// Sites is how many sites a query sees that names none, up to 10,000; every other site exists too. 0: 60.
	Sites int
	// HydrologicUnits is how many rows the table hydrologic-unit-codes has, up to 125,000. 0: 1,200.
	HydrologicUnits int
}

func (v Values) withDefaults() Values {
	if v.First == "" {
		v.First = "1980-01-01"
	}
	if v.Last == "" {
		v.Last = "2024-12-31"
	}
	if v.ProvisionalDays == 0 {
		v.ProvisionalDays = 365
	}
	if v.Step == 0 {
		v.Step = 6 * time.Hour
	}
	if v.Sites == 0 {
		v.Sites = 60
	}
	if v.HydrologicUnits == 0 {
		v.HydrologicUnits = 1_200
	}
	return v
}

func (v Values) validate() error {
	first, errFirst := parseDay(v.First)
	last, errLast := parseDay(v.Last)
	errs := []error{
		wrapField("values.first", errFirst),
		wrapField("values.last", errLast),
		within("values.version", v.Version, 0, 10_000),
		within("values.provisional_days", v.ProvisionalDays, 0, 1_000_000),
		within("values.step", v.Step, time.Second, 24*time.Hour),
		within("values.sites", v.Sites, 1, 10_000),
		within("values.hydrologic_units", v.HydrologicUnits, 1, 125_000),
		share("values.gap_share", v.GapShare),
		share("values.no_data_share", v.NoDataShare),
	}
	if errFirst == nil && errLast == nil && (first > last || v.First < "1800" || v.Last >= "2200") {
		errs = append(errs, fmt.Errorf("values.first %s to values.last %s: must be in order, from 1800 to 2199", v.First, v.Last))
	}
	return errors.Join(errs...)
}

func wrapField(field string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

func share(field string, value float64) error {
	if !(value >= 0 && value <= 1) {
		return fmt.Errorf("%s is %v, must be 0 to 1", field, value)
	}
	return nil
}

// parseDay reads YYYY-MM-DD as days since 1970-01-01.
func parseDay(text string) (int, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a date of the form YYYY-MM-DD", text)
	}
	return int(t.Unix() / secondsPerDay), nil
}

const (
	secondsPerDay = 24 * 60 * 60
	dateBytes     = len(time.DateOnly)
	daysPerBlock  = 7 // rows of one block share their fate: missing or not, and when last modified
)

// record is the calendar that all series share, worked out once. Immutable.
type record struct {
	values      Values
	first, last int      // days since 1970-01-01, both in the record
	approved    int      // the last approved day
	dates       []byte   // the text of every day, back to back
	season      []uint32 // the factor of every day, in 1024ths
}

func newRecord(v Values) *record {
	first, _ := parseDay(v.First) // both were validated
	last, _ := parseDay(v.Last)
	r := &record{values: v, first: first, last: last, approved: last - v.ProvisionalDays}
	for day := first; day <= last; day++ {
		t := time.Unix(int64(day)*secondsPerDay, 0).UTC()
		r.dates = t.AppendFormat(r.dates, time.DateOnly)
		angle := 2 * math.Pi * float64(t.YearDay()-100) / 365.25
		r.season = append(r.season, uint32(1024*(1+0.7*math.Cos(angle))))
	}
	return r
}

// hasData tells whether a site has any.
func (r *record) hasData(site string) bool {
	return r.values.NoDataShare == 0 || unit(hashText(r.values.Seed+1, site)) >= r.values.NoDataShare
}

func (r *record) date(day int) []byte {
	at := (day - r.first) * dateBytes
	return r.dates[at : at+dateBytes]
}

// blockOf numbers the pieces of the record in which gaps come, from a day before all days.
func blockOf(day int) int {
	return (day + 1<<20) / daysPerBlock
}
