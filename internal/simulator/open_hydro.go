package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// openHydroRoutes are the paths of an invented open-data service, three times: with a token that may be sent, with one
// that must be, and with a key in the query.
func openHydroRoutes() map[string]route {
	routes := map[string]route{}
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	above := func(name string, n int) func(*call) bool {
		return func(c *call) bool {
			at, err := strconv.Atoi(c.request.URL.Query().Get(name))
			return err == nil && at > n
		}
	}
	for _, base := range []string{OpenHydroBase, BearerBase, KeyedBase} {
		routes[base+"/stations"] = route{methods: get, form: formJSON, answer: answerStations}
		routes[base+"/readings.csv"] = route{methods: get, form: formCSV, answer: answerReadings, continued: above("offset", 0)}
		routes[base+"/events"] = route{methods: get, form: formJSON, answer: answerEvents, continued: above("page", 1)}
		routes[base+"/alerts.jsonl"] = route{methods: get, form: formLines, answer: answerAlerts, continued: above("after", 0)}
		routes[base+"/search"] = route{methods: post, form: formJSON, answer: answerSearch, continued: func(c *call) bool {
			body, err := url.ParseQuery(string(c.body))
			return err == nil && body.Has("cursor")
		}}
		routes[base+"/query"] = route{methods: post, form: formJSON, answer: answerQuery, continued: func(c *call) bool {
			body, err := parseOpenQuery(c.body)
			return err == nil && body.Cursor != ""
		}}
	}
	return routes
}

// openArguments reads a query or a form: names it does not know are refused, and all but the repeatable one come once.
func (c *call) openArguments(text, repeatable string, allowed ...string) (url.Values, bool) {
	given, err := url.ParseQuery(text)
	if err != nil {
		return nil, c.badOpenRequest("query string: " + err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch {
		case name == keyParameter && c.front.admission == demandKeyInURL:
		case name != repeatable && !slices.Contains(allowed, name):
			return nil, c.badOpenRequest(name + ": unknown parameter")
		case name != repeatable && len(given[name]) != 1:
			return nil, c.badOpenRequest(name + ": given more than once")
		}
	}
	return given, true
}

func (c *call) badOpenRequest(text string) bool {
	c.refuse(http.StatusBadRequest, "", text)
	return false
}

// openNumber reads an optional number of at least lowest.
func (c *call) openNumber(given url.Values, name string, lowest, standard int) (int, bool) {
	if !given.Has(name) {
		return standard, true
	}
	n, err := strconv.Atoi(given.Get(name))
	if err != nil || n < lowest {
		return 0, c.badOpenRequest(fmt.Sprintf("%s: %q is not a number from %d", name, clip(given.Get(name)), lowest))
	}
	return n, true
}

// openCursor reads a cursor, which carries the time it was made when cursors age.
func (c *call) openCursor(cursor string) (mark, bool) {
	if cursor == "" {
		return mark{}, true
	}
	text, err := cursorEncoding().DecodeString(cursor)
	place, issued, _ := strings.Cut(string(text), "t")
	m, errMark := parseMark(place)
	second, errIssued := strconv.ParseInt("0"+issued, 10, 64)
	if err != nil || errMark != nil || errIssued != nil {
		return mark{}, c.badOpenRequest("unknown cursor")
	}
	if c.expired(second) {
		c.cursorGone()
		return mark{}, false
	}
	return m, true
}

// cursorOf writes a mark as an opaque cursor.
func (c *call) cursorOf(m mark) string {
	text := m.String()
	if c.config.CursorTTL > 0 {
		text += "t" + strconv.FormatInt(c.entry.Time.Unix(), 10)
	}
	return cursorEncoding().EncodeToString([]byte(text))
}

// nextCursor is the JSON of a cursor, null at the end.
func (c *call) nextCursor(next *mark) any {
	switch {
	case next == nil:
		return nil
	case c.entry.Fault == FaultBadLink:
		return map[string]int{"at": next.at}
	default:
		return c.cursorOf(*next)
	}
}

// openLimit is the size of a page.
func (c *call) openLimit(given url.Values, standard, most int) (int, bool) {
	limit, ok := c.openNumber(given, "limit", 1, standard)
	return min(limit, most, c.config.PageRows), ok
}

const (
	openStations   = 90
	openPageRows   = 500
	openClamp      = 5 // rows of readings.csv that a page has at most, whatever is asked for
	alertsStandard = 3
)

// station is one row of stations and of both searches.
type station struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	Basin stationBasin `json:"basin"`
	Open  bool         `json:"open"`
}

type stationBasin struct {
	Name string  `json:"name"`
	Area rawJSON `json:"area"`
}

// rawJSON is written as it stands.
type rawJSON string

// MarshalJSON returns the text.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func basins() []string { return []string{"danube", "elbe", "odra", "rhône"} }

