//go:build unix

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// report is what the suite has done, and the worst that it has seen.
type report struct {
	mu       sync.Mutex // guards all below
	clusters int        // of all that were started
	networks int
	failed   map[uint64]bool // schedules that were started, by their seed; false: it has passed
	done     map[kind]int
	left     map[string]int
	most     map[string]extreme
}

// extreme is the worst that was seen of a number, with the bound that held for it.
type extreme struct{ value, bound float64 }

// told is of the whole run: schedules run at the same time and end at any.
var told = &report{failed: map[uint64]bool{}, done: map[kind]int{}, left: map[string]int{}, most: map[string]extreme{}}

// started counts a schedule, as one that failed until it has ended.
func (r *report) started(s schedule) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[s.Seed] = true
	if s.Cluster {
		r.clusters++
	}
	if s.Network {
		r.networks++
	}
}

func (r *report) ended(s schedule, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[s.Seed] = !passed
}

func (r *report) carriedOut(k kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[k]++
}

func (r *report) leave(k kind, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[string(k)+": "+why]++
}

func (r *report) worst(what string, value, bound float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have, known := r.most[what]; !known || value > have.value {
		r.most[what] = extreme{value, bound}
	}
}

func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	var failed []uint64
	for _, seed := range slices.Sorted(maps.Keys(r.failed)) {
		if r.failed[seed] {
			failed = append(failed, seed)
		}
	}
	fmt.Fprintf(&b, "%d schedules ran, %d of them on three NATS servers, %d of these with a network of their own; %d passed\n",
		len(r.failed), r.clusters, r.networks, len(r.failed)-len(failed))
	if len(failed) > 0 {
		fmt.Fprintf(&b, "  FAILED: seeds %v\n", failed)
	}
	for _, k := range slices.Sorted(maps.Keys(r.done)) {
		fmt.Fprintf(&b, "  %4d × %s\n", r.done[k], k)
	}
	for _, what := range slices.Sorted(maps.Keys(r.left)) {
		fmt.Fprintf(&b, "  LEFT OUT %d × %s\n", r.left[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(r.most)) {
		fmt.Fprintf(&b, "  worst: %s: %.2f, bound there %.2f\n", what, r.most[what].value, r.most[what].bound)
	}
	return b.String()
}

// pulse measures how long this process stands still, and with it the machine. It ends with its context.
type pulse struct {
	mu    sync.Mutex // guards all below
	worst time.Duration
	late  time.Duration // in all
	beats int
}

func (p *pulse) beat(done <-chan struct{}) {
	const every = 5 * time.Millisecond
	for last := time.Now(); ; {
		select {
		case <-done:
			return
		case <-time.After(every):
		}
		now := time.Now()
		p.mu.Lock()
		p.worst = max(p.worst, now.Sub(last)-every)
		p.late += now.Sub(last) - every
		p.beats++
		p.mu.Unlock()
		last = now
	}
}

// mean is how late a beat comes, which is how long whoever wakes up waits for a processor.
func (p *pulse) mean() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late / time.Duration(max(1, p.beats))
}

// start beats until the function that it returns is called.
func (p *pulse) start() (stop func()) {
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() { p.beat(done) })
	return func() {
		close(done)
		beating.Wait()
	}
}

func (p *pulse) read() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.worst
}
