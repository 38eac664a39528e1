package retry

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

func TestARetryAfterThatIsNoHintIsRefused(t *testing.T) {
	for _, header := range []string{
		"", " ", "0", "0.0", "+0", "-0", "-1", "-5.5", "inf", "+Inf", "nan", "1e3", "1_000", "0x10", ".", "+", "++1", "1.2.3", "5 s", "5,10",
		"Mon, 17 Aug 2026 12:00:00 GMT", "Mon, 17 Aug 2026 11:59:59 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Tue", "2026-08-17T12:01:00Z",
		"Mon, 17 Aug 2026 12:01:00 +0100", "Mon, 17 Aug 2026 12:01:00 +9999", "Mon, 31 Sep 2026 12:01:00 GMT", "Mon, 17 Aug 2026 24:00:00 GMT",
		"Mon, 17 Aug 2026 12:01:60 GMT", "17 Aug", "17 Avg 2026 12:01:00 GMT", "Mon, 17 Aug -2026 12:01:00 GMT", "Mon, 0 Sep 2026 12:01:00 GMT",
		"Mon, 17 Aug 12026 12:01:00 GMT", "Mon, 17 Aug 2026 GMT", ",", "17-Aug-26", "Mon, 17 Aug 69 12:01:00 GMT", "Mon, 17 Aug 2026 12:01:00 +99999999999",
		"- - - - -", "Mon,", "٣", "5\x00", string(make([]byte, 65)),
		"00000000000000000000000000000000000000000000000000000000000000001",
	} {
		if wait, ok := ParseRetryAfter(header, noon); ok {
			t.Errorf("%q was read as %v", header, wait)
		}
	}
}

func TestARetryAfterIsReadInAllItsForms(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"1": time.Second, " 7\t": 7 * time.Second, "+7": 7 * time.Second, "0.25": 250 * time.Millisecond, "5.": 5 * time.Second,
		"99999999999999999999":                1<<63 - 1,
		"Mon, 17 Aug 2026 12:00:30 GMT":       30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 UTC":       30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30":           30 * time.Second,
		"17 Aug 2026 12:00:30 GMT":            30 * time.Second,
		"17 Aug 2026 08:00:30 -0400":          30 * time.Second,
		"Mon Aug 17 12:00:30 2026":            30 * time.Second,
		"Monday, 17-Aug-26 12:00:30 GMT":      30 * time.Second,
		"Mon, 17 Aug 2026 05:00:30 PDT":       30 * time.Second,
		"Mon, 17 Aug 2026 08:00:30 AST":       30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 +0000":     30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 -0000":     30 * time.Second,
		"Mon, 17 Aug 2026 17:30:30 +0530":     30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30+0000":      30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 Z":         30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 UT":        30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 XYZ":       30 * time.Second, // RFC 5322, 4.3: as -0000
		"mon, 17 aug 2026 12:00:30 gmt":       30 * time.Second,
		"MON, 17 AUG 2026 12:00:30 GMT":       30 * time.Second,
		"Mon,17 Aug 2026 12:00:30 GMT":        30 * time.Second,
		"Mon 17 Aug 2026 12:00:30 GMT":        30 * time.Second,
		"Mon,  17  Aug  2026  12:00:30  GMT":  30 * time.Second,
		"Wed, 17 Aug 2026 12:00:30 GMT":       30 * time.Second, // another day of the week
		"Mon, 17 August 2026 12:00:30 GMT":    30 * time.Second,
		"Mon, 17 Aug 26 12:00:30 GMT":         30 * time.Second,
		"Mon, 17-Aug-26 12:00:30 GMT":         30 * time.Second,
		"Mon, 17-Aug-2026 12:00:30 GMT":       30 * time.Second,
		"17-Aug-26 12:00:30 GMT":              30 * time.Second,
		"17 Aug 2026 12:00:30":                30 * time.Second,
		"17 Aug 2026 12:01 GMT":               time.Minute,
		"17 Aug 2026 12:01":                   time.Minute,
		"Tue, 1 Sep 2026 12:00:00 GMT":        15 * 24 * time.Hour,
		"Tue Sep  1 12:00:00 2026":            15 * 24 * time.Hour,
		"Mon Aug 17 12:00:30 GMT 2026":        30 * time.Second,
		"Aug 17, 2026 12:00:30 GMT":           30 * time.Second,
		"Mon, 17 Aug 2026 12.00.30 GMT":       30 * time.Second,
		"Mon, 17 Aug 2026 12:00:30 GMT (UTC)": 30 * time.Second,
		"Mon, 29 Feb 2028 12:00:00 GMT":       561 * 24 * time.Hour,
		"Mon, 17 Aug 2026 14:00 +0100":        time.Hour,
		"Fri, 31 Dec 9999 23:59:59 GMT":       1<<63 - 1,
	} {
		if got, ok := ParseRetryAfter(header, noon); !ok || got != want {
			t.Errorf("%q was read as %v, %v; want %v", header, got, ok, want)
		}
	}
}

