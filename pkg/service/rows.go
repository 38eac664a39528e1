package service

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// rowRule says where the rows stand in a page and which of their members stay.
type rowRule struct {
	list    Path   // the list of items
	take    string // the item's member that is the row; empty: the item itself
	from    []fromField
	fields  fieldSet
	unknown frame.UnknownRule
}

// fromField is a column that is read by a path in the item.
type fromField struct {
	name string
	path Path
}

type rowsRule struct {
	Format rowFormat `yaml:"format,required"`
	At     Path      `yaml:"at"`
	Take   string    `yaml:"take"`
}

type rowFormat string

const (
	formatJSON    rowFormat = "json"
	formatGeoJSON rowFormat = "geojson"
)

// UnmarshalStrict reads a format.
func (f *rowFormat) UnmarshalStrict(n strictyaml.Node) {
	*f = decodeChoice[rowFormat](n, []string{"json", "geojson"}, []string{"jsonl", "csv"})
}

func (c *Collection) setRows(rule rowsRule, n strictyaml.Node) {
	at, take := rule.At, rule.Take
	if rule.Format == formatGeoJSON {
		if at.IsZero() {
			at = Path{text: "$.features[*]", steps: []step{{kind: stepMember, name: "features"}, {kind: stepAll}}}
		}
		if !n.Has("take") {
			take = "properties"
		}
	}
	if at.IsZero() {
		at = Path{text: "$[*]", steps: []step{{kind: stepAll}}}
	}
	last := len(at.steps) - 1
	if last < 0 || at.steps[last].kind != stepAll || slices.ContainsFunc(at.steps[:last], func(s step) bool { return s.kind == stepAll || s.kind == stepFilter }) {
		n.At("at").Fail("%s does not name one list; end it, and only it, with [*]", at)
		return
	}
	c.rows.list = Path{text: strings.TrimSuffix(at.text, "[*]"), steps: at.steps[:last]}
	c.rows.take = take
}

// setHeader adds what the collection accepts, unless the definition says it.
func (c *Collection) setHeader() {
	c.header = map[string]string{"Accept": "application/json"}
	for name, value := range c.request.Headers {
		if strings.EqualFold(name, "Accept") {
			delete(c.header, "Accept")
		}
		c.header[name] = value
	}
}

// rowWriter writes rows as JSON lines in the server's exact text.
type rowWriter struct {
	rule    *rowRule
	out     []byte
	rows    int
	columns []string
	seen    map[string]bool
	members []member
	places  map[string]int
}

type member struct{ name, key, value string }

const (
	maxRows    = 5_000_000
	maxColumns = 1024
)

func newRowWriter(rule *rowRule, bytes int) *rowWriter {
	return &rowWriter{rule: rule, out: make([]byte, 0, bytes), seen: make(map[string]bool), places: make(map[string]int)}
}

func (w *rowWriter) write(item gjson.Result) error {
	if w.rows == maxRows {
		return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the page has more than %d rows", maxRows)}
	}
	row := item
	if w.rule.take != "" {
		var ok bool
		if row, ok = memberOf(item, w.rule.take); !ok && !item.IsObject() {
			return badPage("item %d is %s, not an object", w.rows, kindOf(item))
		}
	}
	w.members = w.members[:0]
	clear(w.places)
	switch {
	case row.IsObject():
		row.ForEach(func(key, value gjson.Result) bool {
			w.put(key.Str, key.Raw, value.Raw)
			return true
		})
	case w.rule.take == "" || row.Exists() && row.Type != gjson.Null:
		return badPage("row %d is %s, not an object", w.rows, kindOf(row))
	}
	w.putFrom(item)
	return w.flush()
}

// put sets a member of the row. A name that the server gives twice keeps its first place and its last value.
func (w *rowWriter) put(name, key, value string) {
	if i, twice := w.places[name]; twice {
		w.members[i].value = value
		return
	}
	w.places[name] = len(w.members)
	w.members = append(w.members, member{name: name, key: key, value: value})
}

// putFrom appends the columns that are read elsewhere in the item. Where the row is the item itself, a member that a
// path names directly has thereby got another name and does not stay under its old one.
func (w *rowWriter) putFrom(item gjson.Result) {
	for _, field := range w.rule.from {
		value, ok := field.path.first(item)
		i, taken := w.places[field.name]
		switch {
		case ok && taken:
			w.members[i].value = value.Raw
		case ok:
			key, err := json.Marshal(field.name)
			if err == nil {
				w.put(field.name, string(key), value.Raw)
			}
		}
	}
	if w.rule.take != "" {
		return
	}
	for _, field := range w.rule.from {
		steps := field.path.steps
		if len(steps) != 1 || steps[0].kind != stepMember || w.rule.fields.has(steps[0].name) {
			continue
		}
		w.members = slices.DeleteFunc(w.members, func(m member) bool { return m.name == steps[0].name })
	}
}

func (w *rowWriter) flush() error {
	w.out = append(w.out, '{')
	first := true
	for _, m := range w.members {
		if w.rule.unknown != frame.UnknownText && !w.rule.fields.has(m.name) {
			if w.rule.unknown == frame.UnknownFail {
				return badPage("row %d has the member %.100q, which the definition does not declare", w.rows, m.name)
			}
			continue
		}
		if !w.seen[m.name] {
			if len(w.columns) == maxColumns {
				return badPage("the page has more than %d columns", maxColumns)
			}
			w.seen[m.name] = true
			w.columns = append(w.columns, strings.Clone(m.name))
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, m.key...)
		w.out = append(w.out, ':')
		w.out = append(w.out, m.value...)
	}
	w.out = append(w.out, "}\n"...)
	w.rows++
	return nil
}

func badPage(format string, args ...any) error {
	return &ResponseError{Class: ClassBadPage, Message: fmt.Sprintf(format, args...)}
}
