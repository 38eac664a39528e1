package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// ErrSpec reports a spec that is not valid.
var ErrSpec = errors.New("invalid query")

const (
	// MaxSpecBytes bounds the wire form of a spec.
	MaxSpecBytes = 64 << 20
	// SpecVersion is the version of the wire form that this build writes and reads.
	SpecVersion  = 1
	maxColumns   = 1024
	maxParams    = 256
	maxNameBytes = 200
)

// Bounds of what a query may ask for. Each is at least 1 where it is given.
const (
	MaxChunks   = 10_000_000 // as many as a plan may have
	MaxRows     = 1 << 40
	MaxRequests = 1 << 40 // of a budget, and of what is held back
)

// Spec is a query, resolved: all that planning, running and shaping it needs beside the service's definition. It is
// submitted and pinned in its wire form.
type Spec struct {
	V          int            `json:"v"`
	Name       string         `json:"name"`
	Service    string         `json:"service"`
	Collection string         `json:"collection"`
	Values     service.Values `json:"values"`
	Select     []string       `json:"select,omitempty"`
	Run        Run            `json:"run,omitzero"`
	BadValues  BadValues      `json:"bad_values,omitzero"`         // empty: stop
	Coverage   CoverageRule   `json:"coverage,omitzero"`           // empty: report
	Changed    ChangedRule    `json:"changed_during_run,omitzero"` // empty: report
	Since      *Since         `json:"since,omitempty"`
	MaxChunks  int            `json:"max_chunks,omitzero"` // 0: as few as possible
	MaxRows    int64          `json:"max_rows,omitzero"`   // the table is the first rows of this number, in plan order; 0: all
}

// Spec gives the query with its resolved values.
func (q *Query) Spec(values service.Values) *Spec {
	s := &Spec{
		V:          SpecVersion,
		Name:       q.Name,
		Service:    q.Service,
		Collection: q.Collection,
		Values:     values,
		Select:     slices.Clone(q.Select),
		Run:        q.Run,
		BadValues:  q.BadValues,
		Since:      q.Since,
		MaxChunks:  q.MaxChunks,
		MaxRows:    q.MaxRows,
	}
	if q.Coverage != CoverageReport {
		s.Coverage = q.Coverage
	}
	if q.Changed != ChangedReport {
		s.Changed = q.Changed
	}
	return s
}

// Lasting is what of the spec is pinned with the query: all but what each start and each resume resolves anew, which the
// query's record keeps.
func (s *Spec) Lasting() *Spec {
	lasting := *s
	lasting.Run.InFlight, lasting.Run.Priority, lasting.Run.Weight = 0, nil, 0
	return &lasting
}

// SpecError is one thing wrong with a spec. It wraps ErrSpec.
type SpecError struct {
	Field   string // such as max_rows or select[1]
	Problem error
}

// Error gives field and problem.
func (e *SpecError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Field, ErrSpec, e.Problem) }

// Unwrap gives ErrSpec and the problem.
func (e *SpecError) Unwrap() []error { return []error{ErrSpec, e.Problem} }

// Validate reports everything that is missing or out of bounds, as *SpecError joined. Whether the service accepts
// the values is judged by its definition.
func (s *Spec) Validate() error {
	var errs []error
	problem := func(field, format string, args ...any) {
		errs = append(errs, &SpecError{field, fmt.Errorf(format, args...)})
	}
	if s.V != SpecVersion {
		problem("v", "%d, this build reads %d", s.V, SpecVersion)
	}
	names := []struct{ field, name string }{{"name", s.Name}, {"service", s.Service}, {"collection", s.Collection}}
	for _, n := range names {
		if err := messages.CheckName(n.name); err != nil {
			problem(n.field, "%w", err)
		}
	}
	s.checkValues(problem)
	if len(s.Select) > maxColumns {
		problem("select", "%d columns, at most %d", len(s.Select), maxColumns)
	}
	for i, column := range s.Select[:min(len(s.Select), maxColumns)] {
		if err := checkColumn(s.Select[:i], column); err != nil {
			problem(fmt.Sprintf("select[%d]", i), "%w", err)
		}
	}
	s.checkRun(problem)
	return errors.Join(errs...)
}

