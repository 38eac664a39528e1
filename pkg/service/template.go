package service

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Template is text with placeholders: {} the value or values, {len} the number of characters of a value, {from} and
// {to} the ends of an interval, {page_rows} the rows asked per page, {offset} and {page} where a page begins. Nothing else is
// substituted.
type Template struct {
	text  string
	parts []templatePart
}

type templatePart struct {
	text        string
	placeholder bool
}

func placeholders() []string {
	return []string{"{}", "{len}", "{from}", "{to}", "{page_rows}", "{offset}", "{page}"}
}

// UnmarshalText reads a template; an unknown placeholder or a single brace is an error.
func (t *Template) UnmarshalText(text []byte) error {
	*t = Template{text: string(text)}
	rest := t.text
	for rest != "" {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			t.parts = append(t.parts, templatePart{text: rest})
			return nil
		}
		if open > 0 {
			t.parts = append(t.parts, templatePart{text: rest[:open]})
		}
		rest = rest[open:]
		end := strings.IndexByte(rest, '}')
		if end < 0 || !slices.Contains(placeholders(), rest[:end+1]) {
			return fmt.Errorf("%.60q is no placeholder; known are %s", rest[:max(end+1, 1)], strings.Join(placeholders(), " "))
		}
		t.parts = append(t.parts, templatePart{text: rest[:end+1], placeholder: true})
		rest = rest[end+1:]
	}
	return nil
}

// String is the template as it was written.
func (t Template) String() string { return t.text }

// unknown gives the first placeholder that is not among the allowed ones.
func (t Template) unknown(allowed ...string) (placeholder string, found bool) {
	for _, part := range t.parts {
		if part.placeholder && !slices.Contains(allowed, part.text) {
			return part.text, true
		}
	}
	return "", false
}

func (t Template) has(placeholder string) bool {
	return slices.Contains(t.parts, templatePart{text: placeholder, placeholder: true})
}

// fill writes the template for a query: constant text is escaped, substitutes are escaped already.
func (t Template) fill(substitutes map[string]string) string {
	var out strings.Builder
	for _, part := range t.parts {
		if part.placeholder {
			out.WriteString(substitutes[part.text])
		} else {
			out.WriteString(escape(part.text))
		}
	}
	return out.String()
}

func pageRows(limits Limits) map[string]string {
	return map[string]string{"{page_rows}": strconv.Itoa(limits.PageRows)}
}