func TestADateIsReadInEveryFormItMayBeWrittenIn(t *testing.T) {
	layouts := []string{
		time.RFC1123, time.RFC1123Z, time.RFC850, time.RFC822Z, time.ANSIC, time.UnixDate, time.RubyDate, "Mon, 2 Jan 2006 15:04:05 GMT",
		"2 Jan 2006 15:04:05", "2 January 2006 15:04:05 -0700", "Mon,02-Jan-06 15:04:05 Z", "Jan 2, 2006 15:04:05 UT",
	}
	rapid.Check(t, func(t *rapid.T) {
		layout := rapid.SampledFrom(layouts).Draw(t, "layout")
		ahead := time.Duration(rapid.Int64Range(1, 40*365*24*60).Draw(t, "minutes")) * time.Minute
		date := noon.Add(ahead)
		if strings.Contains(layout, "-0700") {
			date = date.In(time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "offset")))
		}
		header := date.Format(layout)
		if rapid.Bool().Draw(t, "lower case") {
			header = strings.ToLower(header)
		}
		if got, ok := ParseRetryAfter(header, noon); !ok || got != ahead {
			t.Fatalf("%q was read as %v, %v; want %v", header, got, ok, ahead)
		}
	})
}

func FuzzAHintIsAlwaysAhead(f *testing.F) {
	for _, header := range []string{
		"5", "0", "-1", "1e400", "Mon, 17 Aug 2026 12:00:30 GMT", "Mon, 17 Aug 2026 05:00 PDT", "Mon Aug 17 12:00:30 2026",
		"Monday, 17-Aug-26 12:01:00 GMT", "17 Aug 2026 12:01-0400", "Aug 17, 2026 12.01 z", "Mon,1 sep 68 1:1:1 +2359 x",
	} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if wait, ok := ParseRetryAfter(header, noon); ok != (wait > 0) {
			t.Errorf("%q was read as %v", header, wait)
		}
	})
}

func TestARequestThatMayHaveRunIsNotSentTwiceUnlessRepeatable(t *testing.T) {
	for _, c := range []struct {
		name     string
		safety   Safety
		evidence Evidence
		want     Reason
	}{
		{"repeatable, no evidence", Repeatable, Evidence{Kind: Transient}, WillRetry},
		{"once only, no evidence", OnceOnly, Evidence{Kind: Transient}, NotRepeatable},
		{"once only, not executed", OnceOnly, Evidence{Kind: Transient, Execution: NotExecuted}, WillRetry},
		{"once only, refused for quota", OnceOnly, Evidence{Kind: Quota, Execution: NotExecuted, Hint: time.Second}, WillRetry},
		{"once only, quota without evidence", OnceOnly, Evidence{Kind: Quota, Hint: time.Second}, NotRepeatable},
		{"permanent", Repeatable, Evidence{Execution: NotExecuted}, IsPermanent},
		{"unknown kind", Repeatable, Evidence{Kind: 99}, IsPermanent},
		{"long hint", Repeatable, Evidence{Kind: Quota, Hint: time.Minute + 1}, HintTooLong},
		{"negative hint is none", Repeatable, Evidence{Kind: Quota, Hint: -time.Hour}, WillRetry},
	} {
		d := NewBudget(Default(), c.safety, noon, fraction(0.5)).After(c.evidence, noon)
		if d.Reason != c.want || d.Retry != (c.want == WillRetry) {
			t.Errorf("%s: %+v, want %s", c.name, d, c.want)
		}
	}
}

