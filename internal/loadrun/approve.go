package loadrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	usualValidity = time.Hour
	mostValidity  = 7 * 24 * time.Hour
	mostReason    = 500 // characters
)

// Approve lets one run of the profile start in PROD, as long as the gate is the one that the person has seen: its hash binds the profile's
// revision, its capacity, its requests, its environment and what depends on its data. It needs load:prod.
func (d *Desk) Approve(ctx context.Context, by load.Actor, profile string, req load.ApprovalRequest) (*load.Approval, error) {
	if !by.Prod {
		return nil, noPermission("load:prod", "approve a load run in PROD")
	}
	if err := checkApproval(&req); err != nil {
		return nil, err
	}
	s, err := d.standing(ctx, profile)
	if err != nil {
		return nil, err
	}
	gate := s.preview.Gate
	switch {
	case !gate.Approval:
		return nil, fmt.Errorf("approve %s: %w: %s is not PROD, and its runs need no approval", profile, load.ErrState, s.profile.Environment)
	case req.Hash != gate.Hash:
		return nil, &load.GateError{
			Kind: load.GateStale, Revision: s.profile.Revision, GateHash: gate.Hash, Fingerprint: s.snapshot.Dependents.Fingerprint,
			Message: "what is to be approved is not what would run now", Hint: "look at the preview, and approve its gate",
		}
	}
	now := d.ports.Now()
	a := &load.Approval{
		V: load.Version, ID: d.ports.NewID(), Hash: gate.Hash, Inputs: gate.Inputs, By: by.Name, Reason: req.Reason,
		At: now, Expires: now.Add(req.ValidFor),
	}
	if _, err := d.ports.Records.SaveApproval(ctx, a, 0); err != nil {
		return nil, fmt.Errorf("store the approval: %w", err)
	}
	d.log.Info("approved", "approval", a.ID, "profile", s.profile.ID, "environment", s.profile.Environment, "gate_hash", a.Hash, "by", a.By, "expires", a.Expires)
	return a, nil
}

func checkApproval(req *load.ApprovalRequest) error {
	req.Reason = strings.TrimSpace(req.Reason)
	if req.ValidFor == 0 {
		req.ValidFor = usualValidity
	}
	switch {
	case req.Reason == "":
		return fmt.Errorf("approve: %w: it has no reason; say why load is put on PROD", load.ErrInvalid)
	case !utf8.ValidString(req.Reason) || utf8.RuneCountInString(req.Reason) > mostReason:
		return fmt.Errorf("approve: %w: the reason is longer than %d characters, or no text", load.ErrInvalid, mostReason)
	case req.ValidFor < time.Second || req.ValidFor > mostValidity:
		return fmt.Errorf("approve: %w: it is to be valid for %s; from 1s to %s are possible", load.ErrInvalid, req.ValidFor, mostValidity)
	}
	return nil
}

// Approvals lists all, the newest first.
func (d *Desk) Approvals(ctx context.Context) ([]*load.Approval, error) {
	all, err := d.ports.Records.ListApprovals(ctx)
	if err != nil {
		return nil, fmt.Errorf("list approvals: %w", err)
	}
	slices.SortFunc(all, func(a, b *load.Approval) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return all, nil
}

// approval finds the one that lets s start, without using it up.
func (d *Desk) approval(ctx context.Context, s *standing, id string) (*load.Approval, uint64, error) {
	if id != "" {
		if err := messages.CheckName(id); err != nil {
			return nil, 0, fmt.Errorf("approval: %w: %w", load.ErrInvalid, err)
		}
		a, revision, err := d.ports.Records.LoadApproval(ctx, id)
		if errors.Is(err, messages.ErrNotFound) {
			return nil, 0, s.unapproved(load.GateNoApproval, fmt.Sprintf("there is no approval %s", id))
		}
		if err != nil {
			return nil, 0, fmt.Errorf("approval %s: %w", id, err)
		}
		return a, revision, s.approves(a, d.ports.Now())
	}
	all, err := d.Approvals(ctx)
	if err != nil {
		return nil, 0, err
	}
	refused := s.unapproved(load.GateNoApproval, fmt.Sprintf("nobody has approved a run of %s", s.profile.ID))
	for _, a := range all { // of those that do not fit, the newest tells why
		if a.Inputs.Profile != s.profile.ID || a.Inputs.Environment != s.profile.Environment {
			continue
		}
		err := s.approves(a, d.ports.Now())
		if err == nil {
			// It is judged again as it stands under the revision by which it is taken: somebody may have used it since.
			a, revision, err := d.ports.Records.LoadApproval(ctx, a.ID)
			if err != nil {
				return nil, 0, fmt.Errorf("approval %s: %w", a.ID, err)
			}
			return a, revision, s.approves(a, d.ports.Now())
		}
		var why *load.GateError
		if errors.As(err, &why) && refused.Kind == load.GateNoApproval {
			refused = why
		}
	}
	return nil, 0, refused
}

// approves tells why an approval does not let s start.
func (s *standing) approves(a *load.Approval, now time.Time) error {
	switch {
	case a.Hash != s.preview.Gate.Hash:
		return s.unapproved(load.GateStale, fmt.Sprintf("the approval %s is of something else than what would run now", a.ID))
	case a.UsedBy != "":
		return s.unapproved(load.GateApprovalUsed, fmt.Sprintf("the approval %s was used up by the run %s", a.ID, a.UsedBy))
	case !now.Before(a.Expires):
		return s.unapproved(load.GateApprovalExpired, fmt.Sprintf("the approval %s has expired at %s", a.ID, a.Expires.UTC().Format(time.RFC3339)))
	}
	return nil
}

func (s *standing) unapproved(kind, message string) *load.GateError {
	return &load.GateError{
		Kind: kind, Message: message, Hint: "look at the preview, and have its gate approved",
		Revision: s.profile.Revision, GateHash: s.preview.Gate.Hash, Fingerprint: s.snapshot.Dependents.Fingerprint,
	}
}
