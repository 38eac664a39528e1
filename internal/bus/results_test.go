package bus_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// noise makes n bytes that do not compress.
func noise(n int) []byte {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	return raw
}

func commit(t *testing.T, b *bus.Bus, attempt string, h *messages.ResultHeader, rows ...[]byte) error {
	t.Helper()
	w := b.NewResult(h.Query, attempt)
	for _, r := range rows {
		if err := w.Write(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return w.Commit(t.Context(), h)
}

func mustCommit(t *testing.T, b *bus.Bus, attempt string, h *messages.ResultHeader, rows ...[]byte) {
	t.Helper()
	if err := commit(t, b, attempt, h, rows...); err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T, b *bus.Bus, stream string) uint64 {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func TestTheFirstResultOfAPositionStays(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "first", testkit.Header("q", 0, 1), []byte(`{"n":1}`))
	if err := commit(t, b, "second", testkit.Header("q", 0, 1), []byte(`{"n":2}`)); !errors.Is(err, messages.ErrExists) {
		t.Fatalf("the second commit gave %v, want ErrExists", err)
	}
	h, rows, err := b.Result(t.Context(), "q", "0")
	if err != nil || h.Attempt != "first" || string(rows) != `{"n":1}` {
		t.Fatalf("result is %+v, %s, %v", h, rows, err)
	}
}

func TestTheLosersPartsArePurgedAndTheWinnersStay(t *testing.T) {
	b := testkit.Bus(t)
	won := noise(2 << 20)
	mustCommit(t, b, "first", testkit.Header("q", 0, 1), won)
	parts := stored(t, b, "PARTS")
	if parts < 3 {
		t.Fatalf("%d parts stored of 3 MB that do not compress", parts)
	}
	if err := commit(t, b, "second", testkit.Header("q", 0, 1), noise(2<<20)); !errors.Is(err, messages.ErrExists) {
		t.Fatalf("the second commit gave %v, want ErrExists", err)
	}
	if now := stored(t, b, "PARTS"); now != parts {
		t.Errorf("%d parts stored after the loser's end, want the winner's %d", now, parts)
	}
	if _, rows, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(rows, won) {
		t.Errorf("the winner's rows: %d bytes, %v", len(rows), err)
	}
}

func TestAnAbortedAttemptLeavesNothing(t *testing.T) {
	b := testkit.Bus(t)
	w := b.NewResult("q", "attempt")
	if err := w.Write(t.Context(), noise(2<<20)); err != nil {
		t.Fatal(err)
	}
	if stored(t, b, "PARTS") == 0 {
		t.Fatal("nothing was stored to be purged")
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := stored(t, b, "PARTS"); n != 0 {
		t.Errorf("%d parts are left", n)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); err != nil || have {
		t.Errorf("an aborted attempt counts as a result: %v, %v", have, err)
	}
}

func TestResultsComeBackByteForByteInlineAndInParts(t *testing.T) {
	b := testkit.Bus(t)
	const message = 512 << 10
	position := 0
	for _, sizes := range [][]int{
		{}, {0}, {1}, {100, 0, 200}, {message - 100}, {message}, {message + 100}, {message, message}, {100, 2 << 20, 100}, {2 << 20},
	} {
		for _, soft := range []bool{false, true} {
			var pages [][]byte
			for _, size := range sizes {
				page := noise(size)
				if soft {
					page = bytes.Repeat([]byte("a"), size)
				}
				pages = append(pages, page)
			}
			position++
			h := testkit.Header("q", position, 1)
			mustCommit(t, b, fmt.Sprintf("attempt-%d", position), h, pages...)
			have, rows, err := b.Result(t.Context(), "q", h.Position)
			if err != nil {
				t.Fatalf("pages of %v bytes: %v", sizes, err)
			}
			want := slices.Concat(pages...)
			if !bytes.Equal(rows, want) || have.Bytes != int64(len(want)) {
				t.Errorf("pages of %v bytes: %d bytes came back", sizes, len(rows))
			}
			if inParts := !soft && len(want) >= message; (have.Parts > 0) != inParts {
				t.Errorf("pages of %v bytes, compressible %v: %d parts", sizes, soft, have.Parts)
			}
		}
	}
}

func TestAResultThatIsNotThereIsNotFound(t *testing.T) {
	b := testkit.Bus(t)
	if _, _, err := b.Result(t.Context(), "q", "0"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); have || err != nil {
		t.Errorf("HasResult is %v, %v", have, err)
	}
}

// overwrite puts another body in the place of a stored message, as a fault of the store might.
func overwrite(t *testing.T, b *bus.Bus, stream, subject string, edit func(*nats.Msg)) {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	old, err := s.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject)); err != nil {
		t.Fatal(err)
	}
	msg := nats.NewMsg(subject)
	msg.Header, msg.Data = old.Header, old.Data
	edit(msg)
	if _, err := b.JetStream().PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotWhatWasCommittedIsDamaged(t *testing.T) {
	b := testkit.Bus(t)
	big := noise(2 << 20)
	for name, c := range map[string]struct {
		rows   []byte
		damage func(t *testing.T, p messages.Position, attempt string)
	}{
		"another body": {[]byte(`{"n":1}`), func(t *testing.T, p messages.Position, _ string) {
			overwrite(t, b, "RESULTS", bus.ResultSubject("q", p), func(m *nats.Msg) { m.Data = []byte("junk") })
		}},
		"the body of another result": {[]byte(`{"n":1}`), func(t *testing.T, p messages.Position, _ string) {
			other := testkit.Header("other", p.Index(), 1)
			mustCommit(t, b, "other-"+string(p), other, []byte(`{"n":2}`))
			s, err := b.JetStream().Stream(t.Context(), "RESULTS")
			if err != nil {
				t.Fatal(err)
			}
			msg, err := s.GetLastMsgForSubject(t.Context(), bus.ResultSubject("other", p))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, b, "RESULTS", bus.ResultSubject("q", p), func(m *nats.Msg) { m.Data = msg.Data })
		}},
		"no header": {[]byte(`{"n":1}`), func(t *testing.T, p messages.Position, _ string) {
			overwrite(t, b, "RESULTS", bus.ResultSubject("q", p), func(m *nats.Msg) { m.Header = nil })
		}},
		"the header of another position": {[]byte(`{"n":1}`), func(t *testing.T, p messages.Position, _ string) {
			h := testkit.Header("q", p.Index()+1000, 1)
			h.SHA256, h.Attempt = testkit.Digest(""), "attempt"
			head, err := h.Encode()
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, b, "RESULTS", bus.ResultSubject("q", p), func(m *nats.Msg) { m.Header.Set("Braid-Result", string(head)) })
		}},
		"a missing part": {big, func(t *testing.T, _ messages.Position, attempt string) {
			s, err := b.JetStream().Stream(t.Context(), "PARTS")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(bus.PartSubject("q", attempt, 1))); err != nil {
				t.Fatal(err)
			}
		}},
		"a changed part": {big, func(t *testing.T, _ messages.Position, attempt string) {
			overwrite(t, b, "PARTS", bus.PartSubject("q", attempt, 1), func(m *nats.Msg) { m.Data[100] ^= 1 })
		}},
		"a truncated body": {[]byte(`{"n":1}`), func(t *testing.T, p messages.Position, _ string) {
			overwrite(t, b, "RESULTS", bus.ResultSubject("q", p), func(m *nats.Msg) { m.Data = m.Data[:len(m.Data)-3] })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			attempt := rand.Text()
			h := testkit.Header("q", int(attempt[0])<<16|int(attempt[1])<<8|int(attempt[2]), 1)
			mustCommit(t, b, attempt, h, c.rows)
			c.damage(t, h.Position, attempt)
			if _, rows, err := b.Result(t.Context(), "q", h.Position); !errors.Is(err, messages.ErrDamaged) || rows != nil {
				t.Fatalf("got %d bytes and %v, want ErrDamaged", len(rows), err)
			}
			if err := b.RemoveDamaged(t.Context(), "q", h.Position); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, b, rand.Text(), testkit.Header("q", h.Position.Index(), 1), c.rows)
			if _, rows, err := b.Result(t.Context(), "q", h.Position); err != nil || !bytes.Equal(rows, c.rows) {
				t.Fatalf("fetched again it is %d bytes, %v", len(rows), err)
			}
		})
	}
}

func TestRemovingAResultTakesItsPartsAlong(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "attempt", testkit.Header("q", 0, 1), noise(2<<20))
	mustCommit(t, b, "neighbour", testkit.Header("q", 1, 1), noise(2<<20))
	all := stored(t, b, "PARTS")
	if err := b.RemoveAttempt(t.Context(), "q", "0", "attempt"); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, b, "PARTS"); left != all/2 {
		t.Errorf("%d parts are left of %d, want the neighbour's half", left, all)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); have || err != nil {
		t.Errorf("HasResult is %v, %v", have, err)
	}
	if _, _, err := b.Result(t.Context(), "q", "1"); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
}
