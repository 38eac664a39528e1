package loadrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// Start begins a run of a profile: the leading controller takes it up. All that lets it start is computed anew from the current state
// (LR-10.4); why it does not start is a *load.GateError, and then nothing has been sent. In PROD an approval is used up, and by one run alone
// (LR-10.5): the approval is taken by compare-and-set before the run is made, so that whoever dies in between leaves a used approval and
// no run. What is started again under the same key is the run that there is, with an error that wraps load.ErrRepeated; another start
// under the same key is an error that wraps load.ErrKeyReused.
func (d *Desk) Start(ctx context.Context, by load.Actor, req load.StartRequest) (*load.Run, error) {
	if !by.Run {
		return nil, noPermission("load:run", "start a load run")
	}
	r := &load.Run{ID: d.ports.NewID()}
	if req.Key != "" {
		if err := identify(r, by, req); err != nil {
			return nil, err
		}
		if have, err := d.repeated(ctx, r); have != nil || err != nil {
			return have, err
		}
	}
	s, err := d.standing(ctx, req.Profile)
	if err == nil {
		err = s.permit(by)
	}
	if err == nil {
		err = d.seen(ctx, s, req)
	}
	if err == nil {
		err = d.start(ctx, by, req, s, r)
	}
	if err == nil {
		d.ports.Observer.Started(r.Environment)
		d.log.Info("started", "run", r.ID, "profile", r.Profile.ID, "revision", r.Profile.Revision, "environment", r.Environment,
			"executions", r.Total, "capacity", r.Capacity.Effective, "by", by.Name)
		return r, nil
	}
	if req.Key != "" { // of two starts at once under one key the other one may have been faster
		if have, again := d.repeated(ctx, r); have != nil {
			return have, again
		}
	}
	d.refused(req.Profile, s, by, err)
	return nil, err
}

func (d *Desk) refused(profile string, s *standing, by load.Actor, err error) {
	var gate *load.GateError
	if !errors.As(err, &gate) {
		return
	}
	environment := ""
	if s != nil && s.profile != nil {
		environment = s.profile.Environment
	}
	d.ports.Observer.Refused(environment, gate.Kind)
	d.log.Warn("not started", "profile", profile, "kind", gate.Kind, "reason", gate.Message, "by", by.Name)
}

// identify gives r the id that follows from the key, so that of all desks where the same is started at once one makes the run and the others find it.
func identify(r *load.Run, by load.Actor, req load.StartRequest) error {
	key, err := json.Marshal([]string{by.Name, by.Team, req.Key})
	if err != nil {
		return fmt.Errorf("start: %w: the key is no text", load.ErrInvalid)
	}
	asked, err := json.Marshal(req)
	if err != nil {
		return fmt.Errorf("start: %w: %w", load.ErrInvalid, err)
	}
	sum := sha256.Sum256(key)
	wanted := sha256.Sum256(asked)
	r.ID, r.Key, r.Asked = letters(sum[:], 16), hex.EncodeToString(sum[:]), hex.EncodeToString(wanted[:])
	return nil
}

// repeated gives the run that was started under r's key before; nil and nil when none was.
func (d *Desk) repeated(ctx context.Context, r *load.Run) (*load.Run, error) {
	have, _, err := d.ports.Records.LoadRun(ctx, r.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		return nil, nil //nolint:nilnil // none was
	case err != nil:
		return nil, fmt.Errorf("start: %w", err)
	case have.Key != r.Key || have.Asked != r.Asked:
		return nil, fmt.Errorf("start: %w: the run %s was started under it, and is something else; take a new key for a new run", load.ErrKeyReused, have.ID)
	}
	return have, fmt.Errorf("start: %w: it is the run %s", load.ErrRepeated, have.ID)
}

// start makes the run r of what stands.
func (d *Desk) start(ctx context.Context, by load.Actor, req load.StartRequest, s *standing, r *load.Run) error {
	var approval *load.Approval
	var taken uint64
	if s.preview.Gate.Approval {
		var err error
		if approval, taken, err = d.approval(ctx, s, req.Approval); err != nil {
			return err
		}
	}
	reference, p99, err := d.referred(ctx, s.profile)
	if err != nil {
		return err
	}
	d.describe(r, by, s)
	r.Profile.Reference, r.ReferenceP99 = reference, p99
	if err := d.introduce(ctx, s.definition); err != nil {
		return err
	}
	if err := d.ports.Files.PutSelection(ctx, r.ID, s.selection); err != nil {
		return fmt.Errorf("store the selection: %w", err)
	}
	if approval != nil {
		if r.Approval, err = d.use(ctx, s, approval, taken, r.ID); err != nil {
			d.discard(ctx, r)
			return err
		}
	}
	if _, err := d.ports.Records.SaveRun(ctx, r, 0); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	return nil
}

