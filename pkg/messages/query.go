package messages

import (
	"errors"
	"fmt"
	"time"
)

// QueryState is where a query stands.
type QueryState string

// The states of a query. Running and Stopping are active: the leading coordinator works on them. Interrupted, Failed
// and Cancelled queries keep all completed work; a resume makes them Running again.
const (
	Running     QueryState = "running"
	Stopping    QueryState = "stopping" // an interruption or failure was seen; what is in flight is drained
	Interrupted QueryState = "interrupted"
	Failed      QueryState = "failed"
	Cancelled   QueryState = "cancelled"
	Complete    QueryState = "complete"
)

// Active tells whether a coordinator has work to do for the query.
func (s QueryState) Active() bool { return s == Running || s == Stopping }

// Stop says why a query is not running, in the words that a person is shown.
type Stop struct {
	Kind     string    `json:"kind"` // quota, service, failure, cancelled, damaged, drained, budget, breaker, retried
	Position Position  `json:"position,omitempty"`
	Status   int       `json:"status,omitempty"`
	Class    string    `json:"class,omitempty"` // of a failure
	Reason   string    `json:"reason"`
	Hint     string    `json:"hint,omitempty"`
	Until    time.Time `json:"until,omitzero"`    // when to go on
	Tripped  *Tripped  `json:"tripped,omitempty"` // of a breaker
	At       time.Time `json:"at"`
}

// The kinds of Stop beside those of an interruption.
const (
	StopFailure   = "failure"
	StopCancelled = "cancelled"
	StopDamaged   = "damaged" // stored results were lost or failed their digest; their positions are pending again
	StopDrained   = "drained" // the process was asked to stop
	StopBreaker   = "breaker" // too many of the last chunks failed, or were interrupted by the service
	StopRetried   = "retried" // the failed chunks were run again, as was asked, and others have no result
	StopBudget    = "budget"  // the requests that the user allowed are sent
)

const (
	maxQueryBytes    = 64 << 10
	maxProgressBytes = 12 << 10 // with as many spans as there may be
)

