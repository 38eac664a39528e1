package metrics_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"github.com/braidhq/braid/internal/metrics"
)

var update = flag.Bool("update", false, "write the table of metrics into docs/observability.md")

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// families are all metrics of a process that has everything in it.
func families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	p := metrics.New(metrics.Config{Spans: func() (int64, int64) { return 1, 2 }})
	p.Watch(func(context.Context) (*metrics.System, error) { return system("usgs"), nil })
	exercise(p, "usgs")
	gathered, err := p.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*dto.MetricFamily{}
	for _, family := range gathered {
		all[family.GetName()] = family
	}
	return all
}

// series are the names that a query may have.
func series(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"up": true}
	for name, family := range families(t) {
		names[name] = true
		if family.GetType() == dto.MetricType_HISTOGRAM {
			names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
		}
	}
	return names
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	grouping   = regexp.MustCompile(`\b(?:by|on|without|ignoring)\s*\(([^)]*)\)`)
	selector   = regexp.MustCompile(`\{([^}]*)\}`)
	window     = regexp.MustCompile(`\[[^\]]*\]`)
	called     = regexp.MustCompile(`\b([a-zA-Z_][a-zA-Z0-9_]*)\s*\(`)
	named      = regexp.MustCompile(`\b[a-zA-Z_][a-zA-Z0-9_:]*\b`)
	matcher    = regexp.MustCompile(`([a-zA-Z_]+)\s*(?:=~|!~|!=|=)`)
)

// parts splits an expression of PromQL into the metrics and the labels that it names.
func parts(expression string) (names, labels []string) {
	for _, m := range selector.FindAllStringSubmatch(quotedText.ReplaceAllString(expression, `""`), -1) {
		for _, label := range matcher.FindAllStringSubmatch(m[1], -1) {
			labels = append(labels, label[1])
		}
	}
	bare := quotedText.ReplaceAllString(expression, " ")
	for _, m := range grouping.FindAllStringSubmatch(bare, -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			labels = append(labels, strings.TrimSpace(label))
		}
	}
	bare = called.ReplaceAllString(window.ReplaceAllString(selector.ReplaceAllString(grouping.ReplaceAllString(bare, " "), " "), " "), " ( ")
	for _, name := range named.FindAllString(bare, -1) {
		if !slices.Contains([]string{"by", "on", "or", "and", "unless", "bool", "e"}, name) {
			names = append(names, name)
		}
	}
	return names, labels
}

func TestPartsOfAnExpression(t *testing.T) {
	names, labels := parts(`sum by (le, route) (rate(braid_x_bucket{job=~"a|b",code!="5xx"}[5m])) / max(up{a="b"}) > 1.5e3 unless on (service) (y == 0) or vector(0)`)
	slices.Sort(names)
	slices.Sort(labels)
	if got := fmt.Sprint(names, labels); got != "[braid_x_bucket up y] [a code job le route service]" {
		t.Error(got)
	}
}

// checkExpression finds metrics that nobody makes, and labels that they do not have.
func checkExpression(known map[string]bool, labels map[string]bool, expression string) (problems []string) {
	names, used := parts(expression)
	if len(names) == 0 {
		problems = append(problems, "it names no metric: "+expression)
	}
	for _, name := range names {
		if !known[name] {
			problems = append(problems, fmt.Sprintf("there is no metric %s: %s", name, expression))
		}
	}
	for _, label := range used {
		if !labels[label] {
			problems = append(problems, fmt.Sprintf("no metric has the label %s: %s", label, expression))
		}
	}
	return problems
}

func knownLabels(t *testing.T) map[string]bool {
	t.Helper()
	labels := map[string]bool{"job": true, "instance": true, "le": true, "pod": true, "namespace": true}
	for name, family := range families(t) {
		if strings.HasPrefix(name, "braid_") {
			for _, label := range family.GetMetric()[0].GetLabel() {
				labels[label.GetName()] = true
			}
		}
	}
	return labels
}

