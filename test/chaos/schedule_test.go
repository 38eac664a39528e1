//go:build unix

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/simulator"
)

const (
	workers      = 3
	coordinators = 2
	slots        = 4               // the cap
	ttl          = 3 * time.Second // of slots
	leaderTTL    = 4 * time.Second // of the leader's slot, which is no setting
	undisturbed  = 5 * time.Second // that a query would take
	quotaWindow  = 5 * time.Second
)

// kind names what is done to the system.
type kind string

// The kinds of actions.
const (
	killWorker    kind = "kill a worker"
	killLeader    kind = "kill the leading coordinator"
	killStandby   kind = "kill the other coordinator"
	killNATS      kind = "kill NATS"
	stopWorker    kind = "stop a worker for longer than its lease"
	stopLeader    kind = "stop the leader for longer than its lease"
	stopNATS      kind = "stop NATS"
	cutNATS       kind = "cut connections to NATS"
	partition     kind = "part a process from NATS"
	stallNATS     kind = "stall a process's connection to NATS"
	delayNATS     kind = "delay a process's connection to NATS"
	cutUpstream   kind = "cut connections to the upstream"
	stallUpstream kind = "stall answers of the upstream"
	publishAgain  kind = "publish items again"
	handBack      kind = "hand back items that others work on"
	fillDisk      kind = "fill NATS' disk"
	damage        kind = "damage a store file"
	stallRoutes   kind = "stall routes between NATS servers"
	loseStore     kind = "lose a NATS server's store"
	restartAll    kind = "restart everything in turn"
	jumpWorker    kind = "set a worker's clock"
	jumpLeader    kind = "set the leader's clock"
	jumpNATS      kind = "set a NATS server's clock"

	apartWorker kind = "unplug a worker's network"
	apartLeader kind = "unplug the leader's network"
	apartNATS   kind = "unplug a NATS server's network"
	island      kind = "leave the leader alone with its NATS server"
)

// kinds is every kind with how often it is drawn.
func kinds() []kind {
	return []kind{
		killWorker, killWorker, killWorker, killLeader, killLeader, killStandby, killNATS, killNATS,
		stopWorker, stopWorker, stopLeader, stopNATS, cutNATS, partition, partition, stallNATS, stallNATS, delayNATS,
		cutUpstream, stallUpstream, publishAgain, handBack, handBack, fillDisk, damage, loseStore, loseStore, loseStore, stallRoutes, stallRoutes,
		restartAll, jumpWorker, jumpWorker, jumpLeader, jumpNATS, apartWorker, apartWorker, apartLeader, apartNATS, island, island,
	}
}

// ofNetworks are the kinds that need a network of the system's own.
func (k kind) ofNetworks() bool {
	return slices.Contains([]kind{apartWorker, apartLeader, apartNATS, island}, k)
}

// ofProxies are the kinds that need proxies between the processes and NATS.
func (k kind) ofProxies() bool {
	return slices.Contains([]kind{cutNATS, partition, stallNATS, delayNATS}, k)
}

// ofDisks are the kinds after which a server's store is not what it was.
func (k kind) ofDisks() bool { return slices.Contains([]kind{fillDisk, damage, loseStore}, k) }

// fits tells whether a kind can be done to the system of a schedule: to one with a network the network does what proxies do
// to others.
func (k kind) fits(s schedule) bool {
	switch {
	case k.ofNetworks():
		return s.Network
	case k.ofProxies():
		return !s.Network
	case k == stallRoutes:
		return s.Cluster && !s.Network
	case k.ofDisks():
		// What is promised is of one disk, and of its loss where there are others.
		return !s.has(kind.ofDisks) && (k != loseStore || s.Cluster)
	default:
		return true
	}
}

// leads tells whether a kind is one for whose sake the system of a schedule is more than the simplest one.
func (k kind) leads(s schedule) bool {
	switch {
	case s.Network:
		return k.ofNetworks()
	case s.Cluster:
		return k.ofDisks() || slices.Contains([]kind{stallRoutes, restartAll, stopNATS}, k)
	default:
		return true
	}
}

// ofTheStore are the kinds after which a bound on time that rests on the store does not count.
func (k kind) ofTheStore() bool {
	return slices.Contains([]kind{
		killNATS, stopNATS, cutNATS, partition, stallNATS, delayNATS, stallRoutes, fillDisk, damage, loseStore, restartAll,
		jumpNATS, apartNATS, island,
	}, k)
}

// ofCoordinators are the kinds after which there may be nobody to take over.
func (k kind) ofCoordinators() bool {
	return slices.Contains([]kind{killLeader, killStandby, stopLeader, restartAll, jumpLeader, apartLeader, island}, k)
}

// action is one thing that is done to the system.
type action struct {
	At    time.Duration // after the query was submitted
	Kind  kind
	Who   int           // which process of those that the kind can mean
	Lasts time.Duration // until it is undone
	Part  float64       // 0 to 1: where in a file, or what is done there
}

