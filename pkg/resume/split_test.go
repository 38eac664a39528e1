package resume_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/resume"
)

func dispatch(count int, children ...messages.Position) resume.Action {
	return resume.Action{Kind: resume.Dispatch, Children: children, Count: count}
}

func TestChildrenOfASplitChunkGoBeforeThePlansNext(t *testing.T) {
	r := resume.NewRun("q1", 1, 9, limits(3))
	r.Dispatched("0")
	r.Dispatched("1")
	r.Dispatched("2")
	r.Result(split(1, "1"))
	r.Result(split(1, "0"))
	expect(t, r.Next(at(0), false, false), dispatch(0, "0.0", "0.1"))
	r.Dispatched("0.0")
	r.Dispatched("0.1")
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(split(1, "0.1"))
	r.Result(rows(1, "2"))
	r.Result(rows(1, "0.0"))
	expect(t, r.Next(at(0), false, false), dispatch(0, "0.1.0", "0.1.1", "1.0"))
	r.Dispatched("0.1.0")
	r.Dispatched("0.1.1")
	r.Dispatched("1.0")
	r.Result(rows(1, "0.1.1"))
	r.Result(rows(1, "1.0"))
	expect(t, r.Next(at(0), false, false), dispatch(1, "1.1"))
	expect(t, r.Next(at(0), true, false), dispatch(0, "1.1"))
}

func TestASplitPositionIsCompleteWhenAllOfItsLeavesAre(t *testing.T) {
	news := []*messages.ResultHeader{split(1, "0"), rows(1, "0.0"), split(1, "0.1"), rows(1, "0.1.0"), {Run: 1, Position: "0.1.1", Outcome: messages.OutcomeEmpty}}
	for _, order := range permutations(len(news)) {
		r := begun(1, 1, 1)
		for n, i := range order {
			r.Result(news[i])
			if complete := r.Progress(at(0)).Completed == 1; complete != (n == len(order)-1) {
				t.Fatalf("after %d results of %v: complete is %t", n+1, order, complete)
			}
		}
		expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
		if p := r.Progress(at(0)); p.Split != 2 || p.Rows != 20 || p.Requests != 3*2+2 {
			t.Errorf("progress %+v", p)
		}
	}
}

func TestChildrenOfAChunkThatIsNotSplitCountForNothing(t *testing.T) {
	r := begun(1, 2, 2)
	r.Result(rows(1, "0.0"))
	r.Result(failed(1, "0.1", "bad_request"))
	r.Result(rows(1, "0.5")) // no split makes it
	r.Result(rows(1, "1"))
	if p := r.Progress(at(0)); p.Completed != 1 {
		t.Errorf("progress %+v", p)
	}
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "0"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
}

func TestASplitThatIsLostIsAskedForAgainAndItsChildrenAreNot(t *testing.T) {
	r := begun(1, 1, 1)
	r.Result(split(1, "0"))
	r.Dispatched("0.0")
	r.Result(rows(1, "0.0"))
	r.Lost("0")
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
	expect(t, r.Next(at(0), false, false), dispatch(100))
	r.Dispatched("0")
	r.Result(split(1, "0"))
	expect(t, r.Next(at(0), true, false), dispatch(0, "0.1"))
	r.Dispatched("0.1")
	r.Result(rows(1, "0.1"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
}

func TestASplitOfAnEarlierRunStays(t *testing.T) {
	r := resume.NewRun("q1", 2, 1, limits(4))
	for _, h := range []*messages.ResultHeader{split(1, "0"), rows(1, "0.0")} {
		if !r.Result(h) {
			t.Errorf("%s is not kept", h.Position)
		}
	}
	if r.Result(failed(1, "0.1", "bad_request")) {
		t.Error("the failure of an earlier run is kept")
	}
	expect(t, r.Next(at(0), false, false), dispatch(0, "0.1"))
}

func TestAChildThatCameBackWaitsForARewind(t *testing.T) {
	r := begun(1, 1, 1)
	r.Result(split(1, "0"))
	r.Dispatched("0.0")
	r.Dispatched("0.1")
	r.Interruption(interrupted(1, "0.0", messages.HandedBack, at(0)), at(0))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "0.1"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Rewind})
	expect(t, r.Next(at(0), true, false), dispatch(0, "0.0"))
}

