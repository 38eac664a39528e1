package archtest

// module is the path in front of every package of this repository.
const module = "github.com/braidhq/braid"

// layer says which of our own packages the code of one package may import directly. It holds for what lies below the
// package too, where that has no line of its own; among themselves they are free. Paths are below the module.
type layer struct {
	path    string
	imports []string
}

// pure stands in a layer's imports for every package of pkg/ except the façade.
const pure = "every pure package"

// layers is the law of who may know whom. Tests are freer, see allowedInTest.
func layers() []layer {
	return []layer{
		{"pkg/messages", nil},
		{"pkg/strictyaml", nil},
		{"pkg/cql2", nil},
		{"pkg/frame", []string{"pkg/messages"}},
		{"pkg/service", []string{"pkg/load", "pkg/cql2", "pkg/frame", "pkg/messages", "pkg/strictyaml"}},
		{"pkg/query", []string{"pkg/frame", "pkg/messages", "pkg/service", "pkg/strictyaml"}},
		{"pkg/planner", []string{"pkg/messages", "pkg/query", "pkg/service"}},
		{"pkg/lease", []string{"pkg/messages"}},
		{"pkg/lease/leasetest", []string{"pkg/lease", "pkg/messages"}},
		{"pkg/quota", []string{"pkg/messages"}},
		{"pkg/retry", []string{"pkg/messages"}},
		{"pkg/breaker", nil},
		{"pkg/timing", nil},
		{"pkg/jcs", nil},
		{"pkg/planner/matrix", []string{"pkg/jcs"}},
		{"pkg/load", []string{"pkg/breaker", "pkg/jcs", "pkg/messages", "pkg/planner/matrix", "pkg/strictyaml", "pkg/timing"}},
		{"pkg/resume", []string{"pkg/messages"}},
		{"pkg/share", nil},
		{"pkg/access", []string{"pkg/messages", "pkg/strictyaml"}},
		{"pkg/journal", []string{"pkg/load", "pkg/messages"}},

		{"internal/coordinator", []string{pure}},
		{"internal/worker", []string{pure}},
		{"internal/loadrun", []string{pure}},

		{"internal/bus", []string{"pkg/journal", "pkg/lease", "pkg/load", "pkg/messages"}},
		{"internal/fetch", []string{"pkg/frame", "pkg/jcs", "pkg/load", "pkg/messages", "pkg/retry", "pkg/service"}},
		{"internal/output", []string{"pkg/frame", "pkg/messages"}},
		{"internal/ledger", []string{"pkg/journal", "pkg/load", "pkg/messages"}},
		{"internal/scratch", []string{"pkg/frame"}},
		{"internal/simulator", nil},
		{"internal/httpapi", []string{pure, "internal/loadreport"}},
		{"internal/dashboard", nil},
		{"internal/loadreport", []string{"pkg/load", "pkg/timing"}},
		{"internal/metrics", []string{"pkg/messages", "pkg/service"}},
		{"internal/tracing", []string{"internal/logging"}},
		{"internal/logging", nil},
		{"internal/settings", []string{"pkg/messages", "pkg/strictyaml"}},
		{"internal/daemon", []string{"internal/logging", "internal/settings", "pkg/strictyaml"}},
		{"internal/buildinfo", nil},
		{"internal/archtest", nil},
	}
}

// wiring lists the places where everything meets: they may import any of our packages. Each covers what lies below it.
func wiring() []string {
	return []string{"cmd", "pkg/braid", "internal/testkit", "test", "examples", "bench"}
}

// owner says which of our packages may import a technology directly. No package at all is a list of none.
type owner struct {
	technology string // an import path; with a slash at its end, all paths below it
	packages   []string
}

