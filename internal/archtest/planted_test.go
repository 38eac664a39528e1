package archtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// importing makes the text of a file that imports paths; ours are written "ours/…".
func importing(paths ...string) string {
	text := "package planted\n"
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "ours/"); ok {
			path = module + "/" + rest
		}
		text += "import _ \"" + path + "\"\n"
	}
	return text
}

func TestPlantedImportsAreFound(t *testing.T) {
	rules := []layer{{"pkg/low", nil}, {"pkg/high", []string{"pkg/low"}}, {"internal/engine", []string{pure}}, {"internal/edge", []string{"pkg/low"}}}
	clean := map[string]string{
		"pkg/low/a.go": importing("fmt"), "pkg/high/a.go": importing("ours/pkg/low"),
		"internal/engine/a.go": importing("ours/pkg/high"), "internal/edge/a.go": importing("ours/pkg/low"),
		"cmd/braid/main.go": importing("ours/internal/edge", "ours/pkg/braid"),
	}
	for name, c := range map[string]struct {
		file, text string
		want       []string // parts of the one finding; nil: none
	}{
		"nothing planted":                       {"pkg/low/b.go", importing("strings"), nil},
		"a lower package imports a higher one":  {"pkg/low/b.go", importing("ours/pkg/high"), []string{"pkg/low/b.go imports pkg/high"}},
		"a pure package imports an edge":        {"pkg/high/b.go", importing("ours/internal/edge"), []string{"pkg/high/b.go imports internal/edge"}},
		"an edge imports an engine":             {"internal/edge/b.go", importing("ours/internal/engine"), []string{"internal/edge/b.go imports internal/engine"}},
		"an engine imports an edge":             {"internal/engine/b.go", importing("ours/internal/edge"), []string{"internal/engine/b.go imports internal/edge"}},
		"an engine imports the façade":          {"internal/engine/b.go", importing("ours/pkg/braid"), []string{"internal/engine/b.go imports pkg/braid"}},
		"a file for another system":             {"pkg/low/b_plan9.go", "//go:build plan9\n\n" + importing("ours/pkg/high"), []string{"pkg/low/b_plan9.go imports pkg/high"}},
		"a package without a rule":              {"pkg/new/b.go", importing("fmt"), []string{"package pkg/new has no rule"}},
		"a pure test imports a pure package":    {"pkg/low/b_test.go", importing("ours/pkg/high"), nil},
		"a pure test imports an edge":           {"pkg/low/b_test.go", importing("ours/internal/edge"), []string{"pkg/low/b_test.go imports internal/edge"}},
		"an engine's test runs on a real edge":  {"internal/engine/b_test.go", importing("ours/internal/edge"), nil},
		"an edge's test imports a binary":       {"internal/edge/b_test.go", importing("ours/cmd/braid"), []string{"internal/edge/b_test.go imports cmd/braid"}},
		"a rule without a package (edge gone)":  {"internal/edge/a.go", "", []string{"the rule of internal/edge has no package"}},
		"a package below follows its parent":    {"internal/edge/part/b.go", importing("ours/pkg/high"), []string{"internal/edge/part/b.go imports pkg/high, which internal/edge"}},
		"a package knows those below it":        {"internal/edge/b.go", importing("ours/internal/edge/part"), nil},
		"a similar name is not below the other": {"pkg/lower/b.go", importing("fmt"), []string{"package pkg/lower has no rule"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkLayers(rules, planted(t, clean, c.file, c.text)), c.want)
		})
	}
}

func TestPlantedTechnologyIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, imported string
		want           []string
	}{
		"bus knows NATS":                     {"internal/bus/a.go", "github.com/nats-io/nats.go/jetstream", nil},
		"the kit for tests starts a server":  {"internal/testkit/a.go", "github.com/nats-io/nats-server/v2/server", nil},
		"a test of an engine knows NATS":     {"internal/worker/a_test.go", "github.com/nats-io/nats.go", nil},
		"a binary knows NATS":                {"cmd/worker/a.go", "github.com/nats-io/nats.go", []string{"cmd/worker/a.go imports github.com/nats-io/nats.go"}},
		"the façade knows NATS":              {"pkg/braid/a.go", "github.com/nats-io/nats.go", []string{"pkg/braid/a.go imports github.com/nats-io/nats.go"}},
		"an engine knows NATS":               {"internal/worker/a.go", "github.com/nats-io/nats.go", []string{"internal/worker/a.go imports github.com/nats-io/nats.go"}},
		"bus speaks HTTP":                    {"internal/bus/a.go", "net/http", []string{"internal/bus/a.go imports net/http"}},
		"a binary serves HTTP":               {"cmd/coordinator/a.go", "net/http", nil},
		"YAML is read by its own package":    {"pkg/strictyaml/a.go", "go.yaml.in/yaml/v3", nil},
		"YAML is read elsewhere":             {"pkg/query/a.go", "go.yaml.in/yaml/v3", []string{"pkg/query/a.go imports go.yaml.in/yaml/v3"}},
		"net is not all that begins with it": {"pkg/query/a.go", "net/url", nil},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkOwners(owners(), planted(t, nil, c.file, importing(c.imported))), c.want)
		})
	}
}

func TestPlantedWorldlyImportsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, imported string
		want           []string
	}{
		"a pure package takes an address":     {"pkg/service/a.go", "net/netip", nil},
		"a pure package opens files":          {"pkg/service/a.go", "os", []string{"pkg/service/a.go imports os: pkg/ is pure"}},
		"a pure package logs":                 {"pkg/service/a.go", "log/slog", []string{"pkg/service/a.go imports log/slog: pkg/ is pure"}},
		"a pure package's test reads a file":  {"pkg/service/a_test.go", "os", nil},
		"the façade wires":                    {"pkg/braid/a.go", "os", nil},
		"an engine logs to what it was given": {"internal/worker/a.go", "log/slog", nil},
		"an engine reads the environment":     {"internal/worker/a.go", "os", []string{"internal/worker/a.go imports os: an engine"}},
		"the coordinator sees the upstream":   {"cmd/coordinator/a.go", "ours/internal/fetch", []string{"cmd/coordinator/a.go imports github.com/braidhq/braid/internal/fetch: the coordinator"}},
		"the one binary sees the upstream":    {"cmd/braid/a.go", "ours/internal/fetch", nil},
		"an engine speaks HTTP":               {"internal/coordinator/a.go", "net/http", []string{"internal/coordinator/a.go imports net/http: an engine"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkDirectBans(bans(), planted(t, nil, c.file, importing(c.imported))), c.want)
		})
	}
}

// planted is a tree of files with one added, replaced or, with an empty text, removed.
func planted(t *testing.T, files map[string]string, file, text string) []source {
	t.Helper()
	var sources []source
	for name, content := range files {
		if name != file {
			sources = append(sources, parse(t, name, content))
		}
	}
	if text != "" {
		sources = append(sources, parse(t, file, text))
	}
	return sources
}

// expect compares findings with their beginnings.
func expect(t *testing.T, findings, want []string) {
	t.Helper()
	got := make([]string, len(findings))
	for i, finding := range findings {
		got[i] = finding
		if i < len(want) && strings.HasPrefix(finding, want[i]) {
			got[i] = want[i]
		}
	}
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}
