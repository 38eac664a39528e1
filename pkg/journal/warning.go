package journal

import (
	"fmt"
	"time"
)

// tooOld and tooFull are the shares of a stream's bounds at which unread records are in danger.
const (
	tooOld  = 0.5
	tooFull = 0.8
)

// Danger tells in words for a person that records may be lost before they are read; empty: there is none.
func (l Lag) Danger(feed Feed, now time.Time) string {
	if l.Unread == 0 || l.Oldest.IsZero() {
		return ""
	}
	age := now.Sub(l.Oldest).Round(time.Second)
	switch {
	case l.Drops && l.KeptFor > 0 && age > time.Duration(tooOld*float64(l.KeptFor)):
		return fmt.Sprintf("%d %s wait for the ledger, the oldest for %s; they are kept for %s and are lost to it then", l.Unread, feed, age, l.KeptFor)
	case l.Drops && l.Room > tooFull:
		return fmt.Sprintf("%d %s wait for the ledger, and the stream is at %.0f %% of what it may hold; it makes room by removing its oldest", l.Unread, feed, 100*l.Room)
	case !l.Drops && l.Room > tooFull:
		return fmt.Sprintf("the stream of the %s is at %.0f %% of what it may hold; what is removed to make room is lost to the ledger while %d wait for it", feed, 100*l.Room, l.Unread)
	}
	return ""
}