// Query is the record of a query: what was asked, pinned, and where it stands. It is stored in KV and changed only by
// compare-and-set on its revision. The spec itself is stored beside it, once.
type Query struct {
	V           int           `json:"v"`
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Service     string        `json:"service"`
	Collection  string        `json:"collection"`
	Definition  string        `json:"definition"`  // SHA-256 of the pinned service definition
	Spec        string        `json:"spec"`        // SHA-256 of the pinned spec
	Fingerprint string        `json:"fingerprint"` // of the plan; a resume whose plan has another one is refused
	Chunks      int           `json:"chunks"`
	URL         string        `json:"url"` // canonical URL: the whole query as one request, cut to what a message carries
	State       QueryState    `json:"state"`
	Run         int           `json:"run"`
	WaitUpTo    time.Duration `json:"wait_up_to_ns"`          // how long the coordinator waits by itself, in all, without a position completed; 0: not at all
	MaxRequests int64         `json:"max_requests,omitempty"` // the user's budget of requests; 0: none
	BudgetSpent int64         `json:"budget_spent,omitempty"` // of it, by runs since it was given
	HoldBack    *int64        `json:"hold_back,omitempty"`    // requests of each quota that its runs leave for others from now on; nil: as its spec says
	OnFailure   string        `json:"on_failure,omitempty"`   // stop or finish, from now on; empty: as its spec says
	InFlight    InFlight      `json:"in_flight,omitempty"`    // requests in flight that the query asked for, or its last resume; 0: as the service says
	Rank                      // among the queries of its service
	StuckSince  time.Time     `json:"stuck_since,omitzero"`        // of the first interruption since which no position was completed
	StuckAt     int           `json:"stuck_at,omitempty"`          // results that there were then
	StuckRounds int           `json:"stuck_rounds,omitempty"`      // runs in a row that a chunk's error ended, without a position completed in any of them
	MaxRows     int64         `json:"max_rows,omitempty"`          // the table has no more rows than these, the first ones; 0: all
	AllowBad    bool          `json:"allow_bad,omitempty"`         // values that do not convert are no reason to call the table wrong
	Covered     bool          `json:"require_coverage,omitempty"`  // a value without rows, or with a part of them, is such a reason
	Unchanged   bool          `json:"require_unchanged,omitempty"` // rows that changed while the query ran are such a reason
	Killed      bool          `json:"killed,omitempty"`            // a process that ran it ended without a word: requests of it may be counted nowhere
	// Bound is the lowest position that has failed in a run that stops at failures: nothing behind it is begun any more.
	Bound   Position   `json:"bound,omitempty"`
	Only    []Position `json:"only,omitempty"`    // the run is of these positions alone; none: of all
	Lineage string     `json:"lineage,omitempty"` // the same for queries that may go on from one another
	Base    string     `json:"base,omitempty"`    // the query that this one goes on from: its rows are of the table too
	Mark    time.Time  `json:"mark,omitzero"`     // the latest time that the rows of Base, and of those before it, have
	Stop    *Stop      `json:"stop,omitempty"`
	Owner   string     `json:"owner,omitempty"` // who submitted it, as the server's tokens name people
	Team    string     `json:"team,omitempty"`  // of the owner
	Key     string     `json:"key,omitempty"`   // digest of the Idempotency-Key that it was submitted under
	Asked   string     `json:"asked,omitempty"` // with a key: SHA-256 of the spec as it was submitted
	Trace   string     `json:"trace,omitempty"` // W3C traceparent of the submission
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Query) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("id", CheckName(m.ID)),
		field("name", CheckName(m.Name)),
		field("service", CheckName(m.Service)),
		field("collection", CheckName(m.Collection)),
		field("definition", checkDigest(m.Definition)),
		field("spec", checkDigest(m.Spec)),
		field("fingerprint", checkDigest(m.Fingerprint)),
		checkCount("chunks", int64(m.Chunks)),
		checkText("url", m.URL),
		checkCount("max_requests", m.MaxRequests),
		checkCount("budget_spent", m.BudgetSpent),
		field("hold_back", m.checkHoldBack()),
		checkText("on_failure", m.OnFailure),
		field("in_flight", m.InFlight.Check()),
		m.Rank.Check(),
		checkCount("stuck_rounds", int64(m.StuckRounds)),
		checkCount("max_rows", m.MaxRows),
		field("state", m.State.check()),
		checkRun(m.Run),
		field("base", m.checkBase()),
		field("only", m.checkOnly()),
		field("bound", m.checkBound()),
		field("owner", checkOptionalName(m.Owner)), field("team", checkOptionalName(m.Team)),
		field("key", checkOptionalDigest(m.Key)), field("asked", checkOptionalDigest(m.Asked)), field("trace", checkTrace(m.Trace)),
		m.Stop.validate(),
	)
}

// MaxOnlyBytes bounds the text of the positions that a run may be limited to: the record holds all of them.
const MaxOnlyBytes = 24 << 10

func (m *Query) checkHoldBack() error {
	if m.HoldBack == nil {
		return nil
	}
	return checkCount("units", *m.HoldBack)
}

func (m *Query) checkOnly() error {
	size := 0
	for _, p := range m.Only {
		if err := checkPosition(p); err != nil {
			return err
		}
		size += len(p)
	}
	if size > MaxOnlyBytes || len(m.Only) > MaxOnlyBytes/4 {
		return fmt.Errorf("%d positions of %d bytes, at most %d of %d", len(m.Only), size, MaxOnlyBytes/4, MaxOnlyBytes)
	}
	return nil
}

func checkOptionalDigest(digest string) error {
	if digest == "" {
		return nil
	}
	return checkDigest(digest)
}

func (m *Query) checkBound() error {
	if m.Bound == "" {
		return nil
	}
	return checkPosition(m.Bound)
}

func (m *Query) checkBase() error {
	switch {
	case m.Lineage != "" && checkDigest(m.Lineage) != nil:
		return checkDigest(m.Lineage)
	case m.Base == "":
		return nil
	case m.Lineage == "":
		return errors.New("goes on from another query, without a lineage")
	}
	return CheckName(m.Base)
}

// serviceWait is how long after an interruption that named no time a query is tried again.
const serviceWait = 30 * time.Second

