package contract

import (
	"errors"
	"strings"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	gatePrefix   = "load-gate-"
	lookUpFailed = "load-look-up-failed"
	// maxDependents bounds each list of a refusal; its count tells how many there are.
	maxDependents = 200
)

// loadKinds are those of errors that are no sentinels: why a gate did not open has a kind for each reason.
func loadKinds() []Kind {
	gate := func(reason string, status int, title, fix string) Kind {
		return Kind{gatePrefix + strings.ReplaceAll(reason, "_", "-"), status, title, fix, nil}
	}
	return []Kind{
		gate(load.GateNoPermission, 403, "The load run is not permitted", "ask who keeps the server's tokens for the named permission; nothing was sent"),
		gate(load.GateProfileChanged, 412, "The load profile is not the one that was seen", "look at the preview, and start that; nothing was sent"),
		gate(load.GateNotLookedUp, 409, "The dashboard was not looked up yet", "look it up; nothing was sent"),
		gate(load.GateDependentsUnknown, 409, "It is not known what depends on the dashboard's data", "look it up again; that nobody can tell is not the same as nothing"),
		gate(load.GateFingerprintChanged, 412, "What depends on the dashboard's data is not what was seen", "look at what was added and removed, and confirm by starting with the new fingerprint; nothing was sent"),
		gate(load.GateNoApproval, 403, "Nobody has approved the load run", "look at the preview, and have its gate approved; nothing was sent"),
		gate(load.GateStale, 412, "The approval is of something else than what would run now", "look at the preview, and have its gate approved; nothing was sent"),
		gate(load.GateApprovalExpired, 403, "The approval has expired", "have the gate approved again; nothing was sent"),
		gate(load.GateApprovalUsed, 409, "The approval was used up by another run", "have the gate approved again; nothing was sent"),
		{lookUpFailed, 502, "The dashboard could not be looked up", "see what the service said; the worker's log tells more", nil},
	}
}

// GateRefusal is why a gate of load runs stayed shut, with as many dependents as a problem has room for.
type GateRefusal struct {
	load.GateError
	AddedCount   int `json:"added_count,omitempty" doc:"How many were added, where not all are listed too"`
	RemovedCount int `json:"removed_count,omitempty" doc:"How many were removed, likewise"`
}

// LookUpFailure is what a worker met when it looked a dashboard up.
type LookUpFailure struct{ load.LookUpError }

// NewLoadProblem makes a problem of an error that has a kind of load runs' own; nil of any other.
func NewLoadProblem(err error) *Problem {
	if gate, ok := errors.AsType[*load.GateError](err); ok {
		p := NewProblem(kindOfLoad(err), err.Error())
		refusal := &GateRefusal{GateError: *gate}
		p.Gate = refusal.bounded()
		return p
	}
	if failure, ok := errors.AsType[*load.LookUpError](err); ok {
		p := NewProblem(kindOfLoad(err), err.Error())
		p.LookUp = (&LookUpFailure{*failure}).bounded()
		return p
	}
	return nil
}

// Err is the error that a problem of load runs' own kinds stands for; nil of any other problem.
func (p *Problem) Err() error {
	switch _, slug, _ := strings.Cut(p.Type, TypePath); {
	case p.Gate != nil && strings.HasPrefix(slug, gatePrefix):
		gate := p.Gate.GateError
		return &gate
	case p.LookUp != nil && slug == lookUpFailed:
		failure := p.LookUp.LookUpError
		return &failure
	}
	return nil
}

// kindOfLoad gives the kind of an error that is no sentinel; the zero Kind of any other.
func kindOfLoad(err error) Kind {
	if gate, ok := errors.AsType[*load.GateError](err); ok {
		return KindNamed(gatePrefix + strings.ReplaceAll(gate.Kind, "_", "-"))
	}
	if _, ok := errors.AsType[*load.LookUpError](err); ok {
		return KindNamed(lookUpFailed)
	}
	return Kind{}
}

func (g *GateRefusal) bounded() *GateRefusal {
	if g == nil {
		return nil
	}
	cut := *g
	cut.Kind, cut.Message, cut.Hint = clip(g.Kind, maxFieldBytes), messages.Text(g.Message), messages.Text(g.Hint)
	cut.GateHash, cut.Fingerprint = clip(g.GateHash, maxFieldBytes), clip(g.Fingerprint, maxFieldBytes)
	cut.Added, cut.Removed = boundedDependents(g.Added), boundedDependents(g.Removed)
	cut.AddedCount, cut.RemovedCount = max(g.AddedCount, len(g.Added)), max(g.RemovedCount, len(g.Removed))
	return &cut
}

func boundedDependents(all []load.Dependent) []load.Dependent {
	var cut []load.Dependent
	for _, d := range all[:min(len(all), maxDependents)] {
		d.Kind, d.Name = clip(d.Kind, maxFieldBytes), clip(d.Name, maxFieldBytes)
		cut = append(cut, d)
	}
	return cut
}

func (f *LookUpFailure) bounded() *LookUpFailure {
	if f == nil {
		return nil
	}
	return &LookUpFailure{load.LookUpError{
		Kind: clip(f.Kind, maxFieldBytes), Status: f.Status, Message: messages.Text(f.Message), Hint: messages.Text(f.Hint),
	}}
}
