//go:build unix

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

// listener is a host that is not to hear the secret, and records all that it hears.
type listener struct {
	host string
	mu   sync.Mutex // guards what is below
	got  []sink
}

func (l *listener) heard() []sink {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sink{}, l.got...)
}

func newListener(t *testing.T, answer http.HandlerFunc) *listener {
	t.Helper()
	l := &listener{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Errorf("record a request: %v", err)
		}
		l.mu.Lock()
		l.got = append(l.got, sink{"heard by " + r.Host, dump})
		l.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	l.host = strings.TrimPrefix(server.URL, "http://")
	return l
}

const (
	keptVariable = "KEPT_SECRET"   // holds the credential where workers run
	quotaPause   = 4 * time.Second // long enough that a query does not wait it out
)

func keptConfig() simulator.Config {
	return simulator.Config{PageRows: 400, Keys: []string{secret}, OpenTokens: []string{secret}}
}

// kept is a service that a credential is bound to, one host that the definition lists without it, and one that it does not list.
type kept struct {
	name    string // of the service
	query   string
	up      *upstream
	mirror  *listener
	foreign *listener
}

// keeping sets up a service whose secret is sent as send says, at a base of the simulator, and puts its definition into dir.
func keeping(t *testing.T, d *desk, builtin, base, send, query string) *kept {
	t.Helper()
	way, _, _ := strings.Cut(strings.Trim(send, "{}"), ":")
	k := &kept{name: "kept-" + way, query: query}
	k.up = newUpstream(t, keptConfig())
	k.foreign = newListener(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "who are you?", http.StatusTeapot) })
	k.mirror = newListener(t, func(w http.ResponseWriter, r *http.Request) {
		if base != simulator.WaterDataBase { // the same rows are there without a credential
			r.URL.Path = strings.Replace(r.URL.Path, base, simulator.OpenHydroBase, 1)
		}
		k.up.ServeHTTP(w, r)
	})
	host := strings.TrimPrefix(k.up.root(), "http://")
	rows := map[bool]string{true: "3", false: "30"}[strings.Contains(query, "alerts")] // some pages of each
	text := mustDefine(t, builtin)
	address, _, _ := strings.Cut(text[strings.Index(text, "base_url: ")+len("base_url: "):], "\n")
	own, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.NewReplacer(
		"\nname: "+builtin, "\nname: "+k.name,
		"base_url: "+address, "base_url: "+k.up.root()+base,
		"- host: "+own.Host, "- host: "+k.mirror.host+"\n    insecure: true\n  - host: "+host+"\n    insecure: true",
		"send: {header: X-Api-Key}", "send: "+send, "send: {bearer: true}", "send: "+send,
		"from: [env:API_USGS_PAT,", "from: [env:"+keptVariable+",", "from: [env:OPEN_HYDRO_TOKEN,", "from: [env:"+keptVariable+",",
		"page_rows: 500, ", "page_rows: "+rows+", ",
		"\n  open-hydro:\n", "\n  "+k.name+":\n", "\n  api-data-gov:\n", "\n  "+k.name+":\n", // a pool of its own: what one has spent is not another's to wait for
	).Replace(text)
	d.write("services/"+k.name+".yaml", text+soon+"\ntimeouts: {stall: 2s}\n")
	d.write(k.name+".yaml", fmt.Sprintf("schema: query/v1\nservice: %s\n%s", k.name, query))
	return k
}

// stage is one thing that happens to a query, and how it ends.
type stage struct {
	name   string
	config func(k *kept, c *simulator.Config)
	code   int
	resume int // exit code of a resume when the trouble is over; -1: none
}

func fault(kind simulator.FaultKind, more simulator.Fault) func(*kept, *simulator.Config) {
	more.Kind = kind
	return func(k *kept, c *simulator.Config) {
		c.Faults, c.ForeignHost = []simulator.Fault{more}, k.foreign.host
	}
}

func toMirror(kind simulator.FaultKind) func(*kept, *simulator.Config) {
	return func(k *kept, c *simulator.Config) {
		c.Faults, c.ForeignHost = []simulator.Fault{{Kind: kind, Times: 1}}, k.mirror.host
	}
}

// stages ends with the one that closes the service's gate for good.
func (k *kept) stages() []stage {
	second := simulator.Fault{After: 1}
	echo := func(status int) func(*kept, *simulator.Config) {
		return fault(simulator.FaultKeyEcho, simulator.Fault{After: 1, Status: status})
	}
	all := []stage{
		{"calm", func(*kept, *simulator.Config) {}, 0, -1},
		{"redirected to a foreign host", fault(simulator.FaultRedirect, simulator.Fault{}), 3, 0},
		{"redirected to a foreign host behind the first page", fault(simulator.FaultRedirect, second), 3, -1},
		{"redirected to a listed host", toMirror(simulator.FaultRedirect), 0, -1},
		{"redirected for ever", fault(simulator.FaultRedirectLoop, second), 3, -1},
		{"echo in a 400", echo(400), 3, -1},
		{"echo in a 401", echo(401), 4, 0},
		{"echo in a 403", echo(403), 4, -1},
		{"echo in a 500", echo(500), 75, 0},
		{"a cut answer", fault(simulator.FaultTruncated, second), 75, -1},
		{"a page of HTML", fault(simulator.FaultHTML, second), 75, -1},
	}
	if k.name == "kept-header" || k.name == "kept-query" { // they take their time, and do not ask for the way of the secret
		all = append(all,
			stage{"no answer", fault(simulator.FaultHang, second), 75, -1},
			stage{"a quota", fault(simulator.Fault429, simulator.Fault{After: 1, Delay: quotaPause}), 75, 0})
	}
	if k.name != "kept-basic" { // which the simulator takes for no credential
		all = append(all, stage{"a key that is not accepted", func(_ *kept, c *simulator.Config) {
			c.Keys, c.OpenTokens = []string{"other"}, []string{"other"}
		}, 4, 0})
	}
	if !strings.Contains(k.query, "stations") { // whose pages are not linked
		all = append(all,
			stage{"next page at a foreign host", fault(simulator.FaultForeignNext, simulator.Fault{}), 3, -1},
			stage{"next page at a listed host", toMirror(simulator.FaultForeignNext), 0, -1})
	}
	return append(all, stage{"echo in a 429", echo(http.StatusTooManyRequests), 75, -1})
}
