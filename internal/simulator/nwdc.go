package simulator

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// nwdcLocations is the most locations of a page.
const nwdcLocations = 600

func nwdcRoutes() map[string]route {
	return map[string]route{NWDCBase + "/data": {
		methods: []string{http.MethodGet}, form: formCSV, answer: answerWaterUse,
		continued: func(c *call) bool { return c.request.URL.Query().Has("skip") },
	}}
}

// waterUseQuery is one request for modelled water use.
type waterUseQuery struct {
	variables   []string
	monthly     bool
	first, last int // months since the year 0, or years
	locations   []string
	limit       int
	at          mark
}

// nwdcModel is a dataset: its variables and the first month of its record, which ends with 2020.
type nwdcModel struct {
	name      string
	variables []string
	firstYear int
}

func nwdcModels() []nwdcModel {
	return []nwdcModel{
		{"wu-public-supply-wd", []string{"pswdtot", "pswdgw", "pswdsw"}, 2000},
		{"wu-public-supply-cu", []string{"pscutot"}, 2009},
		{"wu-thermoelectric", []string{"tewdftot", "tewdfgw", "tewdfsw", "tewdstot", "tecuftot", "tecufgw", "tecufsw"}, 2008},
		{"wu-irrigation-wd", []string{"irrwdtot", "irrwdgw", "irrwdsw"}, 2000},
		{"wu-irrigation-cu", []string{"irrcutot"}, 2000},
	}
}

const nwdcLastYear = 2020

// nwdcFault is a refusal: one text, or a list with the place of each mistake.
type nwdcFault struct {
	parameter, text string
}

// Error names the parameter.
func (f nwdcFault) Error() string { return f.parameter + ": " + f.text }

// errNoData refuses a query that is right and matches nothing.
var errNoData = errors.New("no data found for the requested location and dates")

func answerWaterUse(c *call) int64 {
	q, err := parseWaterUse(c)
	var bad nwdcFault
	switch {
	case errors.As(err, &bad):
		c.out.json(http.StatusBadRequest, map[string]any{"detail": []map[string]any{
			{"type": "value_error", "loc": []string{"query", bad.parameter}, "msg": bad.text},
		}})
		return 0
	case err != nil:
		c.refuse(http.StatusBadRequest, "", err.Error())
		return 0
	}
	periods := q.last - q.first + 1
	if most := c.config.MaxQueryRows; most > 0 && int64(len(q.locations)*periods) > most {
		c.overServerLimits(int64(len(q.locations) * periods))
		return 0
	}
	p := c.cutPage(len(q.locations), q.at, q.limit)
	if p.next != nil {
		c.headerNext(c.waterUseLink(p.next.String()))
	}
	c.out.start(http.StatusOK, "text/csv")
	var body bytes.Buffer
	w := csv.NewWriter(&body)
	header := []string{"huc12_id", pick(q.monthly, "year_month", "year")}
	for _, variable := range q.variables {
		header = append(header, variable+"_mgd")
	}
	_ = w.Write(header) // into memory, where nothing fails
	for _, huc := range q.locations[p.from:p.to] {
		for period := q.first; period <= q.last; period++ {
			_ = w.Write(q.row(c, huc, period))
		}
	}
	w.Flush()
	_, _ = c.out.Write(body.Bytes()) // the response keeps the error
	return int64((p.to - p.from) * periods)
}

// waterUseLink is the next page's URL. The real service names a host that does not serve it.
func (c *call) waterUseLink(skip string) string {
	uri := c.withCursor("skip", skip)
	if c.config.NameAlias {
		return "https://" + c.config.AliasHost + uri
	}
	if c.entry.Fault == FaultBadLink {
		return c.origin() + uri // headerNext breaks it
	}
	return c.linkTo(uri)
}

