//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
)

const (
	keptDaily = "collection: daily\nwhere:\n  monitoring_location_id: [USGS-01000000, USGS-01000037, USGS-01000074]\n" +
		"  parameter_code: '00060'\n  statistic_id: '00003'\n  time: {from: 2023-10-01, to: 2024-09-30}\n"
	keptStations = "collection: stations\nwhere:\n  basin: [danube, elbe, odra, rhône]\n"
	keptAlerts   = "collection: alerts\nwhere: {}\n"
)

// guarded runs commands and keeps what they say and write.
type guarded struct {
	*desk
	env []string
	mu  sync.Mutex // guards said
	all []sink
}

func (g *guarded) do(args ...string) outcome {
	g.t.Helper()
	o := launch(g.t, g.dir, append(g.desk.env(), g.env...), "braid", append(args, g.args...)...).wait(limit)
	g.keep(sink{"stdout of braid " + strings.Join(args, " "), []byte(o.stdout)},
		sink{"stderr of braid " + strings.Join(args, " "), []byte(o.stderr)})
	return o
}

func (g *guarded) keep(s ...sink) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, s...)
}

func (g *guarded) kept() []sink {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all)
}

// through takes a query through a stage, and looks at what its hosts heard.
func (g *guarded) through(t *testing.T, k *kept, s stage) {
	t.Helper()
	at := *g.desk
	at.t = t
	own := &guarded{desk: &at, env: g.env}
	defer func() { g.keep(own.kept()...) }()
	k.up.change(t, func(c *simulator.Config) {
		*c = keptConfig()
		s.config(k, c)
	})
	table := strings.ReplaceAll(k.name+" "+s.name, " ", "-")
	o := own.do("run", k.name+".yaml", "-o", table+".csv", "-o", table+".jsonl", "-o", table+".parquet").mustExit(t, s.code)
	id := idIn(o)
	own.do("status", id)
	if s.resume >= 0 {
		k.up.change(t, func(c *simulator.Config) { *c = keptConfig() })
		if s.name == "a quota" {
			pass(quotaPause) // until the gate opens
		}
		own.do("resume", id).mustExit(t, s.resume)
	}
	if n := len(k.foreign.heard()); n > 0 {
		t.Errorf("the foreign host heard %d requests", n)
	}
	if heard := k.mirror.heard(); len(heard) > 0 {
		mustHaveNoSecret(t, "the listed host", "User-Agent: braid", heard)
	}
}

// faces are the commands that tell of services and queries.
func (g *guarded) faces(t *testing.T, k *kept) {
	t.Helper()
	for _, args := range [][]string{
		{"plan", k.name + ".yaml"},
		{"plan", k.name + ".yaml", "--json"},
		{"services", "show", k.name},
		{"services", "show", k.name, "--json"},
		{"services", "list", "--json"},
		{"services", "check", g.path("services/" + k.name + ".yaml")},
		{"list"},
		{"list", "--json"},
		{"status", "--json"},
	} {
		g.do(args...).mustExit(t, 0)
	}
	g.do("plan", "--service", k.name, "--collection", strings.Fields(k.query)[1], "--save-query", k.name+"-saved.yaml", "-o", "saved.csv")
	for _, kind := range []simulator.FaultKind{"", simulator.FaultKeyEcho, simulator.FaultRedirect} {
		k.up.change(t, func(c *simulator.Config) {
			c.Faults, c.ForeignHost = nil, k.foreign.host
			if kind != "" {
				c.Faults = []simulator.Fault{{Kind: kind}}
			}
		})
		g.do("services", "test", k.name, "--collection", strings.Fields(k.query)[1])
		g.do("services", "test", k.name, "--collection", strings.Fields(k.query)[1], "--json")
	}
}

func keptServices(t *testing.T, d *desk) []*kept {
	t.Helper()
	return []*kept{
		keeping(t, d, "usgs-waterdata", simulator.WaterDataBase, "{header: X-Api-Key}", keptDaily),
		keeping(t, d, "open-hydro", simulator.BearerBase, "{bearer: true}", keptStations),
		keeping(t, d, "open-hydro", simulator.KeyedBase, "{query: api_key}", keptAlerts),
		keeping(t, d, "open-hydro", simulator.OpenHydroBase, "{basic: true}", keptStations),
	}
}

