package archtest

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirements of load runs: how many there are in each of their chapters, from the first.
var requirements = [...]int{8, 10, 8, 8, 8, 7, 10, 9, 5, 8, 3}

func TestEachRequirementOfLoadRunsNamesTestsThatExist(t *testing.T) {
	report(t, checkRequirements(readFile(t, "docs/load-runs.md"), testNames(readTree(t))))
}

func TestPlantedRequirementsAreFound(t *testing.T) {
	tests := []string{"TestLR_1_1_One", "TestLR_1_1_Two", "TestByAnotherName"}
	whole := "| requirement | says | tests |\n|---|---|---|\n| LR-1.1 | one | `TestLR_1_1_One`, `TestLR_1_1_Two` |\n"
	for name, planted := range map[string]struct{ page, want string }{
		"a row without a test":            {strings.Replace(whole, "`TestLR_1_1_One`, `TestLR_1_1_Two`", "", 1), "LR-1.1 names no test"},
		"a test that there is not":        {strings.Replace(whole, "1_One", "1_Gone", 1), "TestLR_1_1_Gone"},
		"a requirement twice":             {whole + whole, "LR-1.1 twice"},
		"a requirement without a row":     {whole, "LR-1.2 has no row"},
		"a requirement that there is not": {whole + "| LR-12.1 | more | `TestByAnotherName` |\n", "LR-12.1"},
	} {
		found := strings.Join(checkRequirements(planted.page, tests), "\n")
		if !strings.Contains(found, planted.want) {
			t.Errorf("%s: found %s", name, found)
		}
	}
}

var (
	requirementRow = regexp.MustCompile(`(?m)^\| (LR-(\d+)\.(\d+)) \|[^|]*\|([^|]*)\|$`)
	namedTest      = regexp.MustCompile("`(Test\\w+)`")
)

// checkRequirements compares the table of a page with the tests that there are: each requirement has one row with at least one test that exists.
func checkRequirements(page string, tests []string) []string {
	var findings []string
	add := func(format string, args ...any) {
		findings = append(findings, fmt.Sprintf("docs/load-runs.md: "+format, args...))
	}
	rows := map[string][]string{}
	for _, row := range requirementRow.FindAllStringSubmatch(page, -1) {
		id := row[1]
		if _, twice := rows[id]; twice {
			add("%s twice", id)
		}
		rows[id] = matches(row[4], namedTest.String())
		if len(rows[id]) == 0 {
			add("%s names no test; write one, TestLR_%s_%s_…", id, row[2], row[3])
		}
		for _, name := range rows[id] {
			if !slices.Contains(tests, name) {
				add("%s names %s, which there is not", id, name)
			}
		}
	}
	known := map[string]bool{}
	for chapter, n := range requirements {
		for i := range n {
			id := fmt.Sprintf("LR-%d.%d", chapter+1, i+1)
			known[id] = true
			if _, there := rows[id]; !there {
				add("%s has no row", id)
			}
		}
	}
	for _, row := range requirementRow.FindAllStringSubmatch(page, -1) {
		if !known[row[1]] {
			add("there is no %s", row[1])
		}
	}
	return findings
}

// testNames lists the functions that go test runs, sorted, each once.
func testNames(sources []source) []string {
	var names []string
	for _, s := range sources {
		if !s.test {
			continue
		}
		for _, d := range s.syntax.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
