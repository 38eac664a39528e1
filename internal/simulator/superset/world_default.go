package superset

import (
	"fmt"
	"strings"
)

// The dashboards of DefaultWorld.
const (
	SalesDashboard  = 12 // ten charts that can be run on two tabs, four that cannot
	WeeklyDashboard = 13 // shares datasets with it, without tabs
	EventsDashboard = 14 // one chart of raw rows, as many and as wide as Config.Data says
	// SalesEmbedded is the UUID under which guests see SalesDashboard.
	SalesEmbedded = "5f2f1c1e-7c3f-4a57-9a0b-0c6f4d1b7e12"
)

// DefaultWorld makes the world that the package's documentation describes. Every identity's password is its name followed by -secret.
func DefaultWorld() *World {
	return &World{
		Roles: defaultRoles(), Identities: defaultIdentities(), Rules: defaultRules(),
		Datasets: defaultDatasets(), Charts: defaultCharts(), Dashboards: defaultDashboards(),
	}
}

func defaultRoles() []Role {
	reader := []string{CanReadChart, CanReadDashboard, CanReadDataset, CanListEvents, CanReadTask}
	all := append([]string{AllDatasetsAccess}, reader...)
	return []Role{
		{Name: "Admin", Permissions: append([]string{CanExport, GrantGuestToken}, all...)},
		{Name: "Alpha", Permissions: append([]string{CanExport}, all...)},
		{Name: "Gamma", Permissions: reader, Datasets: []int64{31, 32, 33, 34}},
		{Name: "Ops", Permissions: reader, Datasets: []int64{31, 32, 33, 34, 35}},
		{Name: "Sales", Permissions: reader},
		{Name: "Embedder", Permissions: []string{GrantGuestToken}},
		{Name: "Nobody"},
		{Name: GuestRole, Permissions: []string{CanReadChart, CanReadDashboard, CanListEvents, CanReadTask}},
	}
}

func defaultIdentities() []Identity {
	var identities []Identity
	for i, name := range []string{"Admin", "Alpha", "Gamma", "Ops", "Sales", "Embedder", "Nobody"} {
		user := strings.ToLower(name)
		identities = append(identities, Identity{
			ID: int64(i + 1), Username: user, Password: user + "-secret", Provider: "db", Roles: []string{name},
		})
	}
	return append(identities, Identity{ID: 8, Username: "lena", Password: "lena-secret", Provider: "ldap", Roles: []string{"Alpha"}})
}

func defaultRules() []Rule {
	return []Rule{
		{Roles: []string{"Gamma"}, Datasets: []int64{31, 32}, Group: "region", Clause: "region IN ('EU', 'APAC')"},
		{Roles: []string{"Gamma"}, Datasets: []int64{33}, Group: "region", Clause: "region = 'EU'"},
		{Base: true, Roles: []string{"Admin", "Alpha", "Gamma", "Ops", "Sales"}, Datasets: []int64{31}, Clause: "channel != 'wholesale'"},
	}
}

func defaultDatasets() []Dataset {
	regions := Column{Name: "region", Kind: Texts, Values: []string{"EU", "US", "APAC", "LATAM", "MEA"}}
	set := func(id int64, name string, metrics []string, columns ...Column) Dataset {
		return Dataset{
			ID: id, UUID: fmt.Sprintf("d0000000-0000-4000-8000-%012d", id), Name: name, Columns: columns, Metrics: metrics,
			ChangedOn: "2026-08-01T09:00:00",
		}
	}
	return []Dataset{
		set(31, "orders", []string{"revenue", "orders"}, Column{Name: "order_month", Kind: Months}, regions,
			Column{Name: "channel", Kind: Texts, Values: []string{"web", "shop", "wholesale"}},
			Column{Name: "city", Kind: Texts, Values: []string{"Berlin", "São Paulo", "Kyōto", "Boston", "Łódź", "Nairobi"}}),
		set(32, "customers", []string{"customers", "lifetime_value"}, Column{Name: "joined_on", Kind: Days}, regions,
			Column{Name: "active", Kind: Booleans}),
		set(33, "returns", []string{"returns", "refunds"}, Column{Name: "returned_on", Kind: Days}, regions),
		set(34, "sessions", []string{"sessions"}, Column{Name: "day", Kind: Days},
			Column{Name: "device", Kind: Texts, Values: []string{"phone", "desktop", "tablet"}}),
		set(35, "events", []string{"events"}, Column{Name: "event_id", Kind: Sequence}, Column{Name: "payload", Kind: Wide}, regions),
		set(39, "payroll", []string{"cost"}, Column{Name: "month", Kind: Months}),
	}
}

