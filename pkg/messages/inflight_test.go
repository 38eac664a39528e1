package messages_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func TestANumberOfRequestsAtATimeIsReadStrictly(t *testing.T) {
	for text, want := range map[string]messages.InFlight{
		"1": 1, "08": 8, "+8": 8, "10000": 10_000, "unbounded": messages.Unbounded, "UNBOUNDED": messages.Unbounded, "UnBounded": messages.Unbounded,
		"": 0, "0": 0, "-1": 0, "10001": 0, "99999999999999999999": 0, "1.0": 0, "1e3": 0, "0x10": 0, "true": 0, "yes": 0, "none": 0, " 8": 0, "8 ": 0,
		"unbounded ": 0, "un bounded": 0, "\u0668": 0, "infinite": 0,
	} {
		got, err := messages.ParseInFlight(text)
		if got != want || (err == nil) != (want != 0) || err != nil && !errors.Is(err, messages.ErrInFlight) {
			t.Errorf("%q is read as %s, %v", text, got, err)
		}
	}
}

func TestANumberOfRequestsAtATimeIsReadFromJSONStrictly(t *testing.T) {
	for text, want := range map[string]messages.InFlight{
		"8": 8, "0": 0, `"unbounded"`: messages.Unbounded, `"Unbounded"`: messages.Unbounded,
	} {
		var got messages.InFlight
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "-2", "10001", "8.0", "8.5", "1e1", `"8"`, `""`, "true", "[]", "{}", `"unbounded "`, `"-1"`} {
		var got messages.InFlight
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s is read as %s", text, got)
		}
	}
}

func numbers() *rapid.Generator[messages.InFlight] {
	return rapid.Map(rapid.IntRange(-1, messages.MaxSlots), func(n int) messages.InFlight { return messages.InFlight(n) })
}

func TestANumberOfRequestsAtATimeIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := numbers().Draw(t, "n")
		var again messages.InFlight
		text, err := json.Marshal(n)
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || again != n {
			t.Fatalf("%s is written as %s and read as %s: %v", n, text, again, err)
		}
		if read, err := messages.ParseInFlight(n.String()); n != 0 && (err != nil || read != n) {
			t.Fatalf("%s is read as %s: %v", n, read, err)
		}
	})
}

func TestTheStricterOfTwoNumbersHolds(t *testing.T) {
	const none = messages.InFlight(0)
	for _, c := range [][3]messages.InFlight{
		{none, none, none},
		{none, 4, 4},
		{none, messages.Unbounded, messages.Unbounded},
		{4, messages.Unbounded, 4},
		{4, 2, 2},
		{messages.Unbounded, messages.Unbounded, messages.Unbounded},
	} {
		if got := c[0].Stricter(c[1]); got != c[2] {
			t.Errorf("of %q and %q it is %q, want %q", c[0], c[1], got, c[2])
		}
		if got := c[1].Stricter(c[0]); got != c[2] {
			t.Errorf("of %q and %q it is %q, want %q", c[1], c[0], got, c[2])
		}
	}
}

func TestWithoutABoundThereAreAsManySlotsAsChunksUpToAllThatThereAre(t *testing.T) {
	for _, c := range []struct {
		n            messages.InFlight
		chunks, want int
	}{{messages.Unbounded, 0, 1}, {messages.Unbounded, 300, 300}, {messages.Unbounded, 1_000_000, messages.MaxSlots}, {8, 3, 8}, {8, 1_000_000, 8}} {
		if got := c.n.Slots(c.chunks); got != c.want {
			t.Errorf("%s for %d chunks is %d, want %d", c.n, c.chunks, got, c.want)
		}
	}
}

func TestARankIsBounded(t *testing.T) {
	for _, c := range []struct {
		rank messages.Rank
		says string
	}{
		{messages.Rank{}, ""},
		{messages.Rank{Priority: 10, Weight: 100}, ""},
		{messages.Rank{Priority: -10, Weight: 1}, ""},
		{messages.Rank{Priority: 11}, "priority: invalid message: 11 is out of bounds, want -10 to 10"},
		{messages.Rank{Priority: -11}, "priority: invalid message: -11"},
		{messages.Rank{Weight: 101}, "weight: invalid message: 101 is out of bounds, want 1 to 100"},
		{messages.Rank{Weight: -1}, "weight: invalid message: -1"},
	} {
		if err := c.rank.Check(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.rank, err)
		}
	}
}
