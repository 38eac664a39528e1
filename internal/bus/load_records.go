package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	profileKey     = "profile."
	runKey         = "run."
	runProgressKey = "progress."
	approvalKey    = "approval."
	pinKey         = "pin."
)

// SaveProfile changes a profile by compare-and-set.
func (b *Bus) SaveProfile(ctx context.Context, p *load.Profile, revision uint64) (uint64, error) {
	return saveLoad(ctx, b, profileKey+p.ID, p, revision)
}

// LoadProfile reads a profile and the revision of its record.
func (b *Bus) LoadProfile(ctx context.Context, id string) (*load.Profile, uint64, error) {
	return loadRecord(ctx, b, "profile", profileKey, id, load.DecodeProfile)
}

// ListProfiles reads all profiles, in no order.
func (b *Bus) ListProfiles(ctx context.Context) ([]*load.Profile, error) {
	return listLoad(ctx, b, "profile", profileKey, load.DecodeProfile)
}

// RemoveProfile removes a profile whose record has the revision, and what is pinned for it.
func (b *Bus) RemoveProfile(ctx context.Context, id string, revision uint64) error {
	if _, _, err := b.LoadProfile(ctx, id); err != nil && !errors.Is(err, messages.ErrInvalid) && !errors.Is(err, messages.ErrVersion) {
		return err
	}
	if err := b.remove(ctx, bucketLoad, profileKey+id, revision); err != nil {
		return err
	}
	return b.purge(ctx, streamOf(bucketLoad), "$KV."+bucketLoad+"."+pinKey+id+".*")
}

// SaveRun changes the record of a run by compare-and-set.
func (b *Bus) SaveRun(ctx context.Context, r *load.Run, revision uint64) (uint64, error) {
	return saveLoad(ctx, b, runKey+r.ID, r, revision)
}

// LoadRun reads the record of a run and its revision.
func (b *Bus) LoadRun(ctx context.Context, id string) (*load.Run, uint64, error) {
	return loadRecord(ctx, b, "run", runKey, id, load.DecodeRun)
}

// ListRuns reads the records of all runs, in no order.
func (b *Bus) ListRuns(ctx context.Context) ([]*load.Run, error) {
	return listLoad(ctx, b, "run", runKey, load.DecodeRun)
}

// WatchRuns calls on with each run and each change, a removed one as nil, and caughtUp once in between. A record that cannot be read is
// logged and left out. It returns when ctx ends or the watch is lost.
func (b *Bus) WatchRuns(ctx context.Context, on func(id string, r *load.Run, revision uint64), caughtUp func()) error {
	return b.watch(ctx, bucketLoad, runKey+"*", func(c *change) {
		if c == nil {
			caughtUp()
			return
		}
		id := strings.TrimPrefix(c.key, runKey)
		if len(c.value) == 0 {
			on(id, nil, c.revision)
			return
		}
		r, err := load.DecodeRun(c.value)
		if err != nil {
			b.log.Error("a load run's record cannot be read; it is left alone", "run", id, "error", err)
			return
		}
		on(id, r, c.revision)
	})
}

// RemoveRun removes the record of a run first, and then all that is stored of it. That its intake is closed is kept.
func (b *Bus) RemoveRun(ctx context.Context, id string) error {
	if err := checkRunID(id); err != nil {
		return err
	}
	if err := b.remove(ctx, bucketLoad, runKey+id, 0); err != nil {
		return err
	}
	if err := b.PurgeRun(ctx, id); err != nil {
		return err
	}
	if err := b.js.DeleteConsumer(ctx, streamLoadItems, id); err != nil && code(err) != codeNoConsumer {
		return fmt.Errorf("remove the queue of %s: %w", id, translate(err))
	}
	for _, subject := range []string{recordsOf(id), fmt.Sprintf("braid.load.selection.%s.*", id)} {
		if err := b.purge(ctx, streamLoad, subject); err != nil {
			return err
		}
	}
	return b.remove(ctx, bucketLoad, runProgressKey+id, 0)
}

// SaveApproval changes an approval by compare-and-set.
func (b *Bus) SaveApproval(ctx context.Context, a *load.Approval, revision uint64) (uint64, error) {
	return saveLoad(ctx, b, approvalKey+a.ID, a, revision)
}

// LoadApproval reads an approval and the revision of its record.
func (b *Bus) LoadApproval(ctx context.Context, id string) (*load.Approval, uint64, error) {
	return loadRecord(ctx, b, "approval", approvalKey, id, load.DecodeApproval)
}

// ListApprovals reads all approvals, in no order.
func (b *Bus) ListApprovals(ctx context.Context) ([]*load.Approval, error) {
	return listLoad(ctx, b, "approval", approvalKey, load.DecodeApproval)
}

// SaveRunProgress overwrites the cached progress of a run.
func (b *Bus) SaveRunProgress(ctx context.Context, p *load.Progress) error {
	data, err := p.Encode()
	if err != nil {
		return err
	}
	return b.update(ctx, bucketLoad, runProgressKey+p.Run, func([]byte) ([]byte, error) { return data, nil })
}

// LoadRunProgress reads the cached progress of a run. The error wraps messages.ErrNotFound before the first.
func (b *Bus) LoadRunProgress(ctx context.Context, run string) (*load.Progress, error) {
	p, _, err := loadRecord(ctx, b, "progress of run", runProgressKey, run, load.DecodeProgress)
	return p, err
}

// saveLoad is compare-and-set on a record. Revision 0 is for one that is not there; one that was removed leaves a marker.
func saveLoad(ctx context.Context, b *Bus, key string, m interface{ Encode() ([]byte, error) }, revision uint64) (uint64, error) {
	data, err := m.Encode()
	if err != nil {
		return 0, err
	}
	if most := int(b.nc.MaxPayload()) - headerRoom/2; len(data) > most {
		return 0, fmt.Errorf("write %s: %w: %d bytes, and a message of this server holds %d", key, messages.ErrInvalid, len(data), most)
	}
	return b.put(ctx, bucketLoad, key, data, revision, 0)
}

func loadRecord[T any](ctx context.Context, b *Bus, what, prefix, id string, decode func([]byte) (*T, error)) (*T, uint64, error) {
	if err := messages.CheckName(id); err != nil {
		return nil, 0, fmt.Errorf("%s id: %w", what, err)
	}
	data, revision, err := b.get(ctx, bucketLoad, prefix+id)
	if err != nil {
		return nil, 0, err
	}
	if len(data) == 0 {
		return nil, 0, fmt.Errorf("%s %s: %w", what, id, messages.ErrNotFound)
	}
	m, err := decode(data)
	if err != nil {
		return nil, revision, fmt.Errorf("record of %s %s: %w", what, id, err)
	}
	return m, revision, nil
}

// listLoad reads all records with a prefix. One that cannot be read is logged, and does not hide the others.
func listLoad[T any](ctx context.Context, b *Bus, what, prefix string, decode func([]byte) (*T, error)) ([]*T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all []*T
	err := b.watch(ctx, bucketLoad, prefix+"*", func(c *change) {
		switch {
		case c == nil:
			cancel(errStopWatch)
		case len(c.value) > 0:
			m, err := decode(c.value)
			if err != nil {
				b.log.Error("a record of load runs cannot be read; it is left alone", "what", what, "id", strings.TrimPrefix(c.key, prefix), "error", err)
				return
			}
			all = append(all, m)
		}
	})
	if err == nil && !errors.Is(context.Cause(ctx), errStopWatch) {
		err = fmt.Errorf("list each %s: %w", what, context.Cause(ctx))
	}
	return all, err
}
