package superset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// object is a JSON object of an answer.
type object map[string]any

// dashboardOfPath finds the dashboard by id or slug, and answers if it is not there or not for the caller.
func (x *exchange) dashboardOfPath() *Dashboard {
	if !x.need(CanReadDashboard) {
		return nil
	}
	name := x.r.PathValue("id")
	w := x.st.world
	d := find(w.Dashboards, func(d *Dashboard) bool {
		return strconv.FormatInt(d.ID, 10) == name || (d.Slug != "" && d.Slug == name)
	})
	switch {
	case d == nil:
		x.fail(http.StatusNotFound, message("Not found"))
		return nil
	case !x.caller.seesDashboard(w, d):
		x.fail(http.StatusForbidden, message("Forbidden"))
		return nil
	}
	return d
}

// getDashboard is GET /api/v1/dashboard/<id or slug>.
func (x *exchange) getDashboard() {
	d := x.dashboardOfPath()
	if d == nil {
		return
	}
	var names []string
	for _, id := range d.charts() {
		names = append(names, x.st.world.chart(id).Name)
	}
	x.reply(http.StatusOK, object{"result": object{
		"id": d.ID, "slug": d.Slug, "dashboard_title": d.Title, "url": "/superset/dashboard/" + cmp.Or(d.Slug, strconv.FormatInt(d.ID, 10)) + "/",
		"published": true, "changed_on": d.ChangedOn, "charts": names, "json_metadata": d.metadata(), "position_json": d.position(x.st.world),
		"roles": d.roles(x.st.world),
	}})
}

func (d *Dashboard) roles(w *World) []object {
	list := []object{}
	for _, name := range d.Roles {
		list = append(list, object{"id": slices.IndexFunc(w.Roles, func(r Role) bool { return r.Name == name }) + 1, "name": name})
	}
	return list
}

// metadata is json_metadata, a JSON text.
func (d *Dashboard) metadata() string {
	return jsonText(object{
		"native_filter_configuration": d.filters(), "chart_configuration": object{}, "cross_filters_enabled": true, "refresh_frequency": 0,
		"color_scheme": "supersetColors", "timed_refresh_immune_slices": []int{}, "expanded_slices": object{},
	})
}

func (d *Dashboard) filters() []object {
	list := []object{}
	for _, f := range d.Filters {
		targets := []object{{}}
		if f.Column != "" {
			targets = []object{{"datasetId": f.Dataset, "column": object{"name": f.Column}}}
		}
		excluded, scope := []int64{}, []int64{}
		for _, id := range d.charts() {
			if slices.Contains(f.Excluded, id) {
				excluded = append(excluded, id)
			} else {
				scope = append(scope, id)
			}
		}
		list = append(list, object{
			"id": f.ID, "name": f.Name, "filterType": f.Type, "type": "NATIVE_FILTER", "targets": targets, "defaultDataMask": object{"extraFormData": object{}, "filterState": object{}},
			"cascadeParentIds": []string{}, "scope": object{"rootPath": []string{"ROOT_ID"}, "excluded": excluded}, "chartsInScope": scope, "controlValues": object{},
		})
	}
	return list
}

// position is position_json, a JSON text: the tree of the layout.
func (d *Dashboard) position(w *World) string {
	tree := object{
		"DASHBOARD_VERSION_KEY": "v2",
		"HEADER_ID":             object{"id": "HEADER_ID", "type": "HEADER", "meta": object{"text": d.Title}},
	}
	var tabs []string
	grid := []string{}
	for t, tab := range d.Tabs {
		row := fmt.Sprintf("ROW-%d", t)
		var charts []string
		parents := []string{"ROOT_ID", "GRID_ID"}
		if tab.Name != "" {
			parents = []string{"ROOT_ID", "TABS-main", tab.ID}
			tabs = append(tabs, tab.ID)
			tree[tab.ID] = object{"id": tab.ID, "type": "TAB", "children": []string{row}, "parents": parents[:2], "meta": object{"text": tab.Name}}
		} else {
			grid = append(grid, row)
		}
		for _, id := range tab.Charts {
			node := fmt.Sprintf("CHART-%d", id)
			charts = append(charts, node)
			tree[node] = object{
				"id": node, "type": "CHART", "children": []string{}, "parents": append(slices.Clone(parents), row),
				"meta": object{"chartId": id, "sliceName": w.chart(id).Name, "width": 4, "height": 50},
			}
		}
		tree[row] = object{"id": row, "type": "ROW", "children": charts, "parents": parents, "meta": object{"background": "BACKGROUND_TRANSPARENT"}}
	}
	root := "GRID_ID"
	if len(tabs) > 0 {
		root = "TABS-main"
		tree["TABS-main"] = object{"id": "TABS-main", "type": "TABS", "children": tabs, "parents": []string{"ROOT_ID"}, "meta": object{}}
	}
	tree["GRID_ID"] = object{"id": "GRID_ID", "type": "GRID", "children": grid, "parents": []string{"ROOT_ID"}}
	tree["ROOT_ID"] = object{"id": "ROOT_ID", "type": "ROOT", "children": []string{root}}
	return jsonText(tree)
}

