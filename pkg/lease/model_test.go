package lease

import (
	"fmt"
	"slices"
	"testing"
)

// This file is an exhaustive model of the protocol: two processes, one or two slots, a network that loses, delays and reorders calls
// and answers, a store that expires keys late, processes that stop, go on and die at any moment. explore visits every state that
// can be reached within a number of steps of the clock, and holds each against three statements:
//
//  1. no slot is trusted by two processes;
//  2. who trusts a slot stands in the store as its holder;
//  3. no more requests are in flight than there are slots, but for one for each slot whose holder was stopped past its deadline: what is
//     on the wire no fence can call back.
//
// The rules below are those of attempt.go, renewal.go, slot.go and handon.go: trust counts from the start of the write (try, grant,
// extend), an answer after the deadline extends nothing (extend), a call without an answer is looked into by the lease's id
// and counts from the earliest write in doubt (resolve), a lost slot is not set free, only what is known to be ours is
// released, by compare-and-set (giveBack), and a lease is handed on only when no renewal is in doubt (handOn). Each rule can be broken
// by a field of rules; a test shows that the model then finds the harm, so the model can fail.
//
// What it proves: within these bounds, no order of these events breaks the statements. What it does not: it is not the code, but
// what the code is meant to do (safety_test.go drives the code itself at random, the histories that porcupine checks come from
// it); clocks of processes run at one speed and the store's never expires a key early, which is what Margin is for; cutting a
// request at the deadline takes no time, likewise; that a store keeps what it acknowledged is assumed; that somebody gets a slot at
// all (liveness) is not looked at; the watch is left out, since what it tells can only end trust earlier.

const (
	modelTTL   = 3 // steps of the clock until a key may expire
	modelTrust = 2 // steps that a holder trusts a write, counted from its start
	processes  = 2
	mostLeases = 3 // that one process takes
	mostStops  = 2
	mostCalls  = 3 // calls and answers under way at a time
)

// rules are the protocol's; the zero value is as it should be.
type rules struct {
	fromAnswer   bool // trust counts from the answer instead of the start
	lateExtends  bool // an answer after the deadline extends the lease
	adoptFromNow bool // a write in doubt that is found to have landed counts from when it was found
	freeWithout  bool // a release does not name the revision
	lostReleases bool // a lost slot is set free without looking at the revision
	noMargin     bool // trust is as long as the key lives
	goesOn       bool // a process that was stopped goes on without looking at its clock
}

type phase uint8

const (
	idle phase = iota
	acquiring
	holding
	releasing
)

// holder is one process. It has one call to the store at a time.
type holder struct {
	phase    phase
	slot     int8
	lease    int8 // its number; 0: none
	taken    int8 // leases so far
	revision int8
	left     int8 // steps that the lease is trusted for
	asked    int8 // steps since the call under way began; -1: there is none
	doubt    int8 // steps since the earliest write of which nobody knows; -1: there is none
	get      bool // the call under way reads
	call     int8 // its number
	stopped  bool
	request  bool // in flight at the upstream
}

// slotKey is a slot in the store.
type slotKey struct {
	revision, lease, age int8
	doomed               bool // the marker of its expiry is on its way, although a write came between
}

// call is a message under way: to the store, or the answer.
type call struct {
	to       bool // to the store
	get      bool
	from     int8 // process
	number   int8
	slot     int8
	lease    int8 // written, or found
	revision int8 // named, given or found; -1: refused
}

// system is a state of everything. It is comparable.
type system struct {
	now     int8
	stops   int8
	keys    [2]slotKey
	procs   [processes]holder
	pending [mostCalls]call
}

// model is one exploration.
type model struct {
	rules   rules
	slots   int
	horizon int8
	seen    map[system]struct{}
	queue   []system
}

// explore gives the first state that breaks a statement, in words, and how many states there are.
func explore(r rules, slots int, horizon int8) (broken string, states int) {
	m := &model{rules: r, slots: slots, horizon: horizon, seen: map[system]struct{}{}}
	var first system
	for p := range first.procs {
		first.procs[p].asked, first.procs[p].doubt = -1, -1
	}
	m.visit(first)
	for len(m.queue) > 0 {
		s := m.queue[len(m.queue)-1]
		m.queue = m.queue[:len(m.queue)-1]
		if broken := m.check(s); broken != "" {
			return broken, len(m.seen)
		}
		m.clock(s)
		m.store(s)
		for p := range s.procs {
			m.process(s, p)
		}
	}
	return "", len(m.seen)
}

func (m *model) visit(s system) {
	slices.SortFunc(s.pending[:], func(a, b call) int { // the network has no order
		return compareCalls(a, b)
	})
	if _, known := m.seen[s]; !known {
		m.seen[s] = struct{}{}
		m.queue = append(m.queue, s)
	}
}

