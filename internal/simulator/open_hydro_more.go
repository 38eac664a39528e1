package simulator

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// csvText writes records with the line ends of RFC 4180.
func csvText(records [][]string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	_ = w.WriteAll(records) // into memory, where nothing fails
	return b.String()
}

// event is one row of events. The first id is the first integer that a 64-bit float does not hold.
type event struct {
	ID      rawJSON `json:"id"`
	Kind    string  `json:"kind"`
	Payload rawJSON `json:"payload"`
}

func eventKinds() []string { return []string{"drought", "flood", "ice"} }

func (w *world) eventsOf(kinds []string) []event {
	const first = 9_007_199_254_740_993
	var list []event
	for i := range 23 {
		h := hashText(w.values.Seed+13, strconv.Itoa(i))
		e := event{
			ID: rawJSON(strconv.Itoa(first + i)), Kind: eventKinds()[i%3],
			Payload: rawJSON(`{"peak":1.50e2,"note":"Ä","parts":[1,2.50,{"n":` + strconv.FormatUint(h%100, 10) + `}]}`),
		}
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			list = append(list, e)
		}
	}
	return list
}

func answerEvents(c *call) int64 {
	given, ok := c.openArguments(c.request.URL.RawQuery, "", "kind", "page", "per_page", "sort")
	if !ok {
		return 0
	}
	number, ok := c.openNumber(given, "page", 1, 1)
	if !ok {
		return 0
	}
	size, ok := c.openNumber(given, "per_page", 1, 10)
	if !ok {
		return 0
	}
	var kinds []string
	if given.Has("kind") {
		kinds = strings.Split(given.Get("kind"), ",")
	}
	size = c.clamp(min(size, openPageRows, c.config.PageRows))
	list := c.world.eventsOf(kinds)
	clipped := c.entry.Fault == FaultClipped
	if most := c.config.MaxQueryRows; most > 0 && int64(len(list)) > most {
		list, clipped = list[:most], true
	}
	from := min(len(list), (min(number, maxSeries)-1)*size)
	page := slices.Clone(list[from:min(len(list), from+size)])
	switch {
	case c.entry.Fault == FaultEmptyPage || page == nil:
		page = []event{}
	case c.entry.Fault == FaultHugeNumber && len(page) > 0:
		page[0].ID = rawJSON(hugeNumber())
	}
	c.out.json(http.StatusOK, map[string]any{
		"items": page, "page": number, "pages": (len(list) + size - 1) / size, "total": c.total(len(list)), "clipped": clipped,
	})
	return int64(len(page))
}

// answerAlerts has relative links that lose the limit. Alerts are issued again, under the same id.
func answerAlerts(c *call) int64 {
	given, ok := c.openArguments(c.request.URL.RawQuery, "", "limit", "after")
	if !ok {
		return 0
	}
	limit, ok := c.openLimit(given, alertsStandard, openPageRows)
	if !ok {
		return 0
	}
	at, err := parseMark(pick(given.Has("after"), given.Get("after"), "0"))
	if err != nil {
		c.badOpenRequest("after: " + err.Error())
		return 0
	}
	var lines []string
	for i := range 8 {
		level := strconv.Itoa(1 + i%4)
		if c.entry.Fault == FaultHugeNumber && i == at.at {
			level = hugeNumber()
		}
		lines = append(lines, `{"alert_id":"A-`+strconv.Itoa(1+i%6)+`","issued":"2024-03-0`+strconv.Itoa(1+i)+`T06:00:00Z","level":`+level+"}\n")
	}
	p := c.cutPage(len(lines), at, limit)
	if p.next != nil {
		href := "alerts.jsonl?after=" + p.next.String()
		if c.entry.Fault == FaultForeignNext || c.entry.Fault == FaultAliasNext {
			href = c.linkTo(c.request.URL.EscapedPath() + "?after=" + p.next.String())
		}
		c.headerNext(href)
	}
	c.out.text(http.StatusOK, "application/x-ndjson", strings.Join(lines[p.from:p.to], ""))
	return int64(p.to - p.from)
}

// answerSearch takes a form with the cursor in it.
func answerSearch(c *call) int64 {
	if kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";"); kind != "application/x-www-form-urlencoded" {
		c.refuse(http.StatusUnsupportedMediaType, "", "content type is "+strconv.Quote(clip(kind))+", must be application/x-www-form-urlencoded")
		return 0
	}
	if _, ok := c.openArguments(c.request.URL.RawQuery, ""); !ok {
		return 0
	}
	given, ok := c.openArguments(string(c.body), "basin", "limit", "cursor")
	if !ok {
		return 0
	}
	return c.sendStations(given, c.world.stationsIn(given["basin"]), given.Get("cursor"), func(list []station, next *mark) any {
		return map[string]any{"results": list, "cursor": c.nextCursor(next)}
	})
}

// openQuery is the body of /query, typed.
type openQuery struct {
	Basin  []string `json:"basin"`
	Open   *bool    `json:"open"`
	Limit  *int     `json:"limit"`
	Cursor string   `json:"cursor"`
}

func parseOpenQuery(body []byte) (openQuery, error) {
	var q openQuery
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, errors.New("more than one JSON object")
	}
	return q, nil
}

// answerQuery takes a JSON object with the cursor in it.
func answerQuery(c *call) int64 {
	if kind, _, _ := strings.Cut(c.request.Header.Get("Content-Type"), ";"); kind != "application/json" {
		c.refuse(http.StatusUnsupportedMediaType, "", "content type is "+strconv.Quote(clip(kind))+", must be application/json")
		return 0
	}
	if _, ok := c.openArguments(c.request.URL.RawQuery, ""); !ok {
		return 0
	}
	q, err := parseOpenQuery(c.body)
	if err != nil {
		c.badOpenRequest("body: " + err.Error())
		return 0
	}
	given := url.Values{}
	if q.Limit != nil {
		given.Set("limit", strconv.Itoa(*q.Limit))
	}
	list := c.world.stationsIn(q.Basin)
	if q.Open != nil {
		list = slices.DeleteFunc(list, func(s station) bool { return s.Open != *q.Open })
	}
	return c.sendStations(given, list, q.Cursor, func(list []station, next *mark) any {
		return map[string]any{"results": list, "page": map[string]any{"next": c.nextCursor(next), "more": next != nil}}
	})
}
