package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestEachDirectDependencyHasItsReasonAndEachReasonItsDependency(t *testing.T) {
	modules := matches(readFile(t, "go.mod"), `(?m)^(?:require |\t)(\S+\.\S+/\S+) v\S+`)
	explained := matches(readFile(t, "docs/dependencies.md"), `(?m)^\| (\S+/\S+) \|`)
	report(t, checkDependencies(modules, explained, readTree(t)))
}

// checkDependencies compares the modules that our files import with those that are explained.
func checkDependencies(modules, explained []string, sources []source) []string {
	direct := make(map[string]string)
	for _, s := range sources {
		for _, imported := range s.imports() {
			if used := moduleOf(modules, imported); used != "" {
				direct[used] = s.name
			}
		}
	}
	var findings []string
	for _, used := range slices.Sorted(maps.Keys(direct)) {
		if !slices.Contains(explained, used) {
			findings = append(findings, fmt.Sprintf("%s imports from %s, which docs/dependencies.md does not explain; add its line with the reason", direct[used], used))
		}
	}
	for _, name := range explained {
		if direct[name] == "" {
			findings = append(findings, fmt.Sprintf("docs/dependencies.md explains %s, from which nothing is imported; remove its line", name))
		}
	}
	return findings
}

// moduleOf is the module that a package is part of, empty when no required one is.
func moduleOf(modules []string, importPath string) string {
	var longest string
	for _, name := range modules {
		if below(importPath, name) && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

func TestPlantedDependenciesAreFound(t *testing.T) {
	sources := []source{
		parse(t, "pkg/a/a.go", importing("fmt", "example.org/kept/part", "example.org/nested/v2/x", "ours/pkg/b")),
		parse(t, "pkg/a/a_test.go", importing("example.org/silent")),
	}
	modules := strings.Fields("example.org/kept example.org/silent example.org/nested example.org/nested/v2 example.org/indirect")
	explained := strings.Fields("example.org/kept example.org/nested/v2 example.org/gone")
	expect(t, checkDependencies(modules, explained, sources), []string{
		"pkg/a/a_test.go imports from example.org/silent",
		"docs/dependencies.md explains example.org/gone",
	})
}
