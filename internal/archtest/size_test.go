package archtest

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

func TestNoFileOrFunctionIsLongerThanAReaderCanHold(t *testing.T) {
	report(t, checkSizes(readTree(t)))
}

// checkSizes finds files that are too long, and functions outside tests that are.
func checkSizes(sources []source) []string {
	var findings []string
	for _, s := range sources {
		most := mostFileLines
		if s.test {
			most = mostTestFileLines
		}
		if s.lines > most {
			findings = append(findings, fmt.Sprintf("%s has %d lines, more than %d; split it by noun", s.name, s.lines, most))
		}
		if s.test {
			continue
		}
		for _, declaration := range s.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.files.Position(function.End()).Line - s.files.Position(function.Pos()).Line + 1
			if lines > mostFunctionLines {
				findings = append(findings, fmt.Sprintf("%s: %s has %d lines, more than %d; name its parts", s.at(function), function.Name.Name, lines, mostFunctionLines))
			}
		}
	}
	return findings
}

func TestPlantedSizesAreFound(t *testing.T) {
	function := func(lines int) string {
		return "package planted\n\nfunc long() {\n" + strings.Repeat("\tlong()\n", lines-2) + "}\n"
	}
	file := func(lines int) string { return "package planted\n" + strings.Repeat("\n", lines-1) }
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"a function at its limit":     {"pkg/a/a.go", function(mostFunctionLines), nil},
		"a function past its limit":   {"pkg/a/a.go", function(mostFunctionLines + 1), []string{"pkg/a/a.go:3: long has 81 lines"}},
		"a test function may be long": {"pkg/a/a_test.go", function(mostFunctionLines + 1), nil},
		"a file at its limit":         {"pkg/a/a.go", file(mostFileLines), nil},
		"a file past its limit":       {"pkg/a/a.go", file(mostFileLines + 1), []string{"pkg/a/a.go has 601 lines"}},
		"a test file may be longer":   {"pkg/a/a_test.go", file(mostTestFileLines), nil},
		"a test file past its limit":  {"pkg/a/a_test.go", file(mostTestFileLines + 1), []string{"pkg/a/a_test.go has 901 lines"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkSizes([]source{parse(t, c.file, c.text)}), c.want)
		})
	}
}
