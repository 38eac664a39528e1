package output

import (
	"context"

	"github.com/braidhq/braid/pkg/frame"
)

const (
	// A column with more bytes of different values than this is written without a dictionary. The library would begin one
	// and give it up within a row group; the encodings of such a group stand in its metadata in an order that differs from
	// one writing of the same table to the next.
	maxDictionaryBytes = 2 << 20
	// The library's own bound, beyond what a dictionary that was allowed can reach.
	dictionaryPageBytes = 64 << 20
)

// repeats finds the columns of which few values differ, so that a dictionary of them is worth its place.
type repeats struct {
	values []map[string]struct{} // by column; nil once there are too many
	bytes  []int
	last   []string
	list   []bool
}

// repeating tells for each column whether it is to have a dictionary.
func repeating(ctx context.Context, t *frame.Table) ([]bool, error) {
	r := repeats{
		values: make([]map[string]struct{}, len(t.Columns)), bytes: make([]int, len(t.Columns)),
		last: make([]string, len(t.Columns)), list: make([]bool, len(t.Columns)),
	}
	for i, c := range t.Columns {
		r.values[i] = map[string]struct{}{}
		r.list[i] = c.Type == frame.ListText
	}
	for row, err := range t.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		r.add(row)
	}
	few := make([]bool, len(t.Columns))
	for i, values := range r.values {
		few[i] = values != nil
	}
	return few, nil
}

func (r *repeats) add(row frame.Row) {
	for i, v := range row {
		if v.Null || r.values[i] == nil || v.Text == r.last[i] {
			continue
		}
		r.last[i] = v.Text
		if !r.list[i] {
			r.see(i, v.Text)
			continue
		}
		for _, text := range v.List() {
			r.see(i, text)
		}
	}
}

// see counts a value as a dictionary would: a text with its length, a number with eight bytes.
func (r *repeats) see(i int, text string) {
	if _, known := r.values[i][text]; known || r.values[i] == nil {
		return
	}
	r.values[i][text] = struct{}{}
	if r.bytes[i] += max(len(text)+4, 8); r.bytes[i] > maxDictionaryBytes {
		r.values[i] = nil
	}
}
