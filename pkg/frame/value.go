package frame

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Value is one cell of a table: null, or the server's exact text. A text that came as a JSON string is without quotes
// and escapes; numbers and booleans are as they were spelled; lists, json and geometries are the server's bytes.
//
// The readings Int64, Float64, Bool, Days, Micros and List give what the text means under a type. They are for values
// of a column of that type, which fit by construction; for a null or a text that does not fit they give the zero value.
type Value struct {
	Null bool
	Text string
}

// Row is the cells of one row, in the order of the table's columns.
type Row []Value

// Int64 reads an int64.
func (v Value) Int64() int64 {
	i, _ := parseInt(v.Text)
	return i
}

// Float64 reads a float64 or a decimal, rounded to the nearest 64-bit float.
func (v Value) Float64() float64 {
	f, ok := parseFloat(v.Text)
	if !ok {
		return 0
	}
	return f
}

// Bool reads a bool.
func (v Value) Bool() bool { return strings.EqualFold(v.Text, "true") }

// Days reads a date as the days since 1970-01-01.
func (v Value) Days() int32 {
	days, _ := parseDate(v.Text)
	return days
}

// Micros reads a timestamp as the whole microseconds since 1970-01-01T00:00:00Z; what is finer is cut off.
func (v Value) Micros() int64 {
	i, _ := parseInstant(v.Text)
	return i.micros()
}

// List reads a list_text.
func (v Value) List() []string {
	var texts []string
	for _, element := range gjson.Parse(v.Text).Array() {
		texts = append(texts, element.String())
	}
	return texts
}

// fits tells whether a text is a value of a type.
func fits(t Type, text string) bool {
	ok := true
	switch t {
	case Text:
	case Int64:
		_, ok = parseInt(text)
	case Float64, Decimal:
		_, ok = parseFloat(text)
	case Bool:
		ok = strings.EqualFold(text, "true") || strings.EqualFold(text, "false")
	case Date:
		_, ok = parseDate(text)
	case Timestamp:
		_, ok = parseInstant(text)
	case ListText:
		ok = isListOfTexts(text)
	case JSON:
		ok = isJSON(text)
	case Geometry:
		ok = isGeometry(text)
	}
	return ok
}

func isListOfTexts(text string) bool {
	if !isJSON(text) {
		return false
	}
	list := gjson.Parse(text)
	return list.IsArray() && !slices.ContainsFunc(list.Array(), func(element gjson.Result) bool {
		return element.Type != gjson.String || !isText(element)
	})
}

func isGeometry(text string) bool {
	if !isJSON(text) {
		return false
	}
	object := gjson.Parse(text)
	if !object.IsObject() {
		return false
	}
	switch object.Get("type").String() {
	case "Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon":
		return object.Get("coordinates").IsArray()
	case "GeometryCollection":
		return object.Get("geometries").IsArray()
	}
	return false
}

// isText tells whether a JSON string is a text: half a surrogate pair is none and would be replaced in silence.
func isText(value gjson.Result) bool {
	rest := value.Raw
	if value.Type != gjson.String {
		return true
	}
	for {
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			return true
		}
		if rest[i+1] != 'u' {
			rest = rest[i+2:]
			continue
		}
		unit := escapedUnit(rest[i:])
		rest = rest[i+len(`\u0000`):]
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if utf16.DecodeRune(unit, escapedUnit(rest)) == utf8.RuneError {
			return false
		}
		rest = rest[len(`\u0000`):]
	}
}

// escapedUnit gives the UTF-16 unit of the escape that text begins with, 0 when it begins with none.
func escapedUnit(text string) rune {
	if len(text) < len(`\u0000`) || text[:2] != `\u` {
		return 0
	}
	unit, _ := strconv.ParseUint(text[2:6], 16, 16)
	return rune(unit)
}

// maxDepth bounds the nesting of JSON: what reads it recurses, and a few megabytes of brackets would exhaust the stack.
const maxDepth = 128

func isJSON(text string) bool { return !nestsDeeper(text) && gjson.Valid(text) }

func nestsDeeper(text string) bool {
	if strings.Count(text, "[")+strings.Count(text, "{") <= maxDepth {
		return false
	}
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// clip bounds a server's text for a report or an error, at a character boundary.
func clip(text string) string {
	const limit = 200
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