// ResumeAt is when an interrupted query may go on: the time that its stop names, or else a little later than the stop. A service
// that failed in spite of all retries is given that little time even where it named less. It is zero when waiting is not what the query needs.
func (m *Query) ResumeAt() time.Time {
	switch {
	case m.State != Interrupted || m.Stop == nil:
	case m.Stop.Kind == string(ServiceInterrupted), m.Stop.Kind == StopBreaker:
		if rested := m.Stop.At.Add(serviceWait); m.Stop.Until.Before(rested) {
			return rested
		}
		return m.Stop.Until
	case !m.Stop.Until.IsZero():
		return m.Stop.Until
	case m.Stop.Kind == string(QuotaExhausted):
		return m.Stop.At.Add(serviceWait)
	}
	return time.Time{}
}

// ResumesByItself tells whether the coordinator waits out the query's interruption, and resumes it at ResumeAt.
func (m *Query) ResumesByItself() bool {
	at := m.ResumeAt()
	if at.IsZero() || m.WaitUpTo <= 0 || m.StuckRounds >= MaxStuckRounds {
		return false
	}
	since := m.Stop.At
	if !m.StuckSince.IsZero() {
		since = m.StuckSince
	}
	return at.Sub(since) <= m.WaitUpTo
}

// MaxStuckRounds is how many runs in a row a chunk's error may end, without a position completed in any of them, before a query that
// has completed others waits no more: the service is there, and has no answer to this chunk.
const MaxStuckRounds = 5

// OfChunk tells of a service's error that is rather about what was asked for than of a service that is away: such a one gives no
// answer, or says so by its status.
func (s *Stop) OfChunk() bool {
	return s.Kind == string(ServiceInterrupted) && s.Status >= 500 && (s.Status < 502 || s.Status > 504)
}

// NeedsQuota tells whether what is left of a quota matters to the query: it runs, or it waits for more.
func (m *Query) NeedsQuota() bool {
	return m.State.Active() || m.State == Interrupted && m.Stop != nil && m.Stop.Kind == string(QuotaExhausted)
}

// Interrupt makes the query interrupted because of stop, with completed results in all. Waiting is counted from the
// first interruption since which nothing was completed, so that a service that stays away ends it. Where a chunk's error has ended so many
// runs in a row that a query that would wait waits no more, the stop says that too, and what to do.
func (m *Query) Interrupt(stop *Stop, completed int) {
	if m.StuckSince.IsZero() || completed > m.StuckAt {
		m.StuckSince, m.StuckAt, m.StuckRounds = stop.At, completed, 0
	}
	switch {
	case stop.OfChunk() && completed > 0:
		m.StuckRounds++
	case stop.Kind == string(ServiceInterrupted):
		m.StuckRounds = 0
	}
	m.State, m.Stop = Interrupted, stop
	if m.GaveUp() {
		m.Stop = stop.givenUp()
	}
}

// GaveUp tells whether a query that waits by itself waits no more for a chunk that its service has no answer to.
func (m *Query) GaveUp() bool {
	return m.State == Interrupted && m.WaitUpTo > 0 && m.StuckRounds >= MaxStuckRounds && m.Stop != nil && m.Stop.OfChunk()
}

// givenUp is the stop in the words of a query that waits no more.
func (s *Stop) givenUp() *Stop {
	told := *s
	why := fmt.Sprintf("it waits no more by itself, for the last %d runs ended so without a chunk completed: ", MaxStuckRounds)
	told.Reason = Text(why + s.Reason)
	told.Hint = "resume the query when the service has been mended: only what is missing is asked for. Where it never answers this, run the query without what the chunk asks for"
	return &told
}

func (s QueryState) check() error {
	switch s {
	case Running, Stopping, Interrupted, Failed, Cancelled, Complete:
		return nil
	}
	return fmt.Errorf("%.20q is not a state", string(s))
}

func (s *Stop) validate() error {
	if s == nil {
		return nil
	}
	var position, class error
	if s.Position != "" {
		position = checkPosition(s.Position)
	}
	if s.Class != "" {
		class = CheckName(s.Class)
	}
	return firstError(
		field("stop.kind", CheckName(s.Kind)),
		field("stop.position", position),
		field("stop.status", checkStatus(s.Status)),
		field("stop.class", class),
		checkText("stop.reason", s.Reason),
		checkText("stop.hint", s.Hint),
		field("stop.tripped", s.Tripped.validate()),
	)
}

// Encode validates m and gives its wire form.
func (m *Query) Encode() ([]byte, error) { return encode("query", m, maxQueryBytes) }

