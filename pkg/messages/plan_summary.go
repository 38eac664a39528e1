package messages

import (
	"fmt"
	"time"
)

const maxPlanSummaryBytes = 128 << 10

// PlanSummary is what a plan would cost, as people are shown it before anything is sent. A number that is not known is
// left out.
type PlanSummary struct {
	Service     string `json:"service"`
	Collection  string `json:"collection"`
	Chunks      int    `json:"chunks"`
	Fingerprint string `json:"fingerprint"`
	Definition  string `json:"definition,omitzero"` // SHA-256 of the service definition, as a query would pin it

	LeastRequests    int64   `json:"least_requests"`                     // without retries: no run takes fewer
	ExpectedRequests int64   `json:"expected_requests,omitzero"`         // by the definition's estimate of rows, or where each chunk is one page
	RequestsUnknown  Unknown `json:"expected_requests_unknown,omitzero"` // why expected_requests is not known
	MostRequests     int64   `json:"most_requests,omitzero"`             // without retries and splits: no run takes more
	LongestWalk      int64   `json:"longest_walk,omitzero"`              // most requests that are expected of one chunk, which come one after another
	InFlight         int     `json:"in_flight"`                          // requests at a time
	EstimatedRows    int64   `json:"estimated_rows,omitzero"`            // a guess, by the definition's estimate
	RowsUnknown      Unknown `json:"estimated_rows_unknown,omitzero"`    // why estimated_rows is not known
	PageRows         int     `json:"page_rows,omitzero"`                 // rows asked for in one request
	MaxRows          int64   `json:"max_rows,omitzero"`                  // the query's own bound

	LongestURLBytes     int            `json:"longest_url_bytes"`              // of all requests
	URLLimit            int            `json:"url_limit"`                      // bytes that the service takes; 0: no limit is known
	LongestBodyBytes    int            `json:"longest_body_bytes,omitzero"`    // of all requests
	BodyLimit           int            `json:"body_limit,omitzero"`            // bytes that the service takes
	LongestRequestBytes int            `json:"longest_request_bytes,omitzero"` // URL and body together, where they are limited together
	RequestLimit        int            `json:"request_limit,omitzero"`         // bytes of URL and body together that the service takes
	LargestValues       map[string]int `json:"largest_values,omitempty"`       // divided parameter → most values of it in one request

	Quotas  []PlanQuota `json:"quotas,omitempty"`      // that the plan is measured against
	Seconds int64       `json:"eta_seconds,omitzero"`  // from the first request to the last answer, with the waits for quota
	Latency int64       `json:"latency_ms,omitzero"`   // of one request, as the time is reckoned with; assumed, not measured
	Waited  int64       `json:"wait_seconds,omitzero"` // of the time: waits for quota

	Method     string `json:"method,omitzero"`      // of the first request
	FirstURL   string `json:"first_url,omitzero"`   // of the first chunk's request, cut to what a message carries
	FirstBody  string `json:"first_body,omitzero"`  // likewise
	LastMethod string `json:"last_method,omitzero"` // of the last request
	LastURL    string `json:"last_url,omitzero"`    // likewise of the last chunk's
	LastBody   string `json:"last_body,omitzero"`   // likewise
}

// PlanQuota is one quota and how a plan fits into it.
type PlanQuota struct {
	Pool      string   `json:"pool"`
	Counts    string   `json:"counts"`                   // requests, bytes or rows
	Limit     int64    `json:"limit,omitzero"`           // in a window, as it is believed; 0: not known
	HoldBack  int64    `json:"hold_back,omitzero"`       // of these, never spent
	Window    int64    `json:"window_seconds"`           // length of a window
	Model     string   `json:"model,omitzero"`           // rolling, fixed or bucket
	Key       KeyState `json:"key,omitzero"`             // whether a key for it was found
	Anonymous bool     `json:"anonymous,omitempty"`      // the limit is that of requests without a key
	Windows   int64    `json:"windows,omitzero"`         // that the plan takes, when nobody else spends the quota: at least, when Unknown says why; 0: not known
	Unknown   Unknown  `json:"windows_unknown,omitzero"` // why the number of windows is not known, or is only the least

	Left        *int64    `json:"left,omitempty"`        // of the limit now, what is held back counted in; nil: not known
	LeftUnknown Unknown   `json:"left_unknown,omitzero"` // why it is not known
	Back        time.Time `json:"back,omitzero"`         // when units will be back, where fewer are left than a request takes
}

// Unknown says in words why a number is not known; empty: it is.
type Unknown string

// KeyState tells whether there is a key that a quota belongs to.
type KeyState string

// The states of keys.
const (
	KeyFound   KeyState = "found"
	KeyMissing KeyState = "missing"
	KeyUnknown KeyState = "unknown" // it is the workers' to know
)

