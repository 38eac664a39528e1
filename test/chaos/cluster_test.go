//go:build unix

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/test/rig"
)

// member is a process of the system and how to start it again.
type member struct {
	t    *testing.T
	dir  string
	name string // of the process, such as worker-1
	bin  string
	args []string
	env  []string
	ways []*proxy   // to the NATS servers; none where it has a host
	host *host      // nil: it runs where the test does
	time *rig.Clock // nil: it has the machine's

	health string // URL that answers 200 when the process does its work; empty: nobody can ask
	store  string // of a NATS server: its folder

	mu      sync.Mutex // held while something is done to the process; guards lives
	process *rig.Process
	lives   []*rig.Process
}

// start starts the process, unless it runs. The caller holds mu.
func (m *member) start() {
	m.t.Helper()
	if m.process != nil && m.process.Running() {
		return
	}
	command := append([]string{filepath.Join(rig.BinDir(), m.bin)}, m.args...)
	env := append([]string{"HOME=" + m.dir}, m.env...)
	if m.time != nil {
		command[0] = filepath.Join(rig.ClockDir(), m.bin)
		env = append(env, m.time.Env())
	}
	if m.host != nil {
		command = append(slices.Clone(m.host.enter), command...)
	}
	m.process = rig.Launch(m.t, m.dir, env, command[0], command[1:]...)
	m.lives = append(m.lives, m.process)
}

// address is where others reach the process.
func (m *member) address() string {
	if m.host != nil {
		return m.host.address
	}
	return loopback
}

// down kills the process for a while; meanwhile is run in between.
func (m *member) down(d time.Duration, meanwhile func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process.Kill()
	meanwhile()
	<-time.After(d)
	m.start()
}

// freeze stops the process for a while; meanwhile is run at its start.
func (m *member) freeze(d time.Duration, meanwhile func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process.Signal(syscall.SIGSTOP)
	meanwhile()
	<-time.After(d)
	m.process.Signal(syscall.SIGCONT)
}

// restart asks the process to end, as an operator does, waits until it has, and starts it again.
func (m *member) restart(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process.Signal(syscall.SIGTERM)
	select {
	case <-m.process.Ended:
	case <-ctx.Done():
		return fmt.Errorf("%s does not end after it was asked to: %w", m.name, ctx.Err())
	}
	m.start()
	return m.healthy(ctx)
}

// healthy waits until the process says that it is well. The caller holds mu.
func (m *member) healthy(ctx context.Context) error {
	said := "nothing"
	for m.health != "" {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.health, http.NoBody)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			said = answer.Status
			_ = answer.Body.Close() // nothing of it was read
		}
		if err == nil && answer.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not well again, and said %s: %w", m.name, said, errors.Join(err, ctx.Err()))
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// page is where a NATS server tells of itself.
func (m *member) page(name string) string { return strings.TrimSuffix(m.health, "healthz") + name }

// cluster is the whole system.
type cluster struct {
	t      *testing.T
	s      schedule
	net    *network // nil: all is on loopback
	dir    string
	disk   string // where one NATS server stores, when that is a file system of its own
	full   *member
	routes []*proxy // in front of each server, for the others of the cluster; none where there is a network
	nats   []*member
	urls   []string // of the NATS servers, not through proxies
	lead   []*member
	desks  []*braid.Client
	work   []*member
}