type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct{ Name, Type, Definition string } `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ H, W, X, Y int } `json:"gridPos"`
	Datasource  struct{ Type, UID string }
	Targets     []struct {
		RefID string `json:"refId"`
		Expr  string
	}
}

func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "deploy/grafana/braid.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		t.Errorf("uid %q, title %q, schema %d", d.UID, d.Title, d.SchemaVersion)
	}
	known, labels := series(t), knownLabels(t)
	variables := []string{"__rate_interval"}
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if m := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`).FindStringSubmatch(v.Definition); v.Type == "query" && (len(m) != 3 || !known[m[1]] || !labels[m[2]]) {
			t.Errorf("the variable %s asks for %s", v.Name, v.Definition)
		}
	}
	ids, shown := map[int]bool{}, map[string]bool{}
	for i, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" {
			t.Errorf("panel %q has the id %d, which another one has, or no title", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" || p.GridPos.W < 1 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		for _, other := range d.Panels[:i] {
			if a, b := p.GridPos, other.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("the panels %q and %q lie on one another", p.Title, other.Title)
			}
		}
		for _, target := range p.Targets {
			for _, m := range regexp.MustCompile(`\$\{?(\w+)\}?`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(variables, m[1]) {
					t.Errorf("panel %q uses the variable %s, which there is not", p.Title, m[1])
				}
			}
			for _, problem := range checkExpression(known, labels, target.Expr) {
				t.Errorf("panel %q: %s", p.Title, problem)
			}
			names, _ := parts(target.Expr)
			for _, name := range names {
				shown[name] = true
			}
		}
	}
	for name, family := range families(t) {
		if strings.HasPrefix(name, "braid_") && !shown[name] && !(family.GetType() == dto.MetricType_HISTOGRAM && shown[name+"_bucket"]) && !slices.Contains(unshown(), name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// lower is how Markdown's readers make an anchor of a name.
func lower(name string) string { return strings.ToLower(name) }

// unshown are the metrics that are for queries of one's own.
func unshown() []string {
	return []string{"braid_build_info", "braid_items_taken_total", "braid_pages_total", "braid_store_messages", "braid_gate_closings_total"}
}

type alerts struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert       string
			Expr        string
			For         string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

func readAlerts(t *testing.T) alerts {
	t.Helper()
	var a alerts
	decoder := yaml.NewDecoder(strings.NewReader(read(t, "deploy/prometheus/alerts.yml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAlertsAskForWhatThereIsAndSayWhatToDo(t *testing.T) {
	known, labels := series(t), knownLabels(t)
	runbook := read(t, "docs/operations.md")
	tested := read(t, "deploy/prometheus/alerts_test.yml")
	names := map[string]bool{}
	for _, group := range readAlerts(t).Groups {
		for _, rule := range group.Rules {
			if !strings.HasPrefix(rule.Alert, "Braid") || names[rule.Alert] {
				t.Errorf("the alert %q is there twice, or is named as another system's", rule.Alert)
			}
			names[rule.Alert] = true
			for _, problem := range checkExpression(known, labels, rule.Expr) {
				t.Errorf("%s: %s", rule.Alert, problem)
			}
			if !slices.Contains([]string{"info", "warning", "critical"}, rule.Labels["severity"]) || rule.For == "" {
				t.Errorf("%s: severity %q, for %q", rule.Alert, rule.Labels["severity"], rule.For)
			}
			if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
				t.Errorf("%s: it has no summary, or no description", rule.Alert)
			}
			_, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "docs/operations.md#")
			if anchor != lower(rule.Alert) || !strings.Contains(runbook, "\n### "+rule.Alert+"\n") {
				t.Errorf("%s: docs/operations.md has no section of that name, or the runbook is elsewhere: %s", rule.Alert, rule.Annotations["runbook_url"])
			}
			for _, used := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(rule.Annotations["description"], -1) {
				if !labels[used[1]] {
					t.Errorf("%s: its description names the label %s", rule.Alert, used[1])
				}
			}
		}
	}
	for _, name := range []string{"BraidNoLeader", "BraidNoWorkers", "BraidGateClosedLong", "BraidQuotaNearlyUsed", "BraidFailuresRising", "BraidStoreNearlyFull", "BraidNATSUnreachable", "BraidQueueStuck", "BraidBreakerOpen", "BraidAPIErrors"} {
		if !names[name] || !strings.Contains(tested, name) {
			t.Errorf("there is no alert %s, or no test of it", name)
		}
	}
	for _, section := range regexp.MustCompile(`(?m)^### (Braid[A-Za-z]+)$`).FindAllStringSubmatch(runbook, -1) {
		if !names[section[1]] {
			t.Errorf("docs/operations.md tells of the alert %s, which there is not", section[1])
		}
	}
}

func TestAutoscalingAsksForWhatThereIs(t *testing.T) {
	known, labels := series(t), knownLabels(t)
	text := read(t, "deploy/kubernetes/autoscale-keda.yaml")
	_, query, found := strings.Cut(text, "query: >-\n")
	if !found {
		t.Fatal("there is no query")
	}
	for _, problem := range checkExpression(known, labels, query) {
		t.Error(problem)
	}
}

const (
	tableBegins = "<!-- metrics: made by `go test ./internal/metrics -update` -->\n"
	tableEnds   = "<!-- /metrics -->\n"
)

func TestTheTableOfMetricsIsWhatThereIs(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	all := families(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, "braid_") {
			continue
		}
		family := all[name]
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, "`"+label.GetName()+"`")
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", name, strings.ToLower(family.GetType().String()), strings.Join(labels, ", "), family.GetHelp())
	}
	table.WriteString("\n")
	const page = "docs/observability.md"
	text := read(t, page)
	before, rest, begun := strings.Cut(text, tableBegins)
	have, after, ended := strings.Cut(rest, tableEnds)
	if !begun || !ended {
		t.Fatalf("%s has no place for the table", page)
	}
	if have == table.String() {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not what there is; run go test ./internal/metrics -update", page)
	}
	if err := os.WriteFile(filepath.Join(root, page), []byte(before+tableBegins+table.String()+tableEnds+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
