package resume_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func at(seconds int) time.Time { return time.Date(2025, 6, 1, 12, 0, seconds, 0, time.UTC) }

func limits(window int) resume.Limits {
	return resume.Limits{Window: window, DrainFor: time.Minute, QuotaWait: time.Hour}
}

// begun is a run whose positions up to n are with the workers.
func begun(number, total, n int) *resume.Run {
	r := resume.NewRun("q1", number, total, limits(100))
	for i := range n {
		r.Dispatched(messages.PositionAt(i))
	}
	return r
}

func rows(run int, p messages.Position) *messages.ResultHeader {
	return &messages.ResultHeader{Run: run, Position: p, Outcome: messages.OutcomeRows, Rows: 10, Pages: 2, Requests: 3, Bytes: 100}
}

func split(run int, p messages.Position) *messages.ResultHeader {
	return &messages.ResultHeader{Run: run, Position: p, Outcome: messages.OutcomeSplit, Requests: 1}
}

func failed(run int, p messages.Position, class string) *messages.ResultHeader {
	return &messages.ResultHeader{
		Run: run, Position: p, Outcome: messages.OutcomeFailed, Requests: 1,
		Failure: &messages.Failure{Class: class, Status: 400, Message: "failed at " + string(p), Hint: "mend it"},
	}
}

func interrupted(run int, p messages.Position, kind messages.InterruptionKind, until time.Time) *messages.Interruption {
	return &messages.Interruption{
		Run: run, Position: p, Kind: kind, Status: 429, Reason: "interrupted at " + string(p), Until: until, Requests: 2, At: at(0),
	}
}

// failure is the stop that a failure at p gives.
func failure(p messages.Position, class string) *messages.Stop {
	return &messages.Stop{
		Kind: messages.StopFailure, Position: p, Status: 400, Class: class, Reason: "failed at " + string(p), Hint: "mend it",
	}
}

func pause(p messages.Position, kind messages.InterruptionKind, until time.Time) *messages.Stop {
	return &messages.Stop{Kind: string(kind), Position: p, Status: 429, Reason: "interrupted at " + string(p), Until: until, At: at(0)}
}

func expect(t *testing.T, got, want resume.Action) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the action differs (-want +got):\n%s", diff)
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, shorter := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(shorter), i, n-1))
		}
	}
	return all
}

func TestARunKeepsItsWindowFull(t *testing.T) {
	r := resume.NewRun("q1", 1, 10, limits(4))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 4})
	for i := range 4 {
		r.Dispatched(messages.PositionAt(i))
	}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "2"))
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 2})
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
}

func TestARunIsCompleteWhenEveryPositionHasItsResult(t *testing.T) {
	r := begun(1, 3, 3)
	r.Result(rows(1, "2"))
	r.Result(&messages.ResultHeader{Run: 1, Position: "0", Outcome: messages.OutcomeEmpty})
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	r.Interruption(interrupted(1, "1", messages.QuotaExhausted, at(60)), at(0))
	r.Result(rows(1, "1"))
	for _, recorded := range []bool{false, true} {
		expect(t, r.Next(at(0), true, recorded), resume.Action{Kind: resume.Settle, State: messages.Complete})
	}
}

func TestTheLowestFailureSpeaksWhicheverCameFirst(t *testing.T) {
	news := []messages.Position{"2", "10", "9"}
	for _, order := range permutations(len(news)) {
		r := begun(1, 20, 11)
		for i := range 11 {
			if p := messages.PositionAt(i); !slices.Contains(news, p) {
				r.Result(rows(1, p))
			}
		}
		for n, i := range order {
			r.Result(failed(1, news[i], "bad_request"))
			if n < len(order)-1 {
				expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
			}
		}
		expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("2", "bad_request")})
	}
}

func TestQuotaSpeaksBeforeServiceThenTheLowestPositionAndTheLatestTime(t *testing.T) {
	news := []*messages.Interruption{
		interrupted(1, "0", messages.ServiceInterrupted, at(90)),
		interrupted(1, "9", messages.QuotaExhausted, at(30)),
		interrupted(1, "10", messages.QuotaExhausted, at(20)),
		interrupted(1, "1", messages.HandedBack, at(500)),
	}
	for _, order := range permutations(len(news)) {
		r := begun(1, 20, 20)
		for _, i := range order {
			r.Interruption(news[i], at(0))
		}
		expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Stop, Stop: pause("9", messages.QuotaExhausted, at(90))})
	}
}