func (q *waterUseQuery) row(c *call, huc string, period int) []string {
	text := strconv.Itoa(period)
	if q.monthly {
		text = fmt.Sprintf("%04d-%02d", period/12, period%12+1)
	}
	cells := []string{huc, text}
	for i, variable := range q.variables {
		h := hashText(c.world.values.Seed+9, huc, text, variable)
		value := strconv.FormatFloat(float64(h%50_000_000)/1e7, 'f', -1, 64)
		switch {
		case c.entry.Fault == FaultHugeNumber && i == 0 && huc == q.locations[0]:
			value = hugeNumber()
		case h%17 == 0:
			value = "0.0"
		}
		cells = append(cells, value)
	}
	return cells
}

func parseWaterUse(c *call) (*waterUseQuery, error) {
	given, err := url.ParseQuery(c.request.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("query string: %w", err)
	}
	allowed := []string{"format", "model", "variable", "timeres", "startdate", "enddate", "intersection", "limit", "location", "skip"}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case !slices.Contains(allowed, name):
			return nil, nwdcFault{name, "unknown parameter"}
		case len(given[name]) != 1:
			return nil, nwdcFault{name, "given more than once"}
		case given[name][0] == "":
			return nil, nwdcFault{name, "empty"}
		}
	}
	q := &waterUseQuery{limit: nwdcLocations}
	get := func(name, standard string) string {
		if given.Has(name) {
			return given.Get(name)
		}
		return standard
	}
	if err := oneOf(get("format", "csv"), "csv"); err != nil {
		return nil, nwdcFault{"format", err.Error()}
	}
	models := nwdcModels()
	at := slices.IndexFunc(models, func(m nwdcModel) bool { return m.name == get("model", "") })
	if at < 0 {
		return nil, fmt.Errorf("invalid model name: %s", clip(get("model", "")))
	}
	q.variables = strings.Split(get("variable", ""), ",")
	for _, variable := range q.variables {
		if err := oneOf(variable, models[at].variables...); err != nil {
			return nil, nwdcFault{"variable", err.Error()}
		}
	}
	if text := get("limit", ""); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, nwdcFault{"limit", "must be a number from 1"}
		}
		q.limit = min(n, nwdcLocations)
	}
	q.limit = min(q.limit, c.config.PageRows)
	if q.at, err = parseMark(get("skip", "0")); err != nil {
		return nil, nwdcFault{"skip", err.Error()}
	}
	if err := q.setTimes(get("timeres", "monthly"), get("startdate", ""), get("enddate", ""), models[at]); err != nil {
		return nil, err
	}
	intersection := get("intersection", "overlap")
	if err := oneOf(intersection, "overlap", "envelop"); err != nil {
		return nil, nwdcFault{"intersection", err.Error()}
	}
	q.locations, err = waterUseLocations(get("location", ""), intersection == "overlap", c.world)
	return q, err
}

func (q *waterUseQuery) setTimes(resolution, start, end string, model nwdcModel) error {
	if err := oneOf(resolution, "monthly", "annualcy", "annualwy"); err != nil {
		return nwdcFault{"timeres", err.Error()}
	}
	q.monthly = resolution == "monthly"
	first, last := model.firstYear*12, nwdcLastYear*12+11
	if start != "" {
		month, err := parseYearMonth(start, 0)
		if err != nil {
			return nwdcFault{"startdate", err.Error()}
		}
		first = max(first, month)
	}
	if end != "" {
		month, err := parseYearMonth(end, 11)
		if err != nil {
			return nwdcFault{"enddate", err.Error()}
		}
		last = min(last, month)
	}
	q.first, q.last = first, last
	if !q.monthly {
		q.first, q.last = first/12, last/12
	}
	if q.first > q.last {
		return errNoData
	}
	return nil
}

// parseYearMonth reads YYYY or YYYY-MM as months since the year 0; month stands in for one that is not given.
func parseYearMonth(text string, month int) (int, error) {
	yearText, monthText, hasMonth := strings.Cut(text, "-")
	year, err := strconv.Atoi(yearText)
	if hasMonth && err == nil {
		month, err = strconv.Atoi(monthText)
		month--
	}
	if err != nil || len(yearText) != 4 || hasMonth && len(monthText) != 2 || month < 0 || month > 11 {
		return 0, fmt.Errorf("%q is not YYYY or YYYY-MM", clip(text))
	}
	return year*12 + month, nil
}
