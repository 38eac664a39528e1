package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/braidhq/braid/pkg/jcs"
	"github.com/braidhq/braid/pkg/planner/matrix"
)

// ErrQueryContext means that a chart's stored query context is none that can be sent.
var ErrQueryContext = errors.New("bad query context")

// MaxQueries bounds the query objects of one request.
const MaxQueries = 100

// Payload is the body of the request: the chart's stored query context with the variation applied to it. force, result_type and result_format are
// overwritten, of each query object too; form_data says which chart of which dashboard it is, and of which kind; the filters of the variation that are in scope
// for the chart are appended to each query's filters; a time range replaces that of the chart, in TEMPORAL_RANGE filters and in time_range
// where the query has them. Members stay as they were stored, in the order of their names. The error wraps ErrQueryContext.
func Payload(r Request) ([]byte, error) {
	t, err := newTemplate(r.Dashboard, &r.Chart, r.Filters)
	if err != nil {
		return nil, err
	}
	a, err := askedOf(&r.Variation)
	if err != nil {
		return nil, err
	}
	return t.body(t.apply(a), r.Force), nil
}

// template is a chart's query context, taken apart as far as variations change it.
type template struct {
	chart   int64
	members map[string]json.RawMessage // of the query context, without queries and what is overwritten
	queries []queryTemplate
	out     map[string]bool // columns of the dashboard's filters that do not touch the chart
}

type queryTemplate struct {
	members map[string]json.RawMessage // without filters and time_range
	filters []json.RawMessage
	ranges  []map[string]json.RawMessage // beside filters: the TEMPORAL_RANGE ones taken apart, the others nil
	own     json.RawMessage              // nil: it has no time_range
}

// applied is what a variation comes to for one chart: equal ones give equal bodies, and different ones different bodies.
type applied struct {
	clauses   string // in canonical form, with a comma before each
	timeRange string // empty: the chart's own stays
}

func newTemplate(dashboard int64, chart *Chart, filters []NativeFilter) (*template, error) {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("chart %d: %w: "+format, append([]any{chart.ID, ErrQueryContext}, args...)...)
	}
	t := &template{chart: chart.ID, out: outOfScope(chart.ID, filters)}
	if err := json.Unmarshal(chart.QueryContext, &t.members); err != nil || t.members == nil {
		return nil, bad("it is no JSON object")
	}
	var queries []map[string]json.RawMessage
	if err := json.Unmarshal(t.members["queries"], &queries); err != nil || len(queries) == 0 || len(queries) > MaxQueries {
		return nil, bad("queries is no list of 1 to %d query objects", MaxQueries)
	}
	for i, members := range queries {
		if members == nil {
			return nil, bad("query %d is no object", i)
		}
		q, err := newQueryTemplate(members)
		if err != nil {
			return nil, bad("query %d: %s", i, err)
		}
		t.queries = append(t.queries, q)
	}
	form := map[string]json.RawMessage{}
	if raw, ok := given(t.members["form_data"]); ok {
		if err := json.Unmarshal(raw, &form); err != nil {
			return nil, bad("form_data is no object")
		}
	}
	form["slice_id"] = strconv.AppendInt(nil, chart.ID, 10)
	form["dashboardId"] = strconv.AppendInt(nil, dashboard, 10)
	if chart.VizType != "" {
		form["viz_type"] = jcs.AppendString(nil, chart.VizType)
	}
	// What would make the answer come another way or be no measurement of the stored request.
	for _, name := range []string{"queries", "force", "async_mode", "force_nonce", "tab_id"} {
		delete(t.members, name)
	}
	t.members["form_data"] = appendMembers(nil, form)
	t.members["result_type"] = json.RawMessage(`"full"`)
	t.members["result_format"] = json.RawMessage(`"json"`)
	if _, ok := given(t.members["datasource"]); !ok && len(chart.Datasource) > 0 {
		t.members["datasource"] = chart.Datasource
	}
	return t, nil
}

func newQueryTemplate(members map[string]json.RawMessage) (queryTemplate, error) {
	q := queryTemplate{members: members}
	if raw, ok := given(members["filters"]); ok {
		if err := json.Unmarshal(raw, &q.filters); err != nil {
			return q, errors.New("filters is no list")
		}
	}
	for i, raw := range q.filters {
		var clause map[string]json.RawMessage
		if json.Unmarshal(raw, &clause) != nil {
			clause = nil // not a clause that this knows: it stays as it is
		}
		if op, _ := jsonText(clause["op"]); !strings.EqualFold(strings.TrimSpace(op), "TEMPORAL_RANGE") {
			clause = nil
		} else {
			q.filters[i] = appendMembers(nil, clause) // so that a range that is replaced by itself changes nothing
		}
		q.ranges = append(q.ranges, clause)
	}
	if raw, ok := given(members["time_range"]); ok {
		q.own = raw
		delete(members, "time_range")
	}
	delete(members, "filters")
	delete(members, "result_type") // it would outrank that of the request
	delete(members, "result_format")
	return q, nil
}

