package lease

import (
	"fmt"
	"slices"
	"testing"
)

// This file is an exhaustive model of the protocol: two processes, one or two slots, a network that loses, delays and reorders calls
// and answers, a store that expires keys late, processes that stop, go on and die at any moment. explore visits every state that
// can be reached until a slot has been written some times, and holds each against two statements:
//
//  1. no slot is trusted by two processes;
//  2. who trusts a slot stands in the store as its holder.
//
// As a request is sent only under a trusted slot and cut when the trust ends, no more requests are in flight than there are slots, but
// for those of processes that are stopped: what is on the wire no fence can call back.
//
// The rules below are those of attempt.go, renewal.go, slot.go and handon.go: trust counts from the start of the write (try, grant,
// extend), an answer after the deadline extends nothing (extend), a call without an answer is looked into by the lease's id
// and counts from the earliest write in doubt (resolve), a lost slot is not set free (lose), only what is known to be ours is
// released, by compare-and-set (giveBack), and who was stopped looks at its clock first (Valid). A lease that is handed on within a
// process is the same one, and so nothing new here. Each rule can be broken by a field of rules; a test shows that the model then
// finds the harm, so the model can fail.
//
// What it proves: within these bounds, no order of these events breaks the statements. What it does not: it is not the code, but
// what the code is meant to do (safety_test.go drives the code itself at random, and porcupine checks histories of it); clocks
// run at one speed and the store never expires a key early, and cutting a request takes no time, which is what Margin is for; that
// a store keeps what it acknowledged is assumed; whether somebody gets a slot at all (liveness) is not looked at; the watch is
// left out, since what it tells can only end trust earlier.

const (
	modelTTL   = 4 // steps of the clock until a key may expire
	modelTrust = 3 // steps that a holder trusts a write, counted from its start
	processes  = 2
	mostLeases = 2 // that one process takes
	mostCalls  = 2 // calls and answers under way at a time
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
	stopped  bool
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
	given    bool // up: nobody waits for the answer
	slot     int8
	lease    int8 // written, or found
	revision int8 // named, given or found; -1: refused
}

// system is a state of everything. It is comparable.
type system struct {
	stops   int8
	keys    [2]slotKey
	procs   [processes]holder
	pending [mostCalls]call
}

// model is one exploration.
type model struct {
	rules  rules
	slots  int
	writes int8 // of one slot, at most
	stops  int8 // of processes, and deaths, at most
	seen   map[system]struct{}
	queue  []system
}

// mostStates is where explore gives up; a test that comes there proves nothing.
const mostStates = 6_000_000