func compareCalls(a, b call) int {
	number := func(c call) int {
		n := int(c.from)<<24 | int(c.number)<<16 | int(c.slot)<<12 | int(c.lease)<<8 | int(c.revision+1)
		if c.to {
			n |= 1 << 30
		}
		if c.get {
			n |= 1 << 29
		}
		return n
	}
	return number(a) - number(b)
}

func (m *model) check(s system) string {
	requests, overdue := 0, 0
	var trusted [2]int
	for p, h := range s.procs {
		valid := h.phase == holding && h.left > 0
		if valid {
			trusted[h.slot]++
			if s.keys[h.slot].lease != h.lease {
				return fmt.Sprintf("process %d trusts slot %d, which is not its own: %+v", p, h.slot, s)
			}
		}
		if h.request {
			requests++
			if h.stopped && !valid {
				overdue++
			}
		}
	}
	if trusted[0] > 1 || trusted[1] > 1 {
		return fmt.Sprintf("two trust a slot: %+v", s)
	}
	if requests > m.slots+overdue {
		return fmt.Sprintf("%d requests in flight: %+v", requests, s)
	}
	return ""
}

// clock lets a step of time pass for all.
func (m *model) clock(s system) {
	if s.now == m.horizon {
		return
	}
	s.now++
	for k := range s.keys {
		if s.keys[k].lease != 0 {
			s.keys[k].age = min(s.keys[k].age+1, modelTTL)
		}
	}
	for p := range s.procs {
		h := &s.procs[p]
		for _, since := range []*int8{&h.asked, &h.doubt} {
			if *since >= 0 {
				*since = min(*since+1, 2*modelTTL)
			}
		}
		if h.phase == holding || h.phase == releasing {
			h.left = max(h.left-1, 0)
		}
		if h.phase == holding && h.left == 0 && !h.stopped {
			m.lose(&s, h) // the watchdog
		}
	}
	m.visit(s)
}

// lose ends trust without setting the slot free. A write that is under way may still land: so it is with a process that has died.
func (m *model) lose(s *system, h *holder) {
	if m.rules.lostReleases {
		s.keys[h.slot].lease, s.keys[h.slot].age = 0, 0
		s.keys[h.slot].revision++
	}
	h.forget()
}

func (h *holder) forget() {
	*h = holder{taken: h.taken, call: h.call, asked: -1, doubt: -1, stopped: h.stopped}
}

// store expires keys, and takes, loses and answers calls.
func (m *model) store(s system) {
	for k, key := range s.keys[:m.slots] {
		if key.lease != 0 && (key.age >= modelTTL || key.doomed) {
			next := s
			next.keys[k] = slotKey{revision: key.revision + 1}
			m.visit(next)
		}
	}
	for i, c := range s.pending {
		if c == (call{}) {
			continue
		}
		lost := s
		lost.pending[i] = call{}
		m.visit(lost)
		if c.to {
			m.serve(lost, i, c)
		}
	}
}

// serve carries out a call; its answer takes its place in the network.
func (m *model) serve(s system, at int, c call) {
	key := &s.keys[c.slot]
	answer := c
	answer.to = false
	switch {
	case c.get:
		answer.lease, answer.revision = key.lease, key.revision
	case c.revision != key.revision && !(m.rules.freeWithout && c.lease == 0):
		answer.revision = -1
	default:
		due := key.lease != 0 && key.age >= modelTTL
		*key = slotKey{revision: key.revision + 1, lease: c.lease}
		answer.revision = key.revision
		if due && c.lease != 0 { // seen of a real server: it acknowledges, and carries out the expiry all the same
			doomed := s
			doomed.keys[c.slot].doomed = true
			doomed.pending[at] = answer
			m.visit(doomed)
		}
	}
	s.pending[at] = answer
	m.visit(s)
}

// process lets one process do each thing that it can do now.
func (m *model) process(s system, p int) {
	h := s.procs[p]
	change := func(edit func(*system, *holder)) {
		next := s
		edit(&next, &next.procs[p])
		m.visit(next)
	}
	if h.request {
		change(func(_ *system, h *holder) { h.request = false }) // the upstream has answered
	}
	if h.stopped {
		change(func(s *system, h *holder) {
			h.stopped = false
			if h.phase == holding && h.left == 0 && !m.rules.goesOn {
				m.lose(s, h)
			} else if h.phase == holding && h.left == 0 {
				h.left, h.request = 1, true
			}
		})
		return
	}
	if s.stops < mostStops {
		change(func(s *system, h *holder) { s.stops++; h.stopped = true })
	}
	if h.phase != idle {
		change(func(_ *system, h *holder) { h.forget() }) // it dies, and its connections with it
	}
	if h.asked >= 0 {
		m.answers(s, p)
		return
	}
	m.begin(s, p)
}