// outOfScope are the columns whose filters do not touch the chart: some filter of the dashboard has the column, and none that has it has the chart. A
// column that no filter of the dashboard has is the profile's own, and goes to all charts.
func outOfScope(chart int64, filters []NativeFilter) map[string]bool {
	out := make(map[string]bool)
	for _, f := range filters {
		if !slices.Contains(f.Charts, chart) {
			for _, column := range f.Columns {
				out[column] = true
			}
		}
	}
	for _, f := range filters {
		if slices.Contains(f.Charts, chart) {
			for _, column := range f.Columns {
				delete(out, column)
			}
		}
	}
	return out
}

// asked is what a variation asks for, before it is known of which chart.
type asked struct {
	clauses   []askedClause
	timeRange string
}

type askedClause struct {
	column string
	text   string // with a comma before it
}

func askedOf(v *Variation) (asked, error) {
	clauses, err := v.Filters()
	if err != nil {
		return asked{}, err
	}
	a := asked{timeRange: v.TimeRange, clauses: make([]askedClause, len(clauses))}
	for i, c := range clauses {
		a.clauses[i] = askedClause{column: c.Column, text: string(appendClause([]byte{','}, c))}
	}
	return a, nil
}

// apply tells what is left of a variation for the chart.
func (t *template) apply(v asked) applied {
	var text strings.Builder
	for _, c := range v.clauses {
		if !t.out[c.column] {
			text.WriteString(c.text)
		}
	}
	a := applied{clauses: text.String()}
	if v.timeRange != "" && t.changes(v.timeRange) {
		a.timeRange = v.timeRange
	}
	return a
}

// changes tells whether the chart has a time range that is not this one.
func (t *template) changes(timeRange string) bool {
	text := jcs.AppendString(nil, timeRange)
	for _, q := range t.queries {
		if q.own != nil && !bytes.Equal(q.own, text) {
			return true
		}
		for _, clause := range q.ranges {
			if clause != nil && !bytes.Equal(clause["val"], text) {
				return true
			}
		}
	}
	return false
}

// appendClause writes a clause as the server takes it: what has no value has no val either way.
func appendClause(out []byte, c matrix.Clause) []byte {
	out = append(jcs.AppendString(append(out, `{"col":`...), c.Column), `,"op":`...)
	out = append(jcs.AppendString(out, c.Operator), `,"val":`...)
	if len(c.Value) == 0 {
		return append(out, "null}"...)
	}
	return append(append(out, c.Value...), '}')
}

// body puts the request together.
func (t *template) body(a applied, force bool) []byte {
	members := maps.Clone(t.members)
	members["force"] = strconv.AppendBool(nil, force)
	queries := []byte{'['}
	for i := range t.queries {
		if i > 0 {
			queries = append(queries, ',')
		}
		queries = t.queries[i].appendTo(queries, a)
	}
	members["queries"] = append(queries, ']')
	return appendMembers(nil, members)
}

func (q *queryTemplate) appendTo(out []byte, a applied) []byte {
	members := maps.Clone(q.members)
	if q.own != nil {
		members["time_range"] = q.own
		if a.timeRange != "" {
			members["time_range"] = jcs.AppendString(nil, a.timeRange)
		}
	}
	var filters []byte
	for i, raw := range q.filters {
		filters = append(filters, ',')
		if q.ranges[i] == nil || a.timeRange == "" {
			filters = append(filters, raw...)
			continue
		}
		clause := maps.Clone(q.ranges[i])
		clause["val"] = jcs.AppendString(nil, a.timeRange)
		filters = appendMembers(filters, clause)
	}
	filters = bytes.TrimPrefix(append(filters, a.clauses...), []byte(","))
	members["filters"] = slices.Concat([]byte("["), filters, []byte("]"))
	return appendMembers(out, members)
}

// appendMembers writes an object, its members in the order of their names, their values as they are.
func appendMembers(out []byte, members map[string]json.RawMessage) []byte {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jcs.AppendString(out, name), ':')
		out = append(out, members[name]...)
	}
	return append(out, '}')
}
