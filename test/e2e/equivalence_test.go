//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	definitions "github.com/braidhq/braid/pkg/service"
)

// sample is a query for one collection, of a few requests.
type sample struct {
	service, collection string
	name                string // tells the samples of one collection apart
	where               string // of the query, in YAML
	keys                string // further keys of the query, in YAML
	config              simulator.Config
	chunks              int      // of its plan
	formats             []string // in which the table is compared beside CSV
}

func (s *sample) title() string {
	if s.name == "" {
		return s.service + "/" + s.collection
	}
	return s.service + "/" + s.collection + "/" + s.name
}

// retryAfter is a quota pause too long to be waited out with the item in hand (2 s), with a margin for a busy machine.
const retryAfter = 4 * time.Second

// atATime is how many samples have processes at a time: they mostly wait.
const atATime = 48

// inOrder makes the requests of a run come one after the other, and all pages of a chunk before those of another one.
func inOrder() []string { return []string{"--in-flight", "1", "--workers", "1", "--concurrency", "1"} }

func TestAnInterruptionAtAnySingleRequestLeavesTheTableAsItIsAndCostsThatRequest(t *testing.T) {
	all := samples()
	mustCoverEveryCollection(t, all)
	seats := newSeats(atATime)
	var requests, interruptions atomic.Int64
	var subtests crowd
	for _, s := range all {
		subtests.run(t, s.title(), func(t *testing.T) {
			defer seats.take()()
			up := newUpstream(t, s.config)
			calm := s.undisturbed(t, up)
			requests.Add(int64(len(calm.log)))
			for at := range len(calm.log) {
				if testing.Short() && at != len(calm.log)/2 {
					continue
				}
				interruptions.Add(1)
				t.Run(fmt.Sprintf("request %d", at+1), func(t *testing.T) { s.interruptedAt(t, up, calm, at, inOrder()) })
			}
			if s.chunks > 1 && len(calm.log) > 4 {
				up.change(t, func(c *simulator.Config) { c.Latency = 50 * time.Millisecond })
				interruptions.Add(1)
				t.Run("with others in flight", func(t *testing.T) {
					s.interruptedAt(t, up, calm, len(calm.log)/2, []string{"--in-flight", "4"})
				})
			}
		})
	}
	subtests.wait()
	t.Logf("%d samples, %d requests undisturbed, %d interruptions", len(all), requests.Load(), interruptions.Load())
}

// reference is what a sample gives when nothing goes wrong.
type reference struct {
	tables map[string][]byte // by name of file
	log    []simulator.Exchange
}

func (s *sample) undisturbed(t *testing.T, up *upstream) *reference {
	t.Helper()
	d := s.desk(t, up)
	o := d.run(s.run(inOrder()...)...).mustExit(t, 0)
	r := &reference{tables: map[string][]byte{}, log: up.Requests()}
	for _, name := range s.tables() {
		r.tables[name] = d.read(name)
	}
	if n := len(r.log); n < 3 || n > 9 || n <= s.chunks {
		t.Errorf("%d requests for %d chunks, want 3 to 9, and several pages:\n%s", n, s.chunks, requestsIn(r.log))
	}
	if want := fmt.Sprintf("  ·  %d chunk", s.chunks); !strings.Contains(o.stderr, want) {
		t.Errorf("the plan has not %d chunks:\n%s", s.chunks, o.stderr)
	}
	if len(readCSV(t, r.tables["t.csv"])) < 2 {
		t.Errorf("a table of\n%s\nproves nothing", r.tables["t.csv"])
	}
	return r
}

// interruptedAt refuses one request of the undisturbed run, so that the process ends, and goes on in another one.
func (s *sample) interruptedAt(t *testing.T, up *upstream, calm *reference, at int, pace []string) {
	t.Helper()
	up.Reset()
	up.change(t, func(c *simulator.Config) {
		c.Faults = append([]simulator.Fault{calm.refusalAt(at)}, s.config.Faults...)
	})
	d := s.desk(t, up)
	o := d.run(s.run(pace...)...).mustExit(t, 75)
	for _, name := range s.tables() {
		if _, err := os.Stat(d.path(name)); err == nil {
			t.Errorf("there is a table %s of an interrupted query", name)
		}
	}
	d.run(append([]string{"resume", idIn(o), "--wait"}, pace...)...).mustExit(t, 0)
	calm.mustEqual(t, d)
	calm.mustCostOneMore(t, up.Requests(), at)
}

// refusalAt strikes the request of that number. It is known by its URL, because chunks may be taken up in any order; those of
// which the URL says too little, because they differ in the body, are told apart by counting.
func (r *reference) refusalAt(at int) simulator.Fault {
	f := simulator.Fault{Kind: simulator.Fault429, Contains: r.log[at].URL, Times: 1, Delay: retryAfter}
	for _, e := range r.log[:at] {
		if strings.Contains(e.URL, f.Contains) {
			f.After++
		}
	}
	return f
}

