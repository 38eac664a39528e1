package superset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

// chartColumn is the column that says which chart a row is of.
const chartColumn = "chart_id"

var _ service.Adapter = (*Client)(nil)

// FetchPage gives the rows of one chart, as ordinary queries read them: the chart's stored request is looked up and sent, on the same way and as the
// same identities as load. The values of the task are chart and, if given, dashboard, role, query and time_range. A chart is one page.
func (c *Client) FetchPage(ctx context.Context, task json.RawMessage, at service.Walk) (service.Page, error) {
	asked, err := readTask(task)
	if err != nil {
		return service.Page{}, err
	}
	who, unknown := c.identityOf(asked.role)
	if unknown != nil {
		return service.Page{}, refusal(unknown)
	}
	chart, reason, err := who.chart(ctx, asked.chart)
	if err != nil {
		return service.Page{}, c.told(ctx, who, err)
	}
	if reason != "" {
		return service.Page{}, &service.ResponseError{Class: service.ClassBadRequest, Message: fmt.Sprintf("the chart %d cannot be read by its request: %s", asked.chart, reason)}
	}
	var page service.Page
	x := &execution{client: c, request: load.Request{
		Dashboard: asked.dashboard, Chart: chart.Chart, Async: c.environment.Async, Deadline: c.definition.Timeouts.Page,
		Variation: load.Variation{Role: asked.role, TimeRange: asked.timeRange, Coordinate: asked.coordinate()},
	}}
	if at.Again != nil {
		x.places.Admit = func(ctx context.Context, _ bool) error { return at.Again(ctx) }
	}
	var bad error
	x.rows = func(answer *scanner, kept *spool) { page, bad = c.page(asked, who, answer, kept) }
	err = x.run(ctx)
	metered := service.Metered{Requests: 1 + x.answer.Requests + x.answer.Polls}
	switch {
	case err != nil:
		return service.Page{}, err
	case x.answer.Outcome != load.Success:
		f := &failure{Kind: x.answer.Kind, Status: x.answer.Status, Message: clip(who.hide(x.answer.Message)), after: x.after}
		return service.Page{}, withMetered(refusal(f), metered)
	case bad != nil:
		return service.Page{}, withMetered(bad, metered)
	}
	page.Status, page.Bytes, page.Metered = x.answer.Status, x.answer.BodyBytes, metered
	return page, nil
}

func withMetered(err error, metered service.Metered) error {
	if refused, ok := errors.AsType[*service.ResponseError](err); ok {
		refused.Metered = metered
	}
	return err
}

// asked is what a task says.
type asked struct {
	collection       string
	chart, dashboard int64
	role             string
	query            int
	timeRange        string
}

func (a asked) coordinate() json.RawMessage {
	text, _ := json.Marshal(map[string]any{"filters": []any{}, "role": a.role, "time_range": orNull(a.timeRange), "viewport": nil}) // plain data
	return text
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func readTask(text json.RawMessage) (asked, error) {
	task, err := service.DecodeTask(text)
	if err != nil {
		return asked{}, err
	}
	a := asked{collection: task.Collection}
	for name, values := range task.Values {
		if len(values) != 1 {
			return asked{}, badTask("%s has %d values in one chunk; divide the collection by `axes: [{each: %s}]`", name, len(values), name)
		}
		value := values[0]
		switch name {
		case "chart":
			a.chart, err = strconv.ParseInt(value, 10, 64)
		case "dashboard":
			a.dashboard, err = strconv.ParseInt(value, 10, 64)
		case "query":
			a.query, err = strconv.Atoi(value)
		case "role":
			a.role = value
		case "time_range":
			a.timeRange = value
		default:
			return asked{}, badTask("the adapter superset knows no parameter %.100q; it has chart, dashboard, role, query and time_range", name)
		}
		if err != nil {
			return asked{}, badTask("%s: %.100q is not a whole number", name, value)
		}
	}
	if a.chart <= 0 || a.query < 0 || a.query >= maxQueryObjects {
		return asked{}, badTask("it needs the number of a chart, and a query from 0 to %d", maxQueryObjects-1)
	}
	return a, nil
}

func badTask(format string, args ...any) error {
	return &service.ResponseError{Class: service.ClassBadRequest, Message: fmt.Sprintf("the item's task: "+format, args...)}
}

// told is the error of what went wrong before the chart's request.
func (c *Client) told(ctx context.Context, who *identity, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("fetch a chart from %s: %w", c.base.Host, context.Cause(ctx))
	}
	return refusal(who.clean(failed(err)))
}

