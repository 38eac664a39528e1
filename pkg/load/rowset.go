package load

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/braidhq/braid/pkg/jcs"
)

// RowSetOf is the SHA-256 of an answer's rows without their order, by their raw texts. It is empty where that cannot be known: the sample is not all
// of the rows, or the answer has more than one query, of which the sample is of the first alone.
func RowSetOf(sample json.RawMessage, truncated bool, rows int64, queries int) string {
	if truncated || queries != 1 || len(sample) == 0 {
		return ""
	}
	var texts []json.RawMessage
	if json.Unmarshal(sample, &texts) != nil || int64(len(texts)) != rows {
		return ""
	}
	slices.SortFunc(texts, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	var all []byte
	for _, text := range texts {
		all = append(append(all, text...), '\n')
	}
	return jcs.Sum(all)
}

func (e *Execution) rowSet() string {
	if e.RowSet != "" {
		return e.RowSet
	}
	return RowSetOf(e.Sample, e.Truncated, e.Rows, len(e.Queries))
}