// Fits tells whether the whole plan is expected to fit into one window of each of its quotas.
func (m *PlanSummary) Fits() Fit {
	fit := FitYes
	for _, q := range m.Quotas {
		switch {
		case q.Windows > 1:
			return FitNo
		case q.Unknown != "" || q.Windows == 0:
			fit = FitUnknown
		}
	}
	return fit
}

// Fit tells whether a plan fits into one window of its quotas.
type Fit int

// The answers to whether a plan fits.
const (
	FitUnknown Fit = iota // it cannot be told; Unknown of a quota says why
	FitYes
	FitNo // also when a larger number of windows is not known
)

const maxPlanQuotas = 16

// Validate reports the first field that is missing or out of bounds.
func (m *PlanSummary) Validate() error {
	for name, n := range m.LargestValues {
		if err := firstError(checkText("largest_values", name), checkCount("largest_values", int64(n))); err != nil {
			return err
		}
	}
	if len(m.Quotas) > maxPlanQuotas {
		return fmt.Errorf("quotas: %w: %d, at most %d", ErrInvalid, len(m.Quotas), maxPlanQuotas)
	}
	for i := range m.Quotas {
		if err := m.Quotas[i].validate(); err != nil {
			return err
		}
	}
	return firstError(
		field("service", CheckName(m.Service)),
		field("collection", CheckName(m.Collection)),
		checkCount("chunks", int64(m.Chunks)),
		field("fingerprint", checkDigest(m.Fingerprint)),
		field("definition", checkDefinition(m.Definition)),
		m.checkRequests(),
		m.checkBytes(),
		checkCount("eta_seconds", m.Seconds),
		checkCount("latency_ms", m.Latency),
		checkCount("wait_seconds", m.Waited),
		checkText("method", m.Method),
		checkText("last_method", m.LastMethod),
		checkText("first_url", m.FirstURL),
		checkText("first_body", m.FirstBody),
		checkText("last_url", m.LastURL),
		checkText("last_body", m.LastBody),
	)
}

// checkDefinition takes none too: coordinators of before do not tell it.
func checkDefinition(digest string) error {
	if digest == "" {
		return nil
	}
	return checkDigest(digest)
}

func (m *PlanSummary) checkRequests() error {
	return firstError(
		checkCount("least_requests", m.LeastRequests),
		checkCount("expected_requests", m.ExpectedRequests),
		checkText("expected_requests_unknown", string(m.RequestsUnknown)),
		checkText("estimated_rows_unknown", string(m.RowsUnknown)),
		checkCount("most_requests", m.MostRequests),
		checkCount("longest_walk", m.LongestWalk),
		checkCount("in_flight", int64(m.InFlight)),
		checkCount("estimated_rows", m.EstimatedRows),
		checkCount("page_rows", int64(m.PageRows)),
		checkCount("max_rows", m.MaxRows),
	)
}

func (m *PlanSummary) checkBytes() error {
	return firstError(
		checkCount("longest_url_bytes", int64(m.LongestURLBytes)),
		checkCount("url_limit", int64(m.URLLimit)),
		checkCount("longest_body_bytes", int64(m.LongestBodyBytes)),
		checkCount("body_limit", int64(m.BodyLimit)),
		checkCount("longest_request_bytes", int64(m.LongestRequestBytes)),
		checkCount("request_limit", int64(m.RequestLimit)),
	)
}

func (q *PlanQuota) validate() error {
	return firstError(
		field("quotas.pool", CheckName(q.Pool)),
		checkText("quotas.counts", q.Counts),
		checkText("quotas.key", string(q.Key)),
		checkText("quotas.model", q.Model),
		checkText("quotas.windows_unknown", string(q.Unknown)),
		checkCount("quotas.limit", q.Limit),
		checkCount("quotas.hold_back", q.HoldBack),
		checkCount("quotas.window_seconds", q.Window),
		checkCount("quotas.windows", q.Windows),
		checkCount("quotas.left", q.left()),
		checkText("quotas.left_unknown", string(q.LeftUnknown)),
	)
}

// left is 0 where it is not known.
func (q *PlanQuota) left() int64 {
	if q.Left == nil {
		return 0
	}
	return *q.Left
}

// Encode validates m and gives its wire form.
func (m *PlanSummary) Encode() ([]byte, error) { return encode("plan summary", m, maxPlanSummaryBytes) }

// DecodePlanSummary reads a plan's summary; it refuses what Encode would not have written.
func DecodePlanSummary(data []byte) (*PlanSummary, error) {
	return decode[PlanSummary]("plan summary", data, maxPlanSummaryBytes)
}
