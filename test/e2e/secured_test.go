//go:build unix

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// secured is NATS as deploy/nats configures it, with the keys and certificates of a test.
type secured struct {
	t     *testing.T
	dir   string
	env   []string          // that the configuration asks for
	seeds map[string]string // file of the seed of each user
	nodes []*member
	urls  []string
}

// newSecured makes keys with nk, as operators do, and certificates.
func newSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{t: t, dir: t.TempDir(), seeds: map[string]string{}}
	s.makeCertificates()
	for _, role := range []string{"coordinator", "worker", "monitor", "admin", "sys"} {
		seed := launch(t, s.dir, nil, "nk", "-gen", "user").wait(limit).mustExit(t, 0).stdout
		s.seeds[role] = filepath.Join(s.dir, role+".nk")
		if err := os.WriteFile(s.seeds[role], []byte(seed), 0o600); err != nil {
			t.Fatal(err)
		}
		public := launch(t, s.dir, nil, "nk", "-inkey", s.seeds[role], "-pubout").wait(limit).mustExit(t, 0).stdout
		s.env = append(s.env, "BRAID_"+strings.ToUpper(role)+"_NKEY="+strings.TrimSpace(public))
	}
	s.env = append(s.env, "BRAID_NATS_CERT="+s.file("server.pem"), "BRAID_NATS_KEY="+s.file("server.key"), "BRAID_NATS_CA="+s.file("ca.pem"))
	return s
}

func (s *secured) file(name string) string { return filepath.Join(s.dir, name) }

// makeCertificates makes a CA, and certificates of it for the servers on loopback and for clients.
func (s *secured) makeCertificates() {
	s.t.Helper()
	ca := s.certificate("ca", nil, nil)
	s.certificate("server", ca.cert, ca.key)
	s.certificate("client", ca.cert, ca.key)
	s.certificate("stranger", nil, nil)
}

type certified struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// certificate makes one that is signed by a parent, or a CA of its own without one.
func (s *secured) certificate(name string, parent *x509.Certificate, signer *ecdsa.PrivateKey) certified {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		s.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(s.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return certified{cert, key}
}

// node starts a server with a configuration of deploy/nats, on loopback and with a store of its own.
func (s *secured) node(config, name string, args ...string) *member {
	s.t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "deploy", "nats", config))
	if err != nil {
		s.t.Fatal(err)
	}
	port := freePort(s.t)
	m := &member{
		t: s.t, dir: s.dir, name: "nats-server", env: append(slices.Clone(s.env), "BRAID_NATS_NAME="+name, "BRAID_NATS_STORE="+s.file("store-"+name)),
		args: append([]string{"-c", path, "-a", "127.0.0.1", "-p", port, "-m", freePort(s.t)}, args...),
	}
	m.start()
	s.nodes, s.urls = append(s.nodes, m), append(s.urls, "tls://127.0.0.1:"+port)
	return m
}

// as is how a daemon says who it is.
func (s *secured) as(role string) []string {
	return []string{
		"--nats-url", strings.Join(s.urls, ","), "--nats-nkey", s.seeds[role], "--nats-ca", s.file("ca.pem"),
		"--nats-cert", s.file("client.pem"), "--nats-key", s.file("client.key"), "--log-format", "text",
	}
}

// daemons starts a coordinator and a worker, and gives a desk for them.
func (s *secured) daemons(up *upstream, args ...string) (lead, work *process, d *desk) {
	s.t.Helper()
	work = s.worker()
	lead, d = s.coordinator(up, args...)
	return lead, work, d
}

func (s *secured) worker() *process {
	return launch(s.t, s.dir, nil, "worker", append(s.as("worker"), "--id", "worker-0")...)
}

