package service

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/cql2"
)

// writeLines writes one row a line. Blank lines are passed over; a last line without its end counts when it is whole.
func (w *rowWriter) writeLines(text []byte) error {
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if cql2.Depth(line) > maxJSONDepth {
			return badPage("line %d: the JSON is nested deeper than %d levels", number, maxJSONDepth)
		}
		var compact bytes.Buffer
		compact.Grow(len(line))
		if err := json.Compact(&compact, line); err != nil {
			problem := fmt.Sprintf("line %d: %s", number, err)
			if line[len(line)-1] != '\n' {
				problem = fmt.Sprintf("line %d is cut off", number)
			}
			return notRows(formatJSONL, text, problem, err)
		}
		if err := w.write(gjson.Parse(compact.String())); err != nil {
			return err
		}
	}
	return nil
}
