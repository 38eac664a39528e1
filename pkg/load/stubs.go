package load

import (
	"errors"
	"time"
)

var errNotYet = errors.New("not yet")

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
