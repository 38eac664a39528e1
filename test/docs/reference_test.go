package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// reference is all that is made of one language.
type reference struct {
	keys   []key
	schema schema
	facts  map[string]fact
	parse  func(data []byte) (any, error) // the real reader
	base   string                         // a whole file
}

func queryReference(t *testing.T) reference {
	l := readLanguage(t, "pkg/query", queryFacts())
	r := reference{facts: l.facts, base: "schema: query/v1\nservice: s\ncollection: c\nwhere: {}\n"}
	r.parse = func(data []byte) (any, error) {
		q, err := query.Parse("q.yaml", data)
		if q != nil { // where a key stands is no part of what it means
			q = &query.Query{Service: q.Service, Outputs: q.Outputs, Run: q.Run, BadValues: q.BadValues, Coverage: q.Coverage, Changed: q.Changed, MaxChunks: q.MaxChunks, MaxRows: q.MaxRows}
		}
		return q, err
	}
	r.schema = l.root("queryRule", &r.keys)
	return r
}

func serviceReference(t *testing.T) reference {
	l := readLanguage(t, "pkg/service", serviceFacts(), "pkg/frame")
	r := reference{facts: l.facts, base: small(t)}
	r.parse = func(data []byte) (any, error) { return service.Parse("s.yaml", data) }
	r.schema = l.root("definitionRule", &r.keys)
	loosen(r.schema, "defaults")    // what is missing there stands in the collections,
	loosen(r.schema, "collections") // and the other way round
	return r
}

// small is the small definition of docs/service-definition.md.
func small(t *testing.T) string {
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if p.name == "docs/service-definition.md" && strings.Contains(b.body, "schema: service/v1") {
				return b.body
			}
		}
	}
	t.Fatal("docs/service-definition.md has no definition")
	return ""
}

func (l *language) root(name string, keys *[]key) schema {
	seen := make(map[string]bool)
	s, _ := l.named(name, "", func(k key) {
		if !seen[k.path] {
			seen[k.path] = true
			*keys = append(*keys, k)
		}
	})
	for path := range l.facts {
		if !seen[path] {
			l.t.Errorf("there is no key %s any more; remove it from facts_test.go", path)
		}
	}
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	return s
}

// loosen lets keys be missing below a property.
func loosen(s schema, property string) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case schema:
			if v["type"] == "object" {
				delete(v, "required")
			}
			for _, below := range v {
				walk(below)
			}
		case []any:
			for _, below := range v {
				walk(below)
			}
		}
	}
	walk(s["properties"].(schema)[property])
}

func TestTheReferencesAreWhatTheTypesSay(t *testing.T) {
	q, s := queryReference(t), serviceReference(t)
	holds(t, "docs/reference/query.md", "# Keys of a query file\n\nMade from the types in `pkg/query` by `make reference`. [The query file](../query-file.md) explains them. "+
		"Editors check a file against [query.schema.json](query.schema.json) as it is written:\n\n"+
		"<!-- part of: query -->\n```yaml\n# yaml-language-server: $schema=query.schema.json\nschema: query/v1\n```\n\n"+
		"A path with `*` has the name of a parameter there.\n\n"+q.table("", "")+
		"\nA time span is a number with its unit, such as `90s`, `5m`, `3h` or `2d`.\n")
	holds(t, "docs/reference/service.md", serviceText(s))
	holds(t, "docs/reference/query.schema.json", asJSON(t, q.schema))
	holds(t, "docs/reference/service.schema.json", asJSON(t, s.schema))
}

