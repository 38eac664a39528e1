package superset

import (
	"slices"

	"github.com/tidwall/gjson"
)

const (
	maxComponents  = 20_000
	maxLayoutDepth = 64
)

// layout is the tree of a dashboard's components.
type layout struct {
	tree  map[string]gjson.Result
	seen  map[string]bool
	order []placed // charts, in the order in which a person meets them
}

// placed is where a chart stands in it.
type placed struct {
	chart int64
	tabs  []tab // on the way to it
	path  []string
}

type tab struct{ id, name string }

// layoutOf reads position_json, a JSON text. What cannot be read has no charts: their order is then that of the dashboard's list.
func layoutOf(text string) *layout {
	l := &layout{tree: map[string]gjson.Result{}, seen: map[string]bool{}}
	if !gjson.Valid(text) {
		return l
	}
	gjson.Parse(text).ForEach(func(id, component gjson.Result) bool {
		if component.IsObject() {
			l.tree[id.String()] = component
		}
		return len(l.tree) < maxComponents
	})
	l.walk("ROOT_ID", nil, nil)
	return l
}

func (l *layout) walk(id string, tabs []tab, path []string) {
	component, ok := l.tree[id]
	if !ok || l.seen[id] || len(path) > maxLayoutDepth {
		return
	}
	l.seen[id] = true
	path = append(slices.Clip(path), id)
	switch component.Get("type").String() {
	case "TAB":
		tabs = append(slices.Clip(tabs), tab{id, component.Get("meta.text").String()})
	case "CHART":
		if chart := component.Get("meta.chartId").Int(); chart > 0 {
			l.order = append(l.order, placed{chart, tabs, path})
		}
	}
	for _, child := range component.Get("children").Array() {
		l.walk(child.String(), tabs, path)
	}
}

// place finds the first place of a chart.
func (l *layout) place(chart int64) (placed, bool) {
	at := slices.IndexFunc(l.order, func(p placed) bool { return p.chart == chart })
	if at < 0 {
		return placed{}, false
	}
	return l.order[at], true
}

// tabNames are those of a chart, from the outermost on.
func (p placed) tabNames() []string {
	var names []string
	for _, t := range p.tabs {
		names = append(names, t.name)
	}
	return names
}

// tabs are the names of all tabs that have charts, in order.
func (l *layout) tabs() []string {
	var names []string
	for _, p := range l.order {
		for _, t := range p.tabs {
			if !slices.Contains(names, t.name) {
				names = append(names, t.name)
			}
		}
	}
	return names
}

// onTab tells whether one of the chart's places is on a tab, by its name or id.
func (l *layout) onTab(chart int64, name string) bool {
	return slices.ContainsFunc(l.order, func(p placed) bool {
		return p.chart == chart && slices.ContainsFunc(p.tabs, func(t tab) bool { return t.name == name || t.id == name })
	})
}

// below tells whether one of the chart's places is below one of the components.
func (l *layout) below(chart int64, roots []string) bool {
	return slices.ContainsFunc(l.order, func(p placed) bool {
		return p.chart == chart && slices.ContainsFunc(roots, func(root string) bool { return slices.Contains(p.path, root) })
	})
}
