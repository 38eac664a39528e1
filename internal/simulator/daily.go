package simulator

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Bounds of one daily query.
const (
	defaultPageRows = 10 // without a limit, as OGC API Features has it
	maxListValues   = 50_000
	maxSeries       = 1_000_000
	maxSiteBytes    = 64
)

// dailyQuery is one request for daily values, understood and checked.
type dailyQuery struct {
	sites, parameters, statistics []string // sorted, each once
	first, last                   int      // days, clamped to the record; first > last: none
	limit                         int      // rows of this page
	skipGeometry                  bool
	columns                       []string // those asked for, in the service's order
	from                          position
	continued                     bool // from was named by a cursor
}

// parseDaily reads the query part of a URL. An error is the client's fault and names the parameter.
func parseDaily(rawQuery string, r *record, pageRows int) (*dailyQuery, error) {
	given, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, fmt.Errorf("query string: %w", err)
	}
	q := &dailyQuery{
		parameters: []string{"00060"}, statistics: []string{"00003"},
		first: r.first, last: r.last,
		limit: min(defaultPageRows, pageRows), columns: dailyColumns(),
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if len(given[name]) != 1 {
			return nil, fmt.Errorf("%s: given %d times, must be one comma-separated value", name, len(given[name]))
		}
		if err := q.set(name, given[name][0], r, pageRows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(q.sites) == 0 {
		return nil, fmt.Errorf("%s: missing; this fake keeps no list of all sites, so name some", colSite)
	}
	if q.size() > maxSeries {
		return nil, fmt.Errorf("sites, parameters and statistics make %d series, must be at most %d", q.size(), maxSeries)
	}
	if err := q.place(); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *dailyQuery) set(name, value string, r *record, pageRows int) (err error) {
	switch name {
	case colSite:
		q.sites, err = parseList(value, checkSite)
	case colParameter:
		q.parameters, err = parseList(value, checkCode)
	case colStatistic:
		q.statistics, err = parseList(value, checkCode)
	case colTime:
		err = q.setTime(value, r)
	case "limit":
		err = q.setLimit(value, pageRows)
	case "f":
		err = oneOf(value, "json")
	case "lang":
		err = oneOf(value, "en-US", "en")
	case "skipGeometry":
		q.skipGeometry = value == "true"
		err = oneOf(value, "true", "false")
	case "properties":
		err = q.setColumns(value)
	case "cursor":
		q.continued = true
		q.from, err = parsePosition(value)
	default:
		err = fmt.Errorf("unknown parameter; the known ones are %s", strings.Join(dailyParameters(), ", "))
	}
	return err
}

func dailyParameters() []string {
	return []string{
		colSite, colParameter, colStatistic, colTime, "limit", "f", "lang", "skipGeometry", "properties", "cursor",
	}
}

// setTime reads a date or an interval of dates, open ends written "..".
func (q *dailyQuery) setTime(value string, r *record) error {
	from, to, isInterval := strings.Cut(value, "/")
	if !isInterval {
		to = from
	}
	first, last := r.first, r.last
	if from != ".." || !isInterval {
		day, err := parseDay(from)
		if err != nil {
			return err
		}
		first = day
	}
	if to != ".." || !isInterval {
		day, err := parseDay(to)
		if err != nil {
			return err
		}
		last = day
	}
	if from != ".." && to != ".." && first > last {
		return fmt.Errorf("%q ends before it begins", value)
	}
	q.first, q.last = max(first, r.first), min(last, r.last)
	return nil
}

func (q *dailyQuery) setLimit(value string, pageRows int) error {
	limit, err := parseLimit(value, pageRows)
	q.limit = limit
	return err
}

func (q *dailyQuery) setColumns(value string) error {
	all := dailyColumns()
	wanted, err := parseList(value, func(column string) error { return oneOf(column, all...) })
	if err != nil {
		return err
	}
	q.columns = slices.DeleteFunc(all, func(column string) bool { return !slices.Contains(wanted, column) })
	return nil
}

// place puts the page where the query begins, or checks the place that the cursor names.
func (q *dailyQuery) place() error {
	if !q.continued {
		q.from = position{day: q.first}
		return nil
	}
	if p := q.from; p.series >= q.size() || p.day < q.first || p.day > q.last {
		return fmt.Errorf("cursor: does not belong to this query")
	}
	return nil
}

// size is the number of series of the query, with or without data.
func (q *dailyQuery) size() int {
	return len(q.sites) * len(q.parameters) * len(q.statistics)
}

// span is the number of rows the query would have without gaps and missing sites.
func (q *dailyQuery) span() int64 {
	return int64(q.size()) * int64(max(0, q.last-q.first+1))
}

// names are site, parameter and statistic of the series with number i: sites change slowest.
func (q *dailyQuery) names(i int) (site, parameter, statistic string) {
	i, s := i/len(q.statistics), i%len(q.statistics)
	i, p := i/len(q.parameters), i%len(q.parameters)
	return q.sites[i], q.parameters[p], q.statistics[s]
}

// parseList reads a comma list and returns it sorted, each value once.
func parseList(value string, check func(string) error) ([]string, error) {
	if n := strings.Count(value, ",") + 1; n > maxListValues {
		return nil, fmt.Errorf("%d values, must be at most %d", n, maxListValues)
	}
	list := strings.Split(value, ",")
	for _, v := range list {
		if err := check(v); err != nil {
			return nil, err
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// checkSite wants AGENCY-ID.
func checkSite(id string) error {
	agency, number, found := strings.Cut(id, "-")
	ok := found && agency != "" && number != "" && len(id) <= maxSiteBytes
	for i := range len(agency) {
		c := agency[i]
		ok = ok && (c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	for i := range len(number) {
		c := number[i]
		ok = ok && (c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("._-", c) >= 0)
	}
	if !ok {
		return fmt.Errorf("%q is not of the form AGENCY-ID, for example USGS-05427718", clip(id))
	}
	return nil
}

// checkCode wants five digits.
func checkCode(code string) error {
	ok := len(code) == 5
	for i := range len(code) {
		ok = ok && code[i] >= '0' && code[i] <= '9'
	}
	if !ok {
		return fmt.Errorf("%q is not a code of five digits, for example 00060", clip(code))
	}
	return nil
}

func oneOf(value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", clip(value), strings.Join(allowed, ", "))
}

// clip keeps a quoted value short.
func clip(text string) string {
	return text[:min(len(text), maxSiteBytes)]
}
