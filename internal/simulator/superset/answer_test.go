package superset_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/simulator/superset"
)

func TestFieldsOfAnAnswer(t *testing.T) {
	t.Parallel()
	common := []string{
		"annotation_data", "applied_filters", "applied_template_filters", "cache_key", "cache_timeout", "cached_dttm", "colnames", "coltypes", "data",
		"error", "from_dttm", "indexnames", "is_cached", "label_map", "query", "rejected_filters", "result_format", "rowcount", "sql_rowcount", "stacktrace",
		"status", "to_dttm",
	}
	for profile, more := range map[superset.Profile][]string{
		superset.Old: nil, superset.V4: nil, superset.V6: nil, superset.Dev: {"queried_dttm", "warning", "detected_currency"},
	} {
		t.Run(string(profile), func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{Profile: profile})
			a := r.ask(r.login("alpha"), 101, "")
			if kind := a.header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
				t.Errorf("content type is %s", kind)
			}
			object := a.fields(t)[0]
			var names []string
			for name := range object {
				names = append(names, name)
			}
			want := append(slices.Clone(common), more...)
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("fields are %v", names)
			}
			for name, want := range map[string]string{
				"status": `"success"`, "error": "null", "stacktrace": "null", "colnames": `["order_month", "region", "revenue"]`, "coltypes": "[2,1,0]",
				"from_dttm": "1756684800000", "to_dttm": "1788220800000", "applied_filters": `[{"column":"order_month"}]`, "rejected_filters": "[]",
				"rowcount": "60", "sql_rowcount": "60",
			} {
				if got := string(object[name]); got != want {
					t.Errorf("%s is %s, want %s", name, got, want)
				}
			}
			var rows []struct {
				Month   int64    `json:"order_month"`
				Region  string   `json:"region"`
				Revenue *float64 `json:"revenue"`
			}
			if err := json.Unmarshal(object["data"], &rows); err != nil || len(rows) != 60 || rows[0].Month != 1756684800000 || rows[1].Region != "US" {
				t.Errorf("%d rows, %v: %.200s", len(rows), err, object["data"])
			}
		})
	}
}

func TestDatesAreOfTheRequestAlsoOnHits(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	first := r.ask(r.login("alpha"), 110, "").fields(t)[0]
	r.Advance(14 * 60 * 60 * 1e9) // to the next day
	second := r.ask(r.login("alpha"), 110, "").fields(t)[0]
	if string(second["is_cached"]) != "true" || string(first["to_dttm"]) == string(second["to_dttm"]) || string(first["data"]) != string(second["data"]) {
		t.Errorf("is_cached %s; %s and %s", second["is_cached"], first["to_dttm"], second["to_dttm"])
	}
}

func TestAFilterOnAnUnknownColumnIsNoError(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	object := r.ask(r.login("alpha"), 101, `{"queries": [{"columns": ["region"], "metrics": ["orders"],
		"filters": [{"col": "reigon", "op": "IN", "val": ["EU"]}, {"col": "region", "op": "not in", "val": ["EU"]}]}]}`).fields(t)[0]
	if got := string(object["rejected_filters"]); got != `[{"column":"reigon","reason":"not_in_datasource"}]` {
		t.Errorf("rejected: %s", got)
	}
	if data := string(object["data"]); strings.Contains(data, `"EU"`) || !strings.Contains(data, `"US"`) {
		t.Errorf("data: %s", data)
	}
}

