package simulator

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// itemsQuery is one request for the items of a collection, understood and checked.
type itemsQuery struct {
	filter       expression
	box          []float64 // west, south, east, north; nil: everywhere
	limit        int
	skipGeometry bool
	columns      []Column // those asked for, in the service's order
	from         position
	continued    bool // from was named by a cursor
}

// errTooLarge refuses a list of values in a URL where the collection takes none.
var errCommaList = errors.New("takes one value in a URL; POST a CQL2 document for more")

// parseItems reads URL and body. An error is the client's fault, or errFilter.
func (o *ogcCollection) parseItems(c *call) (*itemsQuery, error) {
	given, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("query string: %w", err)
	}
	q := &itemsQuery{limit: min(defaultPageRows, c.config.PageRows), columns: o.Columns}
	var parts []expression
	language, filter := "cql-text", ""
	for _, name := range slices.Sorted(maps.Keys(given)) {
		values := given[name]
		if len(values) != 1 {
			return nil, fmt.Errorf("%s: given %d times, must be one comma-separated value", name, len(values))
		}
		value, part := values[0], expression{}
		var err error
		switch name {
		case "filter":
			filter = value
		case "filter-lang":
			language, err = value, oneOf(value, "cql-text", "cql2-text", "cql-json", "cql2-json")
		case "filter-crs", "bbox-crs", "crs":
			err = oneOf(value, "http://www.opengis.net/def/crs/OGC/1.3/CRS84")
		default:
			part, err = o.set(q, c, name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		parts = append(parts, part)
	}
	if _, has := given["filter"]; has {
		part, err := o.parseFilter(filter, language)
		if err != nil {
			return nil, fmt.Errorf("filter: %w", err)
		}
		parts = append(parts, part)
	}
	if c.request.Method == http.MethodPost {
		part, err := o.parseBody(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	q.filter = and(parts...)
	return q, o.place(q, c)
}

// place checks that the cursor belongs to this request.
func (o *ogcCollection) place(q *itemsQuery, c *call) error {
	if q.continued && q.from.body != c.bodyMark() {
		return errors.New("cursor: belongs to a request with another body; a next link is followed with the same one")
	}
	return nil
}

// set takes in one parameter of the URL, all but the filter.
func (o *ogcCollection) set(q *itemsQuery, c *call, name, value string) (part expression, err error) {
	switch name {
	case "limit":
		q.limit, err = parseLimit(value, c.config.PageRows)
	case "f":
		err = oneOf(value, "json")
	case "lang":
		err = oneOf(value, "en-US", "en")
	case "skipGeometry":
		q.skipGeometry = value == "true"
		err = oneOf(value, "true", "false")
	case "properties":
		q.columns, err = o.chooseColumns(value)
	case "bbox":
		q.box, err = parseBox(value)
	case "cursor":
		q.continued = true
		q.from, err = parsePosition(value)
	case "datetime":
		return o.during(o.timeColumn, value, c.world)
	default:
		return o.filterBy(name, value, c.world)
	}
	return part, err
}

// filterBy makes a queryable of the URL a part of the filter.
func (o *ogcCollection) filterBy(name, value string, w *world) (expression, error) {
	t, known := o.queryable(name)
	switch {
	case !known:
		return expression{}, fmt.Errorf("unknown parameter; the known ones are %s", strings.Join(o.parameters(), ", "))
	case t == TypeDate, t == TypeTimestamp && name != "sample_time", t == TypeLocalTime:
		return o.during(name, value, w)
	}
	check := func(string) error { return nil }
	switch {
	case name == colSite, name == "id" && o.Name == "monitoring-locations":
		check = checkSite
	case name == colParameter, name == colStatistic:
		check = checkCode
	}
	if o.oneValueInURL && strings.Contains(value, ",") {
		return expression{}, errCommaList
	}
	values, err := parseList(value, check)
	return expression{op: opIn, property: name, values: values}, err
}

func (o *ogcCollection) during(property, value string, w *world) (expression, error) {
	if property == "" {
		return expression{}, errors.New("unknown parameter; this collection has no times")
	}
	when, err := parseInterval(value, w.now())
	return expression{op: opDuring, property: property, when: when}, err
}

// parseFilter reads the filter of a URL and checks that it names only queryables.
func (o *ogcCollection) parseFilter(filter, language string) (e expression, err error) {
	if strings.HasSuffix(language, "-json") {
		e, err = parseCQLJSON([]byte(filter))
	} else {
		e, err = parseCQLText(filter)
	}
	if err != nil {
		return e, err
	}
	return e, o.checkProperties(e)
}

func (o *ogcCollection) parseBody(c *call) (expression, error) {
	kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/query-cql-json" {
		return expression{}, fmt.Errorf("content type is %q, must be application/query-cql-json", clip(kind))
	}
	e, err := parseCQLJSON(c.body)
	if err != nil {
		return e, err
	}
	return e, o.checkProperties(e)
}

func (o *ogcCollection) checkProperties(e expression) error {
	for _, name := range e.properties() {
		if _, known := o.queryable(name); !known {
			return fmt.Errorf("%q is not a queryable of %s", clip(name), o.Name)
		}
	}
	return nil
}

func (o *ogcCollection) chooseColumns(value string) ([]Column, error) {
	all := names(o.Columns)
	all = slices.DeleteFunc(all, func(name string) bool { return name == "id" }) // always sent, never to be asked for
	wanted, err := parseList(value, func(name string) error { return oneOf(name, append(all, "geometry")...) })
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(o.Columns), func(column Column) bool { return !slices.Contains(wanted, column.Name) }), nil
}

func parseLimit(value string, most int) (int, error) {
	limit, err := strconv.Atoi(value)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", clip(value), maxLimit)
	}
	return min(limit, most), nil
}

