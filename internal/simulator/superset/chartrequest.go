package superset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a request of chart/data.
const (
	maxQueries = 100
	maxFilters = 1000
	maxColumns = 1000 // and metrics
)

// chartRequest is the body of POST /api/v1/chart/data.
type chartRequest struct {
	Datasource   *datasource       `json:"datasource"`
	Queries      []json.RawMessage `json:"queries"`
	FormData     json.RawMessage   `json:"form_data"`
	Force        bool              `json:"force"`
	ResultType   string            `json:"result_type"`
	ResultFormat string            `json:"result_format"`
	Timeout      *int64            `json:"custom_cache_timeout"`
	AsyncMode    bool              `json:"async_mode"`
	TabID        string            `json:"tab_id"`
	ForceNonce   json.RawMessage   `json:"force_nonce"` // a text, or one for each query

	slice, dashboard int64 // of the form data; 0: none
	queries          []*query
}

type datasource struct {
	ID   json.RawMessage `json:"id"`
	Type string          `json:"type"`
}

// query is a query object.
type query struct {
	Columns        []json.RawMessage `json:"columns"`
	Groupby        []json.RawMessage `json:"groupby"`
	Metrics        []json.RawMessage `json:"metrics"`
	OrderBy        []json.RawMessage `json:"orderby"`
	Filters        []clause          `json:"filters"`
	TimeRange      *string           `json:"time_range"`
	Granularity    *string           `json:"granularity"`
	RowLimit       *int              `json:"row_limit"`
	RowOffset      int               `json:"row_offset"`
	PostProcessing []json.RawMessage `json:"post_processing"`
	ForceNonce     string            `json:"force_nonce"`

	members map[string]json.RawMessage
	nonce   string
}

// clause is a filter of a query object.
type clause struct {
	Col json.RawMessage `json:"col"`
	Op  string          `json:"op"`
	Val json.RawMessage `json:"val"`
}

func (f clause) column() string { return label(f.Col) }

// label is the name of a column or metric: its text, or the label of one made for the occasion.
func label(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var adhoc struct {
		Label  string `json:"label"`
		Column struct {
			Name string `json:"column_name"`
		} `json:"column"`
		Expression string `json:"sqlExpression"`
	}
	if json.Unmarshal(raw, &adhoc) != nil {
		return ""
	}
	return first(adhoc.Label, adhoc.Column.Name, adhoc.Expression)
}

// adhoc tells a column or metric made for the occasion from one of the dataset.
func adhoc(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func operators() []string {
	return []string{
		"==", "!=", ">", "<", ">=", "<=", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "IN", "NOT IN", "IS NULL", "IS NOT NULL",
		"IS TRUE", "IS FALSE", "TEMPORAL_RANGE",
	}
}

// readChartRequest reads a body. Its error is the message of a 400.
func readChartRequest(body []byte) (*chartRequest, error) {
	if !json.Valid(body) || len(bytes.TrimSpace(body)) == 0 {
		return nil, fmt.Errorf("Request is not JSON")
	}
	var c chartRequest
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, incorrect("%v", err)
	}
	var form struct {
		Slice     json.RawMessage `json:"slice_id"`
		Dashboard json.RawMessage `json:"dashboardId"`
	}
	if len(c.FormData) > 0 && json.Unmarshal(c.FormData, &form) == nil {
		c.slice, c.dashboard = number(form.Slice), number(form.Dashboard)
	}
	c.ResultType, c.ResultFormat = first(c.ResultType, "full"), first(c.ResultFormat, "json")
	switch {
	case c.Datasource == nil:
		return &c, incorrect("{'datasource': ['Missing data for required field.']}")
	case len(c.Queries) > maxQueries:
		return &c, incorrect("{'queries': ['Longer than maximum length %d.']}", maxQueries)
	case !slices.Contains([]string{"full", "results", "samples", "query", "columns", "timegrains", "post_processed", "drill_detail"}, c.ResultType):
		return &c, incorrect("{'result_type': ['Must be one of: columns, full, query, results, samples, timegrains, post_processed, drill_detail.']}")
	case !slices.Contains([]string{"json", "csv", "xlsx"}, c.ResultFormat):
		return &c, incorrect("{'result_format': ['Must be one of: csv, json, xlsx.']}")
	}
	for i, raw := range c.Queries {
		q, err := readQuery(raw)
		if err != nil {
			return &c, incorrect("{'queries': {%d: %v}}", i, err)
		}
		q.nonce = first(q.ForceNonce, nonceOf(c.ForceNonce, i))
		c.queries = append(c.queries, q)
	}
	return &c, nil
}

func incorrect(format string, args ...any) error {
	return fmt.Errorf("Request is incorrect: "+format, args...)
}

func readQuery(raw json.RawMessage) (*query, error) {
	var q query
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &q.members); err != nil {
		return nil, err
	}
	if len(q.Filters) > maxFilters {
		return nil, fmt.Errorf("{'filters': ['Longer than maximum length %d.']}", maxFilters)
	}
	if len(q.Columns)+len(q.Groupby)+len(q.Metrics) > maxColumns {
		return nil, fmt.Errorf("{'columns': ['Longer than maximum length %d.']}", maxColumns)
	}
	for _, f := range q.Filters {
		if !slices.Contains(operators(), strings.ToUpper(f.Op)) {
			return nil, fmt.Errorf("{'filters': {'op': ['Must be one of: %s.']}}", strings.Join(operators(), ", "))
		}
	}
	if q.RowLimit != nil && *q.RowLimit < 0 {
		return nil, fmt.Errorf("{'row_limit': ['Must be greater than or equal to 0.']}")
	}
	if q.RowOffset < 0 {
		return nil, fmt.Errorf("{'row_offset': ['Must be greater than or equal to 0.']}")
	}
	return &q, nil
}

// number reads a JSON number or a text of one; 0 if it is neither.
func number(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func nonceOf(raw json.RawMessage, i int) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var texts []string
	if json.Unmarshal(raw, &texts) == nil && i < len(texts) {
		return texts[i]
	}
	return ""
}

// find gives the dataset; nil: not there. Only dev knows UUIDs.
func (d *datasource) find(st *state) *Dataset {
	if set := st.world.dataset(number(d.ID)); set != nil {
		return set
	}
	var uuid string
	if st.config.Profile != Dev || json.Unmarshal(d.ID, &uuid) != nil || uuid == "" {
		return nil
	}
	return find(st.world.Datasets, func(set *Dataset) bool { return set.UUID == uuid })
}

// limit is the number of rows that a query may give.
func (q *query) limit(most int) int {
	limit := 50_000
	if q.RowLimit != nil && *q.RowLimit > 0 {
		limit = *q.RowLimit
	}
	return min(limit, most)
}

// groups are the columns that a query groups by.
func (q *query) groups() []json.RawMessage {
	if len(q.Columns) > 0 {
		return q.Columns
	}
	return q.Groupby
}

// rangeText is the time range in force and its column: time_range, else that of a TEMPORAL_RANGE filter.
func (q *query) rangeText() (text, column string) {
	if q.Granularity != nil {
		column = *q.Granularity
	}
	if q.TimeRange != nil {
		text = *q.TimeRange
	}
	for _, f := range q.Filters {
		var val string
		if strings.EqualFold(f.Op, "TEMPORAL_RANGE") && json.Unmarshal(f.Val, &val) == nil {
			if text == "" {
				text = val
			}
			if column == "" {
				column = f.column()
			}
		}
	}
	return text, column
}
