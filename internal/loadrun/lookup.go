package loadrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// lookUpWait bounds a look-up: a large dashboard takes a request for each of its charts.
const lookUpWait = 2 * time.Minute

// LookUp has a worker read what the profile's dashboard consists of and what else depends on its data, and pins both for the profile's
// present revision (LR-9.1). A *load.LookUpError is the worker's or the service's word; when the dependents cannot be read, the error is a
// *load.GateError and nothing is pinned (LR-9.5). In PROD it needs load:prod: it sends requests.
func (d *Desk) LookUp(ctx context.Context, by load.Actor, profile string) (*load.Snapshot, error) {
	if !by.Run {
		return nil, noPermission("load:run", "look a dashboard up")
	}
	p, _, err := d.profile(ctx, profile)
	if err != nil {
		return nil, err
	}
	definition, terms, err := d.environment(p)
	if err != nil {
		return nil, err
	}
	if terms.Class == load.Prod && !by.Prod {
		return nil, noPermission("load:prod", "look a dashboard up in PROD")
	}
	if err := d.introduce(ctx, definition); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpWait)
	defer cancel()
	until, _ := ctx.Deadline()
	snapshot, err := d.ports.Errands.LookUp(ctx, &load.LookUp{
		V: load.Version, ID: d.ports.NewID(), Environment: p.Environment, Definition: definition.Digest,
		Dashboard: p.Dashboard, Tab: p.Tab, Charts: p.Charts, Expires: d.ports.Now().Add(time.Until(until)),
	})
	if err != nil {
		return nil, unanswered(ctx, p, err)
	}
	if err := fits(snapshot, p); err != nil {
		return nil, err
	}
	if snapshot.Taken.IsZero() {
		snapshot.Taken = d.ports.Now()
	}
	if err := d.ports.Files.PutSnapshot(ctx, snapshot); err != nil {
		return nil, fmt.Errorf("store what dashboard %s consists of: %w", p.Dashboard, err)
	}
	if err := d.ports.Files.PinSnapshot(ctx, reportOf(snapshot.Dependents.Fingerprint), 1, snapshot.ID); err != nil {
		return nil, fmt.Errorf("pin what depends on dashboard %s: %w", p.Dashboard, err)
	}
	if err := d.ports.Files.PinSnapshot(ctx, p.ID, p.Revision, snapshot.ID); err != nil {
		return nil, fmt.Errorf("pin what dashboard %s consists of: %w", p.Dashboard, err)
	}
	d.log.Info("looked up", "profile", p.ID, "revision", p.Revision, "dashboard", p.Dashboard, "charts", len(snapshot.Charts),
		"dependents", len(snapshot.Dependents.Items), "fingerprint", snapshot.Dependents.Fingerprint, "by", by.Name)
	return snapshot, nil
}

// reportOf names the snapshot that was last found to have a fingerprint, in the place of a profile: so the difference can be told.
func reportOf(fingerprint string) string {
	sum := sha256.Sum256([]byte(fingerprint))
	return "dependents-" + hex.EncodeToString(sum[:16])
}

func unanswered(ctx context.Context, p *load.Profile, err error) error {
	var word *load.LookUpError
	switch {
	case errors.As(err, &word) && word.Kind == load.GateDependentsUnknown:
		return &load.GateError{
			Kind: load.GateDependentsUnknown, Message: fmt.Sprintf("what depends on the data of dashboard %s could not be read: %s", p.Dashboard, word.Message),
			Hint: "that is not the same as nothing; look it up again when the service answers" + also(word.Hint),
		}
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return fmt.Errorf("look dashboard %s of %s up: %w: no worker has answered; see that one runs that has the environment's adapter and credentials", p.Dashboard, p.Environment, err)
	}
	return fmt.Errorf("look dashboard %s of %s up: %w", p.Dashboard, p.Environment, err)
}

func also(hint string) string {
	if hint == "" {
		return ""
	}
	return "; " + hint
}

// fits refuses a snapshot that is not of the profile, or without what a gate rests on.
func fits(s *load.Snapshot, p *load.Profile) error {
	switch {
	case s.Environment != p.Environment:
		return fmt.Errorf("look dashboard %s up: %w: the answer is of the environment %.40q, not of %s", p.Dashboard, messages.ErrInvalid, s.Environment, p.Environment)
	case s.ID == "":
		return fmt.Errorf("look dashboard %s up: %w: the answer has no id", p.Dashboard, messages.ErrInvalid)
	case s.Dependents.Fingerprint == "":
		return &load.GateError{Kind: load.GateDependentsUnknown, Message: fmt.Sprintf("what depends on the data of dashboard %s is not known", p.Dashboard), Hint: "look it up again"}
	}
	return nil
}

// Snapshot gives what the profile's dashboard consisted of when it was last looked up for the profile's present revision. Without that it is a
// *load.GateError.
func (d *Desk) Snapshot(ctx context.Context, profile string) (*load.Snapshot, error) {
	p, _, err := d.profile(ctx, profile)
	if err != nil {
		return nil, err
	}
	return d.pinned(ctx, p)
}

func (d *Desk) pinned(ctx context.Context, p *load.Profile) (*load.Snapshot, error) {
	id, err := d.ports.Files.PinnedSnapshot(ctx, p.ID, p.Revision)
	if err == nil && id == "" {
		err = messages.ErrNotFound
	}
	if errors.Is(err, messages.ErrNotFound) {
		return nil, &load.GateError{
			Kind: load.GateNotLookedUp, Message: fmt.Sprintf("the dashboard of revision %d of the load profile %s was not looked up yet", p.Revision, p.ID),
			Hint: fmt.Sprintf("braid load look-up %s does it", p.ID), Revision: p.Revision,
		}
	}
	if err != nil {
		return nil, fmt.Errorf("what the load profile %s was looked up with: %w", p.ID, err)
	}
	s, err := d.ports.Files.Snapshot(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("what dashboard %s consists of: %w", p.Dashboard, err)
	}
	if err := fits(s, p); err != nil {
		return nil, err
	}
	return s, nil
}

// environment gives the profile's environment as it stands now, with the capacity that it would have.
func (d *Desk) environment(p *load.Profile) (*Definition, load.Terms, error) {
	definition, err := d.ports.Environments.Environment(p.Environment)
	if err != nil {
		return nil, load.Terms{}, fmt.Errorf("environment %.40q: %w", p.Environment, err)
	}
	terms, err := load.Capacity(p.Concurrency, definition.Environment)
	if err != nil {
		return nil, load.Terms{}, fmt.Errorf("environment %s: %w", p.Environment, invalid(err))
	}
	return definition, terms, nil
}
