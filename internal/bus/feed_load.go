package bus

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

func feedOfLoad(feed journal.Feed) (feedSpec, error) {
	switch feed { //nolint:exhaustive // the other file has the others
	case journal.Load:
		return feedSpec{stream: streamLoad, subjects: []string{"braid.load.execution.>", "braid.load.admission.>"}, read: readLoadRecord}, nil
	case journal.Runs:
		return feedSpec{stream: streamOf(bucketLoad), subjects: []string{"$KV." + bucketLoad + "." + runKey + "*", "$KV." + bucketLoad + "." + profileKey + "*"}, read: readRunRecord}, nil
	}
	return feedSpec{}, fmt.Errorf("there is no feed %q", feed)
}

func readLoadRecord(r *journal.Record, msg jetstream.Msg) {
	if loadKind(msg.Subject()) == "admission" {
		r.Admission, r.Bad = openAdmission(msg.Subject(), msg.Data())
	} else {
		r.Execution, r.Bad = openExecution(msg.Subject(), msg.Data())
	}
	if r.Bad != nil {
		r.Admission, r.Execution = nil, nil
	}
}

func readRunRecord(r *journal.Record, msg jetstream.Msg) {
	kind, id, _ := strings.Cut(strings.TrimPrefix(msg.Subject(), "$KV."+bucketLoad+"."), ".")
	of := id
	switch isProfile := kind+"." == profileKey; {
	case isRemoval(msg) && isProfile:
		r.RemovedProfile = id
	case isRemoval(msg):
		r.RemovedRun = id
	case isProfile:
		if r.Profile, r.Bad = load.DecodeProfile(msg.Data()); r.Bad == nil {
			of = r.Profile.ID
		}
	default:
		if r.Run, r.Bad = load.DecodeRun(msg.Data()); r.Bad == nil {
			of = r.Run.ID
		}
	}
	if of != id {
		r.Bad = fmt.Errorf("%w: the record of %s under %s", messages.ErrInvalid, of, msg.Subject())
	}
	if r.Bad != nil {
		r.Run, r.Profile = nil, nil
	}
}

// addCharts adds what the run's snapshot tells of its charts. One that cannot be read now may be there with the run's next record.
func (r *feedReader) addCharts(ctx context.Context, record *journal.Record) {
	if record.Run == nil || record.Run.Snapshot == "" {
		return
	}
	if r.snapshot == nil || r.snapshot.ID != record.Run.Snapshot {
		found, err := r.bus.Snapshot(ctx, record.Run.Snapshot)
		if err != nil {
			r.bus.log.Debug("the snapshot of a run cannot be read for the ledger", "run", record.Run.ID, "error", err)
			return
		}
		r.snapshot = found
	}
	record.Snapshot = r.snapshot
}
