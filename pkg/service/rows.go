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
	format    rowFormat
	list      Path   // the list of items, of JSON
	take      string // the item's member that is the row; empty: the item itself
	separator byte   // of csv
	comment   byte   // of csv: what a line that is no row begins with; 0: none is
	snake     bool   // names are written in snake case
	from      []fromField
	fields    fieldSet
	unknown   frame.UnknownRule
}

// fromField is a column that is read by a path in the item.
type fromField struct {
	name string
	path Path
}

type rowsRule struct {
	Format    rowFormat `yaml:"format,required"` // of a page
	At        Path      `yaml:"at"`              // of json and geojson: path of the list of items, ending in [*]
	Take      string    `yaml:"take"`            // the item's member that is the row
	Separator separator `yaml:"separator"`       // of csv: one character, or tab
	Comment   string    `yaml:"comment"`         // of csv: what a line begins with that is no row
	Names     nameStyle `yaml:"names"`           // how columns are called
}

type rowFormat string

const (
	formatJSON    rowFormat = "json"
	formatGeoJSON rowFormat = "geojson"
	formatJSONL   rowFormat = "jsonl"
	formatCSV     rowFormat = "csv"
)

// Choices lists the formats.
func (rowFormat) Choices() []string { return []string{"json", "geojson", "jsonl", "csv"} }

// isJSON tells whether a page is one JSON document.
func (f rowFormat) isJSON() bool { return f == formatJSON || f == formatGeoJSON }

// uses tells whether a key of rows has a meaning for the format.
func (f rowFormat) uses(key string) bool {
	switch key {
	case "at":
		return f != formatJSONL && f != formatCSV
	case "take":
		return f != formatCSV
	case "separator", "comment":
		return f == formatCSV || f == ""
	}
	return true
}

// title is the format's name in messages.
func (f rowFormat) title() string {
	switch f {
	case formatCSV:
		return "CSV"
	case formatJSONL:
		return "JSON lines"
	case formatJSON, formatGeoJSON:
	}
	return "JSON"
}

// accept is what a request says that it accepts.
func (f rowFormat) accept() string {
	switch f {
	case formatCSV:
		return "text/csv, */*;q=0.1"
	case formatJSONL:
		return "application/x-ndjson, application/jsonl, */*;q=0.1"
	case formatJSON, formatGeoJSON:
	}
	return "application/json"
}

// separator is what stands between the values of a table.
type separator byte

// UnmarshalText reads one character, or the word tab.
func (s *separator) UnmarshalText(text []byte) error {
	switch {
	case string(text) == "tab":
		*s = '\t'
	case len(text) == 1 && !strings.ContainsAny(string(text), "\"\r\n\x00") && text[0] < 0x80:
		*s = separator(text[0])
	default:
		return fmt.Errorf("%.20q is no separator; write one character such as ';', or the word tab", text)
	}
	return nil
}

func (c *Collection) setRows(rule rowsRule, n strictyaml.Node) {
	c.rows.format, c.rows.take, c.rows.snake = rule.Format, rule.Take, rule.Names == namesSnake
	for key, value := range n.Entries() {
		if !rule.Format.uses(key) {
			value.Fail("is not used with format %s; remove it, here or under defaults", rule.Format)
		}
	}
	switch {
	case rule.Format == formatCSV:
		c.setTable(rule, n)
	case rule.Format.isJSON():
		c.setList(rule, n)
	}
}

func (c *Collection) setTable(rule rowsRule, n strictyaml.Node) {
	c.rows.separator = ','
	if rule.Separator != 0 {
		c.rows.separator = byte(rule.Separator)
	}
	if !n.Has("comment") {
		return
	}
	if len(rule.Comment) != 1 || strings.ContainsAny(rule.Comment, "\" \r\n\t"+string(c.rows.separator)) {
		n.At("comment").Fail("%.20q is not one character that begins a line which is no row, such as '#'", rule.Comment)
		return
	}
	c.rows.comment = rule.Comment[0]
}