func TestAFailedChildWaitsForTheLeavesBelowIt(t *testing.T) {
	r := begun(1, 9, 3)
	r.Result(split(1, "1"))
	r.Dispatched("1.0")
	r.Dispatched("1.1")
	r.Result(failed(1, "1.1", "bad_request"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Wait})
	r.Result(rows(1, "0"))
	r.Result(rows(1, "2"))
	r.Result(split(1, "1.0"))
	expect(t, r.Next(at(0), false, false), dispatch(0, "1.0.0", "1.0.1"))
	r.Dispatched("1.0.0")
	r.Dispatched("1.0.1")
	r.Result(failed(1, "1.0.1", "bad_link"))
	r.Interruption(interrupted(1, "1.0.0", messages.HandedBack, at(0)), at(0))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Rewind})
	expect(t, r.Next(at(0), false, false), dispatch(0, "1.0.0"))
	r.Dispatched("1.0.0")
	r.Result(rows(1, "1.0.0"))
	expect(t, r.Next(at(0), false, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("1.0.1", "bad_link")})
}

// Its children stand behind it, and are not dispatched any more.
func TestASplitThatCannotBeDividedIsAFailure(t *testing.T) {
	r := begun(1, 2, 2)
	r.Result(split(1, "0"))
	r.Unsplittable("0", failed(1, "0", "split").Failure)
	r.Result(rows(1, "1"))
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Failed, Stop: failure("0", "split")})
}

func TestASplitAtTheDeepestLevelIsAFailure(t *testing.T) {
	deepest := messages.Position("0" + strings.Repeat(".1", 31))
	r := resume.NewRun("q1", 1, 1, limits(4))
	for p := messages.Position("0"); p != deepest; p += ".1" {
		r.Result(split(1, p))
		r.Result(rows(1, p+".0"))
	}
	expect(t, r.Next(at(0), true, false), dispatch(0, deepest))
	r.Dispatched(deepest)
	if !r.Result(split(1, deepest)) {
		t.Error("the failure of this run is not kept")
	}
	if action := r.Next(at(0), true, false); action.State != messages.Failed || action.Stop.Position != deepest || action.Stop.Class != "too_large" {
		t.Errorf("%+v, %+v", action, action.Stop)
	}
	if resume.NewRun("q1", 2, 1, limits(4)).Result(split(1, deepest)) {
		t.Error("it is kept in the next run too")
	}
}

func TestWhatIsMissingAndWhatIsThereStandInOrder(t *testing.T) {
	var c resume.Completion
	for _, p := range []messages.Position{"3.1", "3.0.0", "1", "11.0"} {
		c.Add(p)
	}
	for _, p := range []messages.Position{"3", "11", "3.0", "10.0"} {
		c.Split(p)
	}
	if diff := cmp.Diff([]messages.Position{"0", "2", "3.0.1", "4", "5", "6", "7", "8", "9", "10", "11.1"}, c.Missing(12, 100)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]messages.Position{"0", "2", "3.0.1"}, c.Missing(12, 3)); diff != "" {
		t.Error(diff)
	}
	var leaves []messages.Position
	for p := range c.Leaves(12) {
		leaves = append(leaves, p)
	}
	if diff := cmp.Diff([]messages.Position{"1", "3.0.0", "3.1", "11.0"}, leaves); diff != "" {
		t.Error(diff)
	}
	if c.Lacks(12) != 11 || c.Roots() != 1 || c.Splits() != 3 {
		t.Errorf("%d lack, %d roots are complete, %d splits", c.Lacks(12), c.Roots(), c.Splits())
	}
}

// A plan of a million chunks of which every hundredth is split is followed in little time, whatever the order of news.
func TestCompletionOfALargePlanIsFast(t *testing.T) {
	const total = 1_000_000
	r := resume.NewRun("q1", 1, total, limits(1000))
	for i := total - 1; i >= 0; i-- {
		p := messages.PositionAt(i)
		if i%100 > 0 {
			r.Result(rows(1, p))
			continue
		}
		r.Result(rows(1, p+".1"))
		r.Result(split(1, p))
		r.Next(at(0), false, false)
		r.Dispatched(p + ".0")
		r.Result(rows(1, p+".0"))
	}
	expect(t, r.Next(at(0), true, false), resume.Action{Kind: resume.Settle, State: messages.Complete})
}