// mustCostOneMore wants the requests of the undisturbed run, each once and answered, and the one that was refused.
func (r *reference) mustCostOneMore(t *testing.T, log []simulator.Exchange, at int) {
	t.Helper()
	refused := slices.IndexFunc(log, func(e simulator.Exchange) bool { return e.Status == 429 })
	if refused < 0 || urlsIn(log)[refused] != urlsIn(r.log)[at] {
		t.Fatalf("request %d was not refused:\n%s\nundisturbed:\n%s", at+1, requestsIn(log), requestsIn(r.log))
	}
	want := urlsIn(r.log)
	got := urlsIn(slices.Delete(slices.Clone(log), refused, refused+1))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d requests:\n%s\nwant %d, and one of them twice:\n%s", len(log), requestsIn(log), len(want), requestsIn(r.log))
	}
}

func (r *reference) mustEqual(t *testing.T, d *desk) {
	t.Helper()
	for name, want := range r.tables {
		if got := d.read(name); !bytes.Equal(got, want) {
			t.Errorf("%s differs from that of the undisturbed run\n%s\nwant\n%s", name, tail(string(got)), tail(string(want)))
		}
	}
}

// desk is that of a user who has the sample's query, and its service's definition.
func (s *sample) desk(t *testing.T, up *upstream) *desk {
	t.Helper()
	d := newDesk(t, nil)
	if _, builtIn := definitions.Builtin(s.service); !builtIn {
		text, err := definitionOf(s.service)
		if err != nil {
			t.Fatal(err)
		}
		d.write("services/"+s.service+".yaml", text)
		d.args = append(d.args, "--services-dir", d.path("services"))
	}
	d.args = append(d.args, "--service-url", s.service+"="+up.address+baseOf(s.service))
	d.write("q.yaml", fmt.Sprintf("schema: query/v1\nservice: %s\ncollection: %s\nwhere: %s\n%s\n", s.service, s.collection, s.where, s.keys))
	return d
}

// baseOf is where the simulator has a service.
func baseOf(service string) string {
	for _, each := range simulator.Services() {
		if each.Name == service {
			return each.Base
		}
	}
	return simulator.OpenHydroBase // of definitions that only these tests have
}

func (s *sample) tables() []string {
	names := []string{"t.csv"}
	for _, format := range s.formats {
		names = append(names, "t."+format)
	}
	return names
}

// run are the arguments that run the query.
func (s *sample) run(more ...string) []string {
	args := append([]string{"run", "q.yaml"}, more...)
	for _, name := range s.tables() {
		args = append(args, "-o", name)
	}
	return args
}

func urlsIn(log []simulator.Exchange) []string {
	var urls []string
	for _, e := range log {
		urls = append(urls, e.Method+" "+e.URL)
	}
	return urls
}

func requestsIn(log []simulator.Exchange) string {
	var text strings.Builder
	for i, e := range log {
		fmt.Fprintf(&text, "%2d  %d %s  %d rows  %s %s\n", i+1, e.Status, e.Fault, e.Rows, e.Method, e.URL)
	}
	return text.String()
}

// definitionOf is the text of a definition that is built in, that is an example, or that only these tests have.
func definitionOf(name string) (string, error) {
	if text, have := definitions.Builtin(name); have {
		return string(text), nil
	}
	if name == openBodies {
		return openBodiesDefinition, nil
	}
	text, err := os.ReadFile(root + "/examples/services/" + name + ".yaml")
	return string(text), err
}

// definitionsAtHand are the names of all definitions that come with Braid, built in or as an example.
func definitionsAtHand(t *testing.T) []string {
	t.Helper()
	names := definitions.BuiltinNames()
	files, err := os.ReadDir(root + "/examples/services")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file.Name(), ".yaml"))
	}
	return names
}

func definition(t *testing.T, name string) *definitions.Definition {
	t.Helper()
	text, err := definitionOf(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := definitions.Parse(name+".yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// mustCoverEveryCollection wants a sample for every collection of every definition.
func mustCoverEveryCollection(t *testing.T, all []*sample) {
	t.Helper()
	covered := map[string]bool{}
	titles := map[string]bool{}
	for _, s := range all {
		covered[s.service+"/"+s.collection] = true
		if titles[s.title()] {
			t.Errorf("two samples are called %s", s.title())
		}
		titles[s.title()] = true
	}
	for _, name := range definitionsAtHand(t) {
		d := definition(t, name)
		if d.Adapter == definitions.AdapterSuperset {
			continue // from another simulator: see TestAnInterruptionAtAnyChartLeavesTheTableAsItIsAndCostsThatRequest
		}
		for _, c := range d.Collections {
			if !covered[name+"/"+c.Name] {
				t.Errorf("there is no sample of %s/%s", name, c.Name)
			}
		}
	}
}

// crowd runs subtests at the same time and without regard to -parallel, because they mostly wait.
type crowd struct{ running sync.WaitGroup }

func (c *crowd) run(t *testing.T, name string, test func(*testing.T)) {
	t.Helper()
	c.running.Go(func() { t.Run(name, test) })
}

// wait returns when all have ended.
func (c *crowd) wait() { c.running.Wait() }

// seats bounds how many have processes at a time.
type seats chan struct{}

func newSeats(n int) seats { return make(seats, n) }

// take waits for a seat and returns what gives it back.
func (s seats) take() func() {
	s <- struct{}{}
	return func() { <-s }
}