// explore gives the first state that breaks a statement, in words, and how many states there are.
func explore(r rules, slots int, writes, stops int8) (broken string, states int) {
	m := &model{rules: r, slots: slots, writes: writes, stops: stops, seen: map[system]struct{}{}}
	var first system
	for p := range first.procs {
		first.procs[p].asked, first.procs[p].doubt = -1, -1
	}
	m.visit(first)
	for at := 0; at < len(m.queue) && len(m.seen) < mostStates; at++ {
		s := m.queue[at]
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
	for i := range s.pending {
		c := &s.pending[i]
		switch stale := c.revision < s.keys[c.slot].revision && !m.rules.freeWithout; {
		case !c.given:
		case !c.to || c.get || stale:
			*c = call{} // nobody waits for the answer, and it changes nothing
		default:
			c.from = 0 // whose it was makes no difference
		}
	}
	slices.SortFunc(s.pending[:], compareCalls) // the network has no order
	if _, known := m.seen[s]; !known {
		m.seen[s] = struct{}{}
		m.queue = append(m.queue, s)
	}
}

func compareCalls(a, b call) int {
	bit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	number := func(c call) int {
		n := 0
		for _, part := range []int{bit(c.to), bit(c.get), bit(c.given), int(c.from), int(c.slot), int(c.lease), int(c.revision) + 1} {
			n = n<<5 | part
		}
		return n
	}
	return number(a) - number(b)
}

func (m *model) check(s system) string {
	var trusted [2]int
	for p, h := range s.procs {
		if h.phase == holding && h.left > 0 {
			trusted[h.slot]++
			if s.keys[h.slot].lease != h.lease {
				return fmt.Sprintf("process %d trusts slot %d, which is not its own: %+v", p, h.slot, s)
			}
		}
	}
	if trusted[0] > 1 || trusted[1] > 1 {
		return fmt.Sprintf("two trust a slot: %+v", s)
	}
	return ""
}

// trust is how many steps a write is trusted.
func (m *model) trust() int8 {
	if m.rules.noMargin {
		return modelTTL + 1
	}
	return modelTrust
}

// clock lets a step of time pass for all.
func (m *model) clock(s system) {
	for k := range s.keys {
		if s.keys[k].lease != 0 {
			s.keys[k].age = min(s.keys[k].age+1, modelTTL)
		}
	}
	for p := range s.procs {
		h := &s.procs[p]
		if h.asked >= 0 && !h.get && h.phase != releasing {
			h.asked = min(h.asked+1, m.trust())
		}
		if h.doubt >= 0 {
			h.doubt = min(h.doubt+1, m.trust())
		}
		h.left = max(h.left-1, 0)
	}
	m.visit(s)
}

// lose ends trust without setting the slot free. A write that is under way may still land.
func (m *model) lose(s *system, p int) {
	h := &s.procs[p]
	if m.rules.lostReleases {
		key := &s.keys[h.slot]
		*key = slotKey{revision: key.revision + 1}
	}
	s.forget(p)
}

// forget leaves a process idle, and its call unheard.
func (s *system) forget(p int) {
	h := &s.procs[p]
	*h = holder{taken: h.taken, asked: -1, doubt: -1, stopped: h.stopped}
	s.giveUp(p)
}

// giveUp lets a process wait no longer for its call.
func (s *system) giveUp(p int) {
	s.procs[p].asked, s.procs[p].get = -1, false
	for i := range s.pending {
		if c := &s.pending[i]; *c != (call{}) && !c.given && int(c.from) == p {
			c.given = true
		}
	}
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
	if h.stopped {
		s.procs[p].stopped = false
		if m.rules.goesOn && h.phase == holding {
			s.procs[p].left = max(h.left, 1)
		}
		m.visit(s)
		return
	}
	if s.stops < m.stops {
		stopped, dead := s, s
		stopped.stops++
		stopped.procs[p].stopped = true
		m.visit(stopped)
		dead.stops++
		dead.forget(p)
		m.visit(dead)
	}
	if h.phase == holding && h.left == 0 {
		lost := s
		m.lose(&lost, p) // the watchdog; but an answer may be taken before
		m.visit(lost)
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
	if h.phase == idle && h.taken < mostLeases {
		for k := range s.keys[:m.slots] {
			if s.keys[k].lease == 0 {
				m.send(s, p, func(h *holder) call {
					h.taken++
					h.phase, h.slot, h.lease = acquiring, int8(k), int8(p*mostLeases)+h.taken
					return call{slot: h.slot, lease: h.lease, revision: s.keys[k].revision}
				})
			}
		}
	}
	if h.phase != holding || h.left == 0 {
		return
	}
	m.send(s, p, func(h *holder) call { // releases
		h.phase, h.left, h.doubt = releasing, 0, -1
		return call{slot: h.slot, revision: h.revision}
	})
	m.send(s, p, func(h *holder) call { // renews
		if h.doubt < 0 {
			h.doubt = 0
		}
		return call{slot: h.slot, lease: h.lease, revision: h.revision}
	})
}

// send puts a call on the network, when there is room, and writes are left.
func (m *model) send(s system, p int, message func(*holder) call) {
	at := slices.Index(s.pending[:], call{})
	if at < 0 {
		return
	}
	h := &s.procs[p]
	c := message(h)
	if !c.get && s.keys[c.slot].revision >= m.writes {
		return
	}
	h.asked, h.get = 0, c.get
	c.to, c.from = true, int8(p)
	s.pending[at] = c
	m.visit(s)
}

// answers lets a process take the answer to its call, or give up waiting for it.
func (m *model) answers(s system, p int) {
	h := s.procs[p]
	for i, c := range s.pending {
		if c != (call{}) && !c.to && !c.given && int(c.from) == p {
			next := s
			next.pending[i] = call{}
			if h.get {
				m.found(next, p, c)
			} else {
				m.written(next, p, c)
			}
		}
	}
	s.giveUp(p)
	switch {
	case !h.get:
		m.look(s, p, h.asked)
	case h.phase == holding:
		m.visit(s) // the renewal is tried again, as much in doubt as it was
	default:
		s.forget(p) // if it did land, it will expire
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
		s.forget(p)
		m.visit(s)
	default:
		m.extend(s, p, c.revision, asked)
	}
}

// found takes the answer to a read.
func (m *model) found(s system, p int, c call) {
	h := &s.procs[p]
	h.asked, h.get = -1, false
	mine := c.lease == h.lease
	switch {
	case h.phase == releasing && mine:
		m.send(s, p, func(h *holder) call { return call{slot: h.slot, revision: c.revision} })
	case h.phase == holding && !mine:
		m.lose(&s, p)
		m.visit(s)
	case !mine:
		s.forget(p)
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
	if m.rules.fromAnswer {
		began = 0
	}
	valid := h.phase == acquiring || h.left > 0 || m.rules.lateExtends
	h.revision, h.doubt = revision, -1
	if left := m.trust() - began; valid && left > 0 {
		h.phase, h.left = holding, left
	} else if h.phase == acquiring {
		s.forget(p)
	} else {
		m.lose(&s, p)
	}
	m.visit(s)
}

func TestNoOrderOfEventsBreaksTheProtocol(t *testing.T) {
	for _, c := range []struct {
		slots         int
		writes, stops int8
	}{{1, 2, 1}, {2, 1, 0}} {
		broken, states := explore(rules{}, c.slots, c.writes, c.stops)
		if broken != "" {
			t.Fatal(broken)
		}
		if states >= mostStates {
			t.Fatalf("more than %d states: the bounds are too wide to visit all", states)
		}
		t.Logf("%d slots, %d writes of each, %d stops: %d states", c.slots, c.writes, c.stops, states)
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
		broken, states := explore(r, 1, 4, 1)
		if broken == "" {
			t.Errorf("%s: the model finds no harm in %d states", name, states)
		}
		t.Logf("%s: found after %d states", name, states)
	}
}
