package quota_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/quota"
)

// The answers of two workers cross: whether the service's word counts the other's requests in is not known, and people are told what
// was spent all the same.
func TestWhatIsLeftIsShownByOurBooksWhereTheServiceLeavesItOpen(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(100), nil)
	word := func(holder string, units, remaining, total int64) {
		report := quota.Report{Readings: []quota.Reading{{Limit: 100, Remaining: remaining, At: at(time.Second), Total: total}}}
		for range units {
			report.Spends = append(report.Spends, quota.Spend{Sent: at(0), Answered: at(time.Second), Units: 1, Served: true})
		}
		l.Exchange(at(time.Second), holder, time.Second, report)
	}
	word("a", 14, 72, 14) // its reading counts the other's 14 in, of which the account has not heard
	word("b", 14, 74, 14)
	if left := *quota.Standing(l.State(), at(2*time.Second)).Left; left != 72 {
		t.Errorf("%d are shown as left after 28 of 100", left)
	}
	word("a", 1, 30, 29) // somebody else has spent 41
	if left := *quota.Standing(l.State(), at(2*time.Second)).Left; left != 30 {
		t.Errorf("%d are shown as left where the service says 30", left)
	}
}

func TestAPoolWhoseLimitNobodyHasSaidIsShownAsNotKnown(t *testing.T) {
	t.Parallel()
	cfg := hourly(1000)
	cfg.Foreign, cfg.Observes = true, true
	for _, held := range []int64{0, 60} {
		cfg.HoldBack = held
		l := quota.Open(cfg, nil)
		l.Exchange(at(0), "w", time.Second, quota.Report{Need: 1})
		if s := quota.Standing(l.State(), at(0)); s.Limit != 0 {
			t.Errorf("with %d held back it is shown as %d of %d", held, *s.Left, s.Limit)
		}
	}
}

func TestWhatIsHeldBackIsNoReasonToSendNow(t *testing.T) {
	t.Parallel()
	cfg := hourly(20)
	cfg.HoldBack = 12
	l := quota.Open(cfg, nil)
	l.Exchange(at(0), "w", time.Second, quota.Report{Need: 8, Batch: 0})
	for name, now := range map[string]time.Time{"while it is reserved": at(0), "when it counts as spent": at(2 * time.Second)} {
		if s := quota.Standing(l.State(), now); !s.Next.After(now) {
			t.Errorf("%s: the next request is shown as allowed %s", name, s.Next)
		}
	}
}

// The service at the address was exchanged for one without a quota.
func TestAnAnswerThatSaysNothingEndsAWordThatNothingIsLeft(t *testing.T) {
	t.Parallel()
	cfg := hourly(1000)
	cfg.Foreign, cfg.Observes = true, true
	l := quota.Open(cfg, nil)
	l.Exchange(at(0), "w", time.Second, quota.Report{Readings: []quota.Reading{{Limit: 20, Remaining: 0, At: at(0)}}})
	if s := quota.Standing(l.State(), at(0)); s.Limit != 20 || *s.Left != 0 {
		t.Fatalf("%+v", s)
	}
	l.Exchange(at(time.Second), "w", time.Second, quota.Report{Spends: []quota.Spend{{Sent: at(time.Second), Answered: at(time.Second), Units: 1, Served: true}}})
	if s := quota.Standing(l.State(), at(time.Second)); s.Limit != 0 {
		t.Errorf("it is shown as %d of %d", *s.Left, s.Limit)
	}
}

func TestTheFirstRequestToAMirrorGoesAloneWhereUnitsAreHeldBack(t *testing.T) {
	t.Parallel()
	cfg := hourly(1000)
	cfg.Foreign, cfg.Observes, cfg.HoldBack = true, true, 30
	l := quota.Open(cfg, nil)
	if g := l.Exchange(at(0), "w", time.Second, quota.Report{Need: 1, Batch: 64}); g.Free != 1 {
		t.Fatalf("%d are granted", g.Free)
	}
	failed := quota.Report{Spends: []quota.Spend{{Sent: at(0), Answered: at(0), Units: 1}}} // an answer that was none
	l.Exchange(at(0), "w", time.Second, failed)
	if g := l.Exchange(at(0), "w", time.Second, quota.Report{Need: 1, Batch: 64}); g.Free != 1 {
		t.Fatalf("after a failure %d are granted", g.Free)
	}
	l.Exchange(at(0), "w", time.Second, quota.Report{
		Spends:   []quota.Spend{{Sent: at(0), Answered: at(0), Units: 1, Served: true}},
		Readings: []quota.Reading{{Limit: 40, Remaining: 38, At: at(0), Total: 2}},
	})
	if g := l.Exchange(at(0), "w", time.Second, quota.Report{Need: 8}); g.Free != 8 {
		t.Errorf("of 40, 30 held back, 2 spent: %+v", g)
	}
	if g := l.Exchange(at(0), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil {
		t.Error("what is held back is granted")
	}
}

func TestAReservationThatWasOverComesBackWhenItsHolderTells(t *testing.T) {
	t.Parallel()
	for _, model := range []string{quota.Rolling, quota.Fixed, quota.Bucket} {
		cfg := hourly(100)
		cfg.Model = model
		l := quota.Open(cfg, nil)
		l.Exchange(at(0), "w", time.Second, quota.Report{Need: 40})
		if s := quota.Standing(l.State(), at(10*time.Second)); *s.Left != 60 {
			t.Errorf("%s: while nobody tells of 40, %d are left", model, *s.Left)
		}
		l.Exchange(at(10*time.Second), "v", time.Second, quota.Report{}) // it notices
		l.Exchange(at(11*time.Second), "w", time.Second, quota.Report{
			Spends: []quota.Spend{{Sent: at(0), Answered: at(10 * time.Second), Units: 3}}, Flying: 2, First: 1,
		})
		s := l.State()
		if got := *quota.Standing(s, at(11*time.Second)).Left; got != 95 {
			t.Errorf("%s: after 3 spent and 2 under way %d are left", model, got)
		}
		if len(s.Reserved) != 1 || s.Reserved[0].Flying != 2 || s.Reserved[0].Lapsed != 0 {
			t.Errorf("%s: reserved are %+v", model, s.Reserved)
		}
	}
}

func TestWhatWasToldAndNotConfirmedCountsOnce(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(100), nil)
	one := quota.Spend{Sent: at(0), Answered: at(0), Units: 1}
	l.Exchange(at(0), "w", time.Second, quota.Report{Spends: []quota.Spend{one, one}, First: 1})
	l.Exchange(at(0), "w", time.Second, quota.Report{Spends: []quota.Spend{one, one, one}, First: 1})
	l.Exchange(at(3*time.Second), "w", time.Second, quota.Report{Spends: []quota.Spend{one}, First: 4})
	if left := *quota.Standing(l.State(), at(3*time.Second)).Left; left != 96 {
		t.Errorf("%d are left after 4", left)
	}
}

func TestWhatIsLeftOfALimitThatNobodyKnowsIsNotANumber(t *testing.T) {
	cfg := quota.Config{Pool: "p", Owner: "o", Counts: "requests", Model: quota.Rolling, Window: time.Hour}
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	if s := quota.Standing(quota.Open(cfg, nil).State(), at); s.Left != nil || s.Limit != 0 {
		t.Errorf("it is shown as %v of %d", s.Left, s.Limit)
	}
}
