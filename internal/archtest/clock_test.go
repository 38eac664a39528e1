package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestPurePackagesReadNoClockAndNoTestSleeps(t *testing.T) {
	report(t, checkClock(clockReaders(), readTree(t)))
}

// checkClock finds readings of the clock in pure packages, and sleeps anywhere but in a synctest bubble's file, where time
// is not the real one.
func checkClock(readers map[string]string, sources []source) []string {
	readings := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}
	unused := maps.Clone(readers)
	var findings []string
	for _, s := range sources {
		delete(unused, s.pkg)
		mayRead := s.test || !isPure(s.pkg) || readers[s.pkg] != ""
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if selects(s, selector, "time", "Sleep") && s.localName("testing/synctest") == "" {
				findings = append(findings, s.at(n)+": time.Sleep waits for nothing in particular; wait for the event, for a timer beside ctx.Done(), or in a synctest bubble")
			}
			if !mayRead && slices.ContainsFunc(readings, func(name string) bool { return selects(s, selector, "time", name) }) {
				findings = append(findings, fmt.Sprintf("%s: time.%s reads the clock in a pure package; take the time as a parameter", s.at(n), selector.Sel.Name))
			}
			return true
		})
	}
	for _, pkg := range slices.Sorted(maps.Keys(unused)) {
		findings = append(findings, fmt.Sprintf("%s is no package; remove its line from clockReaders in internal/archtest/rules_test.go", pkg))
	}
	return findings
}

func TestPlantedClocksAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"a pure package reads the clock":    {"pkg/planner/a.go", `import "time"; func f() time.Time { return time.Now() }`, []string{"pkg/planner/a.go:2: time.Now reads the clock"}},
		"a clock as a default":              {"pkg/planner/a.go", `import "time"; func f() func() time.Time { return time.Now }`, []string{"pkg/planner/a.go:2: time.Now reads the clock"}},
		"a pure package starts a timer":     {"pkg/planner/a.go", `import "time"; func f() { time.AfterFunc(0, nil) }`, []string{"pkg/planner/a.go:2: time.AfterFunc reads the clock"}},
		"under another name":                {"pkg/planner/a.go", `import clock "time"; func f() { clock.Now() }`, []string{"pkg/planner/a.go:2: time.Now reads the clock"}},
		"a method of the same name":         {"pkg/planner/a.go", `func f(ports P) { ports.Now() }`, nil},
		"durations are numbers":             {"pkg/planner/a.go", `import "time"; func f() time.Duration { return time.Second }`, nil},
		"a pure package's test may measure": {"pkg/planner/a_test.go", `import "time"; func f() { time.Now() }`, nil},
		"a listed reader":                   {"pkg/lease/a.go", `import "time"; func f() { time.Now() }`, nil},
		"an engine starts a timer":          {"internal/worker/a.go", `import "time"; func f() { time.NewTimer(0) }`, nil},
		"a test sleeps":                     {"internal/worker/a_test.go", `import "time"; func f() { time.Sleep(1) }`, []string{"internal/worker/a_test.go:2: time.Sleep"}},
		"code sleeps":                       {"internal/worker/a.go", `import "time"; func f() { time.Sleep(1) }`, []string{"internal/worker/a.go:2: time.Sleep"}},
		"a bubble sleeps":                   {"internal/worker/a_test.go", `import ("time"; "testing/synctest"); func f() { synctest.Wait(); time.Sleep(1) }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			readers := map[string]string{"pkg/lease": "planted"}
			sources := []source{parse(t, "pkg/lease/b.go", "package lease\n"), parse(t, c.file, "package a\n"+c.text+"\n")}
			expect(t, checkClock(readers, sources), c.want)
		})
	}
}

func TestAReaderThatIsGoneLosesItsPermission(t *testing.T) {
	findings := checkClock(map[string]string{"pkg/gone": "planted"}, nil)
	if len(findings) != 1 || !strings.HasPrefix(findings[0], "pkg/gone is no package") {
		t.Errorf("findings are %q, want one about pkg/gone", findings)
	}
}
