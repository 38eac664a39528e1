package load

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/planner/matrix"
)

// Snapshot is what was found of a profile's dashboard. A run works with the one that it was started with, whatever changes meanwhile.
type Snapshot struct {
	V           int            `json:"v"`
	ID          string         `json:"id"` // SHA-256 of its content without the time
	Environment string         `json:"environment"`
	Dashboard   int64          `json:"dashboard"`
	Title       string         `json:"title"`
	ChangedOn   string         `json:"changed_on,omitempty"`
	Charts      []Chart        `json:"charts"`             // that can be run, in the dashboard's order
	Excluded    []Excluded     `json:"excluded,omitempty"` // those that cannot
	Filters     []NativeFilter `json:"filters,omitempty"`
	Dependents  Dependents     `json:"dependents"`
	Taken       time.Time      `json:"taken"`
}

// Others gives what depends on the data beside the dashboard itself and its own charts.
func (s *Snapshot) Others() []Dependent {
	own := map[int64]bool{}
	for _, c := range s.Charts {
		own[c.ID] = true
	}
	for _, e := range s.Excluded {
		own[e.Chart] = true
	}
	return slices.DeleteFunc(slices.Clone(s.Dependents.Items), func(d Dependent) bool {
		return d.Kind == "dashboard" && d.ID == s.Dashboard || d.Kind == "chart" && own[d.ID]
	})
}

// Chart is one chart that can be run.
type Chart struct {
	ID           int64           `json:"id"`
	Name         string          `json:"name"`
	VizType      string          `json:"viz_type"`
	Datasource   json.RawMessage `json:"datasource"`    // as the query context names it
	QueryContext json.RawMessage `json:"query_context"` // as stored
	Queries      int             `json:"queries"`       // query objects in it
	CacheTimeout *int64          `json:"cache_timeout,omitempty"`
	ChangedOn    string          `json:"changed_on,omitempty"`
	Tabs         []string        `json:"tabs,omitempty"` // on the way to it
}

// Excluded is a chart that cannot be run.
type Excluded struct {
	Chart  int64  `json:"chart"`
	Name   string `json:"name"`
	Reason string `json:"reason"` // no_query_context, legacy_data_path, not_selected, forbidden, bad_query_context, other_tab
}

// NativeFilter is a filter of the dashboard and the charts that it touches.
type NativeFilter struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	Charts  []int64  `json:"charts"`
}

// Dependents is what else reads the data that a run loads, its blast radius (LR-9).
type Dependents struct {
	Fingerprint string      `json:"fingerprint"` // sha256:… of the canonical form of Items
	Items       []Dependent `json:"items"`       // sorted
}

// Dependent is a dashboard or chart that depends on a dataset of the run.
type Dependent struct {
	Kind    string `json:"kind"` // dashboard or chart
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Dataset int64  `json:"dataset"`
}

// Variation is one coordinate of the matrix, normalised (LR-8.2).
type Variation = matrix.Variation

// Selection is what a run goes through, made once and stored (LR-8.7): execution n is chart n mod charts of variation n div charts.
type Selection struct {
	V           int         `json:"v"`
	Theoretical string      `json:"theoretical_count"` // exact decimal
	Cap         int         `json:"cap"`
	Seed        uint64      `json:"seed"`
	Variations  []Variation `json:"variations"`
	Hash        string      `json:"hash"`                // SHA-256 over the ids in order: equal for equal sets in equal order
	RepeatOf    map[int]int `json:"repeat_of,omitempty"` // execution → the first with the same chart, role and payload (LR-8.9)
}

// Preview tells what a run would send, before anything is sent (LR-8.6).
type Preview struct {
	Theoretical string     `json:"theoretical_count"`
	Selected    int        `json:"selected"`
	Cap         int        `json:"cap"`
	Seed        uint64     `json:"seed"`
	Charts      int        `json:"charts"`
	Excluded    []Excluded `json:"excluded"`
	Total       int        `json:"total_requests"`
	Distinct    int        `json:"distinct_requests"`
	Capacity    Terms      `json:"capacity"`
	Gate        Gate       `json:"gate"`
}
