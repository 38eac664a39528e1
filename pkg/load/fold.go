package load

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/braidhq/braid/pkg/breaker"
	"github.com/braidhq/braid/pkg/planner/matrix"
	"github.com/braidhq/braid/pkg/timing"
)

// maxTotal bounds the executions of a run.
const maxTotal = matrix.MaxCap * MaxCharts

// Fold makes of a run's records, in the order in which they were stored, all that is told of the run: its progress, when its breaker trips, and
// its report. Equal records in equal order give equal reports, byte for byte. Its memory is bounded by the run's total: some 300 bytes for
// each success, and some more for each group of executions that should have equal data. Not for concurrent use.
type Fold struct {
	run     Run
	charts  map[int64]chartName
	title   string
	breaker *breaker.Breaker
	trip    *Trip
	recent  window

	admitted, recorded []uint8 // by number: the greatest attempt with an admission, with a record
	inFlight           int
	done               int // numbers with a record
	warmUp             int
	sent, attempts     int

	all          numbers               // of every record, without times
	kinds        map[KindCount]int     // of every record; Count is 0
	countedKinds map[KindCount]int     // without the warm-up
	groups       map[groupKey]*numbers // without the warm-up
	sampler      timing.Sampler        // likewise
	findings     findings
	signs        signs
	repeats      repeats
}

type chartName struct {
	index int // in the dashboard
	name  string
}

// groupKey is the least group that is reported.
type groupKey struct {
	chart int64
	role  string
	cache CacheState
	async bool
}

// NewFold begins with nothing seen. With the run's snapshot the report has the charts' names and order, and knows which of them ask for other dates each
// day; nil: it does without. The run's ReferenceP99 arms the breaker's latency.
func NewFold(run *Run, snapshot *Snapshot) (*Fold, error) {
	if run.Total < 0 || run.Total > maxTotal {
		return nil, fmt.Errorf("run %s has %d executions, want at most %d", run.ID, run.Total, maxTotal)
	}
	config, err := run.Profile.Breaker.config(run.ReferenceP99)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run.ID, err)
	}
	b, err := breaker.New(config)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", run.ID, err)
	}
	f := &Fold{
		run: *run, breaker: b, recent: window{limit: config.Window}, charts: make(map[int64]chartName),
		admitted: make([]uint8, run.Total), recorded: make([]uint8, run.Total),
		kinds: make(map[KindCount]int), countedKinds: make(map[KindCount]int), groups: make(map[groupKey]*numbers),
	}
	if snapshot != nil {
		f.title = snapshot.Title
		for i, c := range snapshot.Charts {
			f.charts[c.ID] = chartName{index: i, name: c.Name}
		}
	}
	f.findings = newFindings(&run.Profile, snapshot)
	return f, nil
}

// Follow takes over the run's record as it stands now: its state, its ending and its times.
func (f *Fold) Follow(run *Run) { f.run = *run }

// Admission tells of the next admission. Each is to be told once.
func (f *Fold) Admission(a *Admission) {
	if a.Number < 0 || a.Number >= len(f.admitted) {
		f.signs.bad++
		return
	}
	f.sent++
	f.repeats.admission(a, f.admitted[a.Number], f.recorded[a.Number])
	f.stand(a.Number, func(admitted, _ *uint8) { *admitted = max(*admitted, attemptOf(a.Attempt)) })
}

// attemptOf bounds an attempt to a byte.
func attemptOf(attempt int) uint8 { return uint8(min(max(attempt, 1), math.MaxUint8)) }

// stand changes how a number stands and keeps count of what is in flight: admitted, and no record of that attempt or a later one.
func (f *Fold) stand(number int, change func(admitted, recorded *uint8)) {
	admitted, recorded := &f.admitted[number], &f.recorded[number]
	if *admitted > *recorded {
		f.inFlight--
	}
	change(admitted, recorded)
	if *admitted > *recorded {
		f.inFlight++
	}
}