func TestASecretReachesItsHostAndNothingElse(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	services := keptServices(t, d)
	if testing.Short() {
		services = services[:1]
	}
	natsPort, apiPort := freePort(t), freePort(t)
	natsURL, api := "nats://127.0.0.1:"+natsPort, "http://127.0.0.1:"+apiPort
	store := filepath.Join(d.dir, "nats")
	spoken := []*process{launch(t, d.dir, d.env(), "nats-server", "-a", "127.0.0.1", "-p", natsPort, "-js", "-sd", store)}
	wire := tapOn(t, natsURL)
	spoken = append(spoken, launch(t, d.dir, d.env(), "coordinator", "--nats-url", natsURL, "--listen", "127.0.0.1:"+apiPort, "--lease-ttl", "2s",
		"--services-dir", d.path("services"), "--log-level", "debug"))
	for i := range 2 {
		spoken = append(spoken, launch(t, d.dir, append(d.env(), keptVariable+"="+secret), "worker", "--nats-url", natsURL, "--id", fmt.Sprint("w", i),
			"--log-level", "debug"))
	}
	(&cluster{t: t, url: api}).ready()
	d.args = []string{"--server", api, "--services-dir", d.path("services"), "--log-level", "debug"}
	var stages sync.WaitGroup
	for _, k := range services {
		stages.Go(func() { // beside each other whatever the number of processors: they mostly wait
			t.Run(k.name, func(t *testing.T) {
				g := &guarded{desk: d}
				for _, s := range k.stages() {
					t.Run(s.name, func(t *testing.T) { g.through(t, k, s) })
				}
				probing := &guarded{desk: d, env: []string{keptVariable + "=" + secret}}
				probing.faces(t, k)
				mustHaveNoSecret(t, "what users of "+k.name+" read", "HTTP 403", append(g.kept(), probing.kept()...))
				k.mustHaveSent(t)
			})
		})
	}
	stages.Wait()
	mustHaveNoSecret(t, "what was said on NATS", "USGS-01000000", wire.heard())
	mustHaveNoSecret(t, "what NATS stores", "USGS-01000000", wire.stored())
	mustHaveNoSecret(t, "the API", "nosuchid", answers(t, api))
	for i, p := range spoken {
		witness := []string{"Server is ready", "serving", "trying again", "trying again"}[i]
		mustHaveNoSecret(t, "the log of "+p.Name, witness, []sink{{"stdout", []byte(p.Stdout.String())}, {"stderr", []byte(p.Stderr.String())}})
	}
	mustHaveNoSecret(t, "the files", "USGS-01000000", filesBelow(t, d.dir))
}

// mustHaveSent fails when the secret has not even been sent to its own host: then nothing was tried.
func (k *kept) mustHaveSent(t *testing.T) {
	t.Helper()
	sent := 0
	for _, e := range k.up.Requests() {
		if len(e.Credentials) > 0 {
			sent++
		}
	}
	if sent < 10 {
		t.Errorf("only %d requests to %s had the credential", sent, k.name)
	}
	if len(k.mirror.heard()) == 0 {
		t.Errorf("the host that %s lists without a credential was never asked", k.name)
	}
}

// answers are those of the API's routes, problems included.
func answers(t *testing.T, api string) []sink {
	t.Helper()
	get := func(path string) sink {
		answer, err := http.Get(api + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return sink{"GET " + path, fmt.Appendf(nil, "%v\n%s", answer.Header, body)}
	}
	list := get("/v1/queries")
	all := []sink{list, get("/openapi.json"), get("/docs"), get("/v1/queries/nosuchid"), get("/v1/nothing")}
	for id := range ids(list.data) {
		all = append(all, get("/v1/queries/"+id))
		for _, format := range []string{"csv", "jsonl", "parquet", "odd"} {
			all = append(all, get("/v1/queries/"+id+"/results?format="+format))
		}
	}
	return all
}

// ids are the ids of the queries in a list.
func ids(list []byte) map[string]bool {
	found := map[string]bool{}
	for part := range bytes.SplitSeq(list, []byte(`"id":"`)) {
		if id, _, ok := bytes.Cut(part, []byte(`"`)); ok && len(id) == 8 {
			found[string(id)] = true
		}
	}
	return found
}

func TestASecretOfOneProcessStaysInIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	services := keptServices(t, d)
	d.args = append(d.args, "--services-dir", d.path("services"), "--log-level", "debug", "--fast-sync")
	g := &guarded{desk: d, env: []string{keptVariable + "=" + secret}}
	for _, k := range []*kept{services[0], services[2]} {
		for _, s := range k.stages() {
			if slices.Contains([]string{"calm", "redirected to a foreign host", "redirected to a listed host", "echo in a 401", "echo in a 500", "next page at a listed host"}, s.name) {
				t.Run(k.name+" "+s.name, func(t *testing.T) { g.through(t, k, s) })
			}
		}
	}
	mustHaveNoSecret(t, "what the user reads", "HTTP 401", g.kept())
	mustHaveNoSecret(t, "the files", "USGS-01000000", filesBelow(t, d.dir))
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: d.data, Listen: "127.0.0.1:0"})
	mustHaveNoSecret(t, "what is stored", "USGS-01000000", storedIn(t, testkit.JetStream(t, server)))
}
