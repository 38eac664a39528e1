package quota_test

import (
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

func at(d time.Duration) time.Time { return time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC).Add(d) }

func hourly(limit int64) quota.Config {
	return quota.Config{Pool: "p", Owner: "o", Counts: "requests", Model: quota.Rolling, Limit: limit, Window: time.Hour}
}

// spent is a report of one answer, with what the service said to be left; none when that is negative.
func spent(when time.Duration, total, left int64) quota.Report {
	r := quota.Report{Spends: []quota.Spend{{Sent: at(when), Answered: at(when), Units: 1}}}
	if left >= 0 {
		r.Readings = []quota.Reading{{Remaining: left, At: at(when), Total: total}}
	}
	return r
}

func ask(l *quota.Ledger, when time.Duration) quota.Grant {
	return l.Exchange(at(when), "w", time.Second, quota.Report{Need: 1})
}

func TestWhatTheServiceSaysOutranksBelief(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(100), nil)
	l.Exchange(at(0), "w", time.Second, spent(0, 1, 0))
	g := ask(l, time.Second)
	if g.Denied == nil || g.Denied.Soon || g.Denied.At.Before(at(time.Hour)) || g.Denied.At.After(at(time.Hour+15*time.Second)) {
		t.Errorf("somebody else has spent it all, and one is granted, or denied as %+v", g.Denied)
	}
	l.Exchange(at(2*time.Second), "w", time.Second, spent(2*time.Second, 2, 40))
	if g := l.Exchange(at(3*time.Second), "w", time.Second, quota.Report{Need: 40}); g.Free != 40 {
		t.Errorf("of 40 that the service has %d are granted: %+v", g.Free, g.Denied)
	}
	if g := l.Exchange(at(3*time.Second), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil {
		t.Error("one more than the service has is granted")
	}
}

func TestALimitIsLearntAndKept(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(0), nil)
	if g := ask(l, 0); g.Free < 1 {
		t.Fatal("nothing is known of the limit, and nobody can find out")
	}
	report := spent(0, 1, 49)
	report.Readings[0].Limit = 50
	l.Exchange(at(0), "w", time.Second, report)
	l = quota.Open(hourly(0), l.State())
	if s := quota.Standing(l.State(), at(time.Second)); s.Limit != 50 || *s.Left != 49 || !s.Observed {
		t.Errorf("it stands at %+v", s)
	}
}

