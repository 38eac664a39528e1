//go:build unix

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// cluster is a NATS server, a coordinator and two workers, each a process of its own that can be killed and started
// again with the settings it had.
type cluster struct {
	t       *testing.T
	dir     string
	url     string // of the coordinator
	natsURL string
	nats    *member
	lead    *member
	work    [2]*member
}

// member is a process of a cluster and how to start it again.
type member struct {
	*process
	t    *testing.T
	dir  string
	env  []string
	name string
	args []string
}

func (m *member) start() {
	m.t.Helper()
	m.process = launch(m.t, m.dir, append([]string{"HOME=" + m.dir}, m.env...), m.name, m.args...)
}

// clusterConfig is what differs between tests.
type clusterConfig struct {
	leaseTTL time.Duration
	inFlight int
	grace    time.Duration // of the workers
}

func newCluster(t *testing.T, up *upstream, config clusterConfig) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	natsPort, apiPort := freePort(t), freePort(t)
	c.natsURL = "nats://127.0.0.1:" + natsPort
	c.url = "http://127.0.0.1:" + apiPort
	member := func(name string, args ...string) *member {
		m := &member{t: t, dir: c.dir, name: name, args: args}
		m.start()
		return m
	}
	c.nats = member("nats-server", "-a", "127.0.0.1", "-p", natsPort, "-js", "-sd", filepath.Join(c.dir, "nats"))
	c.lead = member("coordinator", "--nats-url", c.natsURL, "--listen", "127.0.0.1:"+apiPort, "--lease-ttl", config.leaseTTL.String(),
		"--in-flight", strconv.Itoa(config.inFlight), "--service-url", service+"="+up.base, "--log-format", "text")
	for i := range c.work {
		c.work[i] = member("worker", "--nats-url", c.natsURL, "--id", fmt.Sprintf("worker-%d", i), "--health", "",
			"--grace", config.grace.String(), "--log-format", "text")
	}
	c.ready()
	return c
}

// ready waits until the coordinator answers and can reach its store.
func (c *cluster) ready() {
	c.t.Helper()
	eventually(c.t, limit, "the coordinator to be ready", func() bool {
		answer, err := http.Get(c.url + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// desk is a user who works on the cluster.
func (c *cluster) desk() *desk {
	c.t.Helper()
	d := newDesk(c.t, nil)
	d.args = []string{"--server", c.url}
	return d
}

// freePort gives a port that nobody listens on now; a server that is started again needs the one it had.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