// newCluster starts a system. A process reaches NATS through proxies of its own, and the upstream through the one that all share;
// where there is a network it has a host there, and reaches NATS through that alone.
func newCluster(t *testing.T, s schedule, up *upstream, between *network) *cluster {
	t.Helper()
	c := &cluster{t: t, s: s, net: between, dir: t.TempDir()}
	c.startNATS()
	for i := range coordinators {
		name := "coordinator-" + strconv.Itoa(i)
		m := c.member(name, "coordinator", s.has(func(k kind) bool { return k == jumpLeader }))
		at := net.JoinHostPort(m.address(), freePort(t))
		m.health = "http://" + at + "/readyz"
		c.connect(m, "--id", name, "--listen", at, "--allow-unauthenticated", "--lease-ttl", ttl.String(),
			"--in-flight", strconv.Itoa(slots), "--service-url", service+"="+up.base(), "--replicas", strconv.Itoa(len(c.nats)))
		c.lead = append(c.lead, m)
		desk, err := braid.NewClient("http://" + at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(desk.Close)
		c.desks = append(c.desks, desk)
	}
	for i := range workers {
		name := "worker-" + strconv.Itoa(i)
		m := c.member(name, "worker", s.has(func(k kind) bool { return k == jumpWorker }))
		c.connect(m, "--id", name, "--log-level", "debug")
		c.work = append(c.work, m)
	}
	for _, desk := range c.desks {
		eventually(t, time.Minute, "a coordinator to be ready", func() bool { return desk.Ready(t.Context()) == nil })
	}
	return c
}

// member makes a process of the system that is not started yet.
func (c *cluster) member(name, bin string, timed bool) *member {
	c.t.Helper()
	m := &member{t: c.t, dir: c.dir, name: name, bin: bin}
	if timed && haveClocks() {
		m.time = rig.NewClock(c.t)
	}
	if c.net != nil {
		var err error
		if m.host, err = c.net.newHost(); err != nil {
			c.t.Fatal(err)
		}
	}
	return m
}

func (c *cluster) startNATS() {
	c.t.Helper()
	servers := 1
	if c.s.Cluster {
		servers = 3
	}
	var routes, listens []string
	for i := range servers {
		m := c.member("nats-"+strconv.Itoa(i), "nats-server", c.s.has(func(k kind) bool { return k == jumpNATS }))
		m.store = filepath.Join(c.dir, m.name)
		c.nats = append(c.nats, m)
		at := net.JoinHostPort(m.address(), freePort(c.t))
		listens = append(listens, "nats://"+at)
		if m.host == nil {
			way := newProxy(c.t, loopback, at)
			c.routes = append(c.routes, way)
			at = way.address()
		}
		routes = append(routes, at)
	}
	c.ownDisk()
	for i, m := range c.nats {
		port, monitor := freePort(c.t), freePort(c.t)
		m.args = []string{"-a", m.address(), "-p", port, "-m", monitor, "-js", "-sd", m.store, "-n", "n" + strconv.Itoa(i)}
		m.health = "http://" + net.JoinHostPort(m.address(), monitor) + "/healthz"
		if c.s.Cluster {
			// Neither clients nor servers must learn of ways around their proxies.
			m.args = append(m.args, "--cluster_name", "chaos", "--cluster", listens[i], "--cluster_advertise", routes[i],
				"--routes", "nats://"+strings.Join(routes, ",nats://"), "--no_advertise")
		}
		m.start()
		c.urls = append(c.urls, "nats://"+net.JoinHostPort(m.address(), port))
	}
}

// ownDisk gives a file system of its own to the server whose disk is to be filled.
func (c *cluster) ownDisk() {
	for _, a := range c.s.Actions {
		if a.Kind != fillDisk {
			continue
		}
		disk, err := mountSmall(c.t)
		if err != nil {
			told.leave(fillDisk, err.Error())
			return
		}
		c.disk, c.full = disk, pick(c.nats, a.Who)
		c.full.store = filepath.Join(disk, c.full.name)
	}
}

// connect starts a process that connects to NATS.
func (c *cluster) connect(m *member, args ...string) {
	c.t.Helper()
	urls := slices.Clone(c.urls)
	for i, url := range c.urls {
		if m.host != nil {
			break
		}
		way := newProxy(c.t, loopback, strings.TrimPrefix(url, "nats://"))
		m.ways = append(m.ways, way)
		urls[i] = "nats://" + way.address()
	}
	m.args = slices.Concat(args, []string{"--nats-url", strings.Join(urls, ","), "--log-format", "text"})
	m.start()
}

// members are all processes.
func (c *cluster) members() []*member {
	var all []*member
	all = append(all, c.nats...)
	all = append(all, c.lead...)
	return append(all, c.work...)
}

// clients are the processes that connect to NATS.
func (c *cluster) clients() []*member {
	var all []*member
	all = append(all, c.lead...)
	return append(all, c.work...)
}

// keepLogs writes the logs of all lives of all processes into a folder that stays, and gives its path.
func (c *cluster) keepLogs(seed uint64) string {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("braid-chaos-seed-%d", seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err.Error()
	}
	for _, m := range c.members() {
		for i, life := range m.lives {
			path := filepath.Join(dir, fmt.Sprintf("%s.%d.log", m.name, i))
			if err := os.WriteFile(path, []byte(life.Stderr.String()), 0o644); err != nil {
				return err.Error()
			}
		}
	}
	return dir
}

// freePort gives a port that nobody listens on now, and that no outgoing connection is given: a server that is started again
// needs the one it had.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(12_000 + rand.IntN(18_000))
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = listener.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}