func (s *secured) coordinator(up *upstream, args ...string) (*process, *desk) {
	s.t.Helper()
	api := "127.0.0.1:" + freePort(s.t)
	lead := launch(s.t, s.dir, nil, "coordinator", slices.Concat(s.as("coordinator"), []string{
		"--listen", api, "--lease-ttl", "2s", "--in-flight", "4", "--service-url", service + "=" + up.base,
	}, args)...)
	mustBeReady(s.t, lead, api)
	d := newDesk(s.t, nil)
	d.args = []string{"--server", "http://" + api}
	return lead, d
}

// mustBeReady waits until a coordinator serves at an address.
func mustBeReady(t *testing.T, lead *process, api string) {
	t.Helper()
	eventually(t, limit, "the coordinator to be ready", func() bool {
		answer, err := http.Get("http://" + api + "/readyz")
		if err != nil {
			if !lead.running() {
				t.Fatalf("the coordinator ended: %s", lead.Stderr.String())
			}
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// connect connects as a user of the account.
func (s *secured) connect(role string, opts ...nats.Option) *nats.Conn {
	s.t.Helper()
	key, err := nats.NkeyOptionFromSeed(s.seeds[role])
	if err != nil {
		s.t.Fatal(err)
	}
	opts = append(opts, key, nats.RootCAs(s.file("ca.pem")), nats.ClientCert(s.file("client.pem"), s.file("client.key")),
		nats.CustomInboxPrefix("_INBOX_"+role), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	nc, err := nats.Connect(strings.Join(s.urls, ","), opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(nc.Close)
	return nc
}

// permits tells whether a role may publish to a subject, or subscribe to it.
func (s *secured) permits(role, subject string, subscribe bool) bool {
	s.t.Helper()
	nc := s.connect(role)
	defer nc.Close()
	var err error
	if subscribe {
		_, err = nc.SubscribeSync(subject)
	} else {
		err = nc.Publish(subject, []byte("x"))
	}
	if err == nil {
		err = nc.Flush() // what was refused is told before the answer to it
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return !errors.Is(nc.LastError(), nats.ErrPermissionViolation)
}

// tossed takes the service's items as a worker does, and hands each back, until all that are queued were delivered so often.
func (s *secured) tossed(times, items int) {
	s.t.Helper()
	js, err := jetstream.New(s.connect("worker"))
	if err != nil {
		s.t.Fatal(err)
	}
	var queue jetstream.Consumer
	eventually(s.t, limit, "the queue", func() bool {
		queue, err = js.Consumer(s.t.Context(), "ITEMS", service)
		return err == nil
	})
	delivered := map[string]uint64{}
	eventually(s.t, limit, "all items to be delivered so often", func() bool {
		batch, err := queue.Fetch(items, jetstream.FetchMaxWait(500*time.Millisecond))
		if err != nil {
			s.t.Fatal(err)
		}
		for msg := range batch.Messages() {
			meta, err := msg.Metadata()
			if err != nil {
				s.t.Fatal(err)
			}
			delivered[msg.Subject()] = meta.NumDelivered
			if err := msg.Nak(); err != nil {
				s.t.Fatal(err)
			}
		}
		enough := 0
		for _, n := range delivered {
			if n >= uint64(times) { //nolint:gosec // a count
				enough++
			}
		}
		return enough >= items
	})
}

func TestNATSAsDeployedRunsSuspectsAndGivesUpPoison(t *testing.T) {
	t.Parallel()
	const chunks = 4
	up := lossUpstream(t)
	s := newSecured(t)
	s.node("server.conf", "one")
	lead, d := s.coordinator(up)
	run := func(file string) (id string, p *process) {
		p = d.braid("run", file, "-o", "t.parquet", "--progress", "plain")
		eventually(t, limit, "the query to run", func() bool {
			_, after, ok := strings.Cut(p.Stderr.String(), "query=")
			if ok {
				id, _, ok = strings.Cut(after, " ")
			}
			return ok
		})
		return id, p
	}
	// Items that came back three times are run all the same, and what is written of them is struck out.
	id, p := run(d.queryFile("q.yaml", 8, chunks))
	s.tossed(3, chunks)
	work := s.worker()
	p.wait(limit).mustExit(t, 0)
	if got := s.count("KV_braid_suspects", "$KV.braid_suspects."+id+".*"); got != chunks {
		t.Errorf("%d suspects were written down, want %d", got, chunks)
	}
	d.run("rm", id).mustExit(t, 0)
	if got := s.count("KV_braid_suspects", "$KV.braid_suspects."+id+".*"); got != 0 {
		t.Errorf("%d suspects of a removed query stay", got)
	}
	// A chunk that ended three workers fails, with its evidence, and nothing is asked for.
	work.signal(syscall.SIGTERM)
	work.wait(limit).mustExit(t, 0)
	id, p = run(d.queryFile("p.yaml", 12, chunks))
	s.accuse(id, chunks-1)
	s.tossed(3, chunks)
	work = s.worker()
	p.wait(limit).mustExit(t, 3).mustSay(t, "dead-1", "dead-3")
	for _, p := range []*process{lead, work} {
		if text := p.Stderr.String(); strings.Contains(strings.ToLower(text), "permi") {
			t.Errorf("%s was not permitted something:\n%s", p.Name, tail(text))
		}
	}
}

// accuse writes down three runs of a chunk that were begun and did not end, as a worker does.
func (s *secured) accuse(id string, position int) {
	s.t.Helper()
	suspect := messages.Suspect{V: messages.Version, Query: id, Run: 1, Position: messages.PositionAt(position)}
	for i := range 3 {
		suspect.Begun = append(suspect.Begun, messages.Begun{Attempt: "a", Worker: "dead-" + strconv.Itoa(i+1), Delivery: 3 + i, At: time.Unix(1000, 0)})
	}
	data, err := suspect.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	js, err := jetstream.New(s.connect("worker"))
	if err == nil {
		_, err = js.Publish(s.t.Context(), "$KV.braid_suspects."+id+"."+strconv.Itoa(position), data)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// count gives how many messages of a stream have such a subject.
func (s *secured) count(stream, subject string) int {
	s.t.Helper()
	js, err := jetstream.New(s.connect("admin"))
	if err != nil {
		s.t.Fatal(err)
	}
	st, err := js.Stream(s.t.Context(), stream)
	if err != nil {
		s.t.Fatal(err)
	}
	info, err := st.Info(s.t.Context(), jetstream.WithSubjectFilter(subject))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(info.State.Subjects)
}

func TestNATSAsDeployedRunsQueriesAndKeepsRolesApart(t *testing.T) {
	t.Parallel()
	up := lossUpstream(t)
	want := calmTable(t, up, lossSites, lossChunks)
	s := newSecured(t)
	s.node("server.conf", "one")
	lead, work, d := s.daemons(up)
	id := idIn(d.run("run", d.queryFile("q.yaml", lossSites, lossChunks), "-o", "t.parquet").mustExit(t, 0))
	d.mustEqual("t.parquet", want)
	// All that a coordinator does is permitted: damaged results are removed, queries too.
	s.spoil(id)
	d.run("verify", id).mustExit(t, 3).mustSay(t, "braid resume "+id)
	d.run("resume", id, "-o", "again.parquet").mustExit(t, 0)
	d.mustEqual("again.parquet", want)
	d.run("verify", id).mustExit(t, 0)
	d.run("gc", "--older-than", "1s").mustExit(t, 0)
	for _, p := range []*process{lead, work} {
		if text := p.Stderr.String(); strings.Contains(strings.ToLower(text), "permi") {
			t.Errorf("%s was not permitted something:\n%s", p.Name, tail(text))
		}
	}
	s.mustKeepApart()
	s.mustRefuseStrangers()
}

// spoil replaces a stored result by one that is none.
func (s *secured) spoil(id string) {
	s.t.Helper()
	nc := s.connect("admin")
	subject := "braid.result." + id + ".3"
	if _, err := nc.Request("$JS.API.STREAM.PURGE.RESULTS", []byte(`{"filter":"`+subject+`"}`), limit); err != nil {
		s.t.Fatal(err)
	}
	if _, err := nc.Request(subject, []byte("no result"), limit); err != nil {
		s.t.Fatal(err)
	}
}

// mustKeepApart holds what each role may not do, and a little of what it may.
func (s *secured) mustKeepApart() {
	s.t.Helper()
	const publish, subscribe = false, true
	destroy := []string{
		"$JS.API.STREAM.DELETE.RESULTS", "$JS.API.STREAM.DELETE.ITEMS", "$JS.API.STREAM.DELETE.KV_braid_queries", "$JS.API.STREAM.RESTORE.RESULTS",
		"$JS.API.STREAM.CREATE.MINE", "$JS.API.STREAM.SNAPSHOT.RESULTS", "$JS.API.STREAM.PEER.REMOVE.RESULTS", "$JS.API.CONSUMER.DELETE.ITEMS.usgs-waterdata",
		"$SYS.REQ.SERVER.PING", "anything.else",
	}
	manage := []string{
		"$JS.API.STREAM.PURGE.RESULTS", "$JS.API.STREAM.PURGE.ITEMS", "$JS.API.STREAM.PURGE.KV_braid_queries", "$JS.API.STREAM.UPDATE.RESULTS",
		"$JS.API.STREAM.CREATE.RESULTS", "$JS.API.STREAM.MSG.DELETE.RESULTS", "$JS.API.STREAM.MSG.DELETE.KV_braid_queries",
		"$KV.braid_queries.query.q1", "$KV.braid_services.service.s", "$KV.braid_services.definition.d.0", "$KV.braid_services.gate.s", "$KV.braid_leader.coordinator.0", "braid.item.s.q1.0",
		"$KV.braid_load.run.r1", "braid.load.item.r1.0", "braid.load.closed.r1.0", "braid.load.sealed.r1.0", "braid.load.selection.r1.0", "$JS.API.STREAM.PURGE.LOAD",
		"$KV.braid_errands.errand.e1", "$JS.API.CONSUMER.CREATE.LOAD.mine.braid.load.execution.>",
		"$JS.API.CONSUMER.CREATE.ITEMS.mine.braid.item.>", "$JS.API.CONSUMER.CREATE.RESULTS.mine.braid.result.>", "$JS.API.CONSUMER.CREATE.KV_braid_leader.x.y",
	}
	work := []string{
		"$JS.API.CONSUMER.MSG.NEXT.ITEMS.usgs-waterdata", "$JS.ACK.ITEMS.usgs-waterdata.1.1.1.1.1", "braid.result.q1.0", "braid.page.q1.0.w.0", "braid.part.q1.a.0",
		"braid.event.q1.interruption", "$KV.braid_leases.s.0", "$KV.braid_workers.w",
		"braid.load.admission.r1.0.1.0", "braid.load.execution.r1.0.1", "$JS.API.CONSUMER.MSG.NEXT.LOAD_ITEMS.r1", "$KV.braid_tokens.t", "$KV.braid_errands.answer.e1.head",
	}
	look := []string{"$JS.API.STREAM.MSG.GET.RESULTS", "$JS.API.STREAM.MSG.GET.KV_braid_queries", "$JS.API.DIRECT.GET.RESULTS.braid.result.q1.0"}
	for _, check := range []struct {
		role      string
		subscribe bool
		may       bool
		subjects  []string
	}{
		{"worker", publish, false, slices.Concat(destroy, manage, look[:1])},
		{"worker", publish, true, []string{"$JS.API.STREAM.INFO.ITEMS", "$KV.braid_gates.nobody", "$KV.braid_suspects.q1.0"}},
		{"coordinator", publish, false, slices.Concat(destroy, work)},
		{"coordinator", publish, true, []string{"$JS.API.STREAM.INFO.ITEMS", "$JS.API.STREAM.MSG.GET.RESULTS"}},
		{"monitor", publish, false, slices.Concat(destroy, manage, work, look)},
		{"monitor", publish, true, []string{"$JS.API.STREAM.INFO.RESULTS", "$JS.API.CONSUMER.INFO.ITEMS.usgs-waterdata"}},
		{"admin", publish, true, []string{"$JS.API.STREAM.MSG.GET.RESULTS", "$JS.API.STREAM.SNAPSHOT.NONE"}},
		{"worker", subscribe, false, []string{">", "_INBOX.>", "_INBOX_coordinator.>", "braid.>", "$KV.>", "$SYS.>"}},
		{"coordinator", subscribe, false, []string{">", "_INBOX.>", "_INBOX_worker.>", "braid.item.>", "braid.result.>", "$SYS.>"}},
		{"monitor", subscribe, false, []string{">", "_INBOX_worker.>", "_INBOX_coordinator.>", "braid.>", "$KV.>"}},
		{"monitor", subscribe, true, []string{"$JS.EVENT.ADVISORY.>"}},
	} {
		for _, subject := range check.subjects {
			if may := s.permits(check.role, subject, check.subscribe); may != check.may {
				s.t.Errorf("%s may use %s: %v (subscribe: %v)", check.role, subject, may, check.subscribe)
			}
		}
	}
}

// mustRefuseStrangers holds who gets no connection, and what they are told.
func (s *secured) mustRefuseStrangers() {
	s.t.Helper()
	url := strings.Join(s.urls, ",")
	other := launch(s.t, s.dir, nil, "nk", "-gen", "user").wait(limit).stdout
	if err := os.WriteFile(s.file("other.nk"), []byte(other), 0o600); err != nil {
		s.t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nobody":          {[]string{"--nats-ca", s.file("ca.pem")}, "--nats-nkey"},
		"an unknown key":  {[]string{"--nats-ca", s.file("ca.pem"), "--nats-nkey", s.file("other.nk")}, "--nats-nkey"},
		"another CA":      {[]string{"--nats-ca", s.file("stranger.pem"), "--nats-nkey", s.seeds["worker"]}, "--nats-ca"},
		"no file":         {[]string{"--nats-ca", s.file("none.pem")}, "none.pem"},
		"no seed":         {[]string{"--nats-nkey", s.file("ca.pem")}, "ca.pem"},
		"half a pair":     {[]string{"--nats-cert", s.file("client.pem")}, "--nats-key"},
		"another's key":   {[]string{"--nats-cert", s.file("client.pem"), "--nats-key", s.file("server.key")}, "client.pem"},
		"another role":    {append(s.as("coordinator"), "--nats-wait", "20s"), "another role's"},
		"no certificates": {[]string{"--nats-ca", s.file("client.key")}, "client.key"},
	} {
		o := launch(s.t, s.dir, nil, "worker", append([]string{"--nats-url", url, "--nats-wait", "0s"}, c.args...)...).wait(limit)
		if o.code != 1 || !strings.Contains(o.stderr, c.says) || strings.Contains(o.stderr, strings.TrimSpace(other)) {
			s.t.Errorf("%s: exit %d, %s; want 1 and %q", name, o.code, o.stderr, c.says)
		}
	}
}

func TestAClusterOutlivesOneServerWithItsDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three servers")
	}
	up := lossUpstream(t)
	want := calmTable(t, up, lossSites, lossChunks)
	s := newSecured(t)
	var routes, ports []string
	for range 3 {
		ports = append(ports, freePort(t))
		routes = append(routes, "nats://127.0.0.1:"+ports[len(ports)-1])
	}
	for i, name := range []string{"nats-1", "nats-2", "nats-3"} {
		s.node("cluster.conf", name, "--cluster", "nats://127.0.0.1:"+ports[i], "--routes", strings.Join(routes, ","))
	}
	launch(t, s.dir, nil, "worker", "--nats-url", s.urls[0], "--nats-nkey", s.seeds["worker"], "--nats-ca", s.file("ca.pem")).wait(limit).
		mustExit(t, 1).mustSay(t, "--nats-cert", "--nats-key")
	lead, work, d := s.daemons(up, "--durability", "cluster")
	p := d.braid("run", d.queryFile("q.yaml", lossSites, lossChunks), "-o", "t.parquet")
	up.saw(t, lossChunks*lossPages/3)
	lost := s.nodes[1]
	lost.kill()
	if err := os.RemoveAll(s.file("store-nats-2")); err != nil {
		t.Fatal(err)
	}
	lost.start()
	p.wait(limit).mustExit(t, 0)
	d.mustEqual("t.parquet", want)
	d.run("verify").mustExit(t, 0)
	nc := s.connect("admin")
	for _, stream := range []string{"ITEMS", "RESULTS", "PARTS", "EVENTS", "KV_braid_queries", "KV_braid_leases"} {
		answer, err := nc.Request("$JS.API.STREAM.INFO."+stream, nil, limit)
		if err != nil || !strings.Contains(string(answer.Data), `"num_replicas":3`) {
			t.Errorf("%s has not three replicas: %v", stream, err)
		}
	}
	s.mustSayThatMostServersAreAway(lead, d)
	for _, p := range []*process{lead, work} {
		if text := p.Stderr.String(); strings.Contains(strings.ToLower(text), "permi") {
			t.Errorf("%s was not permitted something:\n%s", p.Name, tail(text))
		}
	}
}

// mustSayThatMostServersAreAway takes two of three servers away, and gives them back.
func (s *secured) mustSayThatMostServersAreAway(lead *process, d *desk) {
	s.t.Helper()
	at := strings.TrimPrefix(d.args[1], "http://")
	s.nodes[0].kill()
	s.nodes[2].kill()
	eventually(s.t, limit, "the coordinator to find that it is not ready", func() bool {
		answer, err := http.Get("http://" + at + "/readyz")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), "store-unreachable")
	})
	began := time.Now()
	d.run("status").mustExit(s.t, 1).mustSay(s.t, "NATS is not reachable", "servers")
	d.run("cancel", "nothing").mustExit(s.t, 1).mustSay(s.t, "NATS is not reachable", "servers")
	launch(s.t, s.dir, nil, "coordinator", "--listen", at, "--healthcheck").wait(limit).mustExit(s.t, 1).mustSay(s.t, "503", "NATS is not reachable")
	if took := time.Since(began); took > 30*time.Second {
		s.t.Errorf("three answers took %v", took)
	}
	if answer, err := http.Get("http://" + at + "/healthz"); err != nil || answer.StatusCode != http.StatusOK {
		s.t.Errorf("the process lives, and says %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	s.nodes[0].start()
	s.nodes[2].start()
	mustBeReady(s.t, lead, at)
	// The leader of one stream may be chosen a little later than that of another.
	eventually(s.t, limit, "the query's status", func() bool { return d.run("status").code == 0 })
}

func TestThreeReplicasAreRefusedWhereThereIsNoCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	port := freePort(t)
	(&member{t: t, dir: dir, name: "nats-server", args: []string{"-a", "127.0.0.1", "-p", port, "-js", "-sd", filepath.Join(dir, "nats")}}).start()
	launch(t, dir, nil, "coordinator", "--nats-url", "nats://127.0.0.1:"+port, "--durability", "cluster").wait(limit).
		mustExit(t, 2).mustSay(t, "cluster of three NATS servers", "safe")
	d := newDesk(t, nil)
	d.run("run", d.queryFile("q.yaml", 2, 2), "-o", "t.csv", "--durability", "cluster").mustExit(t, 2).mustSay(t, "cluster needs three")
	d.run("run", "q.yaml", "-o", "t.csv", "--durability", "firm").mustExit(t, 2).mustSay(t, "fast, safe or cluster")
}
