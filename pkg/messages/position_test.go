package messages_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

func TestOnlyCanonicalTextIsAPosition(t *testing.T) {
	for _, text := range []string{"0", "17", "17.0", "17.0.1", "2147483647", strings.Repeat("0.", 31) + "0"} {
		if p, err := messages.ParsePosition(text); err != nil || string(p) != text {
			t.Errorf("%q is read as %q, %v", text, p, err)
		}
	}
	for _, text := range []string{
		"", ".", "1.", ".1", "1..2", "-1", "+1", "01", "1.00", "1.-0", "1e3", "0x1", "1_0", " 1", "1 ", "٣", "2147483648",
		"99999999999999999999", strings.Repeat("0.", 32) + "0", strings.Repeat(".", 1<<20), "1\n",
	} {
		p, err := messages.ParsePosition(text)
		if !errors.Is(err, messages.ErrPosition) || p != "" {
			t.Errorf("%.40q is read as %.40q, %v", text, p, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
	}
}

func path() *rapid.Generator[[]int] {
	return rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 1<<31-1)), 1, 32)
}

func positionOf(path []int) messages.Position {
	parts := make([]string, len(path))
	for i, n := range path {
		parts[i] = strconv.Itoa(n)
	}
	return messages.Position(strings.Join(parts, "."))
}

func TestAPositionIsReadBackFromItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := path().Draw(t, "path")
		p, err := messages.ParsePosition(string(positionOf(at)))
		if err != nil || p != positionOf(at) || p.Index() != at[0] || p.IsChild() != (len(at) > 1) {
			t.Fatalf("%v gives %q, index %d, child %t, %v", at, p, p.Index(), p.IsChild(), err)
		}
		if q := messages.PositionAt(at[0]); q != p && len(at) == 1 || q.Index() != at[0] || q.IsChild() {
			t.Fatalf("position at %d is %q", at[0], q)
		}
	})
}

func TestPositionsSortAsTheirRowsStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := path().Draw(t, "a"), path().Draw(t, "b")
		if rapid.Bool().Draw(t, "share a beginning") {
			b = append(slices.Clone(a[:rapid.IntRange(1, len(a)).Draw(t, "shared")]), b...)
		}
		want := slices.Compare(a, b)
		if got := positionOf(a).Compare(positionOf(b)); cmp.Compare(got, 0) != want {
			t.Fatalf("%s against %s is %d, want %d", positionOf(a), positionOf(b), got, want)
		}
		if got := positionOf(b).Compare(positionOf(a)); cmp.Compare(got, 0) != -want {
			t.Fatalf("%s against %s is %d, want %d", positionOf(b), positionOf(a), got, -want)
		}
	})
}

func TestChildrenStandBetweenTheirParentAndTheNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(rapid.IntRange(0, 1<<31-2), 1, 31).Draw(t, "parent")
		child := append(slices.Clone(at), rapid.IntRange(0, 1<<31-1).Draw(t, "child"))
		next := slices.Clone(at)
		next[len(next)-1]++
		if positionOf(at).Compare(positionOf(child)) >= 0 || positionOf(child).Compare(positionOf(next)) >= 0 {
			t.Fatalf("%s, %s, %s are not in order", positionOf(at), positionOf(child), positionOf(next))
		}
	})
}

func TestNoPositionStandsBeforeAll(t *testing.T) {
	if got := messages.Position("").Compare("0"); got >= 0 {
		t.Errorf("no position against 0 is %d", got)
	}
}

func FuzzParsePosition(f *testing.F) {
	for _, text := range []string{"0", "17.0.1", "01", "-1", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := messages.ParsePosition(text)
		if err != nil {
			return
		}
		if string(p) != text || p.Compare(messages.Position(text)) != 0 || p.Index() < 0 || p.Compare(p+".0") >= 0 {
			t.Errorf("%q is the position %q at %d", text, p, p.Index())
		}
	})
}

func TestChildrenKnowTheirParent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := positionOf(path().Draw(t, "path"))
		first, second, ok := p.Children()
		if deepest := strings.Count(string(p), ".") == 31; ok == deepest {
			t.Fatalf("%s has children: %t", p, ok)
		}
		if !ok {
			return
		}
		for _, child := range []messages.Position{first, second} {
			if q, err := messages.ParsePosition(string(child)); err != nil || q.Parent() != p || q.Index() != p.Index() || !q.IsChild() {
				t.Fatalf("the child %q of %q has the parent %q, %v", child, p, q.Parent(), err)
			}
		}
		if p.Compare(first) >= 0 || first.Compare(second) >= 0 || second.Compare(messages.PositionAt(p.Index()+1)) >= 0 && p.Index() < 1<<31-1 {
			t.Fatalf("%s, %s, %s are not in order", p, first, second)
		}
	})
	if p := messages.PositionAt(3).Parent(); p != "" {
		t.Errorf("a position of the plan has the parent %q", p)
	}
}
