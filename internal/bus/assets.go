package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// Limits bounds what the streams may hold, in bytes. 0 is no bound of their own beside the server's.
type Limits struct{ Items, Results, Parts, Events int64 }

// AssetConfig says how streams and buckets are made. A stream that exists keeps its limits and replicas.
type AssetConfig struct {
	Replicas int // 1, or 3 on a cluster
	Limits   Limits
}

const markerTTL = time.Hour // a watcher that was away for less than this still learns of an expiry

// EmbeddedLimits shares the embedded server's store between the streams, so that full results cannot choke the rest.
func (s *Server) EmbeddedLimits() Limits {
	small := min(256<<20, s.max/20)
	return Limits{Items: small, Events: small, Results: s.max / 100 * 40, Parts: s.max / 100 * 40}
}

// Ensure creates the streams and buckets that do not exist yet, and sets on those that do the settings that the
// invariants rest on. It may be called by any number of processes at the same time. The error wraps messages.ErrUnreachable while a
// cluster has not come together: calling it again may help.
func (b *Bus) Ensure(ctx context.Context, cfg AssetConfig) error {
	replicas := max(1, cfg.Replicas)
	for _, want := range streams(cfg.Limits) {
		want.Replicas = replicas
		if err := b.ensureStream(ctx, want); err != nil {
			return fmt.Errorf("make the stream %s: %w", want.Name, unready(ctx, err))
		}
	}
	for _, bucket := range buckets() {
		bucket.Replicas = replicas
		if err := b.ensureBucket(ctx, bucket); err != nil {
			return fmt.Errorf("make the bucket %s: %w", bucket.Bucket, unready(ctx, err))
		}
	}
	return nil
}

// unready is translate for a server that may be up before its cluster is: until the servers have chosen a leader nothing that is to
// be made is answered, or it is answered that there is no place for it.
func unready(ctx context.Context, err error) error {
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil // the client's own patience
	if late || code(err) == codeClusterNotReady || code(err) == codeNoPeers {
		return fmt.Errorf("%w: %w", messages.ErrUnreachable, err)
	}
	return translate(err)
}

func streams(limits Limits) []jetstream.StreamConfig {
	firstWriteWins := func(name string, retention jetstream.RetentionPolicy, maxBytes int64, subjects ...string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Subjects: subjects, Retention: retention, Storage: jetstream.FileStorage,
			Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1,
			MaxBytes: orUnlimited(maxBytes), AllowDirect: true, AllowAtomicPublish: true,
		}
	}
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
	}
}

func orUnlimited(n int64) int64 {
	if n <= 0 {
		return -1
	}
	return n
}

func buckets() []jetstream.KeyValueConfig {
	var all []jetstream.KeyValueConfig
	for _, name := range []string{bucketQueries, bucketServices, bucketQuota, bucketLeases, bucketLeader, bucketWorkers} {
		all = append(all, jetstream.KeyValueConfig{Bucket: name, History: 1, Storage: jetstream.FileStorage, LimitMarkerTTL: markerTTL})
	}
	return all
}

func (b *Bus) ensureStream(ctx context.Context, want jetstream.StreamConfig) error {
	// One that exists is not asked for again: the server would weigh its size against a disk that may be fuller by now.
	stream, err := b.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err = b.js.CreateStream(ctx, want); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return err
		}
		stream, err = b.js.Stream(ctx, want.Name) // another process was first
	}
	if err != nil {
		return err
	}
	have := stream.CachedInfo().Config
	missing := slices.DeleteFunc(slices.Clone(want.Subjects), func(s string) bool { return slices.Contains(have.Subjects, s) })
	if len(missing) == 0 && have.Discard == want.Discard && have.DiscardNewPerSubject == want.DiscardNewPerSubject &&
		have.MaxMsgsPerSubject == want.MaxMsgsPerSubject && have.AllowDirect == want.AllowDirect && have.Retention == want.Retention {
		return nil
	}
	want.MaxBytes, want.Replicas = have.MaxBytes, have.Replicas
	want.Subjects = append(slices.Clone(have.Subjects), missing...) // a newer version may need one that this does not know
	_, err = b.js.UpdateStream(ctx, want)
	return err
}

func (b *Bus) ensureBucket(ctx context.Context, want jetstream.KeyValueConfig) error {
	_, err := b.js.KeyValue(ctx, want.Bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	if _, err = b.js.CreateKeyValue(ctx, want); errors.Is(err, jetstream.ErrBucketExists) {
		return nil
	}
	return err
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

// translate turns what NATS says into the errors that callers decide on; the cause stays in the chain.
func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case code(err) == codeNoResources, code(err) == codeNoStorage:
		return fmt.Errorf("%w: %w; free some space, or remove queries that are no longer needed", messages.ErrStoreFull, err)
	case code(err) == codeNoMessage, errors.Is(err, jetstream.ErrMsgNotFound), errors.Is(err, jetstream.ErrKeyNotFound):
		return fmt.Errorf("%w: %w", messages.ErrNotFound, err)
	case code(err) == codeWrongSequence, code(err) == codeWrongSequenceConstant, errors.Is(err, jetstream.ErrKeyExists):
		return fmt.Errorf("%w: %w", messages.ErrConflict, err)
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return fmt.Errorf("%w: %w", messages.ErrUnreachable, err)
	}
	return err
}