func defaultCharts() []Chart {
	seconds := func(n int64) *int64 { return &n }
	chart := func(id int64, name, viz string, dataset int64, queries ...string) Chart {
		text := fmt.Sprintf(`{"datasource": {"id": %d, "type": "table"}, "force": false, "result_format": "json", "result_type": "full", `+
			`"form_data": {"slice_id": %d, "viz_type": %q}, "queries": [%s]}`, dataset, id, viz, strings.Join(queries, ", "))
		return Chart{
			ID: id, Name: name, VizType: viz, Dataset: dataset, QueryContext: &text, ChangedOn: "2026-08-20T12:00:00",
			FormData: fmt.Sprintf(`{"datasource": "%d__table", "viz_type": %q, "slice_id": %d}`, dataset, viz, id),
		}
	}
	lastMonth := func(column string) string {
		return fmt.Sprintf(`"filters": [{"col": %q, "op": "TEMPORAL_RANGE", "val": "Last month"}]`, column)
	}
	charts := []Chart{
		chart(101, "Revenue by month", "echarts_timeseries_bar", 31,
			`{"columns": ["order_month", "region"], "metrics": ["revenue"], "row_limit": 1000, `+
				`"filters": [{"col": "order_month", "op": "TEMPORAL_RANGE", "val": "Last year"}]}`),
		chart(102, "Total revenue", "big_number_total", 31,
			`{"columns": [], "metrics": ["revenue"], "filters": [], "granularity": "order_month", "time_range": "Last month"}`),
		chart(103, "Orders and revenue", "mixed_timeseries", 31,
			`{"columns": ["order_month"], "metrics": ["orders"], `+lastMonth("order_month")+`}`,
			`{"columns": ["order_month", "region"], "metrics": ["revenue"], `+lastMonth("order_month")+`}`),
		chart(104, "Orders by region", "pie", 31, `{"columns": ["region"], "metrics": ["orders"], "row_limit": 100, `+lastMonth("order_month")+`}`),
		chart(105, "Customers", "table", 32, `{"columns": ["region", "active"], "metrics": ["customers", "lifetime_value"], "filters": [], "row_limit": 500}`),
		chart(106, "Orders by city", "echarts_timeseries_bar", 31, `{"columns": ["city", "channel"], "metrics": ["orders"], "filters": []}`),
		chart(107, "Returns by day", "echarts_timeseries_line", 33, `{"columns": ["returned_on"], "metrics": ["returns"], `+lastMonth("returned_on")+`}`),
		chart(108, "Refunds", "big_number_total", 33, `{"columns": [], "metrics": ["refunds"], `+lastMonth("returned_on")+`}`),
		chart(109, "Sessions by device", "echarts_area", 34,
			`{"columns": ["day", "device"], "metrics": ["sessions"], "row_limit": null, `+lastMonth("day")+`}`),
		chart(110, "Sessions", "big_number_total", 34, `{"columns": [], "metrics": ["sessions"], "filters": [], "granularity": "day", "time_range": "Last week"}`),
		chart(131, "Old area", "echarts_area", 31), chart(132, "Partition", "partition", 31),
		chart(133, "Broken", "table", 31), chart(134, "Payroll", "big_number_total", 39, `{"columns": [], "metrics": ["cost"], "filters": []}`),
		chart(121, "Weekly returns", "table", 33, `{"columns": ["region"], "metrics": ["returns", "refunds"], "filters": [], "time_range": "Last week"}`),
		chart(122, "Weekly orders", "table", 31, `{"columns": ["region"], "metrics": ["orders"], "filters": [], "time_range": "Last week"}`),
		chart(141, "Raw events", "table", 35, `{"columns": ["event_id", "payload"], "metrics": ["events"], "filters": [], "row_limit": 1000000}`),
	}
	for i := range charts {
		switch c := &charts[i]; c.ID {
		case 105:
			c.CacheTimeout = seconds(-1)
		case 107:
			c.CacheTimeout = seconds(0)
		case 108:
			c.CacheTimeout = seconds(300)
		case 109: // saved with what a load run must overwrite
			saved := strings.NewReplacer(`"force": false`, `"force": true`, `"result_type": "full"`, `"result_type": "results"`).Replace(*c.QueryContext)
			c.QueryContext = &saved
		case 131, 132:
			c.QueryContext = nil
		case 133:
			broken := `{"datasource": {"id": 31`
			c.QueryContext = &broken
		}
	}
	return charts
}

func defaultDashboards() []Dashboard {
	return []Dashboard{
		{
			ID: SalesDashboard, Slug: "sales", Title: "Sales overview", Embedded: SalesEmbedded, Roles: []string{"Sales"},
			Tabs: []Tab{
				{ID: "TAB-overview", Name: "Overview", Charts: []int64{101, 102, 103, 104, 105, 106, 131, 132}},
				{ID: "TAB-detail", Name: "Detail", Charts: []int64{107, 108, 109, 110, 133, 134}},
			},
			Filters: []NativeFilter{
				{ID: "NATIVE_FILTER-region", Name: "Region", Type: "filter_select", Dataset: 31, Column: "region", Excluded: []int64{109, 110, 134}},
				{ID: "NATIVE_FILTER-channel", Name: "Channel", Type: "filter_select", Dataset: 31, Column: "channel", Excluded: []int64{105, 107, 108, 109, 110, 134}},
				{ID: "NATIVE_FILTER-time", Name: "Time range", Type: "filter_time"},
			},
			ChangedOn: "2026-08-21T08:30:00",
		},
		{
			ID: WeeklyDashboard, Slug: "weekly", Title: "Weekly figures", Tabs: []Tab{{Charts: []int64{121, 122, 108}}},
			ChangedOn: "2026-07-01T08:00:00",
		},
		{
			ID: EventsDashboard, Slug: "events", Title: "Raw events", Tabs: []Tab{{Charts: []int64{141}}},
			ChangedOn: "2026-07-02T08:00:00",
		},
	}
}