func (a action) String() string {
	return fmt.Sprintf("%6.2fs %s (who %d, lasts %.2fs, part %.2f)", a.At.Seconds(), a.Kind, a.Who, a.Lasts.Seconds(), a.Part)
}

// schedule is all that a seed decides.
type schedule struct {
	Seed     uint64
	Chunks   int
	Pages    int // of a chunk
	Cluster  bool
	Network  bool    // each process has a host of its own, and connects to NATS without proxies
	Faults   float64 // share of requests with a fault of the upstream
	Quota    int     // requests a window; 0: none
	Upstream simulator.Config
	Actions  []action
}

func (s schedule) sites() int { return 2 * s.Chunks }

// has tells whether an action of one of the kinds is in the schedule.
func (s schedule) has(one func(kind) bool) bool {
	return slices.ContainsFunc(s.Actions, func(a action) bool { return one(a.Kind) })
}

func (s schedule) count(k kind) int { return s.number(func(other kind) bool { return other == k }) }

// number counts the actions of some kinds.
func (s schedule) number(which func(kind) bool) int {
	n := 0
	for _, a := range s.Actions {
		if which(a.Kind) {
			n++
		}
	}
	return n
}

func (s schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d chunks of %d pages, cluster %v, network %v, faults %.2f, quota %d a window\n",
		s.Seed, s.Chunks, s.Pages, s.Cluster, s.Network, s.Faults, s.Quota)
	for _, a := range s.Actions {
		fmt.Fprintf(&b, "  %s\n", a)
	}
	return b.String()
}

// draw makes the schedule of a seed.
func draw(seed uint64) schedule {
	r := rand.New(rand.NewPCG(seed, 0x6272616964))
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(r.Int64N(int64(high-low)+1)) }
	s := schedule{Seed: seed, Chunks: 60 + 20*r.IntN(4), Pages: 1 + r.IntN(2)}
	s.Network = r.IntN(7) == 0
	s.Cluster = s.Network || r.IntN(6) == 0
	if r.IntN(3) == 0 {
		s.Faults = 0.02 + 0.08*r.Float64()
	}
	if r.IntN(4) == 0 {
		s.Quota = s.Chunks * s.Pages * 2 / 5
	}
	s.Upstream = s.upstream()
	for n := 1 + r.IntN(4); len(s.Actions) < n; {
		a := action{At: between(undisturbed/20, undisturbed), Kind: kinds()[r.IntN(len(kinds()))], Who: r.IntN(1 << 10), Part: r.Float64()}
		if !a.Kind.fits(s) || len(s.Actions) == 0 && !a.Kind.leads(s) {
			continue
		}
		switch a.Kind {
		case killWorker, killLeader, killStandby, loseStore:
			a.Lasts = between(100*time.Millisecond, 2*time.Second)
		case killNATS:
			a.Lasts = between(100*time.Millisecond, ttl+ttl/2)
		case stopWorker, apartWorker:
			a.Lasts = between(ttl+ttl/3, 2*ttl)
		case stopLeader, apartLeader, apartNATS, island, stallRoutes:
			a.Lasts = between(leaderTTL+leaderTTL/4, 2*leaderTTL)
		case stopNATS, partition, stallNATS:
			a.Lasts = between(200*time.Millisecond, ttl+ttl/2)
		case delayNATS, jumpWorker, jumpLeader, jumpNATS:
			a.Lasts = between(time.Second, 2*ttl)
		case stallUpstream, fillDisk:
			a.Lasts = between(200*time.Millisecond, 1500*time.Millisecond)
		case publishAgain:
			a.Lasts = between(100*time.Millisecond, time.Second)
		default:
		}
		s.Actions = append(s.Actions, a)
	}
	slices.SortStableFunc(s.Actions, func(a, b action) int { return int(a.At - b.At) })
	return s
}

// upstream is the service of a schedule: its latency is such that the query takes as long undisturbed, whatever its size.
func (s schedule) upstream() simulator.Config {
	c := simulator.Config{
		Latency:  undisturbed * slots / time.Duration(s.Chunks*s.Pages),
		PageRows: 50_000, LogSize: 100_000, Seed: s.Seed,
		Faults: simulator.FaultMix(s.Faults, simulator.Fault500, simulator.Fault502, simulator.Fault503, simulator.Fault504,
			simulator.FaultResetBefore, simulator.FaultResetAfter, simulator.FaultTruncated, simulator.FaultErrorIn200),
	}
	if s.Pages > 1 {
		c.PageRows = rowsOfChunk/s.Pages + 1
	}
	if s.Quota > 0 {
		c.Quota = simulator.Quota{Limit: s.Quota, Window: quotaWindow, Model: simulator.QuotaFixed, RetryAfter: true}
	}
	return c
}

const rowsOfChunk = 2 * 366