func TestAQuotaWithoutATimeIsTriedAgainAfterItsWindow(t *testing.T) {
	r := begun(1, 2, 1)
	r.Interruption(interrupted(1, "0", messages.QuotaExhausted, time.Time{}), at(5))
	expect(t, r.Next(at(5), false, false), resume.Action{Kind: resume.Stop, Stop: pause("0", messages.QuotaExhausted, at(3600))})
	r = begun(1, 2, 1)
	r.Interruption(interrupted(1, "0", messages.ServiceInterrupted, time.Time{}), at(5))
	expect(t, r.Next(at(5), false, false), resume.Action{Kind: resume.Stop, Stop: pause("0", messages.ServiceInterrupted, time.Time{})})
}

func TestAStopIsRecordedThenDrainedThenSettled(t *testing.T) {
	r := begun(1, 9, 3)
	r.Interruption(interrupted(1, "1", messages.ServiceInterrupted, time.Time{}), at(10))
	stop := pause("1", messages.ServiceInterrupted, time.Time{})
	expect(t, r.Next(at(10), false, false), resume.Action{Kind: resume.Stop, Stop: stop})
	expect(t, r.Next(at(11), false, true), resume.Action{Kind: resume.Wait, At: at(70)})
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(12), false, true), resume.Action{Kind: resume.Wait, At: at(70)})
	r.Interruption(interrupted(1, "2", messages.HandedBack, time.Time{}), at(13))
	expect(t, r.Next(at(13), false, true), resume.Action{Kind: resume.Settle, State: messages.Interrupted, Stop: stop})
}

func TestAStopIsSettledWhenItsDrainIsOver(t *testing.T) {
	r := begun(1, 9, 3)
	r.Interruption(interrupted(1, "1", messages.ServiceInterrupted, time.Time{}), at(10))
	r.Interruption(interrupted(1, "2", messages.ServiceInterrupted, time.Time{}), at(50))
	expect(t, r.Next(at(69), false, true), resume.Action{Kind: resume.Wait, At: at(70)})
	expect(t, r.Next(at(70), false, true), resume.Action{
		Kind: resume.Settle, State: messages.Interrupted, Stop: pause("1", messages.ServiceInterrupted, time.Time{}),
	})
}

func TestAFailureSpeaksBeforeAnInterruption(t *testing.T) {
	news := []func(*resume.Run){
		func(r *resume.Run) { r.Interruption(interrupted(1, "0", messages.QuotaExhausted, at(60)), at(0)) },
		func(r *resume.Run) { r.Result(failed(1, "2", "bad_request")) },
		func(r *resume.Run) { r.Result(failed(1, "1", "bad_link")) },
	}
	for _, order := range permutations(len(news)) {
		r := begun(1, 9, 3)
		for _, i := range order {
			news[i](r)
		}
		expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Stop, Stop: failure("1", "bad_link")})
		expect(t, r.Next(at(0), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("1", "bad_link")})
	}
}

func TestAFailureOfTheCredentialsStopsAtOnce(t *testing.T) {
	r := begun(1, 9, 3)
	r.Result(failed(1, "1", resume.ClassAuth))
	stop := failure("1", resume.ClassAuth)
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Stop, Stop: stop})
	expect(t, r.Next(at(1), false, true), resume.Action{Kind: resume.Wait, At: at(61)})
	expect(t, r.Next(at(30), false, true), resume.Action{Kind: resume.Wait, At: at(61)})
	expect(t, r.Next(at(61), false, true), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: stop})
}

func TestAFailureDispatchesNothingBehindItself(t *testing.T) {
	r := begun(1, 9, 3)
	r.Result(failed(1, "1", "bad_request"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "2"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("1", "bad_request")})
}

// A worker that drains hands back what could have failed lower.
func TestAFailureWaitsForWhatWasHandedBackBelowIt(t *testing.T) {
	r := begun(1, 9, 4)
	r.Interruption(interrupted(1, "1", messages.HandedBack, time.Time{}), at(0))
	r.Result(failed(1, "3", "bad_request"))
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "2"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Rewind})
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 1})
	r.Dispatched("1")
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(failed(1, "1", "bad_link"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("1", "bad_link")})
}

// A coordinator that takes over knows the failure from the stream, and of the items below it nothing.
func TestACoordinatorThatTakesOverRunsWhatStandsBelowAFailure(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, limits(2))
	r.Result(failed(1, "5", "bad_request"))
	r.Result(rows(1, "1"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 2})
	r.Dispatched("0")
	r.Dispatched("2")
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "0"))
	r.Result(rows(1, "2"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 2})
	r.Dispatched("3")
	r.Dispatched("4")
	r.Result(rows(1, "3"))
	r.Result(rows(1, "4"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("5", "bad_request")})
}

