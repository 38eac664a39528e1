package quota_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/quota"
)

func copyOf(t rapid.TB, l *messages.QuotaLedger) *messages.QuotaLedger {
	if l == nil {
		return nil
	}
	data, err := l.Encode()
	if err != nil {
		t.Fatal(err)
	}
	c, err := messages.DecodeQuotaLedger(data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Several processes spend a pool whose account is lost again and again: each tells what it knows with its next exchange, and when all
// have, nothing that was spent is forgotten.
func TestALostAccountIsWholeWhenAllHaveTold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := hourly(1000)
		cfg.Model = rapid.SampledFrom([]string{quota.Rolling, quota.Fixed}).Draw(t, "model")
		var stored *messages.QuotaLedger
		known := make([]*messages.QuotaLedger, rapid.IntRange(1, 4).Draw(t, "processes"))
		spent, now := int64(0), at(0)
		exchange := func(i int, units int64) {
			l := quota.Open(cfg, quota.Recovered(copyOf(t, stored), known[i]))
			var report quota.Report
			if units > 0 {
				report.Spends = []quota.Spend{{Sent: now, Answered: now, Units: units}}
			}
			l.Exchange(now, fmt.Sprint("w", i), time.Second, report)
			stored = copyOf(t, l.State())
			known[i] = copyOf(t, stored)
			spent += units
		}
		for i := range known {
			exchange(i, 0)
		}
		loses := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(20*time.Second)).Draw(t, "time")))
			if loses < 1 && rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				stored = nil
				loses++
			}
			exchange(rapid.IntRange(0, len(known)-1).Draw(t, "who"), rapid.Int64Range(0, 20).Draw(t, "units"))
		}
		for i := range known {
			exchange(i, 0)
		}
		if left := *quota.Standing(stored, now).Left; left != max(0, 1000-spent) {
			t.Fatalf("%d are left of 1000, of which %d were spent; %+v", left, spent, stored)
		}
	})
}

// Whatever numbers a service, a definition or a clock gives, an account can be stored, and names a time that comes.
func TestAbsurdNumbersLeaveAnAccountThatCanBeStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 100), rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, 1 << 53, 1 << 62}))
		window := time.Duration(rapid.OneOf(rapid.Int64Range(int64(time.Millisecond), int64(10*time.Second)), rapid.Int64Range(int64(time.Second), int64(366*24*time.Hour))).Draw(t, "window"))
		instant := func(name string) time.Time {
			if rapid.Bool().Draw(t, name+" is near") {
				return at(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, name)))
			}
			return time.Unix(rapid.Int64Range(-1<<40, 1<<40).Draw(t, name), 0)
		}
		var stored *messages.QuotaLedger
		for range rapid.IntRange(1, 12).Draw(t, "exchanges") {
			cfg := quota.Config{
				Pool: "p", Owner: "o", Counts: rapid.SampledFrom([]string{"requests", "bytes"}).Draw(t, "counts"),
				Model: rapid.SampledFrom([]string{quota.Rolling, quota.Fixed, quota.Bucket}).Draw(t, "model"), Limit: number.Draw(t, "limit"),
				Window: window, HoldBack: number.Draw(t, "held back"), Observes: rapid.Bool().Draw(t, "observes"), Foreign: rapid.Bool().Draw(t, "foreign"),
			}
			l := quota.Open(cfg, stored)
			now := instant("now")
			report := quota.Report{
				First: number.Draw(t, "first"), Free: number.Draw(t, "free"), Flying: number.Draw(t, "flying"), Need: number.Draw(t, "need"), Batch: number.Draw(t, "batch"),
			}
			for range rapid.IntRange(0, 2).Draw(t, "spends") {
				report.Spends = append(report.Spends, quota.Spend{Sent: instant("sent"), Answered: instant("answered"), Units: number.Draw(t, "units"), Served: rapid.Bool().Draw(t, "served")})
			}
			if rapid.Bool().Draw(t, "reads") {
				report.Readings = []quota.Reading{{Limit: number.Draw(t, "said"), Remaining: number.Draw(t, "remaining"), Reset: instant("reset"), At: instant("read"), Total: number.Draw(t, "total")}}
			}
			if rapid.Bool().Draw(t, "refused") {
				report.Refused = instant("until")
			}
			g := l.Exchange(now, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "holder"), time.Second, report)
			data, err := l.State().Encode()
			if err != nil {
				t.Fatalf("it cannot be stored: %v", err)
			}
			most := max(window+window/128+3*time.Second, quota.MostRefused)
			if g.Denied != nil && g.Denied.At.Sub(now) > most {
				t.Fatalf("told to wait for %s of a window of %s", g.Denied.At.Sub(now), window)
			}
			quota.Standing(l.State(), now)
			if stored, err = messages.DecodeQuotaLedger(data); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMoreHoldersThanAnAccountHasRoomForAreToldToWait(t *testing.T) {
	t.Parallel()
	cfg := hourly(100_000)
	l := quota.Open(cfg, nil)
	for i := range messages.MaxQuotaReservations {
		if g := l.Exchange(at(0), fmt.Sprint("w", i), time.Second, quota.Report{Need: 1}); g.Free != 1 {
			t.Fatalf("holder %d: %+v", i, g)
		}
	}
	g := l.Exchange(at(0), "more", time.Second, quota.Report{Need: 1})
	if g.Denied == nil || !g.Denied.Soon || g.Free != 0 {
		t.Errorf("one more is %+v", g)
	}
	l.Exchange(at(0), "flying", time.Second, quota.Report{Flying: 3})
	if _, err := l.State().Encode(); err != nil {
		t.Fatal(err)
	}
	if left := *quota.Standing(l.State(), at(0)).Left; left != 100_000-3 {
		t.Errorf("%d are left", left)
	}
	if g := l.Exchange(at(2*time.Second), "more", time.Second, quota.Report{Need: 1}); g.Free != 1 {
		t.Errorf("when those are over, one more is %+v", g)
	}
	if _, err := l.State().Encode(); err != nil {
		t.Fatal(err)
	}
}