func (s *Spec) checkValues(problem func(field, format string, args ...any)) {
	if len(s.Values) > maxParams {
		problem("values", "%d parameters, at most %d", len(s.Values), maxParams)
	}
	total := 0
	for name, list := range s.Values {
		total += len(list)
		if len(name) > maxNameBytes {
			problem("values", "the name of a parameter has %d bytes, at most %d", len(name), maxNameBytes)
		}
	}
	if total > service.MaxValues {
		problem("values", "%d values, at most %d", total, service.MaxValues)
	}
}

func (s *Spec) checkRun(problem func(field, format string, args ...any)) {
	if err := s.Run.InFlight.Check(); err != nil {
		problem("run.in_flight", "%w", err)
	}
	if err := s.Run.Rank().Check(); err != nil {
		problem("run", "%w", err)
	}
	if n := s.Run.MaxRequests; n < 0 || n > MaxRequests {
		problem("run.max_requests", "%d, want 1 to %d, or none", n, int64(MaxRequests))
	}
	if n := s.Run.HoldBack; n < 0 || n > MaxRequests {
		problem("run.hold_back", "%d, want 1 to %d, or none", n, int64(MaxRequests))
	}
	if then := s.Run.OnQuota.Then; then != "" && !slices.Contains(then.Choices(), string(then)) {
		problem("run.on_quota.then", "%.20q is not pause", then)
	}
	if rule := s.Run.OnFailure; rule != "" && !slices.Contains(rule.Choices(), string(rule)) {
		problem("run.on_failure", "%.20q is none of stop, finish", rule)
	}
	if s.Run.OnQuota.WaitUpTo < 0 {
		problem("run.on_quota.wait_up_to", "it is negative")
	}
	if bad := s.BadValues; bad != "" && !slices.Contains(bad.Choices(), string(bad)) {
		problem("bad_values", "%.20q is none of stop, allow", bad)
	}
	if rule := s.Coverage; rule != "" && !slices.Contains(rule.Choices(), string(rule)) {
		problem("coverage", "%.20q is none of report, require", rule)
	}
	if rule := s.Changed; rule != "" && !slices.Contains(rule.Choices(), string(rule)) {
		problem("changed_during_run", "%.20q is none of report, require_none", rule)
	}
	if err := s.Since.check(); err != nil {
		problem("since", "%w", err)
	} else if s.Since != nil && s.MaxRows > 0 {
		problem("since", "max_rows leaves rows out that a run is to go on from")
	}
	if s.MaxChunks < 0 || s.MaxChunks > MaxChunks {
		problem("max_chunks", "%d, want 1 to %d, or none", s.MaxChunks, MaxChunks)
	}
	if s.MaxRows < 0 || s.MaxRows > MaxRows {
		problem("max_rows", "%d, want 1 to %d, or none", s.MaxRows, int64(MaxRows))
	}
}

func checkColumn(before []string, column string) error {
	switch {
	case column == "" || len(column) > maxNameBytes:
		return fmt.Errorf("the name of a column has 1 to %d bytes", maxNameBytes)
	case slices.Contains(before, column):
		return fmt.Errorf("the column %q stands twice", column)
	}
	return nil
}

// Encode validates the spec and gives its wire form; equal specs give equal bytes.
func (s *Spec) Encode() ([]byte, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode query: %w", err)
	}
	if len(data) > MaxSpecBytes {
		return nil, fmt.Errorf("encode query: %w: %d bytes, at most %d", ErrSpec, len(data), MaxSpecBytes)
	}
	return data, nil
}

// DecodeSpec reads a spec; it refuses an unknown field, trailing data and what Encode would not have written.
func DecodeSpec(data []byte) (*Spec, error) {
	if len(data) > MaxSpecBytes {
		return nil, fmt.Errorf("decode query: %w: %d bytes, at most %d", ErrSpec, len(data), MaxSpecBytes)
	}
	s := new(Spec)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(s); err != nil {
		return nil, fmt.Errorf("decode query: %w: %w", ErrSpec, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode query: %w: data after it", ErrSpec)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("decode query: %w", err)
	}
	return s, nil
}
