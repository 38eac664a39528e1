package main

import (
	"fmt"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// workersText says how many workers are there for a query, and when there are none, that it waits for one.
func workersText(q *messages.Query, who *messages.Attendance, now time.Time) string {
	if who.Present > 0 {
		return thousands(int64(who.Present))
	}
	return "none: " + nobodyText(q.Service, who, now) + "; the query goes on when one is started (worker --nats-url URL)"
}

func nobodyText(service string, who *messages.Attendance, now time.Time) string {
	text := "no worker takes items of " + service
	if who.Last.IsZero() {
		return text
	}
	return fmt.Sprintf("%s; the last was seen %s ago", text, now.Sub(who.Last).Round(time.Second))
}
