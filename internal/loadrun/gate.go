package loadrun

import (
	"context"
	"fmt"

	"github.com/braidhq/braid/pkg/load"
)

// standing is what a run of a profile would be now, from the current state of all that it depends on. Nothing is sent for it (LR-10.4).
type standing struct {
	profile    *load.Profile
	definition *Definition
	terms      load.Terms
	snapshot   *load.Snapshot
	selection  *load.Selection
	preview    *load.Preview
}

func (d *Desk) standing(ctx context.Context, profile string) (*standing, error) {
	p, _, err := d.profile(ctx, profile)
	if err != nil {
		return nil, err
	}
	s := &standing{profile: p}
	if s.definition, s.terms, err = d.environment(p); err != nil {
		return nil, err
	}
	if s.snapshot, err = d.pinned(ctx, p); err != nil {
		return nil, err
	}
	if s.selection, err = load.Select(p, s.snapshot); err != nil {
		return nil, fmt.Errorf("select what the load profile %s runs: %w", p.ID, invalid(err))
	}
	if s.preview, err = load.PreviewOf(p, s.snapshot, s.selection, s.definition.Environment); err != nil {
		return nil, fmt.Errorf("preview of the load profile %s: %w", p.ID, invalid(err))
	}
	return s, nil
}

// Preview tells what a run of the profile would send, and what it needs for that. Nothing is sent (LR-8.6).
func (d *Desk) Preview(ctx context.Context, profile string) (*load.Preview, error) {
	s, err := d.standing(ctx, profile)
	if err != nil {
		return nil, err
	}
	return s.preview, nil
}

// permit refuses who may not run it (LR-10.2).
func (s *standing) permit(by load.Actor) error {
	switch {
	case !by.Run:
		return noPermission("load:run", "start a load run")
	case s.terms.Class == load.Prod && !by.Prod:
		return noPermission("load:prod", "start a load run in PROD")
	}
	return nil
}

// seen refuses a caller who has not seen what would run now (LR-9.3).
func (d *Desk) seen(ctx context.Context, s *standing, req load.StartRequest) error {
	if req.Revision != 0 && req.Revision != s.profile.Revision {
		return &load.GateError{
			Kind: load.GateProfileChanged, Revision: s.profile.Revision, GateHash: s.preview.Gate.Hash,
			Message: fmt.Sprintf("the load profile %s is at revision %d by now, not %d", s.profile.ID, s.profile.Revision, req.Revision),
			Hint:    "look at its preview, and start that",
		}
	}
	now := s.snapshot.Dependents
	if req.Fingerprint == now.Fingerprint {
		return nil
	}
	refused := &load.GateError{
		Kind: load.GateFingerprintChanged, Revision: s.profile.Revision, GateHash: s.preview.Gate.Hash, Fingerprint: now.Fingerprint,
		Message: fmt.Sprintf("what depends on the data of dashboard %s is not what was seen: it is %s by now", s.profile.Dashboard, now.Fingerprint),
		Hint:    "look at the preview, and confirm by starting with the new fingerprint",
	}
	if req.Fingerprint == "" {
		refused.Message = fmt.Sprintf("a start names the fingerprint of what depends on the data of dashboard %s; it is %s", s.profile.Dashboard, now.Fingerprint)
	}
	before, known := d.reported(ctx, req.Fingerprint)
	refused.Added, refused.Removed = load.Diff(before, now.Items)
	refused.Undiffed = !known
	return refused
}

// reported gives what depended on the data when it had the fingerprint, as far as that is known still.
func (d *Desk) reported(ctx context.Context, fingerprint string) (items []load.Dependent, known bool) {
	if fingerprint == "" {
		return nil, false
	}
	id, err := d.ports.Files.PinnedSnapshot(ctx, reportOf(fingerprint), 1)
	if err != nil || id == "" {
		return nil, false
	}
	s, err := d.ports.Files.Snapshot(ctx, id)
	if err != nil || s.Dependents.Fingerprint != fingerprint {
		return nil, false
	}
	return s.Dependents.Items, true
}