// getDashboardCharts is GET /api/v1/dashboard/<id>/charts.
func (x *exchange) getDashboardCharts() {
	d := x.dashboardOfPath()
	if d == nil {
		return
	}
	list := []object{}
	for _, id := range d.charts() {
		chart := x.st.world.chart(id)
		entry := object{
			"slice_name": chart.Name, "cache_timeout": chart.CacheTimeout, "changed_on": chart.ChangedOn, "description": nil, "certified_by": nil,
			"slice_url": fmt.Sprintf("/explore/?slice_id=%d", id), "form_data": json.RawMessage(chart.FormData),
		}
		if x.st.config.Profile == Old {
			entry["slice_id"] = id
		} else {
			entry["id"] = id
		}
		if x.st.config.Profile == Dev && !x.caller.seesChart(x.st.world, chart) {
			delete(entry, "form_data")
		}
		list = append(list, entry)
	}
	x.reply(http.StatusOK, object{"result": list})
}

// getDashboardDatasets is GET /api/v1/dashboard/<id>/datasets.
func (x *exchange) getDashboardDatasets() {
	d := x.dashboardOfPath()
	if d == nil {
		return
	}
	list := []object{}
	var seen []int64
	for _, id := range d.charts() {
		set := x.st.world.dataset(x.st.world.chart(id).Dataset)
		if slices.Contains(seen, set.ID) {
			continue
		}
		seen = append(seen, set.ID)
		if x.st.config.Profile == Dev && !x.caller.ownsDataset(x.st.world, set.ID) {
			list = append(list, object{"id": set.ID, "table_name": set.Name})
			continue
		}
		list = append(list, set.describe())
	}
	x.reply(http.StatusOK, object{"result": list})
}

func (d *Dataset) describe() object {
	columns, metrics := []object{}, []object{}
	for _, c := range d.Columns {
		columns = append(columns, object{"column_name": c.Name, "is_dttm": c.Kind == Months || c.Kind == Days, "filterable": true, "groupby": true})
	}
	for _, m := range d.Metrics {
		metrics = append(metrics, object{"metric_name": m, "expression": "SUM(" + m + ")"})
	}
	return object{
		"id": d.ID, "uid": fmt.Sprintf("%d__table", d.ID), "uuid": d.UUID, "table_name": d.Name, "type": "table", "columns": columns, "metrics": metrics,
		"cache_timeout": d.CacheTimeout, "changed_on": d.ChangedOn,
	}
}

// getDashboardTabs is GET /api/v1/dashboard/<id>/tabs, of newer servers alone.
func (x *exchange) getDashboardTabs() {
	if x.st.config.Profile == Old || x.st.config.Profile == V4 {
		x.fail(http.StatusNotFound, message("Not found"))
		return
	}
	d := x.dashboardOfPath()
	if d == nil {
		return
	}
	all, tree := object{}, []object{}
	for _, tab := range d.Tabs {
		if tab.Name != "" {
			all[tab.ID] = tab.Name
			tree = append(tree, object{"title": tab.Name, "value": tab.ID, "children": []object{}})
		}
	}
	x.reply(http.StatusOK, object{"result": object{"all_tabs": all, "tab_tree": tree, "native_filters": object{"all": d.filters()}}})
}

// listDashboards is GET /api/v1/dashboard/.
func (x *exchange) listDashboards() {
	if !x.need(CanReadDashboard) {
		return
	}
	var list []object
	for _, d := range x.st.world.Dashboards {
		if x.caller.seesDashboard(x.st.world, &d) {
			list = append(list, object{"id": d.ID, "dashboard_title": d.Title, "slug": d.Slug, "changed_on_utc": d.ChangedOn, "published": true})
		}
	}
	x.list(list)
}

// list answers with a page of a list.
func (x *exchange) list(all []object) {
	p, err := readPaging(x.r.URL.Query().Get("q"))
	if err != nil {
		x.fail(http.StatusBadRequest, message("%s", err.Error()))
		return
	}
	slices.SortStableFunc(all, func(a, b object) int {
		order := cmp.Compare(fmt.Sprint(a[p.column]), fmt.Sprint(b[p.column]))
		if i, ok := a[p.column].(int64); ok {
			j, _ := b[p.column].(int64) // of the same column
			order = cmp.Compare(i, j)
		}
		if p.descending {
			return -order
		}
		return order
	})
	from, to := p.of(len(all))
	ids := []any{}
	for _, o := range all[from:to] {
		ids = append(ids, o["id"])
	}
	x.reply(http.StatusOK, object{"count": len(all), "ids": ids, "result": append([]object{}, all[from:to]...)})
}
