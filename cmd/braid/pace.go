package main

import (
	"fmt"
	"math"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	paceWindow = time.Minute     // the rate is that of the last so long, pauses left out
	paceStep   = time.Second     // between two measurements that are kept
	paceLeast  = 3 * time.Second // a rate of less is not known
)

// pace estimates how much of a query is left, from what was seen of it. The zero value has seen nothing.
type pace struct {
	seen   []measured // the oldest first, at most paceWindow of work
	worked time.Duration
	last   time.Time
	ran    bool // at last, the query was working
	run    int
}

// measured is how many requests there were after so much time of work.
type measured struct {
	worked   time.Duration
	requests int64
}

// take takes in how a query stands now.
func (p *pace) take(s *messages.Status, now time.Time) {
	if s.Progress == nil {
		return
	}
	if s.Query.Run != p.run { // what another run did says nothing of this one
		*p = pace{run: s.Query.Run}
	}
	if p.ran && now.After(p.last) {
		p.worked += now.Sub(p.last)
	}
	p.last, p.ran = now, s.Query.State == messages.Running && !s.Progress.Alone()
	if n := len(p.seen); n > 0 && p.worked-p.seen[n-1].worked < paceStep {
		return
	}
	p.seen = append(p.seen, measured{p.worked, s.Progress.Requests})
	for len(p.seen) > 2 && p.worked-p.seen[1].worked >= paceWindow {
		p.seen = p.seen[1:]
	}
}

// left is the time that the query needs from now on, the wait that it is in included; false: it cannot be told. The quota may pause
// a query before its end for a time that is not known here: then nothing is told.
func (p *pace) left(s *messages.Status, now time.Time) (time.Duration, bool) {
	requests, known := requestsLeft(s)
	if !known || len(p.seen) == 0 {
		return 0, false
	}
	first := p.seen[0]
	worked, made := p.worked-first.worked, s.Progress.Requests-first.requests
	if worked < paceLeast || made < 2 {
		return 0, false
	}
	var wait time.Duration
	switch {
	case s.Query.ResumesByItself():
		wait = max(0, s.Query.ResumeAt().Sub(now))
		if limit := smallestLimit(s.Progress); limit > 0 && requests > limit {
			return 0, false
		}
	case s.Query.State != messages.Running || s.Progress.Alone():
		return 0, false
	default:
		for _, q := range s.Progress.Quotas {
			if q.Limit > 0 && requests > q.Left {
				return 0, false
			}
		}
	}
	work := float64(requests) * float64(worked) / float64(made)
	if work > float64(math.MaxInt64/4) {
		return 0, false
	}
	return wait + time.Duration(work), true
}

func smallestLimit(p *messages.Progress) int64 {
	var least int64
	for _, q := range p.Quotas {
		if q.Limit > 0 && (least == 0 || q.Limit < least) {
			least = q.Limit
		}
	}
	return least
}

// requestsLeft estimates the requests that are still to be made, by the pages that complete chunks had. Before the first chunk is
// complete nothing is known.
func requestsLeft(s *messages.Status) (int64, bool) {
	p := s.Progress
	if p == nil || p.Completed == 0 || p.Pages == 0 {
		return 0, false
	}
	chunks := int64(s.Query.Chunks - p.Completed)
	pages := int64(math.Ceil(float64(chunks) * float64(p.Pages) / float64(p.Completed)))
	return max(pages-p.KeptPages, min(chunks, 1)), true
}

// requestsExpected is how many requests there will have been at the end, as far as can be told; 0: not known.
func requestsExpected(s *messages.Status) int64 {
	left, known := requestsLeft(s)
	if !known {
		return 0
	}
	return s.Progress.Requests + left
}

// etaText is a time to come, as exact as it can be meant.
func etaText(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "a few seconds"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int64(d.Round(5*time.Second)/time.Second))
	case d < 10*time.Minute:
		return span(d.Round(10 * time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int64(d.Round(time.Minute)/time.Minute))
	}
	return fmt.Sprintf("%d h", int64(d.Round(time.Hour)/time.Hour))
}
