package load

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/braidhq/braid/pkg/timing"
)

// Outcome is how an execution ended.
type Outcome string

// The outcomes. Cancelled and NotStarted are not completed: they are in no rate.
const (
	Success    Outcome = "success"
	Error      Outcome = "error"
	Timeout    Outcome = "timeout"
	Cancelled  Outcome = "cancelled"
	NotStarted Outcome = "not_started"
)

// Completed tells whether the outcome counts in rates and for the breaker.
func (o Outcome) Completed() bool { return o == Success || o == Error || o == Timeout }

// The kinds of failures, and the reasons of what was cancelled.
const (
	BadBody     = "bad_body"
	Auth        = "auth"
	QueryFailed = "query_failed"
	BadRequest  = "bad_request"
	Forbidden   = "forbidden"
	NotFound    = "not_found"
	ClientError = "client_error"
	RateLimited = "rate_limited"
	ServerError = "server_error"
	Gateway     = "gateway"
	Deadline    = "deadline"
	Transport   = "transport"

	ResourceTimeout = "resource_timeout" // no place among all requests in time (LR-2.10)
	IntakeClosed    = "intake_closed"    // taken, and not admitted any more
	DrainOver       = "drain_over"       // cut when the time to drain was over
	WorkerStopping  = "worker_stopping"
)

// Item asks a worker for one execution.
type Item struct {
	V        int       `json:"v"`
	Run      string    `json:"run"`
	Number   int       `json:"number"`            // of the execution in the run
	Intended time.Time `json:"intended,omitzero"` // with an arrival rate: when it should begin
	WarmUp   bool      `json:"warm_up,omitempty"`
}

// ErrIntakeClosed means that a run admits no request any more.
var ErrIntakeClosed = errors.New("the run's intake is closed")

// ErrAdmittedLate means that an admission is stored, and was heard of so late that it may not be used: by now the run may have been stopped and
// have ended.
var ErrAdmittedLate = errors.New("the admission was heard of too late to be used")

// ErrSealed means that a run takes no record of an execution any more: what it counted at its end stays true.
var ErrSealed = errors.New("the run's records are sealed")

// Admission is stored before an execution's request is sent; it is refused when intake is closed. With it is known how many requests were
// sent, whatever becomes of the worker.
type Admission struct {
	V       int       `json:"v"`
	Run     string    `json:"run"`
	Number  int       `json:"number"`
	Attempt int       `json:"attempt"`          // deliveries of the item, from 1
	Repeat  bool      `json:"repeat,omitempty"` // after the token was renewed
	Worker  string    `json:"worker"`
	At      time.Time `json:"at"` // by the stream's clock
}

// Execution is the record of one execution, as the worker stores it: once for each number and attempt. The statistics count the first that is
// stored for a number.
type Execution struct {
	V           int             `json:"v"`
	Run         string          `json:"run"`
	Number      int             `json:"number"`
	Attempt     int             `json:"attempt"`
	WarmUp      bool            `json:"warm_up,omitempty"`
	Chart       int64           `json:"chart"`
	Variation   string          `json:"variation_id"`
	FiltersHash string          `json:"filters_hash"`
	Role        string          `json:"role,omitempty"`
	TimeRange   string          `json:"time_range,omitempty"`
	RepeatOf    *int            `json:"repeat_of,omitempty"`
	Outcome     Outcome         `json:"outcome"`
	Kind        string          `json:"kind,omitempty"` // of a failure, or why it was cancelled
	Status      int             `json:"status,omitempty"`
	Message     string          `json:"message,omitempty"` // what the service said, bounded, without secrets
	Waits       timing.Waits    `json:"waits"`
	Clock       Clock           `json:"clock"`
	Late        *time.Duration  `json:"from_intended_ns,omitempty"` // with an arrival rate: from the intended start to the last byte
	Enqueued    time.Time       `json:"enqueued"`
	Taken       time.Time       `json:"taken"`
	Admitted    time.Time       `json:"admitted,omitzero"`
	Finished    time.Time       `json:"finished"`
	Requests    int             `json:"requests"`              // admitted requests of this attempt
	Polls       int             `json:"polls,omitempty"`       // of an asynchronous answer
	Async       bool            `json:"async,omitempty"`       //
	Force       bool            `json:"request_force"`         //
	Cache       CacheState      `json:"cache_state,omitempty"` // of a success
	Queries     []QueryOutcome  `json:"queries,omitempty"`
	BodySHA256  string          `json:"body_sha256,omitempty"`
	DataSHA256  string          `json:"data_sha256,omitempty"`
	BodyBytes   int64           `json:"body_bytes"`
	WireBytes   int64           `json:"wire_bytes"`
	Rows        int64           `json:"rows"`
	Sample      json.RawMessage `json:"sample,omitempty"` // a JSON array of the first rows' own texts, of the first query
	Truncated   bool            `json:"sample_truncated,omitempty"`
	RowSet      string          `json:"row_set_sha256,omitempty"`  // of the rows without their order, where the sample is all of them; RowSetOf makes it
	Rejected    []string        `json:"filter_rejected,omitempty"` // columns of the variation that the server did not apply
	ReaderLag   time.Duration   `json:"reader_lag_ns"`             // of the upstream time, what the runner itself took
	Worker      string          `json:"worker"`
}

// Clock says by which clock the wait in the queue was measured (LR-3).
type Clock struct {
	Source string        `json:"source"`    // stream
	Offset time.Duration `json:"offset_ns"` // of the worker's clock to it
	Within time.Duration `json:"within_ns"` // uncertainty of Offset
}

// CacheState is what an answer tells of the server's cache (LR-4).
type CacheState string

// The cache states.
const (
	Hit      CacheState = "hit"
	Miss     CacheState = "miss"
	Bypassed CacheState = "bypassed"
	Disabled CacheState = "disabled"
	Unknown  CacheState = "unknown"
	Mixed    CacheState = "mixed" // of an execution: its queries differ
)

// QueryOutcome is what the answer told of one query object, the five fields as received: absent ones are nil, null ones the text null.
type QueryOutcome struct {
	IsCached     json.RawMessage `json:"is_cached,omitempty"`
	CachedDttm   json.RawMessage `json:"cached_dttm,omitempty"`
	QueriedDttm  json.RawMessage `json:"queried_dttm,omitempty"`
	CacheTimeout json.RawMessage `json:"cache_timeout,omitempty"`
	CacheKey     json.RawMessage `json:"cache_key,omitempty"`
	State        CacheState      `json:"state"`
	Reason       string          `json:"reason,omitempty"`
	Rows         int64           `json:"rows"`
	Source       string          `json:"cache_state_source"` // superset_response
}

// Finding is a group of executions that should have had the same data and had not (LR-5.4).
type Finding struct {
	Chart         int64         `json:"chart"`
	FiltersHash   string        `json:"filters_hash"`
	Role          string        `json:"role,omitempty"`
	TimeRange     string        `json:"time_range,omitempty"`
	Digests       []DigestCount `json:"digests"` // the most frequent first
	TimeDependent bool          `json:"time_dependent"`
	OrderOnly     bool          `json:"order_only"`
}

// DigestCount is one digest of a finding.
type DigestCount struct {
	SHA256 string             `json:"data_sha256"`
	Count  int                `json:"count"`
	Cache  map[CacheState]int `json:"cache_states"`
}
