package superset

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// dialect writes the fields of a result as the profile does: in its order, with Python's separators.
type dialect struct {
	out *bufio.Writer
	row []byte
	any bool // a member was written
}

func (d *dialect) text(s string) { _, _ = d.out.WriteString(s) } // the error stays in the writer

func (d *dialect) member(name string) {
	if d.any {
		d.text(", ")
	}
	d.any = true
	d.text(`"` + name + `": `)
}

func (d *dialect) raw(name, value string) {
	d.member(name)
	d.text(value)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of our own types
	}
	return string(text)
}

// field is a member of a result: its JSON text, or rows.
type field struct {
	name  string
	value string
	rows  *rowset
}

// writeResults answers 200.
func (x *exchange) writeResults(q *inquiry, results []*result) {
	if q.request.ResultFormat == "csv" {
		x.writeCSV(results)
		return
	}
	x.headers.Set("Content-Type", "application/json; charset=utf-8")
	x.compress()
	x.WriteHeader(http.StatusOK)
	fault := x.fault.fault
	if fault.Action == ResultLength {
		results = resized(results, fault.Length)
	}
	if fault.Action == WrongJSON {
		defer func() { x.spoilEnd(first(fault.Message, `, "result": [}`)) }()
	}
	d := &dialect{out: bufio.NewWriterSize(x, pieceBytes)}
	d.text(`{"result": [`)
	for i, r := range results {
		if i > 0 {
			d.text(", ")
		}
		if fault.Action == Spoil && (fault.Query < 0 || fault.Query == i) && len(fault.Replace) > 0 {
			d.text(string(fault.Replace))
			continue
		}
		fields := x.fields(q, r)
		if fault.Action == Spoil && (fault.Query < 0 || fault.Query == i) {
			fields = fault.spoil(fields)
		}
		d.object(fields)
	}
	d.text("]}")
	if fault.Action != WrongJSON {
		d.text("\n")
	}
	_ = d.out.Flush() // a client that has gone is noted where it is written to
}

func (x *exchange) spoilEnd(text string) { _, _ = x.Write([]byte(text)) } // likewise

func resized(results []*result, n int) []*result {
	for len(results) > 0 && len(results) < n {
		results = append(results, results[0])
	}
	return results[:min(n, len(results))]
}

func (d *dialect) object(fields []field) {
	d.any = false
	d.text("{")
	for _, f := range fields {
		if f.rows == nil {
			d.raw(f.name, f.value)
			continue
		}
		d.member(f.name)
		d.text("[")
		for i := range f.rows.count {
			d.row = d.row[:0]
			if i > 0 {
				d.row = append(d.row, ", "...)
			}
			d.row = f.rows.appendRow(d.row, i)
			if _, err := d.out.Write(d.row); err != nil {
				return // nobody reads any more
			}
		}
		d.text("]")
	}
	d.text("}")
}

// fields are the members of a result in the profile's order.
func (x *exchange) fields(q *inquiry, r *result) []field {
	set := r.rows
	names, types, indexes := []string{}, []int{}, []int{}
	for _, c := range set.columns {
		names, types = append(names, c.name), append(types, c.kind)
	}
	for _, name := range set.metrics {
		names, types = append(names, name), append(types, typeNumber)
	}
	for i := range set.count {
		if i == 1000 {
			break // the real list is as long as the rows; nobody reads it
		}
		indexes = append(indexes, i)
	}
	colnames := "[" + strings.Join(names, ", ") + "]"
	count := strconv.Itoa(set.count)
	short := []field{
		{name: "data", rows: set},
		{name: "colnames", value: colnames},
		{name: "coltypes", value: jsonText(types)},
		{name: "rowcount", value: count},
		{name: "sql_rowcount", value: count},
	}
	switch q.request.ResultType {
	case "results", "samples", "drill_detail":
		return short
	case "query":
		return []field{{name: "query", value: jsonText(set.sql)}, {name: "language", value: `"sql"`}}
	case "columns", "timegrains":
		return []field{{name: "data", value: colnames}}
	}
	cached, isCached := "null", "null"
	if r.cached {
		cached, isCached = jsonText(r.stored.UTC().Format("2006-01-02T15:04:05")), "true"
	} else if x.st.config.Profile == Old {
		isCached = "false"
	}
	full := []field{{name: "cache_key", value: jsonText(r.key)}, {name: "cached_dttm", value: cached}}
	if x.st.config.Profile == Dev {
		full = append(full, field{name: "queried_dttm", value: jsonText(r.queried.UTC().Format("2006-01-02T15:04:05") + "+00:00")})
	}
	full = append(full,
		field{name: "cache_timeout", value: strconv.FormatInt(r.timeout, 10)},
		field{name: "applied_template_filters", value: "[]"}, field{name: "annotation_data", value: "{}"}, field{name: "error", value: "null"},
		field{name: "is_cached", value: isCached},
	)
	if x.caller.guest == nil {
		full = append(full, field{name: "query", value: jsonText(set.sql)})
	}
	full = append(full,
		field{name: "status", value: `"success"`}, field{name: "stacktrace", value: "null"}, field{name: "rowcount", value: count},
		field{name: "sql_rowcount", value: count}, field{name: "from_dttm", value: jsonText(millis(r.dates.from))},
		field{name: "to_dttm", value: jsonText(millis(r.dates.to))}, field{name: "label_map", value: "{}"},
		field{name: "colnames", value: colnames}, field{name: "indexnames", value: jsonText(indexes)},
		field{name: "coltypes", value: jsonText(types)}, field{name: "data", rows: set}, field{name: "result_format", value: `"json"`},
		field{name: "applied_filters", value: filterList(set.applied, "")},
		field{name: "rejected_filters", value: filterList(set.rejected, "not_in_datasource")},
	)
	if x.st.config.Profile == Dev {
		full = append(full, field{name: "warning", value: "null"}, field{name: "detected_currency", value: "null"})
	}
	return full
}

// filterList lists columns of filters, each once.
func filterList(columns []string, reason string) string {
	list := []map[string]string{}
	for i, name := range columns {
		if slices.Contains(columns[:i], name) {
			continue
		}
		f := map[string]string{"column": name}
		if reason != "" {
			f["reason"] = reason
		}
		list = append(list, f)
	}
	return jsonText(list)
}

// writeCSV exports the first result.
func (x *exchange) writeCSV(results []*result) {
	x.headers.Set("Content-Type", "text/csv; charset=utf-8")
	x.headers.Set("Content-Disposition", `attachment; filename="`+time.Now().UTC().Format("20060102_150405")+`.csv"`)
	x.WriteHeader(http.StatusOK)
	d := &dialect{out: bufio.NewWriterSize(x, pieceBytes)}
	for _, r := range results[:min(1, len(results))] {
		var names []string
		for _, c := range r.rows.columns {
			names = append(names, c.name)
		}
		d.text(strings.Join(append(names, r.rows.metrics...), ",") + "\n")
		for i := range r.rows.count {
			var cells map[string]json.RawMessage
			if json.Unmarshal(r.rows.appendRow(nil, i), &cells) != nil {
				break
			}
			for n, name := range append(slices.Clone(names), r.rows.metrics...) {
				if n > 0 {
					d.text(",")
				}
				d.text(string(cells[strings.Trim(name, `"`)]))
			}
			d.text("\n")
		}
	}
	_ = d.out.Flush() // a client that has gone is noted where it is written to
}
