package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestEachPackageImportsOnlyWhatItsLayerMayKnow(t *testing.T) {
	report(t, checkLayers(layers(), readTree(t)))
}

func TestEachTechnologyStaysBehindItsOwner(t *testing.T) {
	report(t, checkOwners(owners(), readTree(t)))
}

func TestPurePackagesAndEnginesImportNothingThatTouchesTheWorld(t *testing.T) {
	report(t, checkDirectBans(bans(), readTree(t)))
}

// checkLayers finds imports that no layer allows, packages without a layer, and layers without a package.
func checkLayers(rules []layer, sources []source) []string {
	gone, lawless := make(map[string]bool), make(map[string]bool)
	for _, rule := range rules {
		gone[rule.path] = true
	}
	var findings []string
	for _, s := range sources {
		rule, ok := layerOf(rules, s.pkg)
		delete(gone, rule.path)
		switch {
		case wires(s.pkg):
			continue
		case !ok:
			lawless[s.pkg] = true
			continue
		}
		for _, imported := range s.imports() {
			ours, ok := strings.CutPrefix(imported, module+"/")
			if ok && !rule.allows(ours) && !(s.test && allowedInTest(s.pkg, ours)) {
				findings = append(findings, fmt.Sprintf("%s imports %s, which %s may not know; move the code or the need: a port, a parameter, a lower package", s.name, ours, rule.path))
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(lawless)) {
		findings = append(findings, fmt.Sprintf("package %s has no rule; add its line to layers in internal/archtest/rules_test.go", pkg))
	}
	for _, pkg := range slices.Sorted(maps.Keys(gone)) {
		findings = append(findings, fmt.Sprintf("the rule of %s has no package; remove its line from layers in internal/archtest/rules_test.go", pkg))
	}
	return findings
}

// layerOf finds the rule of a package: its own or the nearest above it.
func layerOf(rules []layer, pkg string) (layer, bool) {
	var nearest layer
	for _, rule := range rules {
		if below(pkg, rule.path) && len(rule.path) > len(nearest.path) {
			nearest = rule
		}
	}
	return nearest, nearest.path != ""
}

func (l layer) allows(ours string) bool {
	return below(ours, l.path) || slices.Contains(l.imports, ours) || slices.Contains(l.imports, pure) && isPure(ours)
}

func isPure(pkg string) bool {
	return below(pkg, "pkg") && !wires(pkg)
}

func wires(pkg string) bool {
	return slices.ContainsFunc(wiring(), func(dir string) bool { return below(pkg, dir) })
}

// allowedInTest says what tests may import beside the imports of their package: those of pure packages all that is pure,
// the others all but the wiring, as they run on real parts. The kit for tests is for everyone outside pkg/.
func allowedInTest(pkg, ours string) bool {
	if isPure(pkg) {
		return isPure(ours)
	}
	return !wires(ours) || below(ours, "internal/testkit")
}

// checkOwners finds code that imports a technology which is another package's.
func checkOwners(rules []owner, sources []source) []string {
	var findings []string
	for _, s := range sources {
		if s.test {
			continue
		}
		for _, imported := range s.imports() {
			for _, rule := range rules {
				if names(rule.technology, imported) && !rule.serves(s.pkg) {
					findings = append(findings, fmt.Sprintf("%s imports %s, which belongs to %s", s.name, imported, strings.Join(append(rule.packages, "the wiring, if anyone"), ", ")))
				}
			}
		}
	}
	return findings
}

func (o owner) serves(pkg string) bool {
	if slices.Contains(o.packages, pkg) || below(pkg, "internal/testkit") {
		return true
	}
	return wires(pkg) && !slices.Contains(nobodysButOwners(), o.technology)
}

// checkDirectBans finds imports in a package's own code that a ban forbids.
func checkDirectBans(rules []ban, sources []source) []string {
	var findings []string
	for _, s := range sources {
		for _, rule := range rules {
			if s.test || !rule.covers(s.pkg) {
				continue
			}
			for _, imported := range s.imports() {
				if rule.forbids(rule.direct, imported) {
					findings = append(findings, fmt.Sprintf("%s imports %s: %s", s.name, imported, rule.reason))
				}
			}
		}
	}
	return findings
}

func (b ban) covers(pkg string) bool {
	return below(pkg, b.path) && !slices.ContainsFunc(b.except, func(dir string) bool { return below(pkg, dir) })
}

func (b ban) forbids(list []string, importPath string) bool {
	return slices.ContainsFunc(list, func(technology string) bool { return names(technology, importPath) })
}