// begin lets a process without a call under way begin something.
func (m *model) begin(s system, p int) {
	h := s.procs[p]
	switch h.phase {
	case idle:
		for k := range s.keys[:m.slots] {
			if s.keys[k].lease == 0 && h.taken < mostLeases {
				m.send(s, p, func(h *holder) call {
					h.taken++
					h.phase, h.slot, h.lease = acquiring, int8(k), int8(p*mostLeases)+h.taken
					return call{slot: h.slot, lease: h.lease, revision: s.keys[k].revision}
				})
			}
		}
	case holding:
		if !h.request {
			next := s
			next.procs[p].request = true
			m.visit(next)
			m.send(s, p, func(h *holder) call {
				h.phase = releasing
				return call{slot: h.slot, revision: h.revision}
			})
		}
		m.send(s, p, func(h *holder) call { // renews
			if h.doubt < 0 {
				h.doubt = 0
			}
			return call{slot: h.slot, lease: h.lease, revision: h.revision}
		})
	default:
	}
}

// send puts a call on the network, when there is room.
func (m *model) send(s system, p int, make func(*holder) call) {
	at := slices.Index(s.pending[:], call{})
	if at < 0 {
		return
	}
	h := &s.procs[p]
	c := make(h)
	h.call++
	h.asked, h.get = 0, c.get
	c.to, c.from, c.number = true, int8(p), h.call
	s.pending[at] = c
	m.visit(s)
}

// answers lets a process take the answer to its call, or give up waiting for it.
func (m *model) answers(s system, p int) {
	h := s.procs[p]
	for i, c := range s.pending {
		if c != (call{}) && !c.to && int(c.from) == p && c.number == h.call {
			next := s
			next.pending[i] = call{}
			if h.get {
				m.found(next, p, c)
			} else {
				m.written(next, p, c)
			}
		}
	}
	s.procs[p].asked = -1
	switch {
	case !h.get:
		m.look(s, p, h.asked)
	case h.phase == holding:
		m.visit(s) // the renewal is tried again, as much in doubt as it was
	default:
		s.procs[p].forget() // if it did land, it will expire
		m.visit(s)
	}
}

// look reads the key, as a write was refused or not answered. since is when the write of an acquisition began.
func (m *model) look(s system, p int, since int8) {
	m.send(s, p, func(h *holder) call {
		if h.phase == acquiring {
			h.doubt = since
		}
		return call{get: true, slot: h.slot}
	})
}

// written takes the answer to a write.
func (m *model) written(s system, p int, c call) {
	h := &s.procs[p]
	asked := h.asked
	h.asked = -1
	switch {
	case c.revision < 0:
		m.look(s, p, asked)
	case h.phase == releasing:
		h.forget()
		m.visit(s)
	default:
		m.extend(s, p, c.revision, asked)
	}
}

// found takes the answer to a read.
func (m *model) found(s system, p int, c call) {
	h := &s.procs[p]
	h.asked = -1
	mine := c.lease == h.lease
	switch {
	case h.phase == releasing && mine:
		m.send(s, p, func(h *holder) call { return call{slot: h.slot, revision: c.revision} })
	case !mine:
		h.forget()
		m.visit(s)
	case h.phase == holding && c.revision <= h.revision:
		m.visit(s) // it did not land, or not yet
	default:
		since := h.doubt
		if m.rules.adoptFromNow {
			since = 0
		}
		m.extend(s, p, c.revision, since)
	}
}

// extend takes in that a write has landed that began some steps ago.
func (m *model) extend(s system, p int, revision, began int8) {
	h := &s.procs[p]
	trust := int8(modelTrust)
	if m.rules.noMargin {
		trust = modelTTL + 1
	}
	if m.rules.fromAnswer {
		began = 0
	}
	h.revision, h.doubt = revision, -1
	switch {
	case h.phase == acquiring && trust > began:
		h.phase, h.left = holding, trust-began
	case h.phase == acquiring:
		h.forget()
	default:
		h.left = max(0, trust-began)
		if h.left == 0 {
			m.lose(&s, h)
		}
	}
	m.visit(s)
}

func TestNoOrderOfEventsBreaksTheProtocol(t *testing.T) {
	for _, c := range []struct {
		slots   int
		horizon int8
	}{{1, 6}, {2, 3}} {
		broken, states := explore(rules{}, c.slots, c.horizon)
		if broken != "" {
			t.Fatal(broken)
		}
		t.Logf("%d slots, %d steps of the clock: %d states", c.slots, c.horizon, states)
	}
}

func TestTheModelFindsWhatABrokenRuleDoes(t *testing.T) {
	for name, r := range map[string]rules{
		"trust counts from the answer":                 {fromAnswer: true},
		"an answer after the deadline extends":         {lateExtends: true},
		"a write in doubt counts from when it is seen": {adoptFromNow: true},
		"a release names no revision":                  {freeWithout: true},
		"a lost slot is set free":                      {lostReleases: true},
		"trust outlives the key":                       {noMargin: true},
		"who was stopped goes on at once":              {goesOn: true},
	} {
		if broken, states := explore(r, 1, 5); broken == "" {
			t.Errorf("%s: the model finds no harm in %d states", name, states)
		}
	}
}
