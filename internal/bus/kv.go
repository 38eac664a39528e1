package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/messages"
)

// put is compare-and-set on one key, with a TTL when ttl is not 0. KeyValue.Update cannot do this: it drops the TTL,
// and a renewed lease would never expire.
func (b *Bus) put(ctx context.Context, bucket, key string, value []byte, revision uint64, ttl time.Duration) (uint64, error) {
	msg := nats.NewMsg("$KV." + bucket + "." + key) // a fresh one each time: publishing edits the header
	msg.Data = value
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(revision)}
	if ttl > 0 {
		opts = append(opts, jetstream.WithMsgTTL(ttl))
	}
	ack, err := b.js.PublishMsg(ctx, msg, opts...)
	if err != nil {
		return 0, fmt.Errorf("write %s/%s: %w", bucket, key, b.refused(err))
	}
	return ack.Sequence, nil
}

type stored struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Hdrs    []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// get reads from the leader: a follower's copy may be stale, and then a compare-and-set with its revision only costs a
// round trip. A deletion marker reads as an empty value with the marker's revision; a key never written as revision 0.
func (b *Bus) get(ctx context.Context, bucket, key string) (value []byte, revision uint64, err error) {
	request, err := json.Marshal(map[string]string{"last_by_subj": "$KV." + bucket + "." + key})
	if err != nil {
		return nil, 0, fmt.Errorf("read %s/%s: %w", bucket, key, err)
	}
	got, err := b.read(ctx, streamOf(bucket), request)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s/%s: %w", bucket, key, err)
	}
	if got == nil {
		return nil, 0, nil
	}
	return got.Data, got.Seq, nil
}

func streamOf(bucket string) string { return "KV_" + bucket }

// readWait bounds one read: what was asked of a server that was killed is never answered, and another server of the cluster, to
// which the connection is, does not say so.
const readWait = apiWait

// read asks the leader of a stream for one message; nil when there is none.
func (b *Bus) read(ctx context.Context, stream string, request []byte) (*stored, error) {
	waiting, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	reply, err := b.nc.RequestWithContext(waiting, "$JS.API.STREAM.MSG.GET."+stream, request)
	if err != nil {
		return nil, translate(err)
	}
	var got struct {
		Message *stored             `json:"message"`
		Error   *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &got); err != nil {
		return nil, err
	}
	switch {
	case got.Error != nil && got.Error.ErrorCode == codeNoMessage:
		return nil, nil //nolint:nilnil // there is none
	case got.Error != nil:
		return nil, translate(got.Error)
	case got.Message == nil:
		return nil, errors.New("the server sent no message")
	}
	return got.Message, nil
}

var errRenewed = fmt.Errorf("%w: the connection was made anew", messages.ErrUnreachable)

type change struct {
	key      string
	value    []byte // empty: deleted or expired
	revision uint64
}

// watch calls on with the newest value of each key that matches pattern, then once with nil, then with each change. It
// returns when ctx ends, or with an error when the watch is lost. Rapid changes of one key may be seen as one.
//
// A new connection ends the watch: a server that was started again does not know its consumer any more, and the client
// would only notice when it has missed the server's signs of life for long.
func (b *Bus) watch(ctx context.Context, bucket, pattern string, on func(*change)) error {
	renewed := b.renewed()
	kv, err := b.js.KeyValue(ctx, bucket)
	if err != nil {
		return fmt.Errorf("watch %s: %w", bucket, translate(err))
	}
	watcher, err := kv.Watch(ctx, pattern)
	if err != nil {
		return fmt.Errorf("watch %s/%s: %w", bucket, pattern, translate(err))
	}
	defer func() { _ = watcher.Stop() }() // the subscription may be gone already, which is what Stop is for
	w := &watching{on: on}
	wait := patience{bus: b, stream: streamOf(bucket), subject: "$KV." + bucket + "." + pattern}
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-renewed:
			return fmt.Errorf("watch %s/%s: %w", bucket, pattern, errRenewed)
		case entry, open := <-watcher.Updates():
			if !open {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("watch %s/%s: %w", bucket, pattern, messages.ErrUnreachable)
			}
			w.take(entry)
		case <-tick.C:
			if !w.isQuiet() {
				continue
			}
			over, err := wait.over(ctx, w.last, w.left)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return fmt.Errorf("watch %s/%s: %w", bucket, pattern, err)
			}
			if !over {
				continue
			}
			// Behind what was damaged begins a new watch: the server may write there what this one would not be shown.
			behind, err := kv.Watch(ctx, pattern, jetstream.ResumeFromRevision(w.last+1))
			if err != nil {
				return fmt.Errorf("watch %s/%s: %w", bucket, pattern, translate(err))
			}
			_ = watcher.Stop()
			watcher = behind
			w.take(nil)
		}
	}
}

// watching is what a watch has seen.
type watching struct {
	on     func(*change)
	last   uint64 // revision
	left   uint64 // as the server counts
	heard  bool   // something, since it was last asked
	caught bool
}

// take passes on an entry, and of the marks that all has been seen only the first.
func (w *watching) take(entry jetstream.KeyValueEntry) {
	w.heard = true
	if entry == nil {
		if !w.caught {
			w.caught = true
			w.on(nil)
		}
		return
	}
	c := &change{key: entry.Key(), revision: entry.Revision()}
	if entry.Operation() == jetstream.KeyValuePut {
		c.value = entry.Value()
	}
	w.last, w.left = c.revision, entry.Delta()
	w.on(c)
}

// isQuiet tells whether nothing has come since it was last asked, although all was not seen.
func (w *watching) isQuiet() bool {
	heard := w.heard
	w.heard = false
	return !heard && !w.caught
}

// update changes the value of a key by compare-and-set until nobody came between. edit returns nil to leave it as it is.
func (b *Bus) update(ctx context.Context, bucket, key string, edit func(old []byte) ([]byte, error)) error {
	for {
		old, revision, err := b.get(ctx, bucket, key)
		if err != nil {
			return err
		}
		value, err := edit(old)
		if err != nil || value == nil {
			return err
		}
		_, err = b.put(ctx, bucket, key, value, revision, 0)
		if !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
}

// remove puts the marker of a removed key in the place of its value, which watchers see; the marker goes after markerTTL. A revision
// other than 0 must be the last. The client's own Purge is not used: it replaces by Nats-Rollup, which our buckets refuse.
func (b *Bus) remove(ctx context.Context, bucket, key string, revision uint64) error {
	msg := nats.NewMsg("$KV." + bucket + "." + key)
	msg.Header.Set("KV-Operation", "DEL")
	opts := []jetstream.PublishOpt{jetstream.WithMsgTTL(markerTTL)}
	if revision > 0 {
		opts = append(opts, jetstream.WithExpectLastSequencePerSubject(revision))
	}
	if _, err := b.js.PublishMsg(ctx, msg, opts...); err != nil {
		return fmt.Errorf("remove %s/%s: %w", bucket, key, b.refused(err))
	}
	return nil
}