// Execution tells of the next record and returns whether it is the one at which the breaker trips. Each is to be told once. The first one of a number
// is counted; further attempts are only counted as such (LR-6.7).
func (f *Fold) Execution(e *Execution) (tripped bool) {
	if e.Number < 0 || e.Number >= len(f.recorded) {
		f.signs.bad++
		return false
	}
	f.attempts++
	f.repeats.execution(e)
	first := f.recorded[e.Number] == 0
	f.stand(e.Number, func(_, recorded *uint8) { *recorded = max(*recorded, attemptOf(e.Attempt)) })
	if !first {
		return false
	}
	f.done++
	f.count(e)
	if !e.Outcome.Completed() {
		f.breaker.Add(completion(e))
		return false
	}
	f.recent.add(e)
	if f.breaker.Add(completion(e)) {
		f.trip = tripOf(f.breaker.Trip(), e.Finished)
		return true
	}
	return false
}

// count adds a record to all that is counted.
func (f *Fold) count(e *Execution) {
	f.all.tally(e)
	kind := KindCount{Outcome: e.Outcome, Kind: e.Kind}
	if e.Outcome != Success {
		f.kinds[kind]++
	}
	if e.WarmUp {
		f.warmUp++
		return
	}
	if e.Outcome != Success {
		f.countedKinds[kind]++
	}
	key := groupKey{chart: e.Chart, role: e.Role, async: e.Async}
	if e.Outcome == Success {
		key.cache = e.Cache
		f.sampler.Add(e.Waits)
		f.findings.add(e)
	} else {
		key.async = false
	}
	n := f.groups[key]
	if n == nil {
		n = &numbers{}
		f.groups[key] = n
	}
	n.add(e)
	f.signs.add(e)
	if f.findings.timeDependent(e.Chart, e.FiltersHash, e.TimeRange) {
		f.signs.relative++
	}
}

// Bad tells of a record that cannot be read: it is in no number but that of the diagnostic.
func (f *Fold) Bad() { f.signs.bad++ }

// Trip is what the breaker saw when it tripped, nil when it has not.
func (f *Fold) Trip() *Trip { return f.trip }

// InFlight is how many executions have an admission, and no record of that attempt or a later one.
func (f *Fold) InFlight() int { return f.inFlight }

// Recorded tells whether the number has a record.
func (f *Fold) Recorded(number int) bool {
	return number >= 0 && number < len(f.recorded) && f.recorded[number] > 0
}

// RecordedAttempt is the greatest attempt of the number that has a record; 0: none has.
func (f *Fold) RecordedAttempt(number int) int {
	if number < 0 || number >= len(f.recorded) {
		return 0
	}
	return int(f.recorded[number])
}

// Admitted tells whether the number has an admission.
func (f *Fold) Admitted(number int) bool {
	return number >= 0 && number < len(f.admitted) && f.admitted[number] > 0
}

// notDispatched is how many are never begun: those without a record when nothing is admitted any more.
func (f *Fold) notDispatched() int {
	switch {
	case f.run.State == Ended:
		return len(f.recorded) - f.done
	case f.run.State == Draining || !f.run.Closed.IsZero():
		return max(0, len(f.recorded)-f.done-f.inFlight)
	}
	return 0
}

// Progress tells how the run goes; now is when that is.
func (f *Fold) Progress(now time.Time) *Progress {
	p := &Progress{
		V: 1, Run: f.run.ID, Total: len(f.recorded), Recorded: f.done, Success: f.all.success, Errors: f.all.errors, Timeouts: f.all.timeouts,
		Cancelled: f.all.cancelled, NotStarted: f.all.notStarted, NotDispatched: f.notDispatched(), InFlight: f.inFlight, WarmUp: f.warmUp,
		RequestsSent: f.sent, Attempts: f.attempts, Waits: f.sampler.Summary(), Recent: f.recent.summary(), Breaker: f.breakerStatus(),
		Diagnostics: f.diagnostics(), Updated: now,
	}
	if f.run.State == Ended {
		p.InFlight = 0
	}
	for kind, count := range f.kinds {
		if p.Kinds == nil {
			p.Kinds = make(map[string]int)
		}
		p.Kinds[cmp.Or(kind.Kind, string(kind.Outcome))] += count
	}
	for key, n := range f.groups {
		if n.success == 0 {
			continue
		}
		if p.CacheStates == nil {
			p.CacheStates = make(map[string]int)
		}
		p.CacheStates[string(key.cache)] += n.success
	}
	return p
}
