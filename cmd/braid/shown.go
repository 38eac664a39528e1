package main

import (
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// shown is a query as --json prints it: its record and progress, and what follows from them.
type shown struct {
	*messages.Status
	LimitReached bool      `json:"limit_reached,omitempty"` // complete although chunks are left: its first max_rows rows are there
	ResumesAt    time.Time `json:"resumes_at,omitzero"`     // when whoever runs it goes on by itself
}

func (a *app) shown(s *messages.Status) shown {
	v := shown{Status: s, LimitReached: limitReached(s.Query, s.Progress)}
	if s.Query.ResumesByItself() {
		v.ResumesAt = s.Query.ResumeAt()
	}
	return v
}

// limitReached tells whether a query is complete without some of its chunks, because the rows that it asks for are there.
func limitReached(q *messages.Query, p *messages.Progress) bool {
	return q.MaxRows > 0 && q.State == messages.Complete && p.Completed < q.Chunks
}

// stateText says where a query stands. Park has told the queries of a data directory that nobody waits for them, before
// this process may show one: who waits is another process, or the server.
func (a *app) stateText(q *messages.Query, now time.Time) string {
	if !q.ResumesByItself() {
		return string(q.State)
	}
	why := "by the service"
	if stoppedForQuota(q) {
		why = "by quota"
	}
	who := "a process on this machine"
	if a.server != "" || a.here != "" {
		who = "the server"
	}
	at := q.ResumeAt().Local()
	if !at.After(now) {
		return fmt.Sprintf("paused %s; it goes on now", why)
	}
	form := "15:04"
	if !sameDay(at, now.Local()) {
		form = "2006-01-02 15:04"
	}
	return fmt.Sprintf("paused %s until %s; %s waits and resumes by itself", why, at.Format(form), who)
}

func sameDay(a, b time.Time) bool { return a.Format(time.DateOnly) == b.Format(time.DateOnly) }
