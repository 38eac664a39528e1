package load

import (
	"encoding/json"
	"errors"
	"time"
)

var errNotYet = errors.New("not yet")

// Capacity x.
func Capacity(requested int, e Environment) (Terms, error) { return Terms{}, errNotYet }

// CacheStateOf x.
func CacheStateOf(force *bool, query json.RawMessage) (CacheState, string) { return Unknown, "" }

// Settle sets State, Reason and Source by the five raw fields.
func (q *QueryOutcome) Settle(force bool) {}

// AsyncCacheStates x.
func AsyncCacheStates(force *bool, queries int, tasks *int) ([]CacheState, string) { return nil, "" }

// Combine x.
func Combine(states []CacheState) CacheState { return Unknown }

// GateHash x.
func GateHash(g GateInputs) (string, error) { return "", errNotYet }

// ParseProfile x.
func ParseProfile(file string, text []byte) (*Profile, error) { return nil, errNotYet }

// Validate fills defaults and checks.
func (p *Profile) Validate() error { return errNotYet }

// Select x.
func Select(p *Profile, s *Snapshot) (*Selection, error) { return nil, errNotYet }

// Place says which chart (index in the snapshot) and variation (index in the selection) execution n is.
func (s *Selection) Place(number, charts int) (variation, chart int) {
	return number / charts, number % charts
}

// Preflight gives the numbers of the first execution of each chart and role, ascending.
func (s *Selection) Preflight(charts int) []int { return nil }

// Payload is the body that is sent.
func Payload(r Request) ([]byte, error) { return nil, errNotYet }

// PreviewOf x.
func PreviewOf(p *Profile, s *Snapshot, sel *Selection, e Environment) (*Preview, error) {
	return nil, errNotYet
}

// Exchange is what was observed of an exchange, decoded.
type Exchange struct {
	Abandoned string // why it was given up: intake_closed, drain_over, worker_stopping, resource_timeout; empty: it was not
	Deadline  bool   // our own deadline passed
	Status    int    // of the last answer; 0: there was none
	Whole     bool   // the body was read to its end
	Login     bool   // the answer is the login page, or a redirect to it
	JSON      bool   // the body is JSON
	Entries   int    // of its list result; -1: it has no such list
	Queries   int    // query objects that were asked
	Message   string // of the body, when it is an error
}

// OutcomeOf x.
func OutcomeOf(x Exchange) (Outcome, string) { return Error, "" }

// DataDigest x.
type DataDigest struct{}

// NewDataDigest x.
func NewDataDigest() *DataDigest { return &DataDigest{} }

// Begin says how many bytes the next query's data has.
func (d *DataDigest) Begin(length int64) error { return errNotYet }

// Write takes bytes of it.
func (d *DataDigest) Write(p []byte) (int, error) { return 0, errNotYet }

// Sum gives the digest.
func (d *DataDigest) Sum() (string, error) { return "", errNotYet }

// Sampler keeps the first rows.
type Sampler struct{}

// NewSampler x.
func NewSampler(b SampleBounds) *Sampler { return &Sampler{} }

// Room is how many bytes the next row may have; below 1: no row is kept any more.
func (s *Sampler) Room() int { return 0 }

// Add takes the raw text of the next row.
func (s *Sampler) Add(row []byte) {}

// Skip says that the next row was longer than Room.
func (s *Sampler) Skip() {}

// Sample gives the JSON array.
func (s *Sampler) Sample() (sample json.RawMessage, truncated bool) { return nil, false }

// Fold x.
type Fold struct{}

// NewFold begins with nothing. snapshot may be nil: charts have no names then.
func NewFold(run *Run, snapshot *Snapshot) (*Fold, error) { return nil, errNotYet }

// Follow takes over the run's record as it stands now.
func (f *Fold) Follow(run *Run) {}

// Admission x.
func (f *Fold) Admission(a *Admission) {}

// Execution x.
func (f *Fold) Execution(e *Execution) (tripped bool) { return false }

// Trip is what tripped; nil.
func (f *Fold) Trip() *Trip { return nil }

// InFlight is how many were admitted and have no record yet.
func (f *Fold) InFlight() int { return 0 }

// Recorded tells whether the number has a record.
func (f *Fold) Recorded(number int) bool { return false }

// Progress x.
func (f *Fold) Progress(now time.Time) *Progress { return nil }

// Report x.
func (f *Fold) Report() *Report { return nil }

// Compare x.
func Compare(base, run *Report) *Comparison { return nil }

// JUnit x.
func JUnit(r *Report) ([]byte, error) { return nil, errNotYet }
