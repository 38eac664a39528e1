package superset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxBuckets bounds the values of a time column.
const maxBuckets = 10_000

// The types of columns in answers.
const (
	typeNumber  = 0
	typeText    = 1
	typeTime    = 2
	typeBoolean = 3
)

// outColumn is a column of a result: a domain of JSON texts, or numbers up to count.
type outColumn struct {
	name   string
	kind   int
	values []string // nil: 0 to count
	count  int
	stride int // rows from one value to the next
}

// maxProduct is where numbers of combinations end.
const maxProduct = 1 << 36

// rowset is the result of a query: not the rows but what they are made of, so that a million of them are no more than ten.
type rowset struct {
	columns  []outColumn
	metrics  []string
	skip     int
	count    int
	hash     uint64 // of all that the values depend on
	stride   int    // rows are taken in this stride from offset, round the end; 1 and 0: in order
	offset   int
	width    int // of the first row, in bytes
	applied  []string
	rejected []string
	dates    interval
	sql      string
}

// bytes estimates the size of the rows.
func (r *rowset) bytes() int64 { return int64(r.count) * int64(r.width) }

// appendRow appends row i as JSON.
func (r *rowset) appendRow(p []byte, i int) []byte {
	if r.count > 0 {
		i = (i*r.stride + r.offset) % r.count
	}
	i += r.skip
	p = append(p, '{')
	for n, c := range r.columns {
		digit := i / c.stride % c.count
		if n > 0 {
			p = append(p, ", "...)
		}
		p = append(append(p, c.name...), ": "...)
		if c.values == nil {
			p = strconv.AppendInt(p, int64(digit), 10)
		} else {
			p = append(p, c.values[digit]...)
		}
	}
	for n, name := range r.metrics {
		if n > 0 || len(r.columns) > 0 {
			p = append(p, ", "...)
		}
		p = append(append(p, name...), ": "...)
		p = appendMetric(p, mix(r.hash+mix(uint64(i)*31+uint64(n))))
	}
	return append(p, '}')
}

// appendMetric writes a number as Python does; some are null, as NaN is.
func appendMetric(p []byte, h uint64) []byte {
	if h%97 == 0 {
		return append(p, "null"...)
	}
	cents := h % 1_000_000
	if cents%100 == 0 {
		return append(strconv.AppendUint(p, cents/100, 10), ".0"...)
	}
	return strconv.AppendFloat(p, float64(cents)/100, 'f', -1, 64)
}

// asciiJSON is a JSON text in ASCII alone, as the server writes it.
func asciiJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a text
	}
	var b strings.Builder
	for _, r := range string(quoted) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r >= 0x10000:
			high, low := 0xd800+((r-0x10000)>>10), 0xdc00+((r-0x10000)&0x3ff)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// invalidQuery is an error of the query object itself: its text is the message of a 400.
type invalidQuery struct{ text string }

func (e *invalidQuery) Error() string { return e.text }

// execute makes the result of a query of the dataset. execution tells one execution from the others where rows are shuffled.
func (s *state) execute(set *Dataset, q *query, clauses []string, now time.Time, execution uint64) (*rowset, error) {
	text, timeColumn := q.rangeText()
	dates, err := resolve(text, now)
	if err != nil {
		return nil, &invalidQuery{err.Error()}
	}
	r := &rowset{dates: dates, stride: 1}
	kept := map[string][]clause{}
	words := []string{fmt.Sprint(set.ID), fmt.Sprint(dates.from.UnixMilli(), dates.to.UnixMilli())}
	for _, f := range q.Filters {
		name := f.column()
		if set.column(name) == nil && !slices.Contains(set.Metrics, name) && !adhoc(f.Col) {
			r.rejected = append(r.rejected, name)
			continue
		}
		r.applied = append(r.applied, name)
		kept[name] = append(kept[name], f)
		if !strings.EqualFold(f.Op, "TEMPORAL_RANGE") { // the text of a range does not matter, its dates do
			words = append(words, "filter", name, strings.ToUpper(f.Op), compact(f.Val))
		}
	}
	slices.Sort(words[2:])
	words = append(words, clauses...)
	product := 1
	for _, raw := range q.groups() {
		out, err := s.outColumn(set, raw, timeColumn, dates, kept, clauses)
		if err != nil {
			return nil, err
		}
		words = append(words, "column", out.name)
		r.columns = append(r.columns, out)
	}
	for n := len(r.columns) - 1; n >= 0; n-- { // the last column is the fastest
		r.columns[n].stride = product
		product = min(product*r.columns[n].count, maxProduct)
		if r.columns[n].count == 0 {
			product = 0
			break
		}
	}
	for _, raw := range q.Metrics {
		name := label(raw)
		if !adhoc(raw) && !slices.Contains(set.Metrics, name) {
			return nil, &invalidQuery{fmt.Sprintf("Metric '%s' does not exist", name)}
		}
		words = append(words, "metric", name)
		r.metrics = append(r.metrics, asciiJSON(name))
	}
	if len(r.columns)+len(r.metrics) == 0 {
		return nil, &invalidQuery{"Empty query?"}
	}
	if changeAt := s.config.Data.ChangeAt; changeAt > 0 && now.Sub(s.origin) >= changeAt {
		words = append(words, "changed")
	}
	r.hash = hashText(s.config.Seed, words...)
	r.skip = min(q.RowOffset, product)
	r.count = min(product-r.skip, q.limit(s.config.Data.MaxRows))
	if r.count > 0 {
		r.width = len(r.appendRow(nil, 0)) + len(", ")
	}
	if s.config.Data.Shuffle && r.count > 1 {
		r.shuffle(mix(execution))
	}
	r.sql = statement(set, q, clauses)
	return r, nil
}