// refusal says in the words of ordinary queries what a failure means.
func refusal(f *failure) error {
	refused := &service.ResponseError{Status: f.Status, Message: clip(f.Error()), RetryAfter: f.after}
	switch f.Kind {
	case load.Auth, load.Forbidden:
		refused.Class = service.ClassAuth
	case load.RateLimited:
		refused.Class = service.ClassQuota
	case load.QueryFailed: // a timeout of the database among them
		refused.Class, refused.GivesUpAs = service.ClassTransient, service.ClassBadRequest
	case load.BadRequest, load.NotFound, load.ClientError:
		refused.Class = service.ClassBadRequest
	case load.BadBody:
		refused.Class = service.ClassBadPage
	default:
		refused.Class = service.ClassTransient
	}
	return refused
}

// page makes rows of the data of one query.
func (c *Client) page(a asked, who *identity, answer *scanner, kept *spool) (service.Page, error) {
	limit := c.definition.Limits.ResponseBytes
	if collection, err := c.definition.Collection(a.collection); err == nil {
		limit = collection.Limits.ResponseBytes
	}
	if a.query >= len(answer.queries) {
		return service.Page{}, badTask("the chart %d has %d queries, and asked is for number %d, counted from 0", a.chart, len(answer.queries), a.query)
	}
	q := answer.queries[a.query]
	if q.dataLen > limit {
		return service.Page{}, &service.ResponseError{Class: service.ClassTooLarge, Message: fmt.Sprintf("the chart's data has %d bytes, at most %d", q.dataLen, limit)}
	}
	section, err := kept.section(q.dataAt, q.dataLen)
	var data []byte
	if err == nil {
		data, err = io.ReadAll(section)
	}
	if err = errors.Join(answer.dataErr, err); err != nil {
		return service.Page{}, fmt.Errorf("read the rows of the chart %d: %w", a.chart, err)
	}
	page, err := rowsOf(data, a.chart)
	if err == nil && fetch.Holds(page.Rows, who.secrets()...) {
		err = badRows("the server repeats a credential in the rows of its answer, and so they are not kept")
	}
	return page, err
}

func badRows(message string) error {
	return &service.ResponseError{Class: service.ClassBadPage, Message: message}
}

// rowsOf makes JSON lines of a list of objects, each with the number of its chart before the server's own columns.
func rowsOf(data []byte, chart int64) (service.Page, error) {
	list := gjson.ParseBytes(data)
	if !list.IsArray() {
		return service.Page{}, badRows("the chart's data is no list of rows")
	}
	page := service.Page{Columns: []string{chartColumn}}
	head := `{"` + chartColumn + `":` + strconv.FormatInt(chart, 10)
	var rows bytes.Buffer
	var bad error
	seen := map[string]bool{chartColumn: true}
	list.ForEach(func(_, row gjson.Result) bool {
		if !row.IsObject() {
			bad = badRows("a row of the chart's data is no object")
			return false
		}
		rows.WriteString(head)
		row.ForEach(func(name, value gjson.Result) bool {
			if name.Str == chartColumn {
				bad = badRows("the chart has a column " + chartColumn + " of its own; rename it in the chart")
				return false
			}
			if !seen[name.Str] {
				seen[name.Str] = true
				page.Columns = append(page.Columns, name.Str)
			}
			rows.WriteString("," + name.Raw + ":")
			bad = json.Compact(&rows, []byte(value.Raw))
			return bad == nil
		})
		rows.WriteString("}\n")
		page.Count++
		return bad == nil
	})
	page.Rows, page.Columns = rows.Bytes(), slices.Clip(page.Columns)
	return page, bad
}
