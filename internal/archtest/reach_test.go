package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is what the go command tells of one package.
type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestPurePackagesEnginesAndBinariesReachNothingForbidden(t *testing.T) {
	readTree(t) // for the test cache, see the package comment
	report(t, checkReach(bans(), listPackages(t)))
}

// listPackages asks the go command for all that is built into each of our packages.
func listPackages(t *testing.T) []listed {
	t.Helper()
	var stderr bytes.Buffer
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	list.Dir, list.Stderr = root, &stderr
	output, err := list.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, &stderr)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("read the list of packages: %v", err)
		}
		packages = append(packages, p)
	}
	return packages
}

// checkReach finds packages that reach, over any number of imports, what a ban forbids them: one finding for each
// forbidden technology, though it may be many packages.
func checkReach(rules []ban, packages []listed) []string {
	var findings []string
	for _, p := range packages {
		ours, ok := strings.CutPrefix(p.ImportPath, module+"/")
		for _, rule := range rules {
			if !ok || !rule.covers(ours) {
				continue
			}
			for _, technology := range rule.reach {
				at := slices.IndexFunc(p.Deps, func(dep string) bool { return names(technology, dep) })
				if at >= 0 {
					findings = append(findings, fmt.Sprintf("%s reaches %s%s: %s; `go list -deps` shows the way", ours, p.Deps[at], way(p, p.Deps[at], packages), rule.reason))
				}
			}
		}
	}
	return findings
}

// way names the first step of ours from a package to what it reaches, where there is one.
func way(from listed, dep string, packages []listed) string {
	for _, step := range packages {
		if slices.Contains(from.Imports, step.ImportPath) && slices.Contains(step.Deps, dep) {
			return " through " + strings.TrimPrefix(step.ImportPath, module+"/")
		}
	}
	return ""
}

func TestPlantedReachIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		pkg  string
		deps []string
		want []string
	}{
		"a pure package reaches the network":         {"pkg/planner", []string{"fmt", "net"}, []string{"pkg/planner reaches net: pkg/ is pure"}},
		"a pure package reaches what prints":         {"pkg/planner", []string{"os", "log", "net/url", "net/netip"}, nil},
		"an engine reaches NATS":                     {"internal/worker", []string{"github.com/nats-io/nats.go"}, []string{"internal/worker reaches github.com/nats-io/nats.go: an engine"}},
		"an edge reaches NATS":                       {"internal/bus", []string{"github.com/nats-io/nats.go"}, nil},
		"a pure package carries test code":           {"pkg/frame", []string{"testing"}, []string{"pkg/frame reaches testing: test code"}},
		"a suite is test code":                       {"pkg/lease/leasetest", []string{"testing"}, nil},
		"the worker sees Postgres":                   {"cmd/worker", []string{"github.com/jackc/pgx/v5"}, []string{"cmd/worker reaches github.com/jackc/pgx/v5: the worker"}},
		"many packages of one technology":            {"internal/worker", []string{"github.com/nats-io/nats.go", "github.com/nats-io/nuid"}, []string{"internal/worker reaches github.com/nats-io/nats.go: an engine"}},
		"the one binary sees the upstream":           {"cmd/braid", []string{module + "/internal/fetch"}, nil},
		"a package of another module is not ours":    {"../elsewhere/pkg/planner", []string{"net"}, nil},
		"a name that only begins like a banned path": {"pkg/planner", []string{"net/httpx", "testing/fstestx"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			planted := []listed{{ImportPath: module + "/" + c.pkg, Deps: c.deps}}
			expect(t, checkReach(bans(), planted), c.want)
		})
	}
}

func TestAFindingNamesTheStepThatLeadsThere(t *testing.T) {
	packages := []listed{
		{ImportPath: module + "/pkg/planner", Imports: []string{"fmt", module + "/pkg/query"}, Deps: []string{"fmt", module + "/pkg/query", "net"}},
		{ImportPath: module + "/pkg/query", Imports: []string{"net"}, Deps: []string{"net"}},
	}
	expect(t, checkReach(bans(), packages), []string{"pkg/planner reaches net through pkg/query: pkg/ is pure", "pkg/query reaches net: pkg/ is pure"})
}
