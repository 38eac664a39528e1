package docs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// accepts asks somebody else's validator.
func accepts(t *testing.T, schemaFile string, document []byte) error {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, schemaFile)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaFile, text); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		return err
	}
	if len(node.Content) == 0 {
		return errors.New("the document is empty")
	}
	return s.Validate(asEditorsRead(node.Content[0]))
}

// asEditorsRead is what an editor takes YAML for: numbers and truth values, and all else as text, days too.
func asEditorsRead(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = asEditorsRead(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range n.Content {
			list = append(list, asEditorsRead(item))
		}
		return list
	case yaml.DocumentNode, yaml.ScalarNode, yaml.AliasNode:
	}
	switch n.ShortTag() {
	case "!!int", "!!float":
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return f
		}
	case "!!bool":
		return n.Value == "true"
	case "!!null":
		return nil
	}
	return n.Value
}

const (
	querySchema   = "docs/reference/query.schema.json"
	serviceSchema = "docs/reference/service.schema.json"
)

// TestTheSchemasAcceptWhatIsRead tries all files and blocks that we have: of the pages, the examples and the built-in definitions.
func TestTheSchemasAcceptWhatIsRead(t *testing.T) {
	tried := 0
	try := func(name string, text []byte) {
		for schema, word := range map[string]string{querySchema: "schema: query/v1", serviceSchema: "schema: service/v1"} {
			if !strings.Contains(string(text), word) {
				continue
			}
			tried++
			if err := accepts(t, schema, text); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if _, part := b.mark("part of"); b.lang == "yaml" && !part {
				try(b.at(), []byte(b.body))
			}
		}
	}
	for _, folder := range []string{"examples", "pkg/service/builtin", "pkg/service/testdata", "internal/testkit", "test"} {
		err := fs.WalkDir(os.DirFS(root), folder, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" || strings.Contains(name, "node_modules") {
				return err
			}
			try(name, read(t, name))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if tried < 8 {
		t.Errorf("only %d documents were found", tried)
	}
}

// TestTheSchemasRefuseWhatIsNotRead makes mistakes that need no other key to be seen: the reader and the schema refuse each.
func TestTheSchemasRefuseWhatIsNotRead(t *testing.T) {
	whole := "schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n  site: {file: sites.csv, column: no, prefix: A-}\n  code: 00060\n  time: {from: 1984-10-01, to: today}\n" +
		"select: [time, value]\noutput:\n  - {to: t.parquet}\n  - {to: '-', format: csv, if_exists: replace}\nrun:\n  on_quota: {wait_up_to: 3h, then: pause}\n  in_flight: 4\nverify: {bad_values: allow}\nmax_chunks: 10\n"
	r := queryReference(t)
	refuse(t, r, querySchema, whole, [][2]string{
		{"in_flight", "reserv"},
		{"service:", "servcie:"},
		{"00060", "{from_query: wells.yaml}"},
		{"00060", "{from_query: wells.yaml, column: id, file: x.csv}"},
		{"max_chunks: 10", "since: {overlap: 2d}"},
		{"verify: {bad_values: allow}", "verify: {coverage: all}"},
		{"in_flight: 4", "max_requests: 0"},
		{"max_chunks: 10", "max_chunks: 0"},
		{"in_flight: 4", "in_flight: 0"},
		{"in_flight: 4", "hold_back: -1"},
		{"3h", "3"},
		{"then: pause", "then: stop"},
		{"format: csv", "format: duckdb"},
		{"{to: t.parquet}", "{format: csv}"},
		{"00060", "[]"},
		{"00060", ""},
		{"{from: 1984-10-01, to: today}", "{form: x}"},
		{"{file: sites.csv, column", "{column"},
		{"in_flight: 4", "priority: 11"},
		{"in_flight: 4", "weight: 101"},
		{"if_exists: replace", "if_exists: maybe"},
	})
	s := serviceReference(t)
	refuse(t, s, serviceSchema, s.base, [][2]string{
		{"base_url:", "base_ulr:"},
		{"limit: 100, window: 1h", "limit: 100"},
		{"window: 1h", "window: 1"},
		{"limit: 100", "limit: 0"},
		{"many: comma", "many: semicolon"},
		{"type: text, many", "type: texts, many"},
		{"format: json", "format: xml"},
		{"type: decimal", "typ: decimal"},
		{"pack: gauge", "packed: gauge"},
		{"of: date", "of: week"},
		{"required: true", "required: maybe"},
		{"fields:", "columns:"},
		{"rivers: {limit", "rivers: {counts: bits, limit"},
	})
}

func refuse(t *testing.T, r reference, schemaFile, whole string, mistakes [][2]string) {
	t.Helper()
	if _, err := r.parse([]byte(whole)); err != nil {
		t.Fatalf("without a mistake: %v", err)
	}
	if err := accepts(t, schemaFile, []byte(whole)); err != nil {
		t.Fatalf("without a mistake: %v", err)
	}
	for _, m := range mistakes {
		text := []byte(strings.Replace(whole, m[0], m[1], 1))
		if _, err := r.parse(text); err == nil || string(text) == whole {
			t.Errorf("%q instead of %q is read, or nothing was replaced", m[1], m[0])
		}
		if accepts(t, schemaFile, text) == nil {
			t.Errorf("%s accepts %q instead of %q", schemaFile, m[1], m[0])
		}
	}
}