// DecodeQuery reads a query record; it refuses what Encode would not have written.
func DecodeQuery(data []byte) (*Query, error) { return decode[Query]("query", data, maxQueryBytes) }

// Progress is a cache of what the result stream says of a query, written at most once a second.
type Progress struct {
	V         int    `json:"v"`
	Query     string `json:"query"`
	Run       int    `json:"run"`
	Completed int    `json:"completed"`         // positions of the plan that have all their rows
	Split     int    `json:"split,omitempty"`   // positions that were split because the service refused them as too large
	Failed    int    `json:"failed"`            // positions that failed
	Doubted   int    `json:"doubted,omitempty"` // results whose last page was full, and nothing confirms that it was the last
	Waiting   int    `json:"waiting"`           // items with the workers or on the way to them
	Rows      int64  `json:"rows"`
	Pages     int64  `json:"pages"`
	KeptPages int64  `json:"kept_pages,omitempty"` // beside these, such as are stored of chunks without a result: a resume goes on behind them
	Requests  int64  `json:"requests"`             // as told by results, stored pages and interruptions
	// Of Requests, those that nothing stored tells of any more: of results that were lost, or of failures that were tried again.
	RequestsGone int64       `json:"requests_gone,omitempty"`
	AtLeast      bool        `json:"requests_at_least,omitempty"` // there may have been more requests, of processes that ended without a word
	Bytes        int64       `json:"bytes"`                       // of rows, before compression
	Quotas       []PoolLeft  `json:"quotas,omitempty"`            // of the service, as they stood then
	Workers      *Attendance `json:"workers,omitempty"`           // as it was then; nil: not known
	// Outstanding is where the Waiting items stand in the plan, in order. Where there are more spans than are told of, near ones are
	// told of as one: what lies between them has its result, as a rule.
	Outstanding []Span    `json:"outstanding,omitempty"`
	Updated     time.Time `json:"updated"`
}

// Attendance is how many workers are there to take items.
type Attendance struct {
	Present int       `json:"present"`
	Last    time.Time `json:"last_seen,omitzero"` // with none present, when one was last heard of, as far as is known
}

func (m *Attendance) validate() error {
	if m == nil {
		return nil
	}
	return checkCount("present", int64(m.Present))
}

// Alone tells whether work waits, and nobody is there to take it.
func (m *Progress) Alone() bool { return m.Workers != nil && m.Workers.Present == 0 && m.Waiting > 0 }

// PoolLeft is what is left of a quota pool.
type PoolLeft struct {
	Pool  string `json:"pool"`
	Left  int64  `json:"remaining"`
	Limit int64  `json:"limit"`
}

const maxProgressQuotas = 8

// Validate reports the first field that is missing or out of bounds.
func (m *Progress) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		checkCount("completed", int64(m.Completed)),
		checkCount("split", int64(m.Split)),
		checkCount("doubted", int64(m.Doubted)),
		checkCount("failed", int64(m.Failed)),
		checkCount("waiting", int64(m.Waiting)),
		checkCount("rows", m.Rows),
		checkCount("pages", m.Pages),
		checkCount("kept_pages", m.KeptPages),
		checkCount("requests", m.Requests), checkCount("requests_gone", m.RequestsGone),
		checkCount("bytes", m.Bytes),
		field("quotas", m.checkQuotas()),
		field("workers", m.Workers.validate()),
		field("outstanding", checkSpans(m.Outstanding)),
	)
}

func (m *Progress) checkQuotas() error {
	if len(m.Quotas) > maxProgressQuotas {
		return fmt.Errorf("%d, at most %d", len(m.Quotas), maxProgressQuotas)
	}
	for _, q := range m.Quotas {
		if err := firstError(field("pool", CheckName(q.Pool)), checkCount("remaining", q.Left), checkCount("limit", q.Limit)); err != nil {
			return err
		}
	}
	return nil
}

// Encode validates m and gives its wire form.
func (m *Progress) Encode() ([]byte, error) { return encode("progress", m, maxProgressBytes) }

// DecodeProgress reads a progress record; it refuses what Encode would not have written.
func DecodeProgress(data []byte) (*Progress, error) {
	return decode[Progress]("progress", data, maxProgressBytes)
}