func serviceText(r reference) string {
	var b strings.Builder
	b.WriteString("# Keys of a service definition\n\nMade from the types in `pkg/service` by `make reference`. [The service definition](../service-definition.md) explains them. " +
		"Editors check a file against [service.schema.json](service.schema.json) as it is written, with this line at its head:\n\n" +
		"```text\n# yaml-language-server: $schema=service.schema.json\n```\n\n" +
		"`NAME` stands for a name that is yours, `[]` for each of a list.\n")
	for _, section := range []struct{ title, under string }{
		{"The service", ""},
		{"hosts", "hosts[]"},
		{"credentials", "credentials.*"},
		{"quotas", "quotas.*"},
		{"limits", "limits"},
		{"timeouts", "timeouts"},
		{"retry", "retry"},
		{"responses", "responses[]"},
		{"environment", "environment"},
		{"A collection", "collections.*"},
		{"request", "collections.*.request"},
		{"params", "collections.*.params.*"},
		{"axes", "collections.*.axes[]"},
		{"paging", "collections.*.paging"},
		{"rows", "collections.*.rows"},
		{"fields", "collections.*.fields.*"},
		{"finalize", "collections.*.finalize[]"},
		{"estimate", "collections.*.estimate"},
		{"summary", "collections.*.summary"},
	} {
		title := section.title
		if section.under != "" && strings.ToLower(title[:1]) == title[:1] {
			title = "`" + title + "`"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s", title, r.table(section.under, "collections.*"))
	}
	b.WriteString("\nA time span is a number with its unit, such as `500ms`, `90s`, `5m`, `2h` or `1d`. Paths and sources are explained in [The service definition](../service-definition.md#paging).\n")
	return b.String()
}

// table is the keys right below a place, with those of the mappings in them that have no section of their own; below the root without a
// place that is named apart: all.
func (r reference) table(under, apart string) string {
	var b strings.Builder
	b.WriteString("| key | is | meaning | default |\n|---|---|---|---|\n")
	for _, k := range r.keys {
		name, ok := strings.CutPrefix(k.path, under)
		if name = strings.TrimPrefix(name, "."); !ok || name == "" {
			continue
		}
		deep := strings.ContainsAny(name, ".*[")
		own := under != "" && under != apart && apart != ""
		if apart != "" && deep && !own {
			continue
		}
		form := k.form
		if len(k.choices) > 0 {
			form = strings.Replace(form, "word", "`"+strings.Join(k.choices, "`, `")+"`", 1)
		}
		usual := ""
		fact, known := r.facts[k.path]
		if known && fact.bounded() {
			form += ", " + fact.String()
		}
		if known && fact.usual != "" {
			usual = "`" + fact.usual + "`"
		}
		if k.required {
			usual = "needed"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(name, "*", "NAME"), strings.ReplaceAll(form, "|", `\|`), cell(k.doc), usual)
	}
	return b.String()
}

func asJSON(t *testing.T, s schema) string {
	t.Helper()
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data) + "\n"
}

// TestBoundsAndDefaultsAreThoseOfTheReader tries each of them: the bounds themselves are read and what lies beyond is not, and a file with the default
// written out means what it means without.
func TestBoundsAndDefaultsAreThoseOfTheReader(t *testing.T) {
	for name, r := range map[string]reference{"query": queryReference(t), "service": serviceReference(t)} {
		for _, path := range slices.Sorted(maps.Keys(r.facts)) {
			t.Run(name+" "+path, func(t *testing.T) { r.try(t, path, r.facts[path]) })
		}
	}
}

func (r reference) try(t *testing.T, path string, f fact) {
	without, err := r.parse(r.with(t, f.with, "", ""))
	if err != nil {
		t.Fatalf("a file without it is refused: %v", err)
	}
	if f.bounded() {
		for value, good := range map[int64]bool{f.least: true, f.most: true, f.least - 1: false, f.most + 1: false} {
			if _, err := r.parse(r.with(t, f.with, path, strconv.FormatInt(value, 10))); (err == nil) != good {
				t.Errorf("%d: %v", value, err)
			}
		}
	}
	if f.usual == "" {
		return
	}
	with, err := r.parse(r.with(t, f.with, path, f.usual))
	if err != nil {
		t.Fatalf("the default %s is refused: %v", f.usual, err)
	}
	if !f.silent && !reflect.DeepEqual(with, without) {
		t.Errorf("%s is not what an absent key means", f.usual)
	}
}

// with is the base with something laid over it, and a value set at a path.
func (r reference) with(t *testing.T, over, path, value string) []byte {
	t.Helper()
	base := map[string]any{}
	for _, text := range []string{r.base, over} {
		laid := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &laid); err != nil {
			t.Fatal(err)
		}
		lay(base, laid)
	}
	if path != "" {
		set(base, strings.Split(strings.ReplaceAll(path, "[]", ".[]"), "."), value)
	}
	data, err := yaml.Marshal(base)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lay(base, over map[string]any) {
	for key, value := range over {
		below, both := base[key].(map[string]any)
		if laid, ok := value.(map[string]any); ok && both && key != "paging" && key != "rows" {
			lay(below, laid)
			continue
		}
		base[key] = value
	}
}

// set puts a value at a path; * is the last name there in the alphabet, [] the first of a list.
func set(at any, steps []string, value string) {
	m, ok := at.(map[string]any)
	if !ok {
		if list, is := at.([]any); is && steps[0] == "[]" {
			set(list[0], steps[1:], value)
		}
		return
	}
	name := steps[0]
	if name == "*" {
		names := slices.Sorted(maps.Keys(m))
		name = names[len(names)-1]
		if slices.Contains(names, "more") {
			name = "more"
		}
	}
	if len(steps) == 1 {
		m[name] = plainValue(value)
		return
	}
	if m[name] == nil {
		m[name] = map[string]any{}
	}
	set(m[name], steps[1:], value)
}

func plainValue(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return text
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