// shuffle gives the rows another order.
func (r *rowset) shuffle(h uint64) {
	r.offset = int(h % uint64(r.count))
	r.stride = 1 + int(mix(h)%uint64(r.count))
	for gcd(r.stride, r.count) != 1 {
		r.stride++
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func compact(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// outColumn gives the domain of a column under filters and clauses.
func (s *state) outColumn(set *Dataset, raw json.RawMessage, timeColumn string, dates interval, filters map[string][]clause, clauses []string) (outColumn, error) {
	name := label(raw)
	out := outColumn{name: asciiJSON(name), kind: typeText}
	column := set.column(name)
	if column == nil {
		if !adhoc(raw) {
			return out, &invalidQuery{fmt.Sprintf("Columns missing in dataset: ['%s']", name)}
		}
		column = &Column{Name: name, Kind: Texts, Values: []string{"a", "b", "c"}}
	}
	switch column.Kind {
	case Sequence:
		out.kind, out.count = typeNumber, s.config.Data.Rows
	case Wide:
		out.values = []string{`"` + strings.Repeat("x", s.config.Data.Width) + `"`}
	case Months, Days:
		within := interval{}
		if timeColumn == "" || timeColumn == name {
			within = dates
		}
		out.kind, out.values = typeTime, buckets(column.Kind, within)
	case Booleans:
		out.kind, out.values = typeBoolean, []string{"false", "true"}
	default:
		for _, value := range column.Values {
			if keeps(filters[name], value) && allowed(clauses, name, value) {
				out.values = append(out.values, asciiJSON(value))
			}
		}
		if out.values == nil {
			out.values = []string{}
		}
	}
	if out.values != nil {
		out.count = len(out.values)
	}
	return out, nil
}

// buckets are the values of a time column, as milliseconds. An open end is bounded by the years that there are data of.
func buckets(kind ColumnKind, in interval) []string {
	from, to := in.from, in.to
	if from.IsZero() {
		from = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if to.IsZero() {
		to = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	at := from.Truncate(24 * time.Hour)
	if kind == Months {
		at = time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	values := []string{}
	for at.Before(to) && len(values) < maxBuckets {
		if !at.Before(from) || kind == Months {
			values = append(values, strconv.FormatInt(at.UnixMilli(), 10))
		}
		if kind == Months {
			at = at.AddDate(0, 1, 0)
		} else {
			at = at.AddDate(0, 0, 1)
		}
	}
	return values
}

// statement is the SQL that the server shows, of a general form.
func statement(set *Dataset, q *query, clauses []string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, raw := range slices.Concat(q.groups(), q.Metrics) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(label(raw))
	}
	b.WriteString("\nFROM " + set.Name)
	for i, text := range clauses {
		_, sql, _ := strings.Cut(text, "\x00")
		b.WriteString(map[bool]string{true: "\nWHERE ", false: "\n  AND "}[i == 0] + "(" + sql + ")")
	}
	fmt.Fprintf(&b, "\nLIMIT %d", q.limit(maxRows))
	return b.String()
}
