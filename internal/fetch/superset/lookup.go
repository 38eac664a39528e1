package superset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/jcs"
	"github.com/braidhq/braid/pkg/load"
)

const (
	maxCharts        = 1000
	maxContextBytes  = 256 << 10
	maxSnapshotBytes = 16 << 20
	maxNameBytes     = 500
	maxQueryObjects  = 100
)

// The reasons why a chart is excluded.
const (
	noQueryContext  = "no_query_context"
	legacyDataPath  = "legacy_data_path"
	notSelected     = "not_selected"
	forbidden       = "forbidden"
	badQueryContext = "bad_query_context"
	otherTab        = "other_tab"
)

// LookUp finds out what a dashboard consists of and what else depends on its data, with one request at a time; who calls it holds a place for
// them. A chart that cannot be run is told with its reason. When anything cannot be read that counts, such as what depends on a dataset,
// there is no snapshot: a *load.LookUpError says why (LR-9.5). Any other error is the cause of ctx.
func (c *Client) LookUp(ctx context.Context, l *load.LookUp) (*load.Snapshot, error) {
	who, unknown := c.identityOf(l.Role)
	if unknown != nil {
		return nil, lookUpError(unknown)
	}
	s := &survey{who: who, asked: l}
	snapshot, err := s.run(ctx)
	if f, refused := errors.AsType[*failure](err); refused {
		return nil, lookUpError(who.clean(f))
	}
	return snapshot, err
}

func lookUpError(f *failure) *load.LookUpError {
	return &load.LookUpError{Kind: f.Kind, Status: f.Status, Message: clip(f.Message), Hint: f.Hint}
}

// survey is one look at a dashboard. It is used by one goroutine.
type survey struct {
	who       *identity
	asked     *load.LookUp
	layout    *layout
	listed    []listed
	datasets  []int64
	snapshot  load.Snapshot
	textBytes int
}

// listed is a chart as the dashboard's list has it.
type listed struct {
	id        int64
	name      string
	changedOn string
}

func (s *survey) run(ctx context.Context) (*load.Snapshot, error) {
	dashboard, err := s.get(ctx, "/api/v1/dashboard/"+url.PathEscape(s.asked.Dashboard))
	if err != nil {
		return nil, hinted(err, "the dashboard is named by its number or its slug; the role that looks must see it")
	}
	id := dashboard.Get("id").Int()
	if id <= 0 {
		return nil, &failure{Kind: load.BadBody, Message: "the answer about the dashboard has no id"}
	}
	s.snapshot = load.Snapshot{
		V: 1, Environment: s.asked.Environment, Dashboard: id, Charts: []load.Chart{},
		Title: cut(dashboard.Get("dashboard_title").String()), ChangedOn: cut(dashboard.Get("changed_on").String()),
	}
	charts, err := s.get(ctx, fmt.Sprintf("/api/v1/dashboard/%d/charts", id))
	if err != nil {
		return nil, err
	}
	s.layout = layoutOf(dashboard.Get("position_json").String())
	if err := s.list(charts); err != nil {
		return nil, err
	}
	if err := s.checkSelection(); err != nil {
		return nil, err
	}
	for _, chart := range s.listed {
		if err := s.chart(ctx, chart); err != nil {
			return nil, err
		}
	}
	ids := make([]int64, len(s.snapshot.Charts))
	for i, chart := range s.snapshot.Charts {
		ids[i] = chart.ID
	}
	s.snapshot.Filters = nativeFilters(dashboard.Get("json_metadata").String(), s.layout, ids)
	if s.snapshot.Dependents, err = s.dependents(ctx); err != nil {
		return nil, dependentsUnknown(err)
	}
	return s.sealed()
}

// get reads result of an answer.
func (s *survey) get(ctx context.Context, path string) (gjson.Result, error) {
	answer, err := s.who.ask(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return gjson.Result{}, err
	}
	if !json.Valid(answer) || !gjson.GetBytes(answer, "result").Exists() {
		return gjson.Result{}, &failure{Kind: load.BadBody, Status: http.StatusOK, Message: "GET " + path + ": the answer is not JSON with a `result`"}
	}
	return gjson.GetBytes(answer, "result"), nil
}

