package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/braidhq/braid/pkg/journal"
)

// State is how the ledger stands.
type State string

// The states of a ledger.
const (
	Standby State = "standby" // another process feeds it
	Feeding State = "feeding" // this one does
	Away    State = "away"    // the database cannot be reached or written to; it is tried again
	Refused State = "refused" // somebody has to change something; it is tried again
	TooNew  State = "too_new" // a newer Braid has made its tables: this process does not write to it
)

// Status is how a ledger stands, without anything secret.
type Status struct {
	State   State        `json:"state"`
	Where   string       `json:"where"`
	Reason  string       `json:"reason,omitempty"` // of the last trouble, as long as it lasts
	Since   time.Time    `json:"since,omitzero"`   // of the state
	Stored  uint64       `json:"stored"`           // records, by this process
	Last    time.Time    `json:"last,omitzero"`    // when records were stored last
	Unread  uint64       `json:"unread"`           // records that wait, in all feeds
	Behind  float64      `json:"behind_seconds"`   // age of the oldest that waits
	Missed  uint64       `json:"missed"`           // records that were gone before they were read, since this process reads
	Feeds   []FeedStatus `json:"feeds,omitempty"`
	Warning string       `json:"warning,omitempty"` // of records that are in danger
}

// FeedStatus is how far behind one feed is.
type FeedStatus struct {
	Feed   journal.Feed `json:"feed"`
	Unread uint64       `json:"unread"`
	Behind float64      `json:"behind_seconds"`
	Missed uint64       `json:"missed"`
	Danger string       `json:"danger,omitempty"`
}

// Standing tells how the ledger stands, as it was looked at last: at most some seconds ago.
func (l *Ledger) Standing() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Feeds = append([]FeedStatus(nil), l.status.Feeds...)
	return s
}

// became notes a state, and tells whether it is another one than before.
func (l *Ledger) became(state State, reason error) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = l.status.State != state
	if changed {
		l.status.State, l.status.Since = state, time.Now()
	}
	l.status.Reason = ""
	if reason != nil {
		l.status.Reason = reason.Error()
	}
	return changed
}

// stored notes that records are in the database.
func (l *Ledger) stored(records int) {
	back := l.became(Feeding, nil)
	l.mu.Lock()
	l.status.Stored += uint64(records)
	if records > 0 {
		l.status.Last = time.Now()
	}
	l.mu.Unlock()
	if back {
		l.cfg.Log.Info("the ledger is fed", "database", l.cfg.Database.Where())
	}
}

// troubled notes that the database does not take records now. Work goes on without it.
func (l *Ledger) troubled(ctx context.Context, err error) {
	state := Away
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return
	case errors.Is(err, ErrNewer):
		state = TooNew
	case errors.Is(err, ErrRefused):
		state = Refused
	}
	level := slog.LevelDebug
	if l.became(state, err) {
		level = slog.LevelWarn
	}
	l.cfg.Log.Log(ctx, level, "the ledger is not fed; work goes on, and it catches up", "error", err)
}

// look asks now and then how far behind the feeds are.
func (l *Ledger) look(ctx context.Context) {
	for {
		l.lookOnce(ctx)
		if !pause(ctx, lookEvery) {
			return
		}
	}
}

func (l *Ledger) lookOnce(ctx context.Context) {
	now := time.Now()
	var all []FeedStatus
	for _, feed := range journal.Feeds() {
		lag, err := l.cfg.Source.Lag(ctx, feed)
		if err != nil {
			l.cfg.Log.Debug("the ledger's lag is not known now", "feed", feed, "error", err)
			return
		}
		s := FeedStatus{Feed: feed, Unread: lag.Unread, Missed: lag.Missed, Danger: lag.Danger(feed, now)}
		if !lag.Oldest.IsZero() && lag.Unread > 0 {
			s.Behind = max(now.Sub(lag.Oldest), 0).Seconds()
		}
		all = append(all, s)
	}
	l.note(ctx, all)
}

// note keeps what was found, and tells what is new of it.
func (l *Ledger) note(ctx context.Context, all []FeedStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Feeds, l.status.Unread, l.status.Behind, l.status.Missed, l.status.Warning = all, 0, 0, 0, ""
	for _, s := range all {
		l.status.Unread += s.Unread
		l.status.Behind = max(l.status.Behind, s.Behind)
		l.status.Missed += s.Missed
		if l.status.Warning == "" {
			l.status.Warning = s.Danger
		}
		if (s.Danger == "") != (l.danger[s.Feed] == "") && s.Danger != "" {
			l.cfg.Log.WarnContext(ctx, "records may be lost to the ledger", "feed", s.Feed, "reason", s.Danger)
		}
		l.danger[s.Feed] = s.Danger
		if s.Missed > l.missed[s.Feed] {
			l.cfg.Log.ErrorContext(ctx, "records are lost to the ledger: they were removed before it read them", "feed", s.Feed, "records", s.Missed-l.missed[s.Feed])
		}
		l.missed[s.Feed] = s.Missed
	}
}