func (c *Collection) setList(rule rowsRule, n strictyaml.Node) {
	at := rule.At
	if rule.Format == formatGeoJSON {
		if at.IsZero() {
			at = Path{text: "$.features[*]", steps: []step{{kind: stepMember, name: "features"}, {kind: stepAll}}}
		}
		if !n.Has("take") {
			c.rows.take = "properties"
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
}

// setHeader adds what the collection accepts, unless the definition says it.
func (c *Collection) setHeader() {
	c.header = map[string]string{"Accept": c.rows.format.accept()}
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
	start   int // of the row that is being written
	rows    int
	columns []string
	seen    map[string]bool
	members []member
	places  map[string]int
	names   map[string]member // as sent → as written, of names that are written otherwise
}

type member struct{ name, key, value string }

const (
	maxRows     = 5_000_000
	maxColumns  = 1024
	maxRowBytes = 16 << 20 // of a row as it is stored
)

func newRowWriter(rule *rowRule, bytes int) *rowWriter {
	return &rowWriter{rule: rule, out: make([]byte, 0, bytes), seen: make(map[string]bool), places: make(map[string]int)}
}

func (w *rowWriter) write(item gjson.Result) error {
	if err := w.begin(); err != nil {
		return err
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
			name := member{name: key.Str, key: key.Raw}
			if w.rule.snake {
				name = w.snake(key.Str)
			}
			w.put(name.name, name.key, value.Raw)
			return true
		})
	case w.rule.take == "" || row.Exists() && row.Type != gjson.Null:
		return badPage("row %d is %s, not an object", w.rows, kindOf(row))
	}
	w.putFrom(item)
	return w.flush()
}

// snake gives the name of a column as it is written for one that was sent.
func (w *rowWriter) snake(sent string) member {
	name, known := w.names[sent]
	if !known {
		name.name = snakeCase(sent)
		name.key = jsonText(name.name)
		if w.names == nil {
			w.names = make(map[string]member)
		}
		w.names[strings.Clone(sent)] = name
	}
	return name
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

// putFrom appends the columns that are read elsewhere in the item. Where the path leads to nothing, a member of the column's
// name is no stand-in for it: it is null. Where the row is the item itself, a member that a path names directly has thereby
// got another name and does not stay under its old one.
func (w *rowWriter) putFrom(item gjson.Result) {
	for _, field := range w.rule.from {
		value, ok := field.path.first(item)
		i, taken := w.places[field.name]
		switch {
		case ok && taken:
			w.members[i].value = value.Raw
		case taken:
			w.members[i].value = "null"
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
	first := true
	for _, m := range w.members {
		if w.rule.unknown != frame.UnknownText && !w.rule.fields.has(m.name) {
			if w.rule.unknown == frame.UnknownFail {
				return badPage("row %d has the member %.100q, which the definition does not declare", w.rows, m.name)
			}
			continue
		}
		if err := w.see(m.name); err != nil {
			return err
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		w.out = append(w.out, m.key...)
		w.out = append(w.out, ':')
		w.out = append(w.out, m.value...)
	}
	return w.end()
}

// begin opens a row.
func (w *rowWriter) begin() error {
	if w.rows == maxRows {
		return &ResponseError{Class: ClassTooLarge, Message: fmt.Sprintf("the page has more than %d rows", maxRows)}
	}
	w.start = len(w.out)
	w.out = append(w.out, '{')
	return nil
}

// see counts a column.
func (w *rowWriter) see(name string) error {
	if w.seen[name] {
		return nil
	}
	if len(w.columns) == maxColumns {
		return badPage("the page has more than %d columns", maxColumns)
	}
	name = strings.Clone(name)
	w.seen[name] = true
	w.columns = append(w.columns, name)
	return nil
}

// end closes a row.
func (w *rowWriter) end() error {
	w.out = append(w.out, "}\n"...)
	if size := len(w.out) - w.start; size > maxRowBytes {
		return badPage("row %d has %d bytes, at most %d", w.rows, size, maxRowBytes)
	}
	w.rows++
	return nil
}

// unsteady is the error of a page that contradicts the pages before it, which may be right for itself.
func unsteady(at Walk, format string, args ...any) error {
	return &ResponseError{Class: ClassBadPage, Message: fmt.Sprintf(format, args...), Unsteady: at.Pages > 0}
}

func badPage(format string, args ...any) error {
	return &ResponseError{Class: ClassBadPage, Message: fmt.Sprintf(format, args...)}
}