// TestErrorsLookLikeTheServers has the errors that the server itself comes to. The ones that a fault makes are in TestFaults.
func TestErrorsLookLikeTheServers(t *testing.T) {
	t.Parallel()
	query := func(q string) string { return `{"queries": [` + q + `]}` }
	for _, c := range []struct {
		name    string
		profile superset.Profile
		user    string
		chart   int64
		members string
		status  int
		message string
	}{
		{"another result type", superset.V6, "alpha", 101, `{"result_type": "all"}`, 400, "Request is incorrect: {'result_type'"},
		{"another operator", superset.V6, "alpha", 101, query(`{"metrics": ["orders"], "filters": [{"col": "region", "op": "=", "val": 1}]}`), 400, "Request is incorrect: {'queries'"},
		{"no datasource", superset.V6, "alpha", 101, `{"datasource": null}`, 400, "Request is incorrect: {'datasource'"},
		{"another metric", superset.V6, "alpha", 101, query(`{"metrics": ["turnover"]}`), 400, "Metric 'turnover' does not exist"},
		{"another column", superset.V6, "alpha", 101, query(`{"columns": ["turnover"]}`), 400, "Columns missing in dataset: ['turnover']"},
		{"an empty query", superset.V6, "alpha", 101, query(`{}`), 400, "Empty query?"},
		{"another time range", superset.V6, "alpha", 101, query(`{"metrics": ["orders"], "time_range": "Last decade or so"}`), 400, "Cannot parse time string"},
		{"another dataset", superset.V6, "alpha", 101, `{"datasource": {"id": 77, "type": "table"}}`, 404, "Not found"},
		{"a UUID before they came", superset.V6, "alpha", 101, `{"datasource": {"id": "d0000000-0000-4000-8000-000000000031", "type": "table"}}`, 404, "Not found"},
		{"a UUID", superset.Dev, "alpha", 101, `{"datasource": {"id": "d0000000-0000-4000-8000-000000000031", "type": "table"}}`, 200, ""},
		{"a dataset that is not granted", superset.V6, "gamma", 134, "", 403, "errors: This endpoint requires the datasource payroll"},
		{"the same in dev", superset.Dev, "gamma", 134, "", 403, "Forbidden"},
		{"granted by the dashboard", superset.V6, "sales", 101, "", 200, ""},
		{"without naming it", superset.V6, "sales", 101, `{"form_data": {"slice_id": 101}}`, 403, "errors:"},
		{"by another dashboard", superset.V6, "sales", 101, `{"form_data": {"slice_id": 101, "dashboardId": 13}}`, 403, "errors:"},
		{"export without permission", superset.V6, "gamma", 101, `{"result_format": "csv"}`, 403, "Forbidden"},
		{"export", superset.V6, "alpha", 101, `{"result_format": "csv"}`, 200, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, superset.Config{Profile: c.profile})
			a := r.ask(r.login(c.user), c.chart, c.members)
			if a.status != c.status || !strings.HasPrefix(a.message(), c.message) {
				t.Errorf("status %d: %.300s", a.status, a.body)
			}
		})
	}
	r := start(t, superset.Config{})
	for _, body := range []string{"", "nonsense", "{"} {
		if a := r.send("POST", "/api/v1/chart/data", r.login("alpha"), body); a.status != 400 || a.message() != "Request is not JSON" {
			t.Errorf("%q: status %d: %s", body, a.status, a.body)
		}
	}
}

func TestStoredQueryContextIsRun(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("alpha")
	if a := r.send("GET", "/api/v1/chart/131/data/?format=json&type=full", who, ""); a.status != 400 || !strings.HasPrefix(a.message(), "Chart has no query context saved") {
		t.Errorf("none: %d %s", a.status, a.body)
	}
	if n := len(r.send("GET", "/api/v1/chart/103/data/?format=json&type=full", who, "").fields(t)); n != 2 {
		t.Errorf("%d query objects", n)
	}
	if object := r.send("GET", "/api/v1/chart/103/data/", who, "").fields(t)[0]; string(object["is_cached"]) != "true" {
		t.Error("was not cached")
	}
	if object := r.send("GET", "/api/v1/chart/103/data/?force=true", who, "").fields(t)[0]; string(object["is_cached"]) != "null" {
		t.Error("force read the cache")
	}
}

