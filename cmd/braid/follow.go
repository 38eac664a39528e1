package main

import (
	"context"
	"errors"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	pollEmbedded = 50 * time.Millisecond
	pollServer   = 500 * time.Millisecond
	stopWait     = 10 * time.Second

	pollWait    = 8 * time.Second // longer than a coordinator takes to find that NATS does not answer
	saidAfter   = 2 * time.Second // a coordinator that is restarted at once is not worth a word
	outageLimit = 5 * time.Minute
)

// follow shows a query's progress until it has settled or ctx ends; then an embedded query is stopped in an orderly way.
// It returns the query as it was last seen.
func (s *session) follow(ctx context.Context, id string) (*messages.Status, error) {
	bar := s.app.newProgress()
	defer bar.done()
	poll := pollServer
	if s.embedded != nil {
		poll = pollEmbedded
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last *messages.Status
	away := outage{server: s.app.server, say: bar.note}
	for {
		status, err := s.poll(ctx, id)
		switch {
		case err == nil:
			away.over()
			last = status
			bar.show(status)
			if settled(status.Query) {
				return status, nil
			}
		case ctx.Err() != nil:
		case is(err, messages.ErrNotFound), s.embedded != nil:
			return last, err
		case !away.goesOn(err, time.Now()):
			return last, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errEnginesEnded) {
				return last, errEnginesEnded
			}
			return s.stop(ctx, id, last, bar)
		}
	}
}

// poll asks how a query stands, and does not wait for a server that hangs.
func (s *session) poll(ctx context.Context, id string) (*messages.Status, error) {
	if s.embedded == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pollWait)
		defer cancel()
	}
	return s.Status(ctx, id)
}

// outage tells a person, once each, that a server cannot be asked, why, and that it can be asked again. A server may be
// restarted, and NATS too; the query goes on without us.
type outage struct {
	server string
	say    func(string)
	since  time.Time // zero: there is none
	told   string    // what of it has been said
}

// goesOn takes in that a poll has failed, and tells whether it is worth to ask again.
func (o *outage) goesOn(err error, now time.Time) bool {
	if o.since.IsZero() {
		o.since = now
	}
	text := ""
	switch {
	case errors.Is(err, messages.ErrUnreachable):
		text = "the coordinator at " + o.server + " cannot reach NATS; waiting until it can, and nothing is lost: "
	case now.Sub(o.since) >= saidAfter:
		text = "the coordinator at " + o.server + " does not answer; waiting until it does, the query goes on without it: "
	}
	if text != "" && text != o.told {
		o.told = text
		o.say(text + err.Error())
	}
	return now.Sub(o.since) < outageLimit
}

// over takes in that a poll was answered.
func (o *outage) over() {
	if o.told != "" {
		o.say("the coordinator at " + o.server + " answers again")
	}
	o.since, o.told = time.Time{}, ""
}

// settled tells whether nothing more happens to the query without somebody's doing.
func settled(q *messages.Query) bool {
	return !q.State.Active() && !q.ResumesByItself()
}

// stop ends an embedded query because this process was asked to end. A query on a server goes on.
func (s *session) stop(ctx context.Context, id string, last *messages.Status, bar progress) (*messages.Status, error) {
	if s.embedded == nil {
		return last, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	s.stopAtOnce(id, last) // before it is told of
	bar.tell(s.app.stopping())
	if err := s.embedded.Interrupt(ctx, id, "this process was asked to stop"); err != nil {
		return last, err
	}
	return s.Status(ctx, id)
}
