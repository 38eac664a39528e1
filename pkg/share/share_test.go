package share_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/share"
)

const plenty = 1_000_000

func TestWindows(t *testing.T) {
	for name, test := range map[string]struct {
		total  int
		claims []share.Claim
		want   []int
	}{
		"one alone":                 {48, []share.Claim{{"a", 0, 1, plenty}}, []int{48}},
		"one with little left":      {48, []share.Claim{{"a", 0, 1, 5}}, []int{5}},
		"nobody":                    {48, nil, []int{}},
		"two alike":                 {48, []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 1, plenty}}, []int{24, 24}},
		"an odd one":                {5, []share.Claim{{"b", 0, 1, plenty}, {"a", 0, 1, plenty}}, []int{2, 3}},
		"one to three":              {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 3, plenty}}, []int{4, 12}},
		"a small one leaves":        {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 3, 2}}, []int{14, 2}},
		"one that pauses":           {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 100, 0}}, []int{16, 0}},
		"at least one":              {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 100, plenty}}, []int{1, 15}},
		"more queries than room":    {2, []share.Claim{{"a", 0, 1, 9}, {"b", 0, 1, 9}, {"c", 0, 1, 9}}, []int{1, 1, 1}},
		"no weight is one":          {16, []share.Claim{{"a", 0, 0, plenty}, {"b", 0, -7, plenty}}, []int{8, 8}},
		"a higher one takes all":    {16, []share.Claim{{"a", 0, 100, plenty}, {"b", 1, 1, plenty}}, []int{0, 16}},
		"a higher one's last items": {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 1, 1, 6}}, []int{10, 6}},
		"a higher one that pauses":  {16, []share.Claim{{"a", -10, 1, plenty}, {"b", 10, 1, 0}}, []int{16, 0}},
		"three priorities":          {16, []share.Claim{{"a", 0, 1, plenty}, {"b", 3, 1, 4}, {"c", 3, 1, 5}, {"d", -1, 1, plenty}}, []int{7, 4, 5, 0}},
		"no room":                   {0, []share.Claim{{"a", 0, 1, plenty}}, []int{0}},
		"less than no room":         {-3, []share.Claim{{"a", 0, 1, plenty}}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := share.Windows(test.total, test.claims); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestTheTotalKeepsTwoItemsQueuedForEachSlot(t *testing.T) {
	for slots, want := range map[int]int{1: 16, 4: 16, 6: 18, 8: 24, 10_000: 30_000} {
		if got := share.Total(slots); got != want {
			t.Errorf("%d for %d slots, want %d", got, slots, want)
		}
	}
}

func claims(t *rapid.T) []share.Claim {
	n := rapid.IntRange(0, 12).Draw(t, "claims")
	list := make([]share.Claim, n)
	for i := range list {
		list[i] = share.Claim{
			ID: fmt.Sprintf("q%02d", i), Priority: rapid.IntRange(-2, 2).Draw(t, "priority"), Weight: rapid.IntRange(1, 100).Draw(t, "weight"),
			Demand: rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 200), rapid.Just(plenty)).Draw(t, "demand"),
		}
	}
	return list
}

// A tier is the claims of one priority.
func tiers(list []share.Claim) map[int][]int {
	of := map[int][]int{}
	for i, c := range list {
		of[c.Priority] = append(of[c.Priority], i)
	}
	return of
}

func TestAllThatIsWantedIsGivenOutAndNoMoreThanThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, total := claims(t), rapid.IntRange(0, 300).Draw(t, "total")
		windows := share.Windows(total, list)
		sum, wanted, wanting := 0, 0, 0
		for i, c := range list {
			if windows[i] < 0 || windows[i] > c.Demand {
				t.Fatalf("%d is given to %+v", windows[i], c)
			}
			sum, wanted = sum+windows[i], wanted+c.Demand
			if c.Demand > 0 {
				wanting++
			}
		}
		if sum < min(total, wanted) {
			t.Fatalf("%d of %d are given out, and %d are wanted: %v", sum, total, wanted, windows)
		}
		if sum > max(total, wanting) {
			t.Fatalf("%d of %d are given out to %d claims: %v", sum, total, wanting, windows)
		}
	})
}

func TestALowerPriorityHasOnlyWhatTheHigherLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, total := claims(t), rapid.IntRange(1, 300).Draw(t, "total")
		windows := share.Windows(total, list)
		for i, high := range list {
			if windows[i] >= high.Demand {
				continue
			}
			for j, low := range list {
				if low.Priority < high.Priority && windows[j] > 0 {
					t.Fatalf("%+v has %d while %+v has only %d", low, windows[j], high, windows[i])
				}
			}
		}
		// The tier that is reached gives something to everybody.
		for priority, members := range tiers(list) {
			reached := slices.ContainsFunc(members, func(i int) bool { return windows[i] > 0 })
			for _, i := range members {
				if reached && list[i].Demand > 0 && windows[i] == 0 {
					t.Fatalf("%+v has nothing, and others of priority %d have something: %v", list[i], priority, windows)
				}
			}
		}
	})
}

// Nobody could give an item to another of its priority and both would stand nearer to their weights.
func TestWindowsOfOnePriorityFollowTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, total := claims(t), rapid.IntRange(1, 300).Draw(t, "total")
		windows := share.Windows(total, list)
		for _, members := range tiers(list) {
			for _, i := range members {
				for _, j := range members {
					a, b := list[i], list[j]
					if windows[i] <= 1 || windows[j] >= b.Demand || i == j {
						continue
					}
					if (2*windows[i]-1)*b.Weight > (2*windows[j]+1)*a.Weight {
						t.Fatalf("%+v has %d, and %+v has %d", a, windows[i], b, windows[j])
					}
				}
			}
		}
	})
}

func TestWindowsDoNotDependOnTheOrderOfTheClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, total := claims(t), rapid.IntRange(0, 300).Draw(t, "total")
		want := map[string]int{}
		for i, n := range share.Windows(total, list) {
			want[list[i].ID] = n
		}
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		before := slices.Clone(shuffled)
		for i, n := range share.Windows(total, shuffled) {
			if want[shuffled[i].ID] != n {
				t.Fatalf("%+v has %d, and %d in another order", shuffled[i], n, want[shuffled[i].ID])
			}
		}
		if !slices.Equal(before, shuffled) {
			t.Fatal("the claims were changed")
		}
	})
}

func TestMoreRoomTakesFromNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, total := claims(t), rapid.IntRange(0, 300).Draw(t, "total")
		before, after := share.Windows(total, list), share.Windows(total+1, list)
		for i := range list {
			if after[i] < before[i] {
				t.Fatalf("%+v has %d of %d, and %d of one more", list[i], before[i], total, after[i])
			}
		}
	})
}

func BenchmarkWindowsOfManySlots(b *testing.B) {
	list := []share.Claim{{"a", 0, 1, plenty}, {"b", 0, 3, plenty}, {"c", 0, 7, plenty}}
	for b.Loop() {
		share.Windows(share.Total(10_000), list)
	}
}