// hinted adds a hint to a refusal that has none.
func hinted(err error, hint string) error {
	if f, ok := errors.AsType[*failure](err); ok && f.Hint == "" && (f.Status == http.StatusNotFound || f.Status == http.StatusForbidden) {
		f.Hint = hint
	}
	return err
}

// list notes the dashboard's charts in its order: that of the layout, and behind it what stands nowhere in it.
func (s *survey) list(charts gjson.Result) error {
	byID := map[int64]listed{}
	var inList []int64
	for _, c := range charts.Array() {
		id := c.Get("id").Int()
		if id <= 0 {
			id = c.Get("slice_id").Int() // of older servers
		}
		if id <= 0 {
			return &failure{Kind: load.BadBody, Message: "an entry of the dashboard's charts has no id"}
		}
		if _, twice := byID[id]; twice {
			continue
		}
		byID[id] = listed{id, cut(c.Get("slice_name").String()), cut(c.Get("changed_on").String())}
		inList = append(inList, id)
	}
	if len(byID) > maxCharts {
		return &failure{Kind: load.BadBody, Message: fmt.Sprintf("the dashboard has %d charts, at most %d are looked at", len(byID), maxCharts)}
	}
	var order []int64
	for _, p := range s.layout.order {
		order = append(order, p.chart)
	}
	for _, id := range append(order, inList...) {
		if chart, ok := byID[id]; ok {
			s.listed = append(s.listed, chart)
			delete(byID, id)
		}
	}
	return nil
}

// checkSelection refuses a tab and charts that the dashboard does not have.
func (s *survey) checkSelection() error {
	if s.asked.Tab != "" && !slices.ContainsFunc(s.listed, func(c listed) bool { return s.layout.onTab(c.id, s.asked.Tab) }) {
		return &failure{Kind: load.NotFound, Message: fmt.Sprintf("the dashboard has no tab %.100q with charts; it has %.500q", s.asked.Tab, s.layout.tabs())}
	}
	for _, id := range s.asked.Charts {
		if !slices.ContainsFunc(s.listed, func(c listed) bool { return c.id == id }) {
			return &failure{Kind: load.NotFound, Message: fmt.Sprintf("the dashboard has no chart %d", id)}
		}
	}
	return nil
}

// chart looks one up, or excludes it.
func (s *survey) chart(ctx context.Context, c listed) error {
	switch {
	case len(s.asked.Charts) > 0 && !slices.Contains(s.asked.Charts, c.id):
		s.exclude(c, notSelected)
		return nil
	case s.asked.Tab != "" && !s.layout.onTab(c.id, s.asked.Tab):
		s.exclude(c, otherTab)
		return nil
	}
	found, reason, err := s.who.chart(ctx, c.id)
	switch {
	case err != nil:
		return err
	case reason != "":
		s.exclude(c, reason)
		return nil
	}
	place, _ := s.layout.place(c.id)
	found.Tabs = place.tabNames()
	if c.name != "" {
		found.Name = c.name
	}
	found.ChangedOn = c.changedOn
	if s.textBytes += len(found.QueryContext); s.textBytes > maxSnapshotBytes {
		return &failure{Kind: load.BadBody, Message: fmt.Sprintf("the requests of the dashboard's charts have more than %d bytes", maxSnapshotBytes)}
	}
	s.snapshot.Charts = append(s.snapshot.Charts, found.Chart)
	if found.dataset > 0 && !slices.Contains(s.datasets, found.dataset) {
		s.datasets = append(s.datasets, found.dataset)
	}
	return nil
}

func (s *survey) exclude(c listed, reason string) {
	s.snapshot.Excluded = append(s.snapshot.Excluded, load.Excluded{Chart: c.id, Name: c.name, Reason: reason})
}

// foundChart is a chart with the dataset that its data comes from; 0: none.
type foundChart struct {
	load.Chart
	dataset int64
}

