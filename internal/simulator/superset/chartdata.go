package superset

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// chartData is POST /api/v1/chart/data.
func (x *exchange) chartData() {
	if !x.need(CanReadChart) || (x.st.config.CSRFChartData && !x.csrfHolds(x.r.Header.Get("X-CSRFToken"))) {
		return
	}
	if x.badly != nil {
		x.fail(http.StatusBadRequest, message("%s", x.badly.Error()))
		return
	}
	x.answerChart(x.chart)
}

// getChartData is GET /api/v1/chart/<id>/data/: the stored query context.
func (x *exchange) getChartData() {
	if !x.need(CanReadChart) {
		return
	}
	chart := x.chartOfPath()
	if chart == nil {
		return
	}
	if chart.QueryContext == nil {
		x.fail(http.StatusBadRequest, message("Chart has no query context saved. Please save the chart again."))
		return
	}
	c, err := readChartRequest([]byte(*chart.QueryContext))
	if err != nil {
		x.fail(http.StatusBadRequest, message("%s", err.Error()))
		return
	}
	query := x.r.URL.Query()
	c.slice, c.Force = chart.ID, slices.Contains([]string{"1", "true"}, strings.ToLower(query.Get("force")))
	c.ResultType, c.ResultFormat = first(query.Get("type"), "full"), first(query.Get("format"), "json")
	x.answerChart(c)
}

// answerChart checks what the caller may, and answers a request that could be read.
func (x *exchange) answerChart(c *chartRequest) {
	set := c.Datasource.find(x.st)
	switch {
	case set == nil:
		x.fail(http.StatusNotFound, message("Not found"))
		return
	case !x.mayRead(c, set):
		x.datasetForbidden(set)
		return
	case x.caller.guest != nil && !x.unchanged(c):
		x.fail(http.StatusForbidden, x.guestPayload())
		return
	case c.ResultFormat != "json" && !x.caller.can(x.st.world, CanExport):
		x.forbidden()
		return
	case c.ResultFormat == "xlsx":
		x.fail(http.StatusBadRequest, message("the fake writes no xlsx"))
		return
	}
	q := x.inquiry(c, set)
	if x.asynchronous(q) {
		return
	}
	x.answerNow(q, byRequest)
}

// answerNow executes the query objects one after the other, and writes what came of them.
func (x *exchange) answerNow(q *inquiry, how way) {
	var results []*result
	for i := range q.request.queries {
		r, err := q.ask(x.lifetime(), i, how)
		if err != nil {
			x.queryError(err)
			return
		}
		results = append(results, r)
		x.truths = append(x.truths, Truth{r.key, r.truth})
	}
	x.writeResults(q, results)
}

// queryError answers for the first query object that went wrong.
func (x *exchange) queryError(err error) {
	var invalid *invalidQuery
	var failed *failedQuery
	switch {
	case errors.As(err, &invalid):
		x.fail(http.StatusBadRequest, message("%s", invalid.text))
	case errors.As(err, &failed):
		x.fail(http.StatusBadRequest, message("Error: %s", failed.text))
	case errors.Is(err, context.Canceled):
		x.gone = true
	default:
		x.fail(http.StatusInternalServerError, errorsBody(genericError, "%v", err))
	}
}

// mayRead tells whether the caller may read the dataset by itself, or by the pair of dashboard and chart in the form data.
func (x *exchange) mayRead(c *chartRequest, set *Dataset) bool {
	w := x.st.world
	if x.caller.guest == nil && x.caller.ownsDataset(w, set.ID) {
		return true
	}
	chart := w.chart(c.slice)
	if x.record.Route != ChartData {
		return chart != nil && x.caller.seesChart(w, chart)
	}
	dashboard := w.dashboard(c.dashboard)
	return chart != nil && dashboard != nil && chart.Dataset == set.ID && x.caller.granted(w, dashboard, chart)
}

// unchanged tells whether a guest asks for no more than what the chart has stored. Filters do not count.
func (x *exchange) unchanged(c *chartRequest) bool {
	chart := x.st.world.chart(c.slice)
	if chart == nil || chart.QueryContext == nil {
		return false
	}
	stored, err := readChartRequest([]byte(*chart.QueryContext))
	if err != nil {
		return false
	}
	known := map[string]bool{}
	for _, q := range stored.queries {
		for member, values := range q.compared() {
			for _, value := range values {
				known[member+"\x00"+compact(value)] = true
			}
		}
	}
	for _, q := range c.queries {
		for member, values := range q.compared() {
			for _, value := range values {
				if !known[member+"\x00"+compact(value)] {
					return false
				}
			}
		}
	}
	return true
}

// compared are the members that a guest must not extend.
func (q *query) compared() map[string][]json.RawMessage {
	return map[string][]json.RawMessage{"columns": q.groups(), "metrics": q.Metrics, "orderby": q.OrderBy}
}

func (x *exchange) guestPayload() any {
	const text = "Guest user cannot modify chart payload"
	if x.st.config.Profile == Dev {
		return message(text)
	}
	return errorsBody("DASHBOARD_SECURITY_ACCESS_ERROR", text)
}
