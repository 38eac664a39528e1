package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	pollEmbedded = 50 * time.Millisecond
	pollServer   = 500 * time.Millisecond
	stopWait     = 10 * time.Second

	// quietFor is after how long without an event a server is asked: its stream stays open when NATS is away, and when it hangs.
	quietFor    = 5 * time.Second
	pollWait    = 8 * time.Second // longer than a coordinator takes to find that NATS does not answer
	saidAfter   = 2 * time.Second // a coordinator that is restarted at once is not worth a word
	outageLimit = 5 * time.Minute
)

// follow shows a query's progress until it has settled or ctx ends; then an embedded query is stopped in an orderly way.
// It returns the query as it was last seen.
func (s *session) follow(ctx context.Context, id string) (*messages.Status, error) {
	bar := s.app.newProgress()
	defer bar.done()
	f := &follower{session: s, id: id, bar: bar, every: pollServer, quiet: quietFor, away: outage{server: cmp.Or(s.app.server, s.app.here), say: bar.note}}
	if s.embedded != nil {
		f.every = pollEmbedded
	}
	return f.follow(ctx)
}

// follower follows one query: by a server's events, and by asking where nothing is heard of them.
type follower struct {
	session *session
	id      string
	bar     progress
	every   time.Duration // between two polls
	quiet   time.Duration // without an event, until a server is asked
	away    outage

	last   *messages.Status
	heard  time.Time // when something was heard last
	begun  time.Time // when the stream was opened last
	mark   string    // id of the last event
	stream <-chan heard
}

func (f *follower) follow(ctx context.Context) (*messages.Status, error) {
	following, stop := context.WithCancel(ctx)
	defer stop() // of the stream too
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	over, err := f.ask(ctx)
	for !over {
		f.listen(following)
		select {
		case e, open := <-f.stream:
			over, err = f.hear(ctx, e, open)
		case <-tick.C:
			if f.stream == nil || time.Since(f.heard) >= f.quiet {
				over, err = f.ask(ctx)
			}
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errEnginesEnded) {
				return f.last, errEnginesEnded
			}
			return f.session.stop(ctx, f.id, f.last, f.bar)
		}
	}
	return f.last, err
}

// ask asks how the query stands, and tells whether following it is over.
func (f *follower) ask(ctx context.Context) (over bool, err error) {
	status, err := f.session.poll(ctx, f.id)
	switch {
	case err == nil:
		f.away.over()
		f.heard, f.last, f.id = time.Now(), status, status.Query.ID
		f.bar.show(status)
		return settled(status.Query), nil
	case ctx.Err() != nil:
		return false, nil
	case f.session.embedded != nil, refused(err), !f.away.goesOn(err, time.Now()):
		return true, err
	}
	return false, nil
}

// refused tells whether asking again would be answered in the same way.
func refused(err error) bool {
	said, ok := errors.AsType[*braid.ServerError](err)
	return is(err, messages.ErrNotFound) || ok && said.Status < http.StatusInternalServerError && said.Status != http.StatusTooManyRequests
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