// stationsIn lists the stations of some basins, of all when there are none.
func (w *world) stationsIn(chosen []string) []station {
	var list []station
	for i := range openStations {
		h := hashText(w.values.Seed+11, strconv.Itoa(i))
		s := station{
			ID: fmt.Sprintf("st-%03d", i+1), Name: "Gauge \"" + strconv.Itoa(i+1) + "\" at Mühlacker",
			Basin: stationBasin{basins()[h%4], rawJSON(tenths(mix(h) % 100_000))}, Open: h%3 != 0,
		}
		if h%6 == 1 {
			s.Basin.Area = "-999999"
		}
		if len(chosen) == 0 || slices.Contains(chosen, s.Basin.Name) {
			list = append(list, s)
		}
	}
	return list
}

func answerStations(c *call) int64 {
	given, ok := c.openArguments(c.request.URL.RawQuery, "basin", "limit", "cursor")
	if !ok {
		return 0
	}
	return c.sendStations(given, c.world.stationsIn(given["basin"]), given.Get("cursor"), func(list []station, next *mark) any {
		return map[string]any{"data": list, "meta": map[string]any{"next_cursor": c.nextCursor(next), "count": len(list)}}
	})
}

// sendStations answers with a page of stations in the envelope of the endpoint.
func (c *call) sendStations(given url.Values, list []station, cursor string, envelope func([]station, *mark) any) int64 {
	limit, ok := c.openLimit(given, 20, openPageRows)
	if !ok {
		return 0
	}
	at, ok := c.openCursor(cursor)
	if !ok {
		return 0
	}
	if most := c.config.MaxQueryRows; most > 0 && int64(len(list)) > most {
		c.overServerLimits(int64(len(list)))
		return 0
	}
	p := c.cutPage(len(list), at, limit)
	page := slices.Clone(list[p.from:p.to])
	if c.entry.Fault == FaultHugeNumber && len(page) > 0 {
		page[0].Basin.Area = rawJSON(hugeNumber())
	}
	if page == nil {
		page = []station{}
	}
	c.out.json(http.StatusOK, envelope(page, p.next))
	return int64(len(page))
}

func answerReadings(c *call) int64 {
	given, ok := c.openArguments(c.request.URL.RawQuery, "", "station", "start", "end", "offset", "limit", "order")
	if !ok {
		return 0
	}
	if given.Has("order") && given.Get("order") != "station,ts" {
		c.badOpenRequest("order: must be station,ts")
		return 0
	}
	start, errStart := time.Parse(time.DateOnly, given.Get("start"))
	end, errEnd := time.Parse(time.DateOnly, given.Get("end"))
	if errStart != nil || errEnd != nil || end.Before(start) || end.Sub(start) > 100*366*24*time.Hour {
		c.badOpenRequest("start, end: must be dates in order, at most a century apart")
		return 0
	}
	limit, ok := c.openLimit(given, openClamp, openClamp)
	if !ok {
		return 0
	}
	offset, ok := c.openNumber(given, "offset", 0, 0)
	if !ok {
		return 0
	}
	rows := c.world.readings(given.Get("station"), start, end)
	if len(rows) == 0 {
		c.refuse(http.StatusNotFound, "", "no observations")
		return 0
	}
	if most := c.config.MaxQueryRows; most > 0 && int64(len(rows)) > most {
		c.overServerLimits(int64(len(rows)))
		return 0
	}
	p := c.cutPage(len(rows), mark{at: offset}, limit)
	page := slices.Clone(rows[p.from:p.to])
	if c.entry.Fault == FaultHugeNumber && len(page) > 0 {
		page[0][2] = hugeNumber()
	}
	c.out.text(http.StatusOK, "text/csv; charset=utf-8", csvText(append([][]string{{"station", "ts", "flow", "remark"}}, page...)))
	return int64(len(page))
}

// readings are one on the first of each month, for one station or all.
func (w *world) readings(station string, start, end time.Time) [][]string {
	var rows [][]string
	for _, s := range w.stationsIn(nil) {
		if station != "" && s.ID != station {
			continue
		}
		for at := start.AddDate(0, 0, 1-start.Day()); !at.After(end); at = at.AddDate(0, 1, 0) {
			h := hashText(w.values.Seed+12, s.ID, at.Format(time.DateOnly))
			if at.Before(start) || at.Before(dayTime(w.first)) || at.After(dayTime(w.last)) {
				continue
			}
			flow, remark := tenths(h%5_000), ""
			switch h % 16 {
			case 0:
				flow = "-999999"
			case 1:
				flow = "NA"
			case 2:
				flow, remark = "", `gauge "broken", repaired`
			case 3:
				remark = "ice,\nthin"
			}
			rows = append(rows, []string{s.ID, at.Format("2006-01-02T15:04:05Z"), flow, remark})
		}
	}
	return rows
}
