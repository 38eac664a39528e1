//go:build unix

package chaos

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// trial is one schedule under way, and what is measured of it.
type trial struct {
	t *testing.T
	schedule
	up    *upstream
	c     *cluster
	o     *observer
	query string

	noNetwork error // why the processes have none, where they should

	mu       sync.Mutex // guards all below
	overlap  int        // slots that stopped workers held: so many requests no fence can call back
	again    int        // items that were given out twice by an action
	handed   int        // of these, by handing them back in the name of whoever has them
	measures []measure
	done     []string
}

// measure is a time that something took.
type measure struct {
	what    string
	took    time.Duration
	bound   time.Duration
	counted bool // the schedule lets nothing else be the cause
}

func (x *trial) note(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = append(x.done, fmt.Sprintf(format, args...))
}

func (x *trial) measured(m measure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.measures = append(x.measures, m)
}

// act carries out all actions at their times, counted from begun, and returns when all have been undone.
func (x *trial) act(begun time.Time) {
	var all sync.WaitGroup
	for _, a := range x.Actions {
		all.Go(func() {
			<-time.After(time.Until(begun.Add(a.At)))
			if err := x.carryOut(a); err != nil {
				told.leave(a.Kind, err.Error())
				x.note("%s: left out: %v", a, err)
				return
			}
			told.carriedOut(a.Kind)
			x.note("%s: done at %.2fs", a, time.Since(begun).Seconds())
		})
	}
	all.Wait()
}

func pick[T any](from []T, who int) T { return from[who%len(from)] }

func (x *trial) carryOut(a action) error {
	switch a.Kind {
	case killWorker:
		x.killWorker(pick(x.c.work, a.Who), a.Lasts)
	case killLeader, killStandby, stopLeader:
		return x.coordinator(a)
	case killNATS:
		pick(x.c.nats, a.Who).down(a.Lasts, func() {})
	case stopNATS:
		pick(x.c.nats, a.Who).freeze(a.Lasts, func() {})
	case stopWorker:
		m := pick(x.c.work, a.Who)
		m.freeze(a.Lasts, func() { x.stopped(m.name) })
	case cutNATS:
		for _, m := range x.c.clients() {
			for _, way := range m.ways {
				way.cut()
			}
		}
	case partition, stallNATS, delayNATS:
		x.disturb(a)
	case cutUpstream:
		x.up.cut()
	case stallUpstream:
		x.up.stallAll(true)
		<-time.After(a.Lasts)
		x.up.stallAll(false)
	case publishAgain:
		return x.publishAgain(a.Lasts)
	case handBack:
		n, err := x.o.handBack(300 * time.Millisecond)
		x.gaveAgain(n, n)
		return err
	case fillDisk:
		return x.fillDisk(a.Lasts)
	case damage:
		return x.damage(a)
	case stallRoutes:
		x.stallRoutes(a)
	case loseStore:
		return x.loseStore(a)
	case restartAll:
		return x.restartAll()
	case jumpWorker, jumpLeader, jumpNATS:
		return x.jump(a)
	case apartWorker, apartLeader, apartNATS, island:
		return x.unplug(a)
	}
	return nil
}

// killWorker kills a worker, and measures how long its slots stay away.
func (x *trial) killWorker(m *member, away time.Duration) {
	var measuring sync.WaitGroup
	m.down(away, func() {
		dead, err := x.o.slotsOf(m.name)
		if err != nil || len(dead) == 0 {
			return
		}
		measuring.Go(func() {
			took := until(3*ttl, func() bool {
				all, err := x.o.held("braid_leases", service, slots)
				if err != nil {
					return false
				}
				for _, h := range all {
					if dead[h.Lease] {
						return false
					}
				}
				return true
			})
			x.measured(measure{"slots of a killed worker away", took, ttl + time.Second, !x.has(kind.ofTheStore)})
		})
	})
	measuring.Wait()
}

// stopped notes what a worker held when it was stopped.
func (x *trial) stopped(worker string) {
	n := slots
	if held, err := x.o.slotsOf(worker); err == nil {
		n = len(held)
	}
	x.addOverlap(n)
}

func (x *trial) addOverlap(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.overlap += n
}

func (x *trial) gaveAgain(n, handed int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.again += n
	x.handed += handed
}

// leader gives the coordinator that leads, the other one, and the lease of the first.
func (x *trial) leader() (leads, other *member, lease string, err error) {
	leader, err := x.o.leader()
	if err != nil {
		return nil, nil, "", fmt.Errorf("nobody can say who leads: %w", err)
	}
	leads, other = x.c.lead[0], x.c.lead[1]
	if leader.Worker == other.name {
		leads, other = other, leads
	}
	return leads, other, leader.Lease, nil
}

// takenOver is how long nobody may lead.
const takenOver = 5 * time.Second

// takeOver measures how long it takes until another lease than the one that is given is the leader's.
func (x *trial) takeOver(lease string, bound time.Duration, counted bool) {
	took := until(4*leaderTTL, func() bool {
		now, err := x.o.leader()
		return err == nil && now.Lease != "" && now.Lease != lease
	})
	x.measured(measure{"coordinator take-over", took, bound, counted})
}

// onlyOneOfCoordinators tells whether the other coordinator is there to take over.
func (x *trial) onlyOneOfCoordinators() bool { return x.number(kind.ofCoordinators) == 1 }

// coordinator kills or stops the coordinator that leads, or kills the one that does not.
func (x *trial) coordinator(a action) error {
	leads, other, lease, err := x.leader()
	if err != nil {
		return err
	}
	m := leads
	if a.Kind == killStandby {
		m = other
	}
	var measuring sync.WaitGroup
	lost := func() {
		if a.Kind != killStandby {
			measuring.Go(func() { x.takeOver(lease, takenOver, x.onlyOneOfCoordinators() && !x.has(kind.ofTheStore)) })
		}
	}
	if a.Kind == stopLeader {
		m.freeze(a.Lasts, lost)
	} else {
		m.down(a.Lasts, lost)
	}
	measuring.Wait()
	return nil
}

// disturb does something to the connections of one process to NATS.
func (x *trial) disturb(a action) {
	set := func(on bool) {
		for _, way := range pick(x.c.clients(), a.Who).ways {
			switch {
			case a.Kind == partition:
				way.part(on)
			case a.Kind == stallNATS:
				way.stallAll(on)
			case on:
				way.delayBy(time.Duration(float64(200*time.Millisecond) * a.Part))
			default:
				way.delayBy(0)
			}
		}
	}
	set(true)
	<-time.After(a.Lasts)
	set(false)
}

// stallRoutes holds back what NATS servers say to each other, on all connections or on those that were made to one server, and
// nobody is told.
func (x *trial) stallRoutes(a action) {
	ways := x.c.routes
	if a.Part < 0.5 {
		ways = []*proxy{pick(ways, a.Who)}
	}
	for _, way := range ways {
		way.stallAll(true)
	}
	<-time.After(a.Lasts)
	for _, way := range ways {
		way.stallAll(false)
	}
}

// publishAgain publishes what is queued now once more, when some of it has been done.
func (x *trial) publishAgain(after time.Duration) error {
	items, err := x.o.items()
	if err != nil {
		return err
	}
	<-time.After(after)
	n := x.o.publish(items)
	x.gaveAgain(n, 0)
	return nil
}
