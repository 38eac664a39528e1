//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
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
	ways []*proxy // to the NATS servers

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
	m.process = rig.Launch(m.t, m.dir, []string{"HOME=" + m.dir}, m.bin, m.args...)
	m.lives = append(m.lives, m.process)
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

// cluster is the whole system.
type cluster struct {
	t     *testing.T
	dir   string
	disk  string // where NATS stores, when that is a file system of its own
	nats  []*member
	urls  []string // of the NATS servers, not through proxies
	lead  []*member
	desks []*braid.Client
	work  []*member
}

// newCluster starts a system. A process reaches NATS through proxies of its own, and the upstream through the one that all share.
func newCluster(t *testing.T, s schedule, up *upstream) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	c.startNATS(s)
	for i := range coordinators {
		port := freePort(t)
		name := "coordinator-" + strconv.Itoa(i)
		m := c.client(name, "coordinator", "--id", name, "--listen", "127.0.0.1:"+port, "--lease-ttl", ttl.String(),
			"--in-flight", strconv.Itoa(slots), "--service-url", service+"="+up.base(), "--replicas", strconv.Itoa(len(c.nats)))
		c.lead = append(c.lead, m)
		desk, err := braid.NewClient("http://127.0.0.1:" + port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(desk.Close)
		c.desks = append(c.desks, desk)
	}
	for i := range workers {
		name := "worker-" + strconv.Itoa(i)
		c.work = append(c.work, c.client(name, "worker", "--id", name, "--log-level", "debug"))
	}
	for _, desk := range c.desks {
		eventually(t, time.Minute, "a coordinator to be ready", func() bool { return desk.Ready(t.Context()) == nil })
	}
	return c
}

func (c *cluster) startNATS(s schedule) {
	c.t.Helper()
	store := c.dir
	if s.count(fillDisk) > 0 {
		disk, err := mountSmall(c.t)
		if err != nil {
			told.leave(fillDisk, err.Error())
		} else {
			c.disk, store = disk, disk
		}
	}
	servers := 1
	if s.Cluster {
		servers = 3
	}
	var routes []string
	for range servers {
		routes = append(routes, "nats://127.0.0.1:"+freePort(c.t))
	}
	for i := range servers {
		port := freePort(c.t)
		args := []string{"-a", "127.0.0.1", "-p", port, "-js", "-sd", filepath.Join(store, "nats-"+strconv.Itoa(i)), "-n", "n" + strconv.Itoa(i)}
		if s.Cluster {
			// Clients must not learn of ways around their proxies.
			args = append(args, "--cluster_name", "chaos", "--cluster", routes[i], "--routes", strings.Join(routes, ","), "--no_advertise")
		}
		m := &member{t: c.t, dir: c.dir, name: "nats-" + strconv.Itoa(i), bin: "nats-server", args: args}
		m.start()
		c.nats = append(c.nats, m)
		c.urls = append(c.urls, "nats://127.0.0.1:"+port)
	}
}

// client starts a process that connects to NATS.
func (c *cluster) client(name, bin string, args ...string) *member {
	c.t.Helper()
	m := &member{t: c.t, dir: c.dir, name: name, bin: bin}
	var urls []string
	for _, url := range c.urls {
		way := newProxy(c.t, strings.TrimPrefix(url, "nats://"))
		m.ways = append(m.ways, way)
		urls = append(urls, "nats://"+way.address())
	}
	m.args = append(m.args, args...)
	m.args = append(m.args, "--nats-url", strings.Join(urls, ","), "--log-format", "text")
	m.start()
	return m
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
