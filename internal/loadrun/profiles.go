package loadrun

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// mostProfiles bounds how many there may be.
const mostProfiles = 10_000

// Profiles lists all profiles by their ids.
func (d *Desk) Profiles(ctx context.Context) ([]*load.Profile, error) {
	all, err := d.ports.Records.ListProfiles(ctx)
	if err != nil {
		return nil, fmt.Errorf("list load profiles: %w", err)
	}
	slices.SortFunc(all, func(a, b *load.Profile) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Profile gives one; the error wraps messages.ErrNotFound.
func (d *Desk) Profile(ctx context.Context, id string) (*load.Profile, error) {
	p, _, err := d.profile(ctx, id)
	return p, err
}

func (d *Desk) profile(ctx context.Context, id string) (*load.Profile, uint64, error) {
	if err := messages.CheckName(id); err != nil {
		return nil, 0, fmt.Errorf("profile: %w: %w", load.ErrInvalid, err)
	}
	p, revision, err := d.ports.Records.LoadProfile(ctx, id)
	if errors.Is(err, messages.ErrNotFound) {
		return nil, 0, fmt.Errorf("load profile %.40q: %w; braid load profiles shows them", id, err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("load profile %s: %w", id, err)
	}
	return p, revision, nil
}

// SaveProfile stores a profile as its next revision. The revision is the one that the caller has seen, 0 for a profile that is new, and -1 for
// whichever there is; else the error wraps messages.ErrConflict. One that says what is stored already stays as it is. The error wraps
// load.ErrInvalid when the profile can never run.
func (d *Desk) SaveProfile(ctx context.Context, by load.Actor, p *load.Profile, revision int) (*load.Profile, error) {
	if !by.Run {
		return nil, noPermission("load:run", "change a load profile")
	}
	next := *p
	if err := d.check(&next); err != nil {
		return nil, err
	}
	have, stored, err := d.ports.Records.LoadProfile(ctx, next.ID)
	switch {
	case errors.Is(err, messages.ErrNotFound):
		have, stored = nil, 0
	case err != nil:
		return nil, fmt.Errorf("load profile %s: %w", next.ID, err)
	}
	now := d.ports.Now()
	next.V, next.Created, next.Updated, next.Revision = load.Version, now, now, 1
	next.Owner, next.Team = by.Name, by.Team
	switch {
	case have == nil && revision > 0:
		return nil, fmt.Errorf("load profile %s: %w: it has been removed; store it as a new one", next.ID, messages.ErrConflict)
	case have != nil && revision >= 0 && have.Revision != revision:
		return nil, fmt.Errorf("load profile %s: %w: it is at revision %d; look at it and store yours again", next.ID, messages.ErrConflict, have.Revision)
	case have != nil:
		next.Owner, next.Team, next.Created, next.Revision = have.Owner, have.Team, have.Created, have.Revision+1
		if same(&next, have) {
			return have, nil
		}
	default:
		all, err := d.ports.Records.ListProfiles(ctx)
		if err != nil {
			return nil, fmt.Errorf("load profile %s: %w", next.ID, err)
		}
		if len(all) >= mostProfiles {
			return nil, fmt.Errorf("load profile %s: %w: there are %d profiles already, which is the most; remove some", next.ID, load.ErrInvalid, len(all))
		}
	}
	if _, err := d.ports.Records.SaveProfile(ctx, &next, stored); err != nil {
		return nil, fmt.Errorf("store load profile %s: %w", next.ID, err)
	}
	return &next, nil
}

// same tells whether two profiles ask for the same.
func same(a, b *load.Profile) bool {
	strip := func(p load.Profile) []byte {
		p.Revision, p.Updated = 0, p.Created
		text, err := json.Marshal(p)
		if err != nil {
			return nil
		}
		return text
	}
	x, y := strip(*a), strip(*b)
	return x != nil && bytes.Equal(x, y)
}

// check refuses a profile that can never run as the environment stands now.
func (d *Desk) check(p *load.Profile) error {
	if err := messages.CheckName(p.ID); err != nil {
		return fmt.Errorf("id: %w: %w", load.ErrInvalid, err)
	}
	if err := p.Validate(); err != nil {
		return invalid(err)
	}
	definition, err := d.ports.Environments.Environment(p.Environment)
	if err != nil {
		return fmt.Errorf("environment %.40q: %w", p.Environment, invalid(err))
	}
	if _, err := load.Capacity(p.Concurrency, definition.Environment); err != nil {
		return fmt.Errorf("environment %s: %w", p.Environment, invalid(err))
	}
	if err := p.CheckRoles(definition.Environment); err != nil {
		return invalid(err)
	}
	return nil
}

// invalid marks an error as one about what was asked.
func invalid(err error) error {
	if errors.Is(err, load.ErrInvalid) {
		return err
	}
	return fmt.Errorf("%w: %w", load.ErrInvalid, err)
}

func noPermission(permission, what string) *load.GateError {
	return &load.GateError{
		Kind: load.GateNoPermission, Message: fmt.Sprintf("to %s needs the permission %s", what, permission),
		Hint: "ask whoever keeps the access file",
	}
}

// RemoveProfile removes a profile. Runs keep the profile that they were started with.
func (d *Desk) RemoveProfile(ctx context.Context, by load.Actor, id string) error {
	if !by.Run {
		return noPermission("load:run", "remove a load profile")
	}
	_, revision, err := d.profile(ctx, id)
	if err != nil {
		return err
	}
	if err := d.ports.Records.RemoveProfile(ctx, id, revision); err != nil {
		return fmt.Errorf("remove load profile %s: %w", id, err)
	}
	return nil
}