func TestACoordinatorThatTakesOverGoesOnStopping(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, limits(4))
	stop := pause("3", messages.QuotaExhausted, at(600))
	r.Stopping(stop, at(10))
	expect(t, r.Next(at(10), false, true), resume.Action{Kind: resume.Settle, State: messages.Interrupted, Stop: stop})
	r.Interruption(interrupted(1, "2", messages.QuotaExhausted, at(300)), at(20))
	r.Stopping(stop, at(30))
	expect(t, r.Next(at(30), false, true), resume.Action{
		Kind: resume.Settle, State: messages.Interrupted, Stop: pause("2", messages.QuotaExhausted, at(600)),
	})
}

func TestAnInterruptionOfAnEarlierRunOnlyCountsItsRequests(t *testing.T) {
	r := begun(2, 9, 3)
	r.Interruption(interrupted(1, "1", messages.QuotaExhausted, at(60)), at(0))
	if !r.Outstanding("1") {
		t.Error("its position is no longer outstanding")
	}
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	if got := r.Progress(at(0)).Requests; got != 2 {
		t.Errorf("%d requests", got)
	}
}

func TestAFailedResultOfAnEarlierRunIsReopened(t *testing.T) {
	r := resume.NewRun("q1", 2, 2, limits(4))
	if r.Result(failed(1, "0", "bad_request")) || r.Decided("0") {
		t.Error("the failure of run 1 is kept in run 2")
	}
	if !r.Result(rows(1, "1")) || !r.Decided("1") {
		t.Error("the rows of run 1 are not kept in run 2")
	}
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Dispatch, Count: 4})
	if !r.Result(failed(2, "0", "bad_request")) || !r.Decided("0") {
		t.Error("the failure of run 2 is not kept in run 2")
	}
}

func TestARunRewindsForWhatCameBackWithoutAResult(t *testing.T) {
	r := begun(1, 3, 3)
	r.Result(rows(1, "0"))
	r.Interruption(interrupted(1, "1", messages.HandedBack, time.Time{}), at(0))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "2"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
}

func TestALostResultIsPendingAgain(t *testing.T) {
	r := begun(1, 2, 2)
	r.Result(rows(1, "0"))
	r.Result(rows(1, "1"))
	r.Lost("1")
	if r.Decided("1") {
		t.Error("it still counts as decided")
	}
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
	r.Result(failed(1, "1", "bad_request"))
	r.Lost("1")
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
}

func TestWhatIsDecidedIsNotOutstanding(t *testing.T) {
	r := begun(1, 3, 1)
	r.Result(rows(1, "0"))
	r.Dispatched("0")
	r.Result(failed(1, "1", "bad_request"))
	r.Dispatched("1")
	for _, p := range []messages.Position{"0", "1"} {
		if r.Outstanding(p) || !r.Decided(p) {
			t.Errorf("%s is outstanding: %t, decided: %t", p, r.Outstanding(p), r.Decided(p))
		}
	}
}

// What was decided is in the query's record by now, where others read it.
func TestADecisionDoesNotChangeUnderItsReader(t *testing.T) {
	r := begun(1, 9, 9)
	recorded := pause("5", messages.QuotaExhausted, at(10))
	r.Stopping(recorded, at(0))
	r.Interruption(interrupted(1, "6", messages.QuotaExhausted, at(900)), at(0))
	if recorded.Until != at(10) {
		t.Error("a later interruption changes the recorded stop")
	}
	decided := r.Next(at(0), false, false).Stop
	r.Interruption(interrupted(1, "7", messages.QuotaExhausted, at(1800)), at(0))
	if decided.Until != at(900) {
		t.Error("a later interruption changes the decision")
	}
}

func TestProgressCountsEachResultOnce(t *testing.T) {
	r := begun(1, 9, 5)
	for range 2 {
		r.Result(rows(1, "0"))
		r.Result(failed(1, "1", "bad_request"))
	}
	r.Result(&messages.ResultHeader{Run: 1, Position: "2", Outcome: messages.OutcomeEmpty, Pages: 1, Requests: 1, Doubted: true})
	want := &messages.Progress{
		V: messages.Version, Query: "q1", Run: 1, Completed: 2, Failed: 1, Doubted: 1, Waiting: 2, Rows: 10, Pages: 3, Requests: 5, Bytes: 100, Updated: at(7),
	}
	if diff := cmp.Diff(want, r.Progress(at(7))); diff != "" {
		t.Error(diff)
	}
}

func TestAFailureOfAnEarlierRunThatComesLateMakesItsPositionPendingAgain(t *testing.T) {
	r := resume.NewRun("q1", 2, 1, limits(4))
	r.Dispatched("0") // its worker saw the failure of run 1, and did nothing
	if r.Result(failed(1, "0", "bad_request")) || r.Outstanding("0") {
		t.Error("the position still waits for the worker")
	}
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
}
