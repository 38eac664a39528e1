package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// documentVersion is the "v" of what --json prints. A field may be added without another one; a field whose meaning changes gets one.
const documentVersion = 1

// printJSON prints the one document of a command that --json asks for.
func (a *app) printJSON(v any) error {
	a.jsonTold = true
	text, err := asDocument(v)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(text)
	return err
}

// asDocument gives an object with "v" as JSON. What has none, because it is no record that is kept or sent, gets it here: as its first field.
// A list is refused: it goes into an object, under its plural name, where there is room beside it.
func asDocument(v any) ([]byte, error) {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false) // URLs stay as they are
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("print JSON: %w", err)
	}
	object := plain.Bytes()
	if object[0] != '{' {
		return nil, fmt.Errorf("print JSON: a document is an object, not %T", v)
	}
	var has struct {
		V *int `json:"v"`
	}
	if err := json.Unmarshal(object, &has); err != nil {
		return nil, fmt.Errorf("print JSON: %w", err)
	}
	if has.V == nil {
		begin := fmt.Sprintf(`{"v":%d`, documentVersion)
		if object[1] != '}' {
			begin += ","
		}
		object = append([]byte(begin), object[1:]...)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, object, "", "  "); err != nil {
		return nil, fmt.Errorf("print JSON: %w", err)
	}
	return text.Bytes(), nil
}