func TestWhatIsHeldBackIsNeverGranted(t *testing.T) {
	t.Parallel()
	cfg := hourly(100)
	cfg.HoldBack = 90
	l := quota.Open(cfg, nil)
	if g := l.Exchange(at(0), "w", time.Second, quota.Report{Need: 10}); g.Denied != nil {
		t.Fatalf("denied: %+v", g.Denied)
	}
	if g := l.Exchange(at(0), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil || g.Denied.HoldBack != 90 {
		t.Errorf("got %+v", g)
	}
}

func TestAfterARefusalOneRequestAsks(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]quota.Config{"declared": hourly(100), "of a mirror": {
		Pool: "p", Owner: "o", Counts: "requests", Model: quota.Rolling, Limit: 100, Window: time.Hour, Foreign: true,
	}} {
		l := quota.Open(cfg, nil)
		report := spent(0, 1, 0)
		report.Refused = at(4 * time.Second)
		l.Exchange(at(0), "w", time.Second, report)
		if g := ask(l, 3*time.Second); g.Denied == nil || !g.Denied.At.Equal(at(4*time.Second)) {
			t.Errorf("%s: before the time it is %+v", name, g.Denied)
		}
		if g := ask(l, 4*time.Second); g.Free != 1 {
			t.Fatalf("%s: at the time nobody may ask: %+v", name, g.Denied)
		}
		if g := l.Exchange(at(4*time.Second), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil || !g.Denied.Soon {
			t.Errorf("%s: while one asks, another is %+v", name, g)
		}
		l.Exchange(at(4500*time.Millisecond), "w", time.Second, spent(4500*time.Millisecond, 3, 19))
		if g := l.Exchange(at(5*time.Second), "v", time.Second, quota.Report{Need: 19}); g.Free != 19 {
			t.Errorf("%s: of 19 that are left %d are granted", name, g.Free)
		}
	}
}

// How soon units return at another address than the declared one is not known: its word is believed, and one request at a time asks for another.
func TestOfAMirrorThatSaysThatNothingIsLeftOneRequestAsks(t *testing.T) {
	t.Parallel()
	l := quota.Open(quota.Config{
		Pool: "p", Owner: "o", Counts: "requests", Model: quota.Rolling, Limit: 100, Window: time.Hour, Foreign: true, Observes: true,
	}, nil)
	l.Exchange(at(0), "w", time.Second, spent(0, 1, 10))
	if g := l.Exchange(at(time.Second), "w", time.Second, quota.Report{Need: 1, Batch: 64}); g.Free > 10 {
		t.Errorf("of 10 that are left %d are granted", g.Free)
	}
	l.Exchange(at(time.Second), "w", time.Second, spent(time.Second, 2, 0))
	if g := l.Exchange(at(2*time.Second), "w", time.Second, quota.Report{Need: 1, Batch: 16}); g.Free != 1 {
		t.Errorf("when nothing is left %d may ask: %+v", g.Free, g.Denied)
	}
	if g := l.Exchange(at(2*time.Second), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil || !g.Denied.Soon {
		t.Errorf("while one asks, another is %+v", g)
	}
	l.Exchange(at(3*time.Second), "w", time.Second, spent(3*time.Second, 3, 39))
	if g := l.Exchange(at(4*time.Second), "v", time.Second, quota.Report{Need: 5}); g.Free != 5 {
		t.Errorf("of 39 that are left %d are granted: %+v", g.Free, g.Denied)
	}
}

func TestAServiceThatNamesNoNumbersIsBelievedAfterItsRefusal(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(3), nil)
	for range 3 {
		l.Exchange(at(0), "w", time.Second, spent(0, 0, -1))
	}
	l.Exchange(at(0), "w", time.Second, quota.Report{Refused: at(time.Minute)})
	if g := ask(l, time.Minute); g.Free != 1 {
		t.Fatalf("the time that the service named is there: %+v", g.Denied)
	}
	l.Exchange(at(61*time.Second), "w", time.Second, spent(61*time.Second, 0, -1))
	if g := ask(l, 62*time.Second); g.Free < 1 {
		t.Errorf("it was served, and our books are believed: %+v", g.Denied)
	}
}

func TestWhatADeadProcessHadReservedIsSpent(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(10), nil)
	l.Exchange(at(0), "dead", time.Second, quota.Report{Need: 6})
	if g := l.Exchange(at(10*time.Second), "w", time.Second, quota.Report{Need: 5}); g.Denied == nil || g.Denied.Soon || g.Denied.At.Before(at(time.Hour+time.Second)) {
		t.Errorf("got %+v %+v", g, g.Denied)
	}
	if g := l.Exchange(at(10*time.Second), "dead", time.Second, quota.Report{Free: 6}); g.Free != 0 {
		t.Error("who was away keeps what was counted as spent")
	}
	if g := l.Exchange(at(2*time.Hour), "w", time.Second, quota.Report{Need: 10}); g.Denied != nil {
		t.Errorf("they never come back: %+v", g.Denied)
	}
}

func TestAClockThatRanAheadIsMended(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(2), nil)
	l.Exchange(at(1000*time.Hour), "w", time.Second, spent(1000*time.Hour, 1, -1))
	if g := ask(l, 0); g.Free != 1 {
		t.Fatalf("one of two is left: %+v", g.Denied)
	}
	if g := l.Exchange(at(0), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil || g.Denied.At.After(at(2*time.Hour)) {
		t.Errorf("got %+v", g.Denied)
	}
}

func TestUnitsComeBackNoEarlierThanTheyWereSpent(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(1), nil)
	when := 7*time.Second + 123*time.Millisecond
	l.Exchange(at(when), "w", time.Second, spent(when, 1, -1))
	if g := ask(l, when+time.Hour-time.Millisecond); g.Denied == nil {
		t.Error("a unit came back before its window was over")
	}
}

