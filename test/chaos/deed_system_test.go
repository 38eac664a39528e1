//go:build unix

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"
)

// restartAll restarts everything under load in the order of docs/operations.md: each NATS server, the coordinators, the standby
// first, and the workers. Nobody waits for more than what says itself that it is well.
func (x *trial) restartAll() error {
	ctx, cancel := context.WithTimeout(x.t.Context(), patience/2)
	defer cancel()
	for _, m := range x.c.nats {
		if err := m.restart(ctx); err != nil {
			return err
		}
	}
	leads, other, _, err := x.leader()
	for ; err != nil && ctx.Err() == nil; leads, other, _, err = x.leader() { // who has just been started elects
		<-time.After(100 * time.Millisecond)
	}
	if err != nil {
		return err
	}
	for _, m := range append([]*member{other, leads}, x.c.work...) {
		if err := m.restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

const (
	farthest     = time.Hour        // that a clock of a worker or a coordinator is set
	farthestNATS = 10 * time.Second // NATS counts the time of leases and items by it
)

// off is by how much an action sets a clock: a second to an hour, either way, small steps as often as large ones.
func (a action) off() time.Duration {
	most := farthest
	if a.Kind == jumpNATS {
		most = farthestNATS
	}
	seconds := time.Duration(math.Pow(most.Seconds(), a.Part))
	if a.Who&1 == 0 {
		seconds = -seconds
	}
	return seconds * time.Second
}

// stays tells whether a clock that was set is never set right: nothing that was reckoned by it goes away by itself. NATS' clock is
// always set right, as the slot of a dead worker is free when that says so.
func (a action) stays() bool { return a.Who&2 == 0 && a.Kind != jumpNATS }

var errNoClocks = errors.New("the binaries whose clocks can be set are built where CHAOS_CLOCKS=1 says so, as make chaos does")

// jump sets the wall clock of a process, as NTP does.
func (x *trial) jump(a action) error {
	if !haveClocks() {
		return errNoClocks
	}
	m := pick(x.c.work, a.Who/4)
	switch a.Kind {
	case jumpLeader:
		var err error
		if m, _, _, err = x.leader(); err != nil {
			return err
		}
	case jumpNATS:
		m = pick(x.c.nats, a.Who/4)
		// Leases end by it: whatever is in flight then is beside those who get its slot.
		x.addOverlap(slots)
	default:
	}
	if err := m.time.Set(a.off()); err != nil {
		return err
	}
	x.note("the clock of %s is off by %v; it stays so: %v", m.name, a.off(), a.stays())
	if a.stays() {
		return nil
	}
	<-time.After(a.Lasts)
	return m.time.Set(0)
}

// unplug parts hosts from all others for a while, without a word to anybody: packets get lost.
func (x *trial) unplug(a action) error {
	if x.noNetwork != nil {
		return x.noNetwork
	}
	var measuring sync.WaitGroup
	defer measuring.Wait()
	var parted []*member
	switch a.Kind {
	case apartWorker:
		parted = []*member{pick(x.c.work, a.Who)}
	case apartNATS:
		parted = []*member{pick(x.c.nats, a.Who)}
	default:
		leads, other, lease, err := x.leader()
		if err != nil {
			return err
		}
		parted = []*member{leads}
		bound, alone := takenOver, x.onlyOneOfCoordinators()
		if a.Kind == island {
			at, standby := x.serverOf(leads), x.serverOf(other)
			if at == nil {
				return errors.New("nobody can say which NATS server the leader is connected to")
			}
			parted = append(parted, at)
			// The others may have to elect anew, for each stream that the server led.
			bound, alone = 3*takenOver, alone && standby != at && x.number(kind.ofTheStore) == 1
		} else {
			alone = alone && !x.has(kind.ofTheStore)
		}
		measuring.Go(func() { x.takeOver(lease, bound, alone) })
	}
	for _, m := range parted {
		if err := m.host.plug(x.c.net.island); err != nil {
			return err
		}
		x.note("%s is parted", m.name)
	}
	if a.Kind == apartWorker {
		x.stopped(parted[0].name) // what it has sent arrives when the network is whole again
	}
	<-time.After(a.Lasts)
	var err error
	for _, m := range parted {
		err = errors.Join(err, m.host.plug(x.c.net.main))
	}
	return err
}

// serverOf gives the NATS server that a process is connected to; nil: none that answers.
func (x *trial) serverOf(m *member) *member {
	for _, server := range x.c.nats {
		addresses, err := connected(x.t.Context(), server)
		if err != nil {
			continue
		}
		for _, address := range addresses {
			if address == m.address() {
				return server
			}
		}
	}
	return nil
}

// connected asks a server where its clients are.
func connected(ctx context.Context, server *member) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.page("connz"), http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its clients: %w", server.name, err)
	}
	defer func() { _ = answer.Body.Close() }() // it is read to its end
	var page struct {
		Connections []struct {
			IP string `json:"ip"`
		} `json:"connections"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("ask %s for its clients: %w", server.name, err)
	}
	var all []string
	for _, one := range page.Connections {
		all = append(all, one.IP)
	}
	return all, nil
}
