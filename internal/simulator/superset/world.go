package superset

import (
	"errors"
	"fmt"
	"slices"
)

// World is what the server knows: who may see what, and what there is to be seen.
type World struct {
	Roles      []Role
	Identities []Identity
	Rules      []Rule
	Datasets   []Dataset
	Charts     []Chart
	Dashboards []Dashboard
}

// Permissions that the server asks for.
const (
	CanReadChart      = "can read on Chart"
	CanReadDashboard  = "can read on Dashboard"
	CanReadDataset    = "can read on Dataset"
	CanListEvents     = "can list on AsyncEventsRestApi"
	CanReadTask       = "can read on Task"
	CanExport         = "can csv on Superset"
	GrantGuestToken   = "can grant guest token on SecurityRestApi"
	AllDatasetsAccess = "all datasource access on all_datasource_access"
)

// GuestRole is the role of guests.
const GuestRole = "Public"

// Role is a set of permissions and the datasets that it grants.
type Role struct {
	Name        string
	Permissions []string
	Datasets    []int64
}

// Identity is who can log in.
type Identity struct {
	ID       int64
	Username string
	Password string
	Provider string // db or ldap
	Roles    []string
}

// Rule is a row-level-security clause. Within a group rules are joined by OR, groups by AND.
type Rule struct {
	Base     bool // applies to all roles but the listed ones, rather than to the listed ones
	Roles    []string
	Datasets []int64
	Group    string
	Clause   string // such as region = 'EU' or region IN ('EU', 'US'); what is of another form changes the values alone
}

// ColumnKind is what a column holds.
type ColumnKind string

// The kinds of columns.
const (
	Months   ColumnKind = "months" // a time column, one value a month
	Days     ColumnKind = "days"   // likewise, one a day
	Texts    ColumnKind = "texts"
	Booleans ColumnKind = "booleans"
	Sequence ColumnKind = "sequence" // 0 to Config.Data.Rows
	Wide     ColumnKind = "wide"     // one text of Config.Data.Width bytes
)

// Column is one of a dataset.
type Column struct {
	Name   string
	Kind   ColumnKind
	Values []string // of texts
}

// Dataset is a table with named metrics.
type Dataset struct {
	ID           int64
	UUID         string
	Name         string
	Columns      []Column
	Metrics      []string
	CacheTimeout *int64 // seconds
	ChangedOn    string // part of every cache key
}

// Chart is one as it was saved.
type Chart struct {
	ID           int64
	Name         string
	VizType      string
	Dataset      int64
	FormData     string  // JSON text
	QueryContext *string // likewise; nil: none was saved
	CacheTimeout *int64  // seconds; -1: caching is off
	ChangedOn    string
}

// Tab is a tab of a dashboard and the charts on it, in order.
type Tab struct {
	ID     string
	Name   string
	Charts []int64
}

// NativeFilter is a filter of a dashboard.
type NativeFilter struct {
	ID       string
	Name     string
	Type     string // filter_select or filter_time
	Dataset  int64  // 0 for filter_time
	Column   string // likewise empty
	Excluded []int64
}

// Dashboard is a page of charts.
type Dashboard struct {
	ID        int64
	Slug      string
	Title     string
	Embedded  string   // UUID for guests; empty: not set up for embedding
	Roles     []string // that may see all of it, whatever their datasets
	Tabs      []Tab    // one without a name: the dashboard has no tabs
	Filters   []NativeFilter
	ChangedOn string
}

// charts lists those of all tabs in order.
func (d *Dashboard) charts() []int64 {
	var ids []int64
	for _, tab := range d.Tabs {
		ids = append(ids, tab.Charts...)
	}
	return ids
}

func (w *World) role(name string) *Role {
	return find(w.Roles, func(r *Role) bool { return r.Name == name })
}

func (w *World) dataset(id int64) *Dataset {
	return find(w.Datasets, func(d *Dataset) bool { return d.ID == id })
}

func (w *World) chart(id int64) *Chart {
	return find(w.Charts, func(c *Chart) bool { return c.ID == id })
}

func (w *World) dashboard(id int64) *Dashboard {
	return find(w.Dashboards, func(d *Dashboard) bool { return d.ID == id })
}

func (w *World) identity(name string) *Identity {
	return find(w.Identities, func(i *Identity) bool { return i.Username == name })
}

func (w *World) identityByID(id int64) *Identity {
	return find(w.Identities, func(i *Identity) bool { return i.ID == id })
}

func (w *World) embedded(uuid string) *Dashboard {
	return find(w.Dashboards, func(d *Dashboard) bool { return d.Embedded != "" && d.Embedded == uuid })
}

func (d *Dataset) column(name string) *Column {
	return find(d.Columns, func(c *Column) bool { return c.Name == name })
}

func find[T any](all []T, is func(*T) bool) *T {
	for i := range all {
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// validate checks that names point to what is there.
func (w *World) validate() error {
	var errs []error
	for _, who := range w.Identities {
		for _, role := range who.Roles {
			if w.role(role) == nil {
				errs = append(errs, fmt.Errorf("identity %s has the role %q, which is not there", who.Username, role))
			}
		}
	}
	for _, chart := range w.Charts {
		if w.dataset(chart.Dataset) == nil {
			errs = append(errs, fmt.Errorf("chart %d reads the dataset %d, which is not there", chart.ID, chart.Dataset))
		}
	}
	for _, dashboard := range w.Dashboards {
		for _, id := range dashboard.charts() {
			if w.chart(id) == nil {
				errs = append(errs, fmt.Errorf("dashboard %d shows the chart %d, which is not there", dashboard.ID, id))
			}
		}
	}
	return errors.Join(errs...)
}

// clauses are the row-level-security clauses that apply to roles on a dataset, sorted, the guest's own included.
func (w *World) clauses(dataset int64, roles []string, guest []guestRule) []string {
	var clauses []string
	for _, rule := range w.Rules {
		listed := slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(rule.Roles, role) })
		if slices.Contains(rule.Datasets, dataset) && listed != rule.Base {
			clauses = append(clauses, rule.Group+"\x00"+rule.Clause)
		}
	}
	for i, rule := range guest {
		if rule.Dataset == 0 || rule.Dataset == dataset {
			clauses = append(clauses, fmt.Sprintf("guest-%d\x00%s", i, rule.Clause))
		}
	}
	slices.Sort(clauses)
	return slices.Compact(clauses)
}
