package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits bounds what the streams may hold, in bytes. 0 is no bound of their own beside the server's.
type Limits struct{ Items, Results, Parts, Events, LoadItems, Load int64 }

// AssetConfig says how streams and buckets are made. One that exists keeps its replicas and limits, unless it says otherwise;
// what differs is told in the log.
type AssetConfig struct {
	Durability Durability // Cluster: three replicas, of what exists too
	Replicas   int        // of what does not exist yet, where Durability does not say it; 0: 1
	Limits     Limits
	Resize     bool // Limits are of the streams that exist too
}

const markerTTL = time.Hour // a watcher that was away for less than this still learns of an expiry or a removal

// EmbeddedLimits shares the embedded server's store between the streams, so that full results cannot choke the rest.
func (s *Server) EmbeddedLimits() Limits { return ShareStore(s.max) }

// ShareStore shares so many bytes between the streams; what is left is for the buckets. 0 is no bound.
func ShareStore(most int64) Limits {
	small := min(256<<20, most/20)
	return Limits{
		Items: small, Events: small, Results: most / 100 * 37, Parts: most / 100 * 37,
		LoadItems: min(256<<20, most/50), Load: most / 100 * 8,
	}
}

// Ensure creates the streams and buckets that do not exist yet, and sets on those that do the settings that the
// invariants rest on. It may be called by any number of processes at the same time. Errors wrap ErrDurability when the server
// cannot do what the durability asks, ErrDenied when its user may not make streams, and messages.ErrUnreachable while a cluster has
// not come together: calling it again may help.
func (b *Bus) Ensure(ctx context.Context, cfg AssetConfig) error {
	_, err := b.ensure(ctx, cfg)
	return err
}

// ensure gives the names of the streams that it has created.
func (b *Bus) ensure(ctx context.Context, cfg AssetConfig) (made []string, err error) {
	ctx, cancel := b.permitted(ctx)
	defer cancel()
	replicas := cfg.replicas()
	for _, want := range streams(cfg.Limits) {
		want.Replicas = replicas
		isNew, err := b.ensureStream(ctx, want, cfg)
		if err != nil {
			return made, fmt.Errorf("make the stream %s: %w", want.Name, b.explained(translateAsset(ctx, err)))
		}
		if isNew {
			made = append(made, want.Name)
		}
	}
	cfg.Limits = Limits{} // of streams alone
	for _, want := range buckets() {
		want.Replicas = replicas
		isNew, err := b.ensureStream(ctx, want, cfg)
		if err != nil {
			return made, fmt.Errorf("make the bucket %s: %w", want.Name, b.explained(translateAsset(ctx, err)))
		}
		if isNew {
			made = append(made, want.Name)
		}
	}
	return made, nil
}

// ErrNoStreams is wrapped when streams or buckets are not there yet, for somebody who may not make them.
var ErrNoStreams = errors.New("Braid's streams are not there yet; a coordinator makes them when it starts") //nolint:staticcheck // a name

// Present tells whether all streams and buckets are there. The error wraps ErrNoStreams when one is not.
func (b *Bus) Present(ctx context.Context) error {
	ctx, cancel := b.permitted(ctx)
	defer cancel()
	var names []string
	for _, stream := range append(streams(Limits{}), buckets()...) {
		names = append(names, stream.Name)
	}
	for _, name := range names {
		_, err := b.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return fmt.Errorf("%w: there is no %s", ErrNoStreams, name)
		case err != nil:
			return fmt.Errorf("look for the stream %s: %w", name, b.explained(translateAsset(ctx, err)))
		}
	}
	return nil
}

const keepEvery = 30 * time.Second

// Keep makes streams and buckets again that are gone while processes run, such as after a server has lost its disk, and
// gives their names to on. It looks at each new connection and now and then, and returns when ctx ends.
func (b *Bus) Keep(ctx context.Context, cfg AssetConfig, on func(made []string)) {
	cfg.Resize = false
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.renewed():
		case <-tick.C:
			if b.Present(ctx) == nil {
				continue
			}
		}
		made, err := b.ensure(ctx, cfg)
		if err != nil && ctx.Err() == nil {
			b.log.Warn("the streams cannot be looked after now", "error", err)
		}
		if len(made) > 0 {
			b.log.Error("streams were gone and have been made anew; what they held is lost", "streams", made)
			on(made)
		}
	}
}

