package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The one way to a dashboard server, and the package that fakes one.
const (
	dashboardClient    = "internal/fetch/superset"
	dashboardSimulator = "internal/simulator/superset"
)

func TestLR_11_2_LoadReachesAServerByOneClientAlone(t *testing.T) {
	report(t, checkLoadPath(readTree(t)))
}

// checkLoadPath finds code beside the client that speaks to a dashboard server: files that have a path of its API in a text, and packages of the load path
// that open connections.
func checkLoadPath(sources []source) []string {
	var findings []string
	clients := 0
	for _, s := range sources {
		if s.test || below(s.pkg, dashboardSimulator) {
			continue
		}
		speaks := saysPath(s.syntax, "/api/v1/")
		if below(s.pkg, dashboardClient) {
			clients++
			continue
		}
		if speaks {
			findings = append(findings, s.name+" has a path of the API of dashboards: load reaches a server through "+dashboardClient+" alone")
		}
		for _, path := range s.imports() {
			if (below(s.pkg, "internal/loadrun") || below(s.pkg, "pkg/load")) && slices.Contains([]string{"net", "net/http", "crypto/tls", module + "/internal/fetch"}, path) {
				findings = append(findings, s.name+" imports "+path+": the load path opens no connections of its own")
			}
		}
	}
	if clients == 0 {
		findings = append(findings, "there is no "+dashboardClient+": this check is about nothing")
	}
	return findings
}

// saysPath tells whether a text of a file has the path in it.
func saysPath(file *ast.File, path string) bool {
	said := false
	ast.Inspect(file, func(n ast.Node) bool {
		text, ok := n.(*ast.BasicLit)
		said = said || ok && text.Kind == token.STRING && strings.Contains(text.Value, path)
		return !said
	})
	return said
}

func TestAPlantedWayAroundTheClientIsFound(t *testing.T) {
	clean := map[string]string{
		"internal/fetch/superset/a.go":     "package superset\nconst path = \"/api/v1/chart/data\"\n",
		"internal/simulator/superset/a.go": "package superset\nconst path = \"/api/v1/chart/data\"\n",
		"internal/loadrun/executor/a.go":   importing("context"),
	}
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"nothing planted":              {"internal/loadrun/b.go", importing("time"), nil},
		"a path elsewhere":             {"pkg/braid/b.go", "package braid\nfunc f() string { return \"http://x/api/v1/chart/\" }\n", []string{"pkg/braid/b.go has a path"}},
		"a connection of the executor": {"internal/loadrun/executor/b.go", importing("net/http"), []string{"internal/loadrun/executor/b.go imports net/http"}},
		"no client":                    {"internal/fetch/superset/a.go", "", []string{"there is no internal/fetch/superset: this check is about nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkLoadPath(planted(t, clean, c.file, c.text)), c.want)
		})
	}
}
