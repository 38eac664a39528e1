package bus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAGoodResultIsNotRemovedAsDamaged(t *testing.T) {
	b := testkit.Bus(t)
	rows := noise(2 << 20)
	mustCommit(t, b, "attempt", testkit.Header("q", 0, 1), rows)
	if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
		t.Fatal(err)
	}
	if _, have, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(have, rows) {
		t.Errorf("%d bytes are left, %v", len(have), err)
	}
}

func TestOnlyTheResultOfTheAttemptThatWasSeenIsRemoved(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "second", testkit.Header("q", 0, 1), []byte("{}"))
	for _, gone := range []messages.Position{"0", "1"} {
		if err := b.RemoveAttempt(t.Context(), "q", gone, "first"); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); !have || err != nil {
		t.Fatalf("the result of another attempt is there: %v, %v", have, err)
	}
	if err := b.RemoveAttempt(t.Context(), "q", "0", "second"); err != nil {
		t.Fatal(err)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); have || err != nil {
		t.Errorf("the result of the attempt is there: %v, %v", have, err)
	}
}

// storeNewer stores a result as a later version of the program might.
func storeNewer(t *testing.T, b *bus.Bus, query string, p messages.Position) {
	t.Helper()
	head, err := json.Marshal(map[string]any{"v": messages.Version + 1, "query": query, "position": p, "shape": "new"})
	if err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg(bus.ResultSubject(query, p))
	msg.Header.Set("Braid-Result", string(head))
	if _, err := b.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestAResultOfANewerVersionIsAResultAndStays(t *testing.T) {
	b := testkit.Bus(t)
	storeNewer(t, b, "q", "0")
	if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveAttempt(t.Context(), "q", "0", "attempt"); err != nil {
		t.Fatal(err)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); !have || err != nil {
		t.Errorf("HasResult is %v, %v", have, err)
	}
	if _, _, err := b.Result(t.Context(), "q", "0"); !errors.Is(err, messages.ErrVersion) || errors.Is(err, messages.ErrDamaged) {
		t.Errorf("got %v, want ErrVersion", err)
	}
}

func TestPartsOfNoResultAreRemovedAndTheOthersStay(t *testing.T) {
	b := testkit.Bus(t)
	for _, query := range []string{"q", "other"} {
		if err := b.NewResult(query, "killed-in-"+query).Write(t.Context(), noise(2<<20)); err != nil {
			t.Fatal(err)
		}
	}
	killed := stored(t, b, "PARTS") / 2
	mustCommit(t, b, "kept", testkit.Header("q", 0, 1), noise(2<<20))
	before := stored(t, b, "PARTS")
	err := b.RemoveOrphans(t.Context(), "q", func(attempt string) bool { return attempt == "kept" })
	if err != nil {
		t.Fatal(err)
	}
	if left := stored(t, b, "PARTS"); killed == 0 || left != before-killed {
		t.Errorf("%d parts are left of %d, of which %d were of a killed attempt", left, before, killed)
	}
	if _, _, err := b.Result(t.Context(), "q", "0"); err != nil {
		t.Error(err)
	}
}

func TestOrphansAreFoundHoweverManyPartsThereAre(t *testing.T) {
	if testing.Short() {
		t.Skip("stores many messages")
	}
	const attempts, others = 2100, 101_000 // more than are remembered at once, and more than one answer lists
	b := testkit.Bus(t)
	mustCommit(t, b, "kept", testkit.Header("q", 0, 1), noise(2<<20))
	kept := stored(t, b, "PARTS")
	store := func(query string, n int) {
		for i := range n {
			if _, err := b.JetStream().PublishAsync(bus.PartSubject(query, fmt.Sprint("killed", i), 0), nil); err != nil {
				t.Fatal(err)
			}
			if i%1000 == 999 || i == n-1 {
				<-b.JetStream().PublishAsyncComplete() // a slow machine takes no more at once
			}
		}
	}
	store("q", attempts)
	store("other", others)
	if n := stored(t, b, "PARTS"); n != kept+attempts+others {
		t.Fatalf("%d parts are stored, want %d", n, kept+attempts+others)
	}
	if err := b.RemoveOrphans(t.Context(), "q", func(attempt string) bool { return attempt == "kept" }); err != nil {
		t.Fatal(err)
	}
	if n := stored(t, b, "PARTS"); n != kept+others {
		t.Errorf("%d parts are left, want the %d of the result and the %d of another query", n, kept, others)
	}
}

func TestASpecGoesWithTheLastQueryThatHasIt(t *testing.T) {
	b := testkit.Bus(t)
	spec := noise(400 << 10)
	first, second := create(t, b, "first", spec), create(t, b, "second", spec)
	if err := b.RemoveQuery(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if have, err := b.LoadSpec(t.Context(), second); err != nil || !bytes.Equal(have, spec) {
		t.Fatalf("the other query's spec: %d bytes, %v", len(have), err)
	}
	if err := b.RemoveQuery(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	s, err := b.JetStream().Stream(t.Context(), "KV_braid_queries")
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context(), jetstream.WithSubjectFilter("$KV.braid_queries.spec.>"))
	if err != nil || len(info.State.Subjects) != 0 {
		t.Errorf("left of the spec is %v, %v", info.State.Subjects, err)
	}
	if have, err := b.LoadSpec(t.Context(), create(t, b, "third", spec)); err != nil || !bytes.Equal(have, spec) {
		t.Errorf("the spec of a later query: %d bytes, %v", len(have), err)
	}
}
