package coordinator

import (
	"maps"
	"slices"
	"sync"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/share"
)

// shares divides what may be queued at each service between the queries that this leader drives there. It is empty in a
// process that does not lead: a new leader's drivers join as they come to know what is complete. Safe for concurrent use.
type shares struct {
	mu       sync.Mutex // guards all below, and the fields of stakes that say so
	services map[string]*parties
}

// parties are the queries that share a service.
type parties struct {
	slots  int
	stakes map[string]*stake // by the query's id
}

// stake is one query's part in its service.
type stake struct {
	shares  *shares
	service string
	grown   chan struct{} // holds one: the window is larger, or the slots are to be looked at

	// Guarded by shares.mu.
	claim  share.Claim
	window int
	look   bool // who runs at the service has changed, and with it perhaps how many slots it has
}

func newShares() *shares { return &shares{services: map[string]*parties{}} }

// join makes a query one of those that share its service, which has so many slots. It has no window until it claims one. The
// caller must call leave.
func (s *shares) join(service, query string, rank messages.Rank, slots int) *stake {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.services[service]
	if all == nil {
		all = &parties{stakes: map[string]*stake{}}
		s.services[service] = all
	}
	st := &stake{shares: s, service: service, grown: make(chan struct{}, 1), claim: share.Claim{ID: query, Priority: rank.Priority, Weight: rank.Share()}}
	if len(all.stakes) == 0 {
		all.slots = slots
	}
	all.stakes[query] = st
	st.look = true // the number may be older than what it has missed
	st.tell()
	all.divide()
	return st
}

// look has one of the queries at a service look how many slots there are now: one that shared it, or was to, runs no more.
func (s *shares) look(service string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if all := s.services[service]; all != nil {
		all.look()
	}
}

// leave gives the query's share to the others.
func (st *stake) leave() {
	st.shares.mu.Lock()
	defer st.shares.mu.Unlock()
	all := st.shares.services[st.service]
	delete(all.stakes, st.claim.ID)
	if len(all.stakes) == 0 {
		delete(st.shares.services, st.service)
		return
	}
	all.look()
	all.divide()
}

// look is shares.look. The caller holds mu, and there is a query.
func (all *parties) look() {
	first := all.stakes[slices.Min(slices.Collect(maps.Keys(all.stakes)))]
	first.look = true
	first.tell()
}

// claimed says how many items the query could have outstanding, and gives the number that it may have.
func (st *stake) claimed(demand int) int {
	st.shares.mu.Lock()
	defer st.shares.mu.Unlock()
	all := st.shares.services[st.service]
	// What is wanted beyond the total makes no difference, and changes with each result.
	if demand = min(demand, share.Total(all.slots)); demand != st.claim.Demand {
		st.claim.Demand = demand
		all.divide()
	}
	return st.window
}

// resolved takes in how many slots the service has.
func (st *stake) resolved(slots int) {
	st.shares.mu.Lock()
	defer st.shares.mu.Unlock()
	if all := st.shares.services[st.service]; all.slots != slots {
		all.slots = slots
		all.divide()
		for _, other := range all.stakes {
			other.tell() // what it wants may be more than the old total
		}
	}
}

// ranked takes in that the query stands otherwise to the others.
func (st *stake) ranked(rank messages.Rank) {
	st.shares.mu.Lock()
	defer st.shares.mu.Unlock()
	st.claim.Priority, st.claim.Weight = rank.Priority, rank.Share()
	st.shares.services[st.service].divide()
}

// mustLook tells, once, that the service's slots are to be resolved anew.
func (st *stake) mustLook() bool {
	st.shares.mu.Lock()
	defer st.shares.mu.Unlock()
	look := st.look
	st.look = false
	return look
}

// divide gives each query its window. The caller holds mu.
func (all *parties) divide() {
	stakes := slices.Collect(maps.Values(all.stakes))
	claims := make([]share.Claim, len(stakes))
	for i, st := range stakes {
		claims[i] = st.claim
	}
	for i, window := range share.Windows(share.Total(all.slots), claims) {
		if window > stakes[i].window {
			stakes[i].tell()
		}
		stakes[i].window = window
	}
}

// tell wakes the query's driver. The caller holds mu.
func (st *stake) tell() {
	select {
	case st.grown <- struct{}{}:
	default: // it is awake
	}
}