// owners keeps each technology behind one door. The wiring may import any of them but NATS, which only bus knows.
func owners() []owner {
	return []owner{
		{"github.com/nats-io/", []string{"internal/bus"}},
		{"github.com/synadia-io/", []string{"internal/bus"}},
		{"github.com/jackc/", []string{"internal/ledger", "internal/output/postgres"}},
		{"database/sql", nil},
		{"net", []string{"internal/bus", "internal/daemon", "internal/fetch", "internal/httpapi", "internal/simulator", "internal/simulator/superset"}},
		{"net/http", []string{"internal/daemon", "internal/fetch", "internal/fetch/superset", "internal/httpapi", "internal/metrics", "internal/simulator", "internal/simulator/superset", "internal/dashboard"}},
		{"os/exec", nil},
		{"go.yaml.in/yaml/", []string{"pkg/strictyaml"}},
		{"github.com/spf13/cobra", nil},
		{"github.com/spf13/pflag", []string{"internal/daemon", "internal/settings"}},
		{"github.com/vbauerster/", nil},
		{"github.com/danielgtaylor/huma/", []string{"internal/httpapi"}},
		{"github.com/prometheus/", []string{"internal/metrics"}},
		{"go.opentelemetry.io/", []string{"internal/tracing"}},
	}
}

// nobodysButOwners are the technologies that not even the wiring may import.
func nobodysButOwners() []string {
	return []string{"github.com/nats-io/", "github.com/synadia-io/", "github.com/jackc/", "go.yaml.in/yaml/"}
}

// ban forbids imports to the packages below a path: direct ones by their own files, reached ones also through others.
type ban struct {
	path   string // all packages at and below it
	except []string
	direct []string
	reach  []string
	reason string
}

// bans is what keeps pure packages pure and the engines' hands off the world.
func bans() []ban {
	world := []string{"net", "net/http", "os/exec", "database/sql", "github.com/nats-io/", "github.com/jackc/"}
	return []ban{
		{
			path:   "pkg",
			except: []string{"pkg/braid"},
			direct: []string{"os", "os/signal", "syscall", "net", "net/http", "log", "log/slog"},
			reach:  world,
			reason: "pkg/ is pure: it takes what it needs as parameters and touches no socket, file, environment or log",
		},
		{
			path:   "pkg",
			except: []string{"pkg/braid", "pkg/lease/leasetest"},
			reach:  []string{"testing"},
			reason: "test code belongs in tests",
		},
		{
			path:   "internal/coordinator",
			direct: []string{"os", "os/signal", "syscall", "net", "net/http"},
			reach:  world,
			reason: "an engine owns the flow and touches the world through ports.go alone",
		},
		{
			path:   "internal/loadrun",
			direct: []string{"os", "os/signal", "syscall", "net", "net/http"},
			reach:  world,
			reason: "an engine owns the flow and touches the world through ports.go alone",
		},
		{
			path:   "internal/worker",
			direct: []string{"os", "os/signal", "syscall", "net", "net/http"},
			reach:  world,
			reason: "an engine owns the flow and touches the world through ports.go alone",
		},
		{path: "internal", direct: []string{"testing"}, except: []string{"internal/testkit"}, reason: "test code belongs in tests"},
		{path: "cmd", direct: []string{"testing"}, reason: "no binary carries test code"},
		{path: "cmd/worker", reach: []string{"github.com/jackc/"}, reason: "the worker never sees Postgres"},
		{path: "cmd/coordinator", direct: []string{module + "/internal/fetch"}, reason: "the coordinator never sees the upstream"},
	}
}

// clockReaders are the pure packages that may read the clock, each for the reason beside it.
func clockReaders() map[string]string {
	return map[string]string{
		"pkg/lease":           "a lease is a promise about time: its deadlines are monotonic instants, tested in a synctest bubble",
		"pkg/lease/leasetest": "the suite also measures real stores, whose time is the real one",
	}
}

// tables are package variables that are neither errors nor patterns but never written after their declaration. Each line
// is package path, a dot and the variable's name, with the reason why it is no function or constant.
func tables() map[string]string {
	return map[string]string{}
}

const (
	mostFileLines     = 600
	mostTestFileLines = 900
	mostFunctionLines = 80
)
