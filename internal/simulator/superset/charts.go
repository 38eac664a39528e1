package superset

import (
	"net/http"
	"slices"
	"strconv"
)

// chartOfPath finds the chart, and answers if it is not there or hidden from the caller.
func (x *exchange) chartOfPath() *Chart {
	id, _ := strconv.ParseInt(x.r.PathValue("id"), 10, 64) // what is no number is not there
	chart := x.st.world.chart(id)
	if chart == nil || !x.caller.seesChart(x.st.world, chart) {
		x.fail(http.StatusNotFound, message("Not found"))
		return nil
	}
	return chart
}

// getChart is GET /api/v1/chart/<id>.
func (x *exchange) getChart() {
	if !x.need(CanReadChart) {
		return
	}
	chart := x.chartOfPath()
	if chart == nil {
		return
	}
	dashboards := []object{}
	for _, d := range x.st.world.Dashboards {
		if slices.Contains(d.charts(), chart.ID) {
			dashboards = append(dashboards, object{"id": d.ID, "dashboard_title": d.Title})
		}
	}
	result := object{
		"id": chart.ID, "slice_name": chart.Name, "viz_type": chart.VizType, "params": chart.FormData, "query_context": chart.QueryContext,
		"cache_timeout": chart.CacheTimeout, "dashboards": dashboards, "description": nil, "owners": []object{},
		"datasource_id": chart.Dataset, "datasource_type": "table",
	}
	x.reply(http.StatusOK, object{"id": chart.ID, "result": result})
}

// listCharts is GET /api/v1/chart/.
func (x *exchange) listCharts() {
	if !x.need(CanReadChart) {
		return
	}
	var list []object
	for _, chart := range x.st.world.Charts {
		if x.caller.seesChart(x.st.world, &chart) {
			list = append(list, object{
				"id": chart.ID, "slice_name": chart.Name, "viz_type": chart.VizType, "datasource_id": chart.Dataset, "datasource_type": "table",
				"changed_on_utc": chart.ChangedOn,
			})
		}
	}
	x.list(list)
}

// listDatasets is GET /api/v1/dataset/.
func (x *exchange) listDatasets() {
	if !x.need(CanReadDataset) {
		return
	}
	var list []object
	for _, set := range x.st.world.Datasets {
		if x.caller.ownsDataset(x.st.world, set.ID) {
			list = append(list, object{"id": set.ID, "table_name": set.Name, "changed_on_utc": set.ChangedOn})
		}
	}
	x.list(list)
}

// relatedObjects is GET /api/v1/dataset/<id>/related_objects: what depends on a dataset.
func (x *exchange) relatedObjects() {
	if !x.need(CanReadDataset) {
		return
	}
	if x.st.config.DependentsDown {
		x.faithful(http.StatusServiceUnavailable, "", true)
		return
	}
	id, _ := strconv.ParseInt(x.r.PathValue("id"), 10, 64) // what is no number is not there
	w := x.st.world
	if w.dataset(id) == nil || !x.caller.ownsDataset(w, id) {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	d, ok := x.st.dependents[id]
	if !ok {
		d = w.dependents(id)
	}
	x.reply(http.StatusOK, object{
		"charts":     object{"count": len(d.Charts), "result": append([]RelatedChart{}, d.Charts...)},
		"dashboards": object{"count": len(d.Dashboards), "result": append([]RelatedDashboard{}, d.Dashboards...)},
	})
}

// dependents are the charts of a dataset, and the dashboards that show one of them.
func (w *World) dependents(dataset int64) Dependents {
	var d Dependents
	for _, chart := range w.Charts {
		if chart.Dataset == dataset {
			d.Charts = append(d.Charts, RelatedChart{chart.ID, chart.Name, chart.VizType})
		}
	}
	for _, dashboard := range w.Dashboards {
		if slices.ContainsFunc(dashboard.charts(), func(id int64) bool { return w.chart(id).Dataset == dataset }) {
			d.Dashboards = append(d.Dashboards, RelatedDashboard{dashboard.ID, dashboard.Title, dashboard.Slug})
		}
	}
	return d
}
