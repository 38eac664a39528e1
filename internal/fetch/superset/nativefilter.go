package superset

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/load"
)

const maxFilters = 500

// nativeFilters reads the dashboard's filters from json_metadata, with the charts that each touches: those that the server has worked out, else
// by the filter's scope.
func nativeFilters(metadata string, l *layout, charts []int64) []load.NativeFilter {
	var filters []load.NativeFilter
	if !gjson.Valid(metadata) {
		return nil
	}
	gjson.Get(metadata, "native_filter_configuration").ForEach(func(_, f gjson.Result) bool {
		if kind := f.Get("type").String(); !f.IsObject() || kind != "" && kind != "NATIVE_FILTER" {
			return true // a line between filters
		}
		filter := load.NativeFilter{ID: f.Get("id").String(), Name: f.Get("name").String(), Columns: []string{}, Charts: []int64{}}
		f.Get("targets").ForEach(func(_, target gjson.Result) bool {
			if name := target.Get("column.name").String(); name != "" && !slices.Contains(filter.Columns, name) {
				filter.Columns = append(filter.Columns, name)
			}
			return true
		})
		touches := scopeOf(f, l)
		for _, chart := range charts {
			if touches(chart) {
				filter.Charts = append(filter.Charts, chart)
			}
		}
		filters = append(filters, filter)
		return len(filters) < maxFilters
	})
	return filters
}

func scopeOf(f gjson.Result, l *layout) func(chart int64) bool {
	numbers := func(list gjson.Result) map[int64]bool {
		set := map[int64]bool{}
		for _, n := range list.Array() {
			set[n.Int()] = true
		}
		return set
	}
	if listed := f.Get("chartsInScope"); listed.IsArray() {
		in := numbers(listed)
		return func(chart int64) bool { return in[chart] }
	}
	excluded := numbers(f.Get("scope.excluded"))
	var roots []string
	for _, root := range f.Get("scope.rootPath").Array() {
		roots = append(roots, root.String())
	}
	return func(chart int64) bool {
		switch {
		case excluded[chart]:
			return false
		case len(roots) == 0 || slices.Contains(roots, "ROOT_ID"):
			return true
		}
		return l.below(chart, roots)
	}
}