func TestARefusalForQuotaCostsNoRetryOfAFailure(t *testing.T) {
	b := NewBudget(Default(), Repeatable, noon, fraction(0))
	for range 4 {
		if d := b.After(Evidence{Kind: Quota, Hint: time.Second}, noon); !d.Retry {
			t.Fatalf("quota: %+v", d)
		}
	}
	if d := b.After(Evidence{Kind: Quota, Hint: time.Second}, noon); d.Reason != OutOfAttempts {
		t.Fatalf("fifth refusal for quota: %+v, want out of attempts", d)
	}
	for range 4 {
		if d := b.After(Evidence{Kind: Transient}, noon); !d.Retry {
			t.Fatalf("transient after quota: %+v", d)
		}
	}
	if d := b.After(Evidence{Kind: Transient}, noon); d.Reason != OutOfAttempts {
		t.Fatalf("fifth failure: %+v, want out of attempts", d)
	}
}

func TestTimeInTheQueueIsNoSilence(t *testing.T) {
	second := func(queued time.Duration) Decision {
		b := NewBudget(Default(), Repeatable, noon, fraction(0))
		b.After(Evidence{Kind: Transient}, noon)
		now := noon.Add(2 * time.Minute)
		b.Queued(queued, now)
		return b.After(Evidence{Kind: Transient}, now)
	}
	if d := second(0); d.Reason != Silent {
		t.Errorf("after two silent minutes: %+v, want silent", d)
	}
	if d := second(90 * time.Second); !d.Retry {
		t.Errorf("after 90 s in the queue of 2 min: %+v, want a retry", d)
	}

	b := NewBudget(Default(), Repeatable, noon, fraction(0))
	b.After(Evidence{Kind: Transient}, noon)
	b.Queued(time.Hour, noon.Add(time.Second))
	if d := b.After(Evidence{Kind: Transient}, noon.Add(2*time.Minute)); d.Reason != Silent {
		t.Errorf("credit beyond the present excused later silence: %+v", d)
	}
}

func TestAWaitTheServiceAskedForIsNoSilence(t *testing.T) {
	const silence, wait = 45 * time.Second, 30 * time.Second
	if _, ok := Default().Next(2, wait, silence, fraction(0)); !ok {
		t.Error("a wait the service asked for was counted as silence to come")
	}
	patient := Policy{Attempts: 4, Base: wait, Cap: wait, RetryAfterCap: time.Minute, Stall: time.Minute}
	if _, ok := patient.Next(2, 0, silence, fraction(1)); ok {
		t.Error("a wait of our own was not counted as silence to come")
	}
}

func TestEveryWaitLiesInItsRangeAndRetriesEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := rapid.Int64Range(0, int64(maxWait))
		policy := Policy{
			Attempts: rapid.IntRange(0, maxAttempts).Draw(t, "attempts"),
			Base:     time.Duration(wait.Draw(t, "base")), Cap: time.Duration(wait.Draw(t, "cap")),
			RetryAfterCap: time.Duration(wait.Draw(t, "retry-after cap")), Stall: time.Duration(wait.Draw(t, "stall")),
		}
		if err := policy.Validate(); err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		budget := NewBudget(policy, Repeatable, noon, rnd)
		now := noon
		for retries := 0; ; retries++ {
			if retries > 2*policy.Attempts {
				t.Fatalf("%d retries of %d failures and as many refusals", retries, policy.Attempts)
			}
			e := Evidence{
				Kind: rapid.SampledFrom([]Kind{Transient, Quota}).Draw(t, "kind"),
				Hint: time.Duration(rapid.Int64().Draw(t, "hint")),
			}
			now = now.Add(time.Duration(wait.Draw(t, "takes")))
			d := budget.After(e, now)
			if !d.Retry {
				return
			}
			if e.Hint > 0 && (d.Wait < e.Hint || d.Wait > e.Hint+hintSpread || d.Wait > policy.RetryAfterCap) ||
				e.Hint <= 0 && (d.Wait < 0 || d.Wait > policy.Cap) {
				t.Fatalf("%+v after %+v under %+v", d, e, policy)
			}
			now = now.Add(d.Wait)
		}
	})
}

func TestAPolicyOutOfBoundsIsRefused(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Policy){
		"attempts below": func(p *Policy) { p.Attempts = -1 }, "attempts above": func(p *Policy) { p.Attempts = 101 },
		"base": func(p *Policy) { p.Base = -1 }, "cap": func(p *Policy) { p.Cap = 25 * time.Hour },
		"hint": func(p *Policy) { p.RetryAfterCap = -1 }, "stall": func(p *Policy) { p.Stall = 25 * time.Hour },
	} {
		p := Default()
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%s: %+v was accepted", name, p)
		}
	}
}