// chart reads one. reason says why it cannot be run.
func (who *identity) chart(ctx context.Context, id int64) (chart foundChart, reason string, err error) {
	path := fmt.Sprintf("/api/v1/chart/%d", id)
	answer, err := who.ask(ctx, call{method: http.MethodGet, path: path})
	if f, refused := errors.AsType[*failure](err); refused && (f.Status == http.StatusForbidden || f.Status == http.StatusNotFound) {
		return chart, forbidden, nil // what is hidden from the caller is not found either
	}
	if err != nil {
		return chart, "", err
	}
	result := gjson.GetBytes(answer, "result")
	if !json.Valid(answer) || !result.IsObject() {
		return chart, "", &failure{Kind: load.BadBody, Status: http.StatusOK, Message: "GET " + path + ": the answer is not JSON with a `result`"}
	}
	chart.ID, chart.Name, chart.VizType = id, cut(result.Get("slice_name").String()), cut(result.Get("viz_type").String())
	if timeout := result.Get("cache_timeout"); timeout.Type == gjson.Number {
		seconds := timeout.Int()
		chart.CacheTimeout = &seconds
	}
	text := result.Get("query_context")
	if text.Type != gjson.String || strings.TrimSpace(text.Str) == "" || strings.TrimSpace(text.Str) == "null" {
		if isLegacy(chart.VizType) {
			return chart, legacyDataPath, nil
		}
		return chart, noQueryContext, nil
	}
	if !chart.setContext(text.Str, result) {
		return chart, badQueryContext, nil
	}
	return chart, "", nil
}

// setContext takes the request that was stored with the chart, unless it is none.
func (f *foundChart) setContext(text string, result gjson.Result) (ok bool) {
	if len(text) > maxContextBytes || !gjson.Valid(text) {
		return false
	}
	context := gjson.Parse(text)
	queries, datasource := context.Get("queries"), context.Get("datasource")
	if !context.IsObject() || !queries.IsArray() || !datasource.IsObject() {
		return false
	}
	all := queries.Array()
	if len(all) == 0 || len(all) > maxQueryObjects || slices.ContainsFunc(all, func(q gjson.Result) bool { return !q.IsObject() }) {
		return false
	}
	f.QueryContext, f.Datasource, f.Queries = json.RawMessage(text), json.RawMessage(datasource.Raw), len(all)
	if kind := datasource.Get("type").String(); kind == "table" || kind == "" {
		id := datasource.Get("id")
		f.dataset, _ = strconv.ParseInt(id.String(), 10, 64) // a UUID is no number, and the chart tells the number beside it
		if f.dataset <= 0 && result.Get("datasource_type").String() == "table" {
			f.dataset = result.Get("datasource_id").Int()
		}
	}
	return true
}

// isLegacy tells whether a visualisation has its data from the older path, which load runs cannot speak to.
func isLegacy(viz string) bool {
	switch viz {
	case "area", "bar", "bubble", "bullet", "cal_heatmap", "chord", "compare", "country_map", "dist_bar", "dual_line", "event_flow", "heatmap",
		"histogram", "horizon", "line", "line_multi", "mapbox", "paired_ttest", "para", "partition", "rose", "sankey", "sunburst", "time_pivot",
		"time_table", "treemap", "world_map", "filter_box", "separator", "markup", "iframe":
		return true
	}
	return strings.HasPrefix(viz, "deck_")
}

// sealed gives the snapshot its id: the digest of all that is in it but the time.
func (s *survey) sealed() (*load.Snapshot, error) {
	text, err := json.Marshal(s.snapshot)
	if err != nil {
		return nil, &failure{Kind: load.BadBody, Message: "the snapshot cannot be stored: " + err.Error()}
	}
	s.snapshot.ID = jcs.Sum(text)
	s.snapshot.Taken = s.who.client.now().UTC()
	return &s.snapshot, nil
}

// cut bounds a name.
func cut(text string) string {
	if len(text) <= maxNameBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxNameBytes], "") + "…"
}
