package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/cql2"
)

const maxJSONDepth = 64

// parseJSON reads UTF-8 text as one JSON document without white space between its tokens.
func parseJSON(text []byte) (gjson.Result, error) {
	if cql2.Depth(text) > maxJSONDepth {
		return gjson.Result{}, badPage("the JSON is nested deeper than %d levels", maxJSONDepth)
	}
	var compact bytes.Buffer
	compact.Grow(len(text))
	if err := json.Compact(&compact, text); err != nil {
		return gjson.Result{}, notRows(formatJSON, text, err.Error(), err)
	}
	return gjson.Parse(compact.String()), nil
}

// writeList writes the items of the list that the rule names.
func (w *rowWriter) writeList(doc gjson.Result) error {
	list, ok := w.rule.list.first(doc)
	if !ok || !list.IsArray() && list.Type != gjson.Null {
		// Valid JSON without the list is an error told with status 200, not an empty page: no row may be lost by it.
		return badPage("the answer has no list at rows.at (%s): %s: %.200s", w.rule.list, foundInstead(list, ok, doc), doc.Raw)
	}
	var err error
	if list.IsArray() {
		list.ForEach(func(_, item gjson.Result) bool {
			err = w.write(item)
			return err == nil
		})
	}
	return err
}

// foundInstead tells what stands where a list of items is to be, or, where nothing does, what the document is.
func foundInstead(there gjson.Result, ok bool, doc gjson.Result) string {
	if ok {
		return "there is " + kindOf(there) + keysOf(there)
	}
	return "there is nothing, and the document is " + kindOf(doc) + keysOf(doc)
}

// keysOf names the first members of an object.
func keysOf(object gjson.Result) string {
	if !object.IsObject() {
		return ""
	}
	const most = 5
	var keys []string
	more := ""
	object.ForEach(func(key, _ gjson.Result) bool {
		if len(keys) == most {
			more = ", ..."
			return false
		}
		keys = append(keys, fmt.Sprintf("%.40q", key.Str))
		return true
	})
	if len(keys) == 0 {
		return " without members"
	}
	return " with the members " + strings.Join(keys, ", ") + more
}
