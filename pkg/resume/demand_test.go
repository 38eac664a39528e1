package resume_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func demands(t *testing.T, r *resume.Run, exhausted bool, want int) {
	t.Helper()
	if got := r.Demand(exhausted); got != want {
		t.Errorf("%d could be with the workers, want %d", got, want)
	}
}

func TestARunDemandsAllThatIsLeftOfIt(t *testing.T) {
	r := begun(1, 10, 0)
	demands(t, r, false, 10)
	r.Dispatched("0")
	r.Dispatched("1")
	r.Dispatched("2")
	demands(t, r, false, 10)
	r.Result(rows(1, "0"))
	r.Result(split(1, "1"))
	demands(t, r, false, 10) // 2, two children and seven that are ahead
	r.Result(rows(1, "9"))
	demands(t, r, false, 9)
	r.Interruption(interrupted(1, "2", messages.HandedBack, time.Time{}), at(0))
	demands(t, r, false, 8) // until the rewind
	demands(t, r, true, 2)
}

func TestARunThatStopsDemandsNothingMore(t *testing.T) {
	r := begun(1, 10, 3)
	r.Interruption(interrupted(1, "2", messages.QuotaExhausted, at(60)), at(0))
	demands(t, r, false, 2)
	r = begun(1, 10, 3)
	r.Result(failed(1, "2", resume.ClassAuth))
	demands(t, r, false, 2)
	r = begun(1, 10, 3)
	r.Trip(&messages.Stop{Kind: messages.StopBreaker}, at(0))
	demands(t, r, false, 3)
	r = begun(1, 3, 3)
	for _, p := range positions(3) {
		r.Result(rows(1, p))
	}
	demands(t, r, false, 0)
}

func TestARunDemandsNothingBehindAFailure(t *testing.T) {
	r := begun(1, 10, 2)
	r.Result(failed(1, "5", "bad_request"))
	demands(t, r, false, 5) // two, and three below it
	l := limits(100)
	l.Finish = true
	r = resume.NewRun("q1", 1, 10, l)
	r.Result(failed(1, "5", "bad_request"))
	demands(t, r, false, 10) // it is not looked for among many
	for _, p := range []messages.Position{"0", "1", "2", "3", "4", "6", "7", "8"} {
		r.Result(rows(1, p))
	}
	demands(t, r, false, 2)
	r.Result(rows(1, "9"))
	demands(t, r, false, 0)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("5", "bad_request")})
}

func TestARunInOrderDemandsOnePosition(t *testing.T) {
	l := limits(100)
	l.MaxRows = 25
	r := resume.NewRun("q1", 1, 10, l)
	demands(t, r, false, 1)
	r.SetWindow(0)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.SetWindow(1)
	r.Dispatched("0")
	demands(t, r, false, 1)
}

func TestARunDemandsNoMoreThanItsBudgetPaysFor(t *testing.T) {
	l := limits(100)
	l.Budgeted, l.MaxRequests = true, 3
	r := resume.NewRun("q1", 1, 10, l)
	demands(t, r, false, 3)
	r.Dispatched("0")
	r.Allow("0", 2)
	demands(t, r, false, 2)
}

func TestARunOfSomePositionsDemandsThoseAlone(t *testing.T) {
	l := limits(100)
	l.Only = []messages.Position{"3", "7"}
	r := resume.NewRun("q1", 2, 10, l)
	demands(t, r, false, 2)
	r.SetWindow(0)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.SetWindow(1)
	expect(t, r.Next(at(0), false, false), dispatch(0, "3"))
}

func TestWithoutRoomARunWaitsAndDoesNotEnd(t *testing.T) {
	r := begun(1, 10, 0)
	r.SetWindow(0)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(failed(1, "5", "bad_request"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.SetWindow(2)
	expect(t, r.Next(at(0), false, false), dispatch(2))
}

func TestAWindowThatShrinksWaitsForWhatIsOut(t *testing.T) {
	r := begun(1, 10, 4)
	r.SetWindow(2)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	for _, p := range positions(2) {
		r.Result(rows(1, p))
	}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "2"))
	expect(t, r.Next(at(0), false, false), dispatch(1))
}