func TestDashboardsAndCharts(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{Profile: superset.V6})
	who := r.login("alpha")
	var dashboard struct {
		Result struct {
			ID        int64
			Charts    []string
			ChangedOn string `json:"changed_on"`
			Metadata  string `json:"json_metadata"`
			Position  string `json:"position_json"`
		}
	}
	a := r.send("GET", "/api/v1/dashboard/sales", who, "")
	if err := json.Unmarshal(a.body, &dashboard); err != nil || dashboard.Result.ID != 12 || len(dashboard.Result.Charts) != 14 || dashboard.Result.Charts[0] != "Revenue by month" {
		t.Fatalf("status %d, %v: %.300s", a.status, err, a.body)
	}
	var metadata struct {
		Filters []struct {
			Type  string  `json:"filterType"`
			Scope []int64 `json:"chartsInScope"`
		} `json:"native_filter_configuration"`
	}
	if err := json.Unmarshal([]byte(dashboard.Result.Metadata), &metadata); err != nil || len(metadata.Filters) != 3 || slices.Contains(metadata.Filters[0].Scope, 109) {
		t.Errorf("json_metadata: %v, %+v", err, metadata)
	}
	var position map[string]json.RawMessage
	if err := json.Unmarshal([]byte(dashboard.Result.Position), &position); err != nil || position["TAB-detail"] == nil || position["CHART-101"] == nil {
		t.Errorf("position_json: %v", err)
	}

	var charts struct{ Result []map[string]json.RawMessage }
	a = r.send("GET", "/api/v1/dashboard/12/charts", who, "")
	if err := json.Unmarshal(a.body, &charts); err != nil || len(charts.Result) != 14 || charts.Result[0]["query_context"] != nil || string(charts.Result[0]["id"]) != "101" {
		t.Errorf("charts: %v: %.300s", err, a.body)
	}
	for id, want := range map[string]string{"101": "queries", "131": "null", "133": `"{\"datasource\": {\"id\": 31"`} {
		var chart struct {
			Result struct {
				Context json.RawMessage `json:"query_context"`
				Changed *string         `json:"changed_on"`
			}
		}
		a := r.send("GET", "/api/v1/chart/"+id, who, "")
		if err := json.Unmarshal(a.body, &chart); err != nil || !strings.Contains(string(chart.Result.Context), want) || chart.Result.Changed != nil {
			t.Errorf("chart %s: %v: %.300s", id, err, a.body)
		}
	}
	for path, status := range map[string]int{
		"/api/v1/dashboard/99": 404, "/api/v1/chart/99": 404, "/api/v1/chart/x": 404, "/api/v1/dashboard/12/tabs": 200, "/api/v1/dashboard/12/datasets": 200, "/health": 200,
		"/api/v1/nothing": 404,
	} {
		if a := r.send("GET", path, who, ""); a.status != status {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := r.send("GET", "/api/v1/chart/134", r.login("gamma"), ""); a.status != http.StatusNotFound {
		t.Errorf("a hidden chart: %d", a.status)
	}
	if a := r.send("GET", "/api/v1/dashboard/14", r.login("gamma"), ""); a.status != http.StatusForbidden {
		t.Errorf("a dashboard of others: %d", a.status)
	}
}

func TestListsComeByPage(t *testing.T) {
	t.Parallel()
	world := superset.DefaultWorld()
	for i := range 250 {
		world.Charts = append(world.Charts, superset.Chart{ID: int64(1000 + i), Name: "more", Dataset: 31})
	}
	r := start(t, superset.Config{World: world})
	who := r.login("alpha")
	var ids []int64
	for page := 0; ; page++ {
		var out struct {
			Count  int
			IDs    []int64
			Result []json.RawMessage
		}
		a := r.send("GET", "/api/v1/chart/?q=(page:"+string(rune('0'+page))+",page_size:200,order_column:id,order_direction:asc)", who, "")
		if err := json.Unmarshal(a.body, &out); err != nil || out.Count != len(world.Charts) || len(out.IDs) > 100 || len(out.Result) != len(out.IDs) {
			t.Fatalf("page %d: %v: %.300s", page, err, a.body)
		}
		if len(out.IDs) == 0 {
			break
		}
		ids = append(ids, out.IDs...)
	}
	if len(ids) != len(world.Charts) || !slices.IsSorted(ids) {
		t.Errorf("%d of %d charts", len(ids), len(world.Charts))
	}
	if a := r.send("GET", "/api/v1/chart/?q=nonsense", who, ""); a.status != http.StatusBadRequest {
		t.Errorf("no Rison: %d", a.status)
	}
}

func TestDependents(t *testing.T) {
	t.Parallel()
	r := start(t, superset.Config{})
	who := r.login("alpha")
	type related struct {
		Charts struct {
			Count  int
			Result []superset.RelatedChart
		}
		Dashboards struct {
			Count  int
			Result []superset.RelatedDashboard
		}
	}
	get := func() (related, answer) {
		var out related
		a := r.send("GET", "/api/v1/dataset/33/related_objects", who, "")
		_ = json.Unmarshal(a.body, &out)
		return out, a
	}
	if out, a := get(); out.Charts.Count != 3 || len(out.Dashboards.Result) != 2 || out.Dashboards.Result[1].Slug != "weekly" {
		t.Errorf("%s", a.body)
	}
	r.SetDependents(33, &superset.Dependents{Charts: []superset.RelatedChart{{ID: 7, Name: "new"}}})
	if out, a := get(); out.Charts.Result[0].ID != 7 || out.Dashboards.Count != 0 {
		t.Errorf("changed: %s", a.body)
	}
	r.SetDependents(33, nil)
	if out, _ := get(); out.Charts.Count != 3 {
		t.Error("not put back")
	}
	if err := r.Update(func(c *superset.Config) { c.DependentsDown = true }); err != nil {
		t.Fatal(err)
	}
	if _, a := get(); a.status != http.StatusServiceUnavailable {
		t.Errorf("down: %d", a.status)
	}
}