func streams(limits Limits) []jetstream.StreamConfig {
	firstWriteWins := func(name string, retention jetstream.RetentionPolicy, maxBytes int64, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Subjects: subjects, Retention: retention, Storage: jetstream.FileStorage,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
			MaxBytes: orUnlimited(maxBytes), AllowDirect: true, AllowAtomicPublish: true,
		}
	}
	records := firstWriteWins(streamLoad, jetstream.LimitsPolicy, limits.Load,
		"braid.load.execution.>", "braid.load.admission.>", "braid.load.closed.>", "braid.load.sealed.>", "braid.load.selection.>", "braid.load.snapshot.>")
	records.Compression, records.AllowMsgTTL = jetstream.S2Compression, true // a record is a text of a kilobyte or two
	return []jetstream.StreamConfig{
		firstWriteWins(streamItems, jetstream.WorkQueuePolicy, limits.Items, "braid.item.>"),
		firstWriteWins(streamResults, jetstream.LimitsPolicy, limits.Results, "braid.result.>"),
		firstWriteWins(streamParts, jetstream.LimitsPolicy, limits.Parts, "braid.part.>", "braid.page.>"),
		{
			Name: streamEvents, Subjects: []string{"braid.event.>"}, Retention: jetstream.LimitsPolicy,
			Storage: jetstream.FileStorage, Discard: jetstream.DiscardOld, MaxAge: 30 * 24 * time.Hour,
			MaxMsgsPerSubject: -1, // as the server says "no bound": what differs is written again
			MaxBytes:          orUnlimited(limits.Events), AllowDirect: true,
		},
		firstWriteWins(streamLoadItems, jetstream.WorkQueuePolicy, limits.LoadItems, "braid.load.item.>"),
		records,
	}
}

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

// buckets are streams as the clients of NATS make them for keys and values, but for one thing: a message may not say that it replaces all
// others of its stream (Nats-Rollup), for whoever may write one key could then remove every other. The slots' buckets cannot do
// without: the server tells of an expiry only in streams that allow it. What they hold is worth no more than one lease.
func buckets() []jetstream.StreamConfig {
	bucket := func(name string, marker time.Duration) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: streamOf(name), Subjects: []string{"$KV." + name + ".>"}, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
			MaxMsgsPerSubject: 1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, DenyDelete: true, AllowDirect: true,
			AllowMsgTTL: true, SubjectDeleteMarkerTTL: marker, AllowRollup: marker > 0,
		}
	}
	return []jetstream.StreamConfig{
		bucket(bucketQueries, 0), bucket(bucketServices, 0), bucket(bucketGates, 0), bucket(bucketSuspects, 0), bucket(bucketQuota, 0),
		bucket(bucketLeases, markerTTL), bucket(bucketLeader, markerTTL), bucket(bucketWorkers, 0),
		bucket(bucketLoad, 0), bucket(bucketErrands, 0), bucket(bucketTokens, 0),
	}
}

func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig, cfg AssetConfig) (made bool, err error) {
	// One that exists is not asked for again: the server would weigh its size against a disk that may be fuller by now.
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = b.js.CreateStream(ctx, want)
		if c := code(err); (c == codeNoResources || c == codeNoStorage) && want.MaxBytes > 0 {
			// A stream that is new in a store whose others have shared all of it among them: it gets no share, and is bound by the whole.
			want.MaxBytes = -1
			_, err = b.js.CreateStream(ctx, want)
		}
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err == nil, err
		}
		stream, err = b.js.Stream(ctx, want.Name) // another process was first
	}
	if err != nil {
		return false, err
	}
	next, changes := b.adjusted(stream.CachedInfo().Config, want, cfg)
	if !insist(&next, want) && len(changes) == 0 {
		return false, nil
	}
	if _, err = b.js.UpdateStream(ctx, next); err != nil {
		return false, err
	}
	for _, tell := range changes {
		tell()
	}
	return false, nil
}

// insist sets what the invariants rest on, and tells whether anything differed. The rest is whoever operates the servers'.
func insist(next *jetstream.StreamConfig, want jetstream.StreamConfig) (differed bool) {
	have := *next
	next.Discard, next.DiscardNewPerSubject, next.MaxMsgsPerSubject = want.Discard, want.DiscardNewPerSubject, want.MaxMsgsPerSubject
	next.Retention, next.AllowDirect, next.AllowRollup = want.Retention, want.AllowDirect, want.AllowRollup
	next.SubjectDeleteMarkerTTL = want.SubjectDeleteMarkerTTL
	next.AllowMsgTTL = have.AllowMsgTTL || want.AllowMsgTTL
	missing := slices.DeleteFunc(slices.Clone(want.Subjects), func(s string) bool { return slices.Contains(have.Subjects, s) })
	next.Subjects = append(slices.Clone(have.Subjects), missing...) // a newer version may need one that this does not know
	return len(missing) > 0 || have.Discard != next.Discard || have.DiscardNewPerSubject != next.DiscardNewPerSubject ||
		have.MaxMsgsPerSubject != next.MaxMsgsPerSubject || have.Retention != next.Retention || have.AllowDirect != next.AllowDirect ||
		have.AllowRollup != next.AllowRollup || have.SubjectDeleteMarkerTTL != next.SubjectDeleteMarkerTTL || have.AllowMsgTTL != next.AllowMsgTTL
}

// EnsureQueue makes the consumer from which all workers take the service's items. The number of items in their hands is
// bounded by pending, which follows the service's slots; ackWait must be longer than the life of a slot, so that a dead
// worker's slot is free before its items come again.
func (b *Bus) EnsureQueue(ctx context.Context, service string, pending int, ackWait time.Duration) error {
	_, err := b.js.CreateOrUpdateConsumer(ctx, streamItems, jetstream.ConsumerConfig{
		Durable: service, FilterSubject: itemsFor(service), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: ackWait, MaxDeliver: -1, MaxAckPending: pending, MaxWaiting: 2048,
	})
	if err != nil {
		return fmt.Errorf("make the queue of %s: %w", service, translate(err))
	}
	return nil
}