// discard removes what was stored for a run that does not come to be. Of a key's run nothing is: another start under the key may have made it.
func (d *Desk) discard(ctx context.Context, r *load.Run) {
	if r.Key != "" {
		return
	}
	if err := d.ports.Records.RemoveRun(ctx, r.ID); err != nil {
		d.log.Debug("the selection of a run that did not come to be is left behind", "run", r.ID, "error", err)
	}
}

func (d *Desk) describe(r *load.Run, by load.Actor, s *standing) {
	now := d.ports.Now()
	r.V, r.Profile, r.Environment, r.Definition = load.Version, *s.profile, s.profile.Environment, s.definition.Digest
	r.Snapshot, r.Fingerprint = s.snapshot.ID, s.snapshot.Dependents.Fingerprint
	r.Selection, r.Theoretical = s.selection.Hash, s.selection.Theoretical
	r.Selected, r.Charts = len(s.selection.Variations), len(s.snapshot.Charts)
	r.Total = r.Selected * r.Charts
	r.Capacity, r.GateHash = s.terms, s.preview.Gate.Hash
	r.State, r.Slots = load.Preparing, slotsOf(s.profile, 0, s.terms.Effective)
	r.Owner, r.Team, r.Created, r.Updated = by.Name, by.Team, now, now
}

// slotsOf is the concurrency of a stage.
func slotsOf(p *load.Profile, stage, effective int) int {
	if stage < len(p.Stages) {
		return max(1, min(p.Stages[stage].Concurrency, effective))
	}
	return effective
}

// use takes an approval for a run, or tells who did before (LR-10.5).
func (d *Desk) use(ctx context.Context, s *standing, a *load.Approval, revision uint64, run string) (*load.Approval, error) {
	used := *a
	used.UsedBy = run
	if err := s.approves(a, d.ports.Now()); err != nil {
		return nil, err
	}
	_, err := d.ports.Records.SaveApproval(ctx, &used, revision)
	switch {
	case errors.Is(err, messages.ErrConflict):
		have, _, err := d.ports.Records.LoadApproval(ctx, a.ID)
		if err == nil && have.UsedBy != "" {
			return nil, s.approves(have, d.ports.Now())
		}
		return nil, s.unapproved(load.GateApprovalUsed, fmt.Sprintf("the approval %s was changed just now", a.ID))
	case err != nil:
		return nil, fmt.Errorf("use the approval %s: %w; whether it is used up is not known", a.ID, err)
	}
	return &used, nil
}

// introduce makes an environment known to the workers.
func (d *Desk) introduce(ctx context.Context, definition *Definition) error {
	name := definition.Environment.Name
	if err := d.ports.Services.PutDefinition(ctx, definition.Digest, definition.Text); err != nil {
		return fmt.Errorf("store the definition of %s: %w", name, err)
	}
	pool := poolOf(definition.Environment)
	err := d.ports.Services.UpdateService(ctx, name, func(have *messages.Service) *messages.Service {
		want := messages.Service{V: messages.Version, Name: name, Slots: pool, LeaseTTL: d.cfg.LeaseTTL, Adapter: definition.Adapter}
		if have != nil {
			if want.LeaseTTL = have.LeaseTTL; have.Explicit && have.Slots < pool {
				want.Slots, want.Explicit = have.Slots, true // an operator's bound is stricter
			}
			if *have == want {
				return nil
			}
		}
		return &want
	})
	if err != nil {
		return fmt.Errorf("make %s known to the workers: %w", name, err)
	}
	return nil
}

// referred gives the p99 of the profile's reference run; nil without one, or when nothing of it succeeded. It is pinned at the start, so that
// the breaker's decision follows from what is recorded of the run (LR-7.4).
func (d *Desk) referred(ctx context.Context, p *load.Profile) (id string, p99 *time.Duration, err error) {
	if p.Reference == "" {
		return "", nil, nil
	}
	r, _, err := d.find(ctx, p.Reference)
	if errors.Is(err, messages.ErrNotFound) {
		return "", nil, fmt.Errorf("reference: %w: %w; name another run in the profile, or none", load.ErrInvalid, err)
	}
	if err != nil {
		return "", nil, fmt.Errorf("reference: %w", err)
	}
	if r.State.Active() {
		return "", nil, fmt.Errorf("reference: %w: the run %s has not ended", load.ErrState, r.ID)
	}
	fold, err := d.fold(ctx, r, nil)
	if err != nil {
		return "", nil, fmt.Errorf("reference: %w", err)
	}
	return r.ID, fold.Progress(r.Ended).Waits.Upstream.P99, nil
}

// usualPool is the connection_pool_size of an environment that has none (LR-2.2).
const usualPool = 20

func poolOf(e load.Environment) int {
	if e.Pool == nil {
		return usualPool
	}
	return min(*e.Pool, messages.MaxSlots)
}