func FuzzALedgerThatIsReadIsNeverSpentBeyondItsLimit(f *testing.F) {
	l := quota.Open(hourly(10), nil)
	l.Exchange(at(0), "w", time.Second, quota.Report{Need: 3})
	data, err := l.State().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, int64(time.Minute))
	f.Fuzz(func(t *testing.T, data []byte, later int64) {
		stored, err := messages.DecodeQuotaLedger(data)
		if err != nil {
			return
		}
		cfg := quota.Config{Pool: "p", Owner: "o", Counts: "requests", Model: stored.Model, Limit: 10, Window: time.Minute}
		l := quota.Open(cfg, stored)
		now := at(time.Duration(later % int64(time.Hour)))
		granted := int64(0)
		for range 3 {
			g := l.Exchange(now, string(rune('a'+granted%26)), time.Second, quota.Report{Need: 4})
			granted += g.Free
		}
		if stored.Limit > 0 && stored.Reading == nil && granted > stored.Limit {
			t.Errorf("%d of %d", granted, stored.Limit)
		}
		quota.Standing(l.State(), now)
	})
}

func TestTheFirstRequestAsksAloneWhereAnswersTell(t *testing.T) {
	t.Parallel()
	cfg := hourly(1000)
	cfg.Observes = true
	l := quota.Open(cfg, nil)
	if g := l.Exchange(at(0), "w", time.Second, quota.Report{Need: 1, Batch: 64}); g.Free != 1 {
		t.Fatalf("%d are granted before the service has said a word", g.Free)
	}
	if g := l.Exchange(at(0), "v", time.Second, quota.Report{Need: 1}); g.Denied == nil || !g.Denied.Soon {
		t.Errorf("meanwhile another is %+v", g)
	}
	report := spent(time.Millisecond, 1, 19)
	report.Readings[0].Limit = 20
	l.Exchange(at(time.Millisecond), "w", time.Second, report)
	if g := l.Exchange(at(time.Second), "v", time.Second, quota.Report{Need: 20}); g.Denied == nil {
		t.Error("more than the service has is granted")
	}
	if g := l.Exchange(at(time.Second), "v", time.Second, quota.Report{Need: 19}); g.Free != 19 {
		t.Errorf("%+v", g)
	}
}

func TestAnEarlierAnswerThatComesLaterAllowsNoMore(t *testing.T) {
	t.Parallel()
	for _, model := range []string{quota.Rolling, quota.Fixed, quota.Bucket} {
		cfg := hourly(100)
		cfg.Model = model
		l := quota.Open(cfg, nil)
		two := quota.Report{
			Spends:   []quota.Spend{{Sent: at(0), Answered: at(time.Second), Units: 1}, {Sent: at(0), Answered: at(time.Second), Units: 1}},
			Readings: []quota.Reading{{Remaining: 3, At: at(time.Second), Total: 2}},
		}
		l.Exchange(at(time.Second), "w", time.Second, two)
		// The answer to the first request, which was made before somebody else spent nearly all, comes last.
		l.Exchange(at(2*time.Second), "v", time.Second, quota.Report{Readings: []quota.Reading{{Remaining: 90, At: at(2 * time.Second), Total: 1}}})
		if s := quota.Standing(l.State(), at(3*time.Second)); *s.Left > 3 {
			t.Errorf("%s: %d are left, and the service's newest word was 3", model, *s.Left)
		}
		if g := l.Exchange(at(3*time.Second), "w", time.Second, quota.Report{Need: 4}); g.Denied == nil {
			t.Errorf("%s: 4 are granted of 3", model)
		}
	}
}

func TestARefusalIsBelievedForADayAtMost(t *testing.T) {
	t.Parallel()
	l := quota.Open(hourly(100), nil)
	l.Exchange(at(0), "w", time.Second, quota.Report{Refused: at(400 * 24 * time.Hour)})
	if g := ask(l, time.Minute); g.Denied == nil || g.Denied.At.After(at(quota.MostRefused)) {
		t.Errorf("after a refusal for 400 days: %+v", g)
	}
	if g := ask(l, quota.MostRefused-time.Minute); g.Denied == nil {
		t.Error("granted within the day that a refusal is believed")
	}
	if g := ask(l, quota.MostRefused+time.Second); g.Denied != nil {
		t.Errorf("still denied after a day: %+v", g.Denied)
	}
}
