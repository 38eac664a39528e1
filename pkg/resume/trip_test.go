package resume_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

// tripped is the stop of a breaker; class is that of the failures that tripped it, empty for interruptions.
func tripped(class string) *messages.Stop {
	return &messages.Stop{Kind: messages.StopBreaker, Position: "4", Class: class, Reason: "too many failed"}
}

func TestATripStopsAndDrainsAndFails(t *testing.T) {
	r := begun(1, 100, 9)
	r.Result(failed(1, "4", "bad_request"))
	r.Trip(tripped("bad_request"), at(0))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Stop, Stop: tripped("bad_request")})
	expect(t, r.Next(at(1), false, true), resume.Action{Kind: resume.Wait, At: at(60)})
	r.Result(failed(1, "0", "bad_link")) // it finished after the trip
	for _, p := range positions(9) {
		r.Interruption(interrupted(1, p, messages.HandedBack, time.Time{}), at(2))
	}
	expect(t, r.Next(at(2), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: tripped("bad_request")})
}

func TestATripWithoutFailuresIsAnInterruption(t *testing.T) {
	r := begun(1, 100, 0)
	r.Trip(tripped(""), at(0))
	expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Interrupted, Stop: tripped("")})
	r.Interruption(interrupted(1, "7", messages.ServiceInterrupted, at(90)), at(0))
	until := tripped("")
	until.Until = at(90)
	expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Interrupted, Stop: until})
	r.Interruption(interrupted(1, "8", messages.QuotaExhausted, at(50)), at(0))
	expect(t, r.Next(at(0), false, true), resume.Action{
		Kind: resume.Settle, State: messages.Interrupted, Stop: pause("8", messages.QuotaExhausted, at(90)),
	})
	r.Result(failed(1, "9", "bad_request")) // failures speak before interruptions
	expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("9", "bad_request")})
}

func TestTheFirstTripStandsAndARecordedOneIsTheFirst(t *testing.T) {
	r := begun(1, 100, 0)
	r.Stopping(tripped("bad_request"), at(0))
	r.Trip(tripped("bad_link"), at(5))
	r.Result(failed(1, "4", "bad_request"))
	expect(t, r.Next(at(5), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: tripped("bad_request")})
}

func TestRefusedCredentialsSpeakBeforeABreaker(t *testing.T) {
	r := begun(1, 100, 0)
	r.Result(failed(1, "4", resume.ClassAuth))
	r.Trip(tripped(resume.ClassAuth), at(0))
	expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("4", resume.ClassAuth)})
}

func TestACompleteRunIsCompleteWhateverTripped(t *testing.T) {
	r := begun(1, 1, 1)
	r.Trip(tripped(""), at(0))
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Complete})
}

func TestASplitThatCannotBeCarriedOutDoesNotHoldUpARunThatFinishes(t *testing.T) {
	l := limits(10)
	l.Finish = true
	r := resume.NewRun("q1", 1, 2, l)
	r.Result(split(1, "0"))
	r.Unsplittable("0", &messages.Failure{Class: "split", Message: "failed at 0", Status: 400, Hint: "mend it"})
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 10})
	r.Dispatched("1")
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "1"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("0", "split")})
}
