package coordinator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// Results and interruptions come from two streams, and each coordinator hears them interleaved in its own way.
func TestWhatAGuardDecidesDependsOnTheStreamsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var results []*messages.ResultHeader
		for i := range rapid.IntRange(0, 150).Draw(t, "results") {
			h := &messages.ResultHeader{
				Run: 2, Position: messages.PositionAt(i), Outcome: messages.OutcomeRows,
				Finished: time.Unix(rapid.Int64Range(0, 200).Draw(t, "finished"), 0),
			}
			switch rapid.IntRange(0, 11).Draw(t, "kind") {
			case 0:
				h.Outcome, h.Failure = messages.OutcomeFailed, &messages.Failure{Class: "bad_request", Status: 400, Message: "wrong"}
			case 1:
				h.Outcome, h.Failure = messages.OutcomeFailed, &messages.Failure{Class: messages.ClassPoison}
			case 2:
				h.Outcome = messages.OutcomeSplit
			case 3:
				h.Run, h.Failure = 1, &messages.Failure{Class: "bad_request"}
			}
			results = append(results, h)
		}
		var interruptions []*messages.Interruption
		for i := range rapid.IntRange(0, 60).Draw(t, "interruptions") {
			interruptions = append(interruptions, &messages.Interruption{
				Run: 2, Position: messages.PositionAt(200 + i), Status: 503, Reason: "down", At: time.Unix(rapid.Int64Range(0, 200).Draw(t, "at"), 0),
				Kind: rapid.SampledFrom([]messages.InterruptionKind{messages.ServiceInterrupted, messages.ServiceInterrupted, messages.HandedBack, messages.QuotaExhausted}).Draw(t, "kind"),
			})
		}
		decide := func(interleaved bool) (*messages.Stop, resume.Action) {
			g, err := newGuard(2)
			if err != nil {
				t.Fatal(err)
			}
			var trip *messages.Stop
			left := interruptions
			for _, h := range results {
				for interleaved && len(left) > 0 && rapid.Bool().Draw(t, "first") {
					g.interruption(left[0])
					left = left[1:]
				}
				if stop := g.result(h); stop != nil {
					if trip != nil {
						t.Fatal("it tripped twice")
					}
					trip = stop
				}
			}
			for _, m := range left {
				g.interruption(m)
			}
			if interleaved && len(interruptions) > 0 {
				g.interruption(interruptions[0]) // stored twice
			}
			stopped := resume.Action{State: messages.Interrupted, Stop: &messages.Stop{Kind: string(messages.ServiceInterrupted), Until: time.Unix(999, 0)}}
			return trip, g.conclude(stopped)
		}
		trip, end := decide(false)
		tripAgain, endAgain := decide(true)
		if diff := cmp.Diff(trip, tripAgain) + cmp.Diff(end, endAgain); diff != "" {
			t.Fatalf("the guard decides otherwise:\n%s", diff)
		}
		for _, stop := range []*messages.Stop{trip, end.Stop} {
			if stop == nil || stop.Kind != messages.StopBreaker {
				continue
			}
			q := messages.Query{
				V: 1, ID: "q", Name: "n", Service: "s", Collection: "c", State: messages.Interrupted, Run: 2, Stop: stop,
				Definition: digestOfNothing, Spec: digestOfNothing, Fingerprint: digestOfNothing,
			}
			if _, err := q.Encode(); err != nil {
				t.Fatalf("no record can hold %+v: %v", stop, err)
			}
		}
		if end.Stop.Kind == messages.StopBreaker && !end.Stop.Until.Equal(time.Unix(999, 0)) {
			t.Fatalf("the time to go on is lost: %+v", end.Stop)
		}
	})
}

const digestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestARefusedStoreIsNotTheUpstreamsFailure(t *testing.T) {
	g, err := newGuard(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		g.interruption(&messages.Interruption{
			Run: 1, Position: messages.PositionAt(i), Kind: messages.ServiceInterrupted, Reason: "commit: " + messages.ErrStoreFull.Error(), At: time.Unix(int64(i), 0),
		})
	}
	stopped := resume.Action{State: messages.Interrupted, Stop: &messages.Stop{Kind: string(messages.ServiceInterrupted), Reason: "store full"}}
	if end := g.conclude(stopped); end.Stop.Kind == messages.StopBreaker {
		t.Errorf("%+v", end.Stop)
	}
}

func TestTheMostFrequentFailureSpeaksWithItsLowestPosition(t *testing.T) {
	window := []ended{
		{position: "9", failed: true, status: 503, message: "down"},
		{position: "8", failed: true, status: 503},
		{position: "1"},
		{position: "7", failed: true, class: "bad_request", status: 400, message: "seven"},
		{position: "5", failed: true, class: "not_found", status: 404},
		{position: "6", failed: true, class: "bad_request", status: 400, message: "six", hint: "mend it"},
		{position: "10", failed: true, status: 503},
	}
	stop := stopOf(window)
	if stop.Position != "6" || stop.Class != "bad_request" || stop.Hint != "mend it" || stop.Tripped.Ended != 7 || stop.Tripped.Failed != 6 || stop.Tripped.Alike != 2 {
		t.Errorf("%+v, %+v", stop, stop.Tripped)
	}
}

func TestOnlyTheChunksThatTheUpstreamFailedInThisRunCount(t *testing.T) {
	g, err := newGuard(2)
	if err != nil {
		t.Fatal(err)
	}
	failed := func(run int, class string) *messages.ResultHeader {
		return &messages.ResultHeader{Run: run, Position: "1", Outcome: messages.OutcomeFailed, Failure: &messages.Failure{Class: class, Status: 400}}
	}
	for range 100 {
		for _, h := range []*messages.ResultHeader{
			failed(1, "bad_request"), failed(2, messages.ClassPoison),
			{Run: 2, Position: "2", Outcome: messages.OutcomeSplit},
			{Run: 1, Position: "3", Outcome: messages.OutcomeRows},
		} {
			if stop := g.result(h); stop != nil {
				t.Fatalf("%+v trips: %+v", h, stop)
			}
		}
	}
	for i := range 20 {
		if stop := g.result(failed(2, "bad_request")); (stop != nil) != (i == 19) {
			t.Errorf("failure %d of this run: %+v", i+1, stop)
		}
	}
}
