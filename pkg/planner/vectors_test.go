package planner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/service"
)

// vector is a query that the client dataretrieval has divided, and what came of it.
type vector struct {
	ID        string          `json:"id"`
	Builder   string          `json:"builder"` // how the client writes requests
	Args      [][2]compact    `json:"args"`
	URLLimit  int             `json:"url_limit"` // of URL and body together
	MaxChunks int             `json:"max_chunks"`
	Expect    vectorExpect    `json:"expect"`
	Error     *vectorError    `json:"error"`
	Note      json.RawMessage `json:"note"`
}

type vectorExpect struct {
	Total     int `json:"total"`
	OverLimit int `json:"over_limit_requests"`
	Axes      []struct {
		Key   string `json:"key"`
		Atoms int    `json:"atoms"`
		Sizes []int  `json:"sizes"`
	} `json:"axes"`
}

type vectorError struct {
	Kind    string `json:"kind"`
	Reason  string `json:"reason"`
	Offense string `json:"offense"`
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/planner.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []vector `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// compact is an argument: a text, number or truth value, null, or a list of such; any of them may be written in short.
type compact struct {
	texts  []string // as they go into a request
	list   bool
	null   bool
	number bool // every value is a number
	text   bool // it is one text
}

// UnmarshalJSON expands what is written in short.
func (c *compact) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	value, err := expand(value)
	if err != nil {
		return err
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	*c = compact{list: isList, null: value == nil, number: len(list) > 0}
	_, c.text = value.(string)
	for _, item := range list {
		_, isNumber := item.(json.Number)
		c.number = c.number && isNumber
		c.texts = append(c.texts, written(item, isList))
	}
	return nil
}

func written(value any, inList bool) string {
	switch value := value.(type) {
	case nil:
		return ""
	case bool:
		if inList {
			return map[bool]string{true: "True", false: "False"}[value]
		}
		return strconv.FormatBool(value)
	}
	return fmt.Sprint(value)
}

// expand gives the value that a compact one stands for: a sequence is a list, a repeated or joined text a text.
func expand(value any) (any, error) {
	switch value := value.(type) {
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			var err error
			if out[i], err = expand(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		return expandMapping(value)
	}
	return value, nil
}

func expandMapping(m map[string]any) (any, error) {
	number := func(in map[string]any, name string) int {
		n, err := strconv.Atoi(fmt.Sprint(in[name]))
		if err != nil {
			return 0
		}
		return n
	}
	text := func(in map[string]any, name string) string {
		s, _ := in[name].(string)
		return s
	}
	if seq, ok := m["$seq"].(map[string]any); ok {
		list := make([]any, number(seq, "count"))
		for i := range list {
			n := number(seq, "start") + i*number(seq, "step")
			list[i] = fmt.Sprintf("%s%0*d%s", text(seq, "prefix"), number(seq, "width"), n, text(seq, "suffix"))
		}
		return list, nil
	}
	if repeat, ok := m["$repeat"].(map[string]any); ok {
		return strings.Repeat(text(repeat, "text"), number(repeat, "count")), nil
	}
	if join, ok := m["$join"].(map[string]any); ok {
		items, err := expand(join["items"])
		if err != nil {
			return nil, err
		}
		var texts []string
		list, _ := items.([]any)
		for _, item := range list {
			texts = append(texts, fmt.Sprint(item))
		}
		return strings.Join(texts, text(join, "sep")), nil
	}
	return nil, fmt.Errorf("%v is no compact value", m)
}

// sender is the definition of a collection that sends what a builder of the client sends, and the values of a case for it.
type sender struct {
	collection *service.Collection
	values     service.Values
	axes       []string // the parameters that divide, in the order of the axes
	atoms      map[string][]string
	filter     string // the parameter with the filter
}

// neverDivided are the arguments that the client does not divide, whatever they are.
func neverDivided(name string) bool {
	return slices.Contains([]string{
		"properties", "bbox", "datetime", "last_modified", "begin", "begin_utc", "end", "end_utc", "time", "filter", "filter_lang", "limit", "skip_geometry",
	}, name)
}

func timeArgument(name string) bool {
	return slices.Contains([]string{"datetime", "last_modified", "begin", "begin_utc", "end", "end_utc", "time"}, name)
}

// timeText writes a time argument as the client sends it, in a zone of UTC.
func timeText(arg compact, dateOnly bool) string {
	var ends []string
	for _, text := range arg.texts {
		switch {
		case text == "":
			text = ".."
		case strings.ContainsAny(text, "/P") || text == "..":
		case dateOnly:
			text = text[:len(time.DateOnly)]
		default:
			if t, err := time.Parse(time.RFC3339, text); err == nil {
				text = t.UTC().Format(time.RFC3339)
			} else if len(text) == len(time.DateOnly) {
				text += "T00:00:00Z"
			}
		}
		ends = append(ends, text)
	}
	return strings.Join(ends, "/")
}

// argument is one argument as it travels: under the name on the wire.
type argument struct {
	name, wire string
	value      compact
}

// arranged gives the path and the arguments of a case in the order of the URL.
func (v vector) arranged() (path string, args []argument) {
	path = "/items"
	for _, arg := range v.Args {
		name := arg[0].texts[0]
		args = append(args, argument{name, name, arg[1]})
	}
	if v.Builder == "plain" {
		return path, args
	}
	collection := args[0].value.texts[0]
	args = args[1:]
	path = "/" + map[string]string{"waterdata": "ogcapi/v0", "ngwmn": "ngwmn/ogcapi"}[v.Builder] + "/collections/" + collection + "/items"
	rank := map[string]int{"skip_geometry": 1, "limit": 2, "bbox": 3, "properties": 4, "filter_lang": 5}
	limit := compact{texts: []string{"50000"}, number: true}
	for i, arg := range args {
		switch {
		case arg.name == "limit":
			if n, err := strconv.Atoi(arg.value.texts[0]); err == nil && n < 50000 {
				limit = arg.value
			}
		case arg.name == "skip_geometry":
			args[i].wire = "skipGeometry"
		case arg.name == "filter_lang":
			args[i].wire = "filter-lang"
		case timeArgument(arg.name):
			text := timeText(arg.value, collection == "daily" && arg.name != "last_modified")
			args[i].value = compact{texts: []string{text}, text: true}
		}
	}
	args = slices.DeleteFunc(args, func(a argument) bool { return a.name == "limit" })
	args = append(args, argument{"limit", "limit", limit})
	slices.SortStableFunc(args, func(a, b argument) int { return rank[a.name] - rank[b.name] })
	return path, args
}

// newSender writes the definition: a parameter for each argument, in order, and an axis for each list that divides.
func newSender(t *testing.T, v vector) sender {
	t.Helper()
	path, args := v.arranged()
	method, many := "GET", "comma"
	if strings.HasSuffix(path, "/monitoring-locations/items") {
		method, many = "POST_IF_MANY", "cql2_in"
	}
	s := sender{values: service.Values{}, atoms: map[string][]string{}}
	var params, axes strings.Builder
	languageOf := -1
	for i, arg := range args {
		if arg.name == "filter_lang" && arg.value.text {
			languageOf = i
		}
	}
	for i, arg := range args {
		name := fmt.Sprintf("p%d", i)
		rule := "type: text"
		texts := arg.value.texts
		switch {
		case arg.name == "filter" && arg.value.text && texts[0] != "":
			rule = "type: cql2_text, unquoted_numbers: refuse"
			if languageOf >= 0 {
				rule += fmt.Sprintf(", language: p%d, text_languages: [cql-text]", languageOf)
			}
			s.filter = name
			s.atoms[name] = texts
			if languageOf < 0 || args[languageOf].value.texts[0] == "cql-text" {
				s.atoms[name] = cql2.Split(texts[0])
			}
		case arg.value.list && (neverDivided(arg.name) || len(texts) == 0):
			rule += ", many: comma"
		case arg.value.list:
			rule += ", many: " + many
			if arg.value.number {
				rule = "type: float64, many: " + many
			}
			fmt.Fprintf(&axes, "      - pack: %s\n", name)
			s.axes, s.atoms[name] = append(s.axes, name), texts
		}
		if len(texts) == 0 {
			texts = []string{""}
		}
		s.values[name] = texts
		wire, err := json.Marshal(arg.wire)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&params, "      %s: {%s, send: {%s: '{}'}}\n", name, rule, wire)
	}
	if s.filter != "" {
		fmt.Fprintf(&axes, "      - clauses: %s\n", s.filter)
		s.axes = append(s.axes, s.filter)
	}
	s.collection = s.parse(t, v, method, path, params.String(), axes.String())
	return s
}

func (s sender) parse(t *testing.T, v vector, method, path, params, axes string) *service.Collection {
	t.Helper()
	base := "https://api.waterdata.usgs.gov"
	if v.Builder == "plain" {
		base = "https://example.test"
	}
	text := "schema: service/v1\nname: vectors\nbase_url: " + base + "\nhosts: [{host: " + strings.TrimPrefix(base, "https://") + "}]\n" +
		"collections:\n  items:\n    request: {method: " + method + ", path: " + path + "}\n" +
		"    rows: {format: json, at: '$.data[*]'}\n    fields: {id: {type: text}}\n    key: [id]\n    params:\n" + params
	if axes != "" {
		text += "    axes:\n" + axes
	}
	d, err := service.Parse("vectors.yaml", []byte(text))
	if err != nil && method == "POST_IF_MANY" && !strings.Contains(params, "cql2_in") {
		return s.parse(t, v, "GET", path, params, axes) // nothing in the case could be posted
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c, err := d.Collection("items")
	if err != nil {
		t.Fatal(err)
	}
	limited := *c
	limited.Limits.URLBytes, limited.Limits.RequestBytes = 0, v.URLLimit
	return &limited
}
