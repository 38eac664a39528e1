package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/braidhq/braid/pkg/planner/matrix"
)

// Permissions that runs need (LR-10.2).
const (
	PermissionRun  = "load:run"
	PermissionProd = "load:prod" // beside it, in PROD
)

// ErrNoCharts means that a snapshot has nothing to run.
var ErrNoCharts = errors.New("no chart can be run")

// Select makes the selection that a run of the profile goes through (LR-8.5, 8.7), and finds the executions that repeat an earlier one's request (LR-8.9).
// It is a pure function of the profile's axes, cap and seed, and of the snapshot. The error wraps ErrProfile, ErrNoCharts or
// ErrQueryContext.
func Select(p *Profile, s *Snapshot) (*Selection, error) {
	if len(s.Charts) == 0 || len(s.Charts) > MaxCharts {
		return nil, fmt.Errorf("%w: the dashboard has %d that can, want 1 to %d", ErrNoCharts, len(s.Charts), MaxCharts)
	}
	axes, err := matrix.Parse(p.Axes)
	if err != nil {
		return nil, problem{path: []any{"axes"}, message: err.Error()}
	}
	selection := &Selection{V: 1, Theoretical: axes.Count().String(), Cap: p.Cap, Seed: p.Seed}
	if selection.Variations, err = matrix.Select(axes, p.Cap, p.Seed); err != nil {
		return nil, problem{path: []any{"cap"}, message: err.Error()}
	}
	hash := sha256.New()
	for _, v := range selection.Variations {
		hash.Write([]byte(v.ID))
	}
	selection.Hash = hex.EncodeToString(hash.Sum(nil))
	if err := selection.findRepeats(s); err != nil {
		return nil, err
	}
	return selection, nil
}

// Place says which variation and which chart of the snapshot the execution of a number is, by their indices (LR-1.2).
func (s *Selection) Place(number, charts int) (variation, chart int) {
	return number / charts, number % charts
}

// Preflight gives the numbers of the first execution of each chart and role, ascending (LR-7.9).
func (s *Selection) Preflight(charts int) []int {
	var numbers []int
	seen := make(map[string]bool)
	for i, v := range s.Variations {
		if seen[v.Role] {
			continue
		}
		seen[v.Role] = true
		for chart := range charts {
			numbers = append(numbers, i*charts+chart)
		}
	}
	return numbers
}

// findRepeats compares what is left of the variations for each chart, after all that does not reach the server. That decides whether bodies are equal,
// without any being made.
func (s *Selection) findRepeats(snapshot *Snapshot) error {
	variations := make([]asked, len(s.Variations))
	for i := range s.Variations {
		var err error
		if variations[i], err = askedOf(&s.Variations[i]); err != nil {
			return err
		}
	}
	type request struct {
		role string
		applied
	}
	s.RepeatOf = make(map[int]int)
	charts := len(snapshot.Charts)
	for c := range snapshot.Charts {
		t, err := newTemplate(snapshot.Dashboard, &snapshot.Charts[c], snapshot.Filters)
		if err != nil {
			return err
		}
		first := make(map[request]int)
		for i := range variations {
			number, r := i*charts+c, request{s.Variations[i].Role, t.apply(variations[i])}
			if earlier, ok := first[r]; ok {
				s.RepeatOf[number] = earlier
			} else {
				first[r] = number
			}
		}
	}
	return nil
}

// Request is that of the execution of a number.
func (s *Selection) Request(number int, p *Profile, snapshot *Snapshot) Request {
	variation, chart := s.Place(number, len(snapshot.Charts))
	return Request{
		Dashboard: snapshot.Dashboard, Chart: snapshot.Charts[chart], Filters: snapshot.Filters, Variation: s.Variations[variation],
		Force: p.Force, Deadline: p.Deadline, Sample: p.Sample,
	}
}

// PreviewOf tells what a run would send, and what its gate is (LR-8.6, 10.2, 10.3). The error wraps ErrCapacity where the environment or the requested
// capacity is invalid, and ErrProfile where the profile names a role that the environment does not have.
func PreviewOf(p *Profile, s *Snapshot, selection *Selection, e Environment) (*Preview, error) {
	if err := p.CheckRoles(e); err != nil {
		return nil, err
	}
	terms, err := Capacity(p.Concurrency, e)
	if err != nil {
		return nil, fmt.Errorf("environment %s: %w", p.Environment, err)
	}
	total := len(selection.Variations) * len(s.Charts)
	gate := Gate{
		Class: terms.Class, Needs: []string{PermissionRun}, RewritesCache: p.Force,
		Inputs: GateInputs{
			Profile: p.ID, Revision: p.Revision, Effective: terms.Effective, Estimated: total, Environment: p.Environment,
			Fingerprint: s.Dependents.Fingerprint,
		},
	}
	if terms.Class == Prod {
		gate.Needs, gate.Approval = append(gate.Needs, PermissionProd), true
	}
	if gate.Hash, err = GateHash(gate.Inputs); err != nil {
		return nil, err
	}
	return &Preview{
		Theoretical: selection.Theoretical, Selected: len(selection.Variations), Cap: selection.Cap, Seed: selection.Seed, Charts: len(s.Charts),
		Excluded: append([]Excluded{}, s.Excluded...), Total: total, Distinct: total - len(selection.RepeatOf), Capacity: terms, Gate: gate,
	}, nil
}
