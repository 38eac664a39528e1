package worker

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func TestALaterShorterGateOpensNothing(t *testing.T) {
	now := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	gate := func(until time.Duration) *messages.Gate {
		return &messages.Gate{V: messages.Version, Service: "rivers", Until: now.Add(until)}
	}
	b := newBoard()
	news := b.news()
	b.gate(gate(time.Hour))
	select {
	case <-news:
	default:
		t.Error("nobody was told of a closed gate")
	}
	b.gate(gate(time.Minute))
	if g := b.closed("rivers", now.Add(30*time.Minute)); g == nil || !g.Until.Equal(now.Add(time.Hour)) {
		t.Errorf("half an hour after a gate was closed for one, and then for a minute: %+v", g)
	}
	b.gate(gate(2 * time.Hour))
	if g := b.closed("rivers", now.Add(90*time.Minute)); g == nil {
		t.Error("a longer gate did not hold")
	}
	if g := b.closed("rivers", now.Add(2*time.Hour)); g != nil {
		t.Errorf("still closed when its time is over: %+v", g)
	}
}
