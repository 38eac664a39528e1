package output

import "github.com/braidhq/braid/pkg/frame"

const (
	// The first rows of a table, up to these bounds, tell which columns are to have a dictionary.
	sampleRows  = 32 << 10
	sampleBytes = 16 << 20
	// What the values of a column may come to, as different ones, to be worth a dictionary whatever their number.
	smallDictionaryBytes = 64 << 10
	// The library would give up a dictionary that grows beyond this within a row group, and list the encodings of such a group in
	// an order that differs from one writing of the same table to the next. A row group is smaller than this.
	dictionaryPageBytes = 1 << 30
)

// firstRows are those of a table, kept until it is known which of the columns repeat their values.
type firstRows struct {
	rows   []frame.Row
	bytes  int
	values []repeats // by column
}

// repeats counts the different values of a column.
type repeats struct {
	list   bool
	seen   map[string]struct{}
	values int
	bytes  int // of the different ones, as a dictionary has them
}

func newFirstRows(columns []frame.Column) *firstRows {
	s := &firstRows{values: make([]repeats, len(columns))}
	for i, c := range columns {
		s.values[i] = repeats{list: c.Type == frame.ListText, seen: map[string]struct{}{}}
	}
	return s
}

// add keeps a copy of the row and tells whether there are enough.
func (s *firstRows) add(row frame.Row) (enough bool) {
	s.rows = append(s.rows, append(frame.Row(nil), row...))
	for i, v := range row {
		s.bytes += len(v.Text)
		s.values[i].add(v)
	}
	return len(s.rows) >= sampleRows || s.bytes >= sampleBytes
}

// repeating tells for each column whether it is to have a dictionary.
func (s *firstRows) repeating() []bool {
	few := make([]bool, len(s.values))
	for i, r := range s.values {
		few[i] = r.bytes <= smallDictionaryBytes || len(r.seen) <= r.values/2
	}
	return few
}

func (r *repeats) add(v frame.Value) {
	switch {
	case v.Null:
	case r.list:
		for _, text := range v.List() {
			r.see(text)
		}
	default:
		r.see(v.Text)
	}
}

// see counts a value as a dictionary would: a text with its length, a number with eight bytes.
func (r *repeats) see(text string) {
	r.values++
	if _, known := r.seen[text]; !known {
		r.seen[text] = struct{}{}
		r.bytes += max(len(text)+4, 8)
	}
}
