package service

import (
	"bytes"
	"encoding/json"
	"fmt"

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
		return &ResponseError{Class: ClassTransient, Message: fmt.Sprintf("JSON without a list at %s: %.200s", w.rule.list, doc.Raw)}
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
