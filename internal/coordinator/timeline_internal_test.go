package coordinator

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func filled(points int, samples ...sample) *messages.Series {
	line := newTimeline()
	for _, s := range samples {
		line.add(s)
	}
	s := &messages.Series{}
	line.fill(s, points)
	return s
}

func samples() *rapid.Generator[[]sample] {
	return rapid.Custom(func(t *rapid.T) []sample {
		span := rapid.SampledFrom([]int64{1, 100, 2000, 1 << 30}).Draw(t, "span")
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
			return sample{
				at: 1_700_000_000 + rapid.Int64Range(0, span).Draw(t, "at"), requests: rapid.Int64Range(0, 1000).Draw(t, "requests"),
				rows: rapid.Int64Range(0, 1000).Draw(t, "rows"), bytes: rapid.Int64Range(0, 1000).Draw(t, "bytes"),
				latency: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "latency")),
				wait:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "wait")),
			}
		}), 0, 60).Draw(t, "samples")
	})
}

func TestATimelineKeepsAllAndDependsOnNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := samples().Draw(t, "all")
		points := rapid.IntRange(1, 1000).Draw(t, "points")
		s := filled(points, all...)
		if len(s.Chunks) > points {
			t.Fatalf("%d steps, at most %d", len(s.Chunks), points)
		}
		var want, got sample
		for _, one := range all {
			want.requests, want.rows, want.bytes = want.requests+one.requests, want.rows+one.rows, want.bytes+one.bytes
			if step := (one.at*int64(time.Second) - s.Start.UnixNano()) / int64(s.Step); step < 0 || step >= int64(len(s.Chunks)) || s.Chunks[step] == 0 {
				t.Errorf("second %d is in step %d of %d, which is empty", one.at, step, len(s.Chunks))
			}
		}
		chunks := int64(0)
		for i := range s.Chunks {
			chunks += s.Chunks[i]
			got.requests, got.rows, got.bytes = got.requests+s.Requests[i], got.rows+s.Rows[i], got.bytes+s.Bytes[i]
			if (s.Median[i] == nil) != (s.Requests[i] == 0) || (s.P95[i] == nil) != (s.Wait[i] == nil) {
				t.Errorf("step %d has %d requests, and times: %v", i, s.Requests[i], s.Median[i] != nil)
			}
		}
		if got != want || chunks != int64(len(all)) {
			t.Errorf("%d chunks, %+v, want %d, %+v", chunks, got, len(all), want)
		}
		if diff := cmp.Diff(s, filled(points, rapid.Permutation(all).Draw(t, "other order")...)); diff != "" {
			t.Errorf("in another order:\n%s", diff)
		}
	})
}

func TestWhatIsTakenBackLeavesNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
			return sample{at: 1000 + rapid.Int64Range(0, 500).Draw(t, "at"), requests: 2, latency: time.Second}
		}), 0, 20).Draw(t, "keep")
		gone := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sample {
			return sample{at: 1000 + rapid.Int64Range(0, 500).Draw(t, "at"), requests: 300, rows: 1, latency: time.Minute, wait: time.Hour}
		}), 0, 20).Draw(t, "gone")
		line := newTimeline()
		for _, s := range slices.Concat(gone, keep) {
			line.add(s)
		}
		for _, s := range gone {
			line.remove(s)
		}
		got := &messages.Series{}
		line.fill(got, 100)
		if diff := cmp.Diff(filled(100, keep...), got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPauseIsStepsOfNothing(t *testing.T) {
	s := filled(1000, sample{at: 100, requests: 1}, sample{at: 110, requests: 2})
	if want := []int64{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}; !slices.Equal(s.Requests, want) || s.Step != time.Second || s.Start.Unix() != 100 {
		t.Errorf("%v in steps of %v from %v", s.Requests, s.Step, s.Start)
	}
}

func TestQuantilesAreWithinFivePercent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := rapid.SliceOfN(rapid.Int64Range(int64(10*time.Microsecond), int64(24*time.Hour)), 1, 50).Draw(t, "durations")
		var h histogram
		for _, d := range durations {
			h.add(time.Duration(d), 1)
		}
		slices.Sort(durations)
		for _, q := range []float64{0.5, 0.95} {
			exact := float64(durations[int(math.Ceil(q*float64(len(durations))))-1]) / 1e6
			if got := *h.quantile(q); math.Abs(got-exact) > 0.05*exact+0.0005 {
				t.Errorf("quantile %v is %v ms, want %v", q, got, exact)
			}
		}
	})
}

func TestDurationsOutOfBoundsAreInTheOuterBuckets(t *testing.T) {
	for d, want := range map[time.Duration]int{-time.Hour: 0, 0: 0, time.Microsecond: 0, least: 1, math.MaxInt64: slots - 1} {
		var h histogram
		h.add(d, 1)
		if h[want] != 1 {
			t.Errorf("%v is not in bucket %d", d, want)
		}
	}
}

// A chunk of many requests weighs more than one of few.
func TestTimesAreWeighedByRequests(t *testing.T) {
	s := filled(1, sample{at: 5, requests: 9, latency: time.Second}, sample{at: 5, requests: 1, latency: time.Hour}, sample{at: 5, requests: 1, latency: time.Hour})
	if got := *s.Median[0]; got > 1100 {
		t.Errorf("the median is %v ms", got)
	}
	if got := *s.P95[0]; got < 3_000_000 {
		t.Errorf("the 95th percentile is %v ms", got)
	}
}

func TestAWrongClockStretchesNoTime(t *testing.T) {
	created, now := chartNoon(), chartNoon().Add(time.Minute)
	for name, c := range map[string]struct{ finished, want time.Time }{
		"long ago":    {time.Unix(1, 0), created},
		"in a future": {now.AddDate(300, 0, 0), now},
		"in between":  {created.Add(time.Second), created.Add(time.Second)},
	} {
		h := headerAt("0", messages.OutcomeRows, 1)
		h.Finished = c.finished
		if got := sampleOf(h, created, now).at; got != c.want.Unix() {
			t.Errorf("%s: told as of %v", name, time.Unix(got, 0).UTC())
		}
	}
	h := headerAt("0", messages.OutcomeRows, 1)
	h.Finished = time.Time{}
	if got := filled(10, sampleOf(h, created, now)); len(got.Chunks) != 0 {
		t.Errorf("a result without a time is told as of %v", got.Start)
	}
}