// parseBox reads four numbers, or six of which the third and the sixth are heights.
func parseBox(value string) ([]float64, error) {
	var box []float64
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || len(box) == 6 {
			return nil, fmt.Errorf("%q is not four or six numbers with commas", clip(value))
		}
		box = append(box, n)
	}
	if len(box) == 6 {
		box = []float64{box[0], box[1], box[3], box[4]}
	}
	if len(box) != 4 || !(box[0] <= box[2] && box[1] <= box[3]) {
		return nil, fmt.Errorf("%q is not west, south, east, north", clip(value))
	}
	return box, nil
}

// select works out which sites, codes and times the filter leaves.
func (o *ogcCollection) selectFrom(e expression, w *world) (selection, error) {
	sites, limited := e.only(colSite)
	if o.Name == "monitoring-locations" {
		sites, limited = e.only("id")
	}
	if !limited {
		sites = w.roster
	}
	// A filter may compare with any text; what has not the form of a site is none.
	sites = slices.DeleteFunc(slices.Clone(sites), func(id string) bool { return checkSite(id) != nil })
	parameters, _ := e.only(colParameter)
	statistics, _ := e.only(colStatistic)
	sel := selection{sites: sites, parameters: parameters, statistics: statistics, times: e.during(o.timeColumn)}
	if len(sites)*max(1, len(parameters))*max(1, len(statistics)) > maxSeries {
		return sel, fmt.Errorf("sites, parameters and statistics make more than %d series", maxSeries)
	}
	if o.Name == "continuous" {
		return o.lastYear(sel, w)
	}
	return sel, nil
}

// lastYear holds a query for continuous values to what the service allows: three years, and without a time the last one.
func (o *ogcCollection) lastYear(sel selection, w *world) (selection, error) {
	if sel.times == (interval{}) {
		sel.times = interval{w.now().AddDate(-1, 0, 0), w.now()}
		return sel, nil
	}
	asked := sel.times.overlap(interval{to: w.now()})
	if asked.from.IsZero() || asked.from.AddDate(3, 0, 0).Before(asked.to) {
		return sel, errors.New("time: at most three years of continuous values can be asked for at once")
	}
	return sel, nil
}
