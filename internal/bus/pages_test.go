package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// a page before it is stored, of the position 0.
func onePage() *messages.Page {
	return &messages.Page{V: 1, Run: 1, Position: "0", Rows: 1, Columns: []string{"n"}, Worker: "w1", Fetched: time.Now()}
}

// store stores a page and expects that it is what is stored then.
func store(t *testing.T, w *bus.ResultWriter, page *messages.Page, next string, rows []byte) {
	t.Helper()
	have, at, err := w.Store(t.Context(), page, next, rows)
	if err != nil {
		t.Fatal(err)
	}
	if have != page || at != next {
		t.Fatalf("stored is %+v, that goes on at %q", have, at)
	}
}

// read is a page that Continue gave.
type read struct {
	page *messages.Page
	next string
}

// goOn goes on behind what is stored for the position 0, in another process.
func goOn(t *testing.T, b *bus.Bus, attempt string) (*bus.ResultWriter, []read) {
	t.Helper()
	last, err := b.LastPage(t.Context(), "q", "0")
	if err != nil {
		t.Fatal(err)
	}
	w := b.NewResult("q", attempt)
	var pages []read
	err = w.Continue(t.Context(), last, func(page *messages.Page, next string) { pages = append(pages, read{page, next}) })
	if err != nil {
		t.Fatal(err)
	}
	return w, pages
}

func TestAResultIsItsStoredPagesAndItsLast(t *testing.T) {
	for name, pages := range map[string][][]byte{
		"small":           {[]byte("a"), []byte("b"), []byte("c")},
		"empty":           {nil, []byte("b"), nil, nil},
		"large":           {noise(2 << 20), noise(100), noise(2 << 20), noise(1 << 20)},
		"about a message": {noise(512<<10 - 100), noise(512 << 10), noise(512<<10 + 100), nil},
		"compressible":    {bytes.Repeat([]byte("a"), 5<<20), bytes.Repeat([]byte("b"), 5<<20)},
	} {
		cursors := []string{"https://example.org/?page="}
		if name == "small" {
			cursors = append(cursors, "\xff\x00\r\n", string(noise(600<<10)))
		}
		for _, cursor := range cursors {
			for split := range pages {
				t.Run(fmt.Sprintf("%s/%.5q/%d", name, cursor, split), func(t *testing.T) {
					b := testkit.Bus(t)
					w := b.NewResult("q", "first")
					for i, rows := range pages {
						if i == split && i > 0 {
							var before []read
							if w, before = goOn(t, b, "second"); len(before) != i {
								t.Fatalf("%d pages are stored of %d", len(before), i)
							}
							for n, p := range before {
								if p.page.Page != n || p.next != fmt.Sprint(cursor, n) || p.page.Bytes != int64(len(pages[n])) || p.page.Rows != 1 {
									t.Errorf("page %d is read as %+v", n, p.page)
								}
							}
						}
						if i < len(pages)-1 {
							store(t, w, onePage(), fmt.Sprint(cursor, i), rows)
						} else if err := w.Write(t.Context(), rows); err != nil {
							t.Fatal(err)
						}
					}
					h := testkit.Header("q", 0, 1)
					h.Pages = len(pages)
					if err := w.Commit(t.Context(), h); err != nil {
						t.Fatal(err)
					}
					have, rows, err := b.Result(t.Context(), "q", "0")
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(rows, slices.Concat(pages...)) || have.Bytes != int64(len(rows)) || have.SHA256 != digestOf(rows) {
						t.Errorf("%d bytes came back, of %+v", len(rows), have)
					}
					if have.StoredPages != len(pages)-1 || have.Walk != "first" || !slices.Contains(have.StoredUnder(), "first") {
						t.Errorf("the header is %+v", have)
					}
					if n := stored(t, b, "RESULTS"); n != 1 {
						t.Errorf("%d results", n)
					}
				})
			}
		}
	}
}

func TestAllPagesOfAResultMayBeStored(t *testing.T) {
	b := testkit.Bus(t)
	w := b.NewResult("q", "first")
	store(t, w, onePage(), "next", []byte("a"))
	mustCommitAs(t, w, 1)
	if h, rows, err := b.Result(t.Context(), "q", "0"); err != nil || string(rows) != "a" || h.StoredPages != 1 {
		t.Errorf("%q of %+v, %v", rows, h, err)
	}
}

// mustCommitAs makes what w has the result of the position 0.
func mustCommitAs(t *testing.T, w *bus.ResultWriter, pages int) {
	t.Helper()
	h := testkit.Header("q", 0, 1)
	h.Pages = pages
	if err := w.Commit(t.Context(), h); err != nil {
		t.Fatal(err)
	}
}

func TestOnePageIsOneMessage(t *testing.T) {
	b := testkit.Bus(t)
	mustCommit(t, b, "first", testkit.Header("q", 0, 1), []byte("a"))
	if results, parts := stored(t, b, "RESULTS"), stored(t, b, "PARTS"); results != 1 || parts != 0 {
		t.Errorf("%d results and %d parts", results, parts)
	}
}

func TestOfTwoThatGoOnWithAWalkTheSecondTakesTheFirstOnesPage(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "in pieces": 2 << 20} {
		t.Run(name, func(t *testing.T) {
			b := testkit.Bus(t)
			zero, one := noise(size), noise(size)
			store(t, b.NewResult("q", "walk"), onePage(), "p1", zero)
			first, _ := goOn(t, b, "first")
			second, _ := goOn(t, b, "second")
			store(t, first, onePage(), "p2", one)
			kept := stored(t, b, "PARTS")
			have, next, err := second.Store(t.Context(), onePage(), "elsewhere", noise(size))
			if err != nil || have.Attempt != "first" || have.Page != 1 || next != "p2" {
				t.Fatalf("the second goes on behind %+v at %q, %v", have, next, err)
			}
			if now := stored(t, b, "PARTS"); now != kept {
				t.Errorf("%d messages are stored, want the first one's %d", now, kept)
			}
			store(t, second, onePage(), "p3", []byte("two"))
			if err := first.Write(t.Context(), []byte("late")); err != nil {
				t.Fatal(err)
			}
			mustCommitAs(t, second, 3)
			h := testkit.Header("q", 0, 1)
			h.Pages = 3
			if err := first.Commit(t.Context(), h); !errors.Is(err, messages.ErrExists) {
				t.Errorf("the first one's commit gave %v", err)
			}
			_, rows, err := b.Result(t.Context(), "q", "0")
			if want := slices.Concat(zero, one, []byte("two")); err != nil || !bytes.Equal(rows, want) {
				t.Errorf("%d bytes came back of %d, %v", len(rows), len(want), err)
			}
		})
	}
}

func TestNobodyGoesOnWithAWalkThatHasEnded(t *testing.T) {
	b := testkit.Bus(t)
	store(t, b.NewResult("q", "walk"), onePage(), "p1", []byte("a"))
	first, _ := goOn(t, b, "first")
	second, _ := goOn(t, b, "second")
	third, _ := goOn(t, b, "third")
	ended := func() *messages.Page { return &messages.Page{V: 1, Run: 1, Position: "0", Ended: true, Worker: "w1"} }

	// Who went on before is not held up, and whoever finds no way is told of it.
	store(t, first, onePage(), "p2", []byte("b"))
	have, next, err := second.Store(t.Context(), ended(), "", nil)
	if err != nil || have.Ended || have.Attempt != "first" || next != "p2" {
		t.Fatalf("%+v, %q, %v", have, next, err)
	}
	store(t, second, ended(), "", nil)
	have, _, err = first.Store(t.Context(), onePage(), "p3", []byte("c"))
	if err != nil || !have.Ended {
		t.Fatalf("the ended walk goes on: %+v, %v", have, err)
	}
	last, err := b.LastPage(t.Context(), "q", "0")
	if err != nil || !last.Ended || last.Page != 2 {
		t.Errorf("the last page is %+v, %v", last, err)
	}
	if err := third.Continue(t.Context(), last, func(*messages.Page, string) {}); !errors.Is(err, messages.ErrDamaged) {
		t.Errorf("going on with it gave %v", err)
	}
	// It had come further than where another ended it: it is whole all the same.
	mustCommitAs(t, first, 2)
	if _, rows, err := b.Result(t.Context(), "q", "0"); err != nil || string(rows) != "ab" {
		t.Errorf("%q, %v", rows, err)
	}
}

func TestTheLastPageIsThatOfThePositionsLastWalk(t *testing.T) {
	b := testkit.Bus(t)
	if _, err := b.LastPage(t.Context(), "q", "1"); !errors.Is(err, messages.ErrNotFound) {
		t.Errorf("without any: %v", err)
	}
	for i, p := range []messages.Position{"1", "1.0", "1.0.1", "11", "10", "1"} {
		w := b.NewResult("q", fmt.Sprint("walk", i))
		for range 12 {
			page := onePage()
			page.Position = p
			store(t, w, page, "next", noise(i*300_000))
		}
	}
	w := b.NewResult("other", "walk9")
	page := onePage()
	page.Position = "1"
	store(t, w, page, "next", nil)
	for p, walk := range map[messages.Position]string{"1": "walk5", "1.0": "walk1", "1.0.1": "walk2", "11": "walk3"} {
		last, err := b.LastPage(t.Context(), "q", p)
		if err != nil || last.Position != p || last.Walk != walk || last.Page != 11 {
			t.Errorf("position %s: %+v, %v", p, last, err)
		}
	}
	if err := b.RemovePages(t.Context(), "q", "1.0"); err != nil {
		t.Fatal(err)
	}
	for p, gone := range map[messages.Position]bool{"1": false, "1.0": true, "1.0.1": false, "10": false} {
		if _, err := b.LastPage(t.Context(), "q", p); errors.Is(err, messages.ErrNotFound) != gone {
			t.Errorf("position %s: %v", p, err)
		}
	}
}

// walked stores a walk of three large and small pages and commits it.
func walked(t *testing.T, b *bus.Bus) []byte {
	t.Helper()
	pages := [][]byte{noise(100), noise(2 << 20), noise(100), noise(100)}
	w := b.NewResult("q", "walk")
	for i := range 3 {
		store(t, w, onePage(), fmt.Sprint("p", i+1), pages[i])
	}
	if err := w.Write(t.Context(), pages[3]); err != nil {
		t.Fatal(err)
	}
	mustCommitAs(t, w, 4)
	return slices.Concat(pages...)
}

func purgeSubject(t *testing.T, b *bus.Bus, stream, subject string) {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context(), jetstream.WithPurgeSubject(subject)); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedPageDamagesItsResultAndItsWalk(t *testing.T) {
	at := func(n int) string { return bus.PageSubject("q", "0", "walk", n) }
	edit := func(n int, change func(*messages.Page)) func(*testing.T, *bus.Bus) {
		return func(t *testing.T, b *bus.Bus) {
			overwrite(t, b, "PARTS", at(n), func(m *nats.Msg) {
				page, err := messages.DecodePage([]byte(m.Header.Get("Braid-Page")))
				if err != nil {
					t.Fatal(err)
				}
				change(page)
				head, err := page.Encode()
				if err != nil {
					t.Fatal(err)
				}
				m.Header.Set("Braid-Page", string(head))
			})
		}
	}
	piece := bus.PagePieceSubject("q", "0", "walk", 1, "walk", 1)
	for name, damage := range map[string]func(*testing.T, *bus.Bus){
		"missing, the first":  func(t *testing.T, b *bus.Bus) { purgeSubject(t, b, "PARTS", at(0)) },
		"missing, the middle": func(t *testing.T, b *bus.Bus) { purgeSubject(t, b, "PARTS", at(1)) },
		"a missing piece":     func(t *testing.T, b *bus.Bus) { purgeSubject(t, b, "PARTS", piece) },
		"a changed piece": func(t *testing.T, b *bus.Bus) {
			overwrite(t, b, "PARTS", piece, func(m *nats.Msg) { m.Data[1000] ^= 1 })
		},
		"a changed body": func(t *testing.T, b *bus.Bus) {
			overwrite(t, b, "PARTS", at(0), func(m *nats.Msg) { m.Data[len(m.Data)-9] ^= 1 })
		},
		"no body":   func(t *testing.T, b *bus.Bus) { overwrite(t, b, "PARTS", at(2), func(m *nats.Msg) { m.Data = nil }) },
		"no header": func(t *testing.T, b *bus.Bus) { overwrite(t, b, "PARTS", at(1), func(m *nats.Msg) { m.Header = nil }) },
		"another page in its place": func(t *testing.T, b *bus.Bus) {
			s, err := b.JetStream().Stream(t.Context(), "PARTS")
			if err != nil {
				t.Fatal(err)
			}
			other, err := s.GetLastMsgForSubject(t.Context(), at(2))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, b, "PARTS", at(0), func(m *nats.Msg) { m.Header, m.Data = other.Header, other.Data })
		},
		"of another position": edit(1, func(p *messages.Page) { p.Position = "1" }),
		"of another walk":     edit(1, func(p *messages.Page) { p.Walk = "walk2" }),
		"another cursor":      edit(0, func(p *messages.Page) { p.NextBytes++; p.Bytes-- }),
		"a huge size":         edit(0, func(p *messages.Page) { p.Bytes = 1 << 53 }),
		"another digest":      edit(2, func(p *messages.Page) { p.SHA256 = testkit.Digest("") }),
		"an end": edit(1, func(p *messages.Page) {
			p.Ended, p.Rows, p.Bytes, p.NextBytes, p.Parts = true, 0, 0, 0, 0
		}),
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.Bus(t)
			rows := walked(t, b)
			last, err := b.LastPage(t.Context(), "q", "0")
			if err != nil {
				t.Fatal(err)
			}
			if _, have, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(have, rows) {
				t.Fatalf("before: %d bytes, %v", len(have), err)
			}
			damage(t, b)
			if _, have, err := b.Result(t.Context(), "q", "0"); !errors.Is(err, messages.ErrDamaged) || have != nil {
				t.Errorf("got %d bytes and %v, want ErrDamaged", len(have), err)
			}
			err = b.NewResult("q", "again").Continue(t.Context(), last, func(*messages.Page, string) {})
			if !errors.Is(err, messages.ErrDamaged) {
				t.Errorf("going on gave %v, want ErrDamaged", err)
			}
			if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
				t.Fatal(err)
			}
			mustCommit(t, b, "again", testkit.Header("q", 0, 1), rows)
			if _, have, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(have, rows) {
				t.Errorf("fetched again it is %d bytes, %v", len(have), err)
			}
		})
	}
}

func TestAPageOfANewerVersionIsNamedSo(t *testing.T) {
	b := testkit.Bus(t)
	walked(t, b)
	for _, n := range []int{2, 1} {
		overwrite(t, b, "PARTS", bus.PageSubject("q", "0", "walk", n), func(m *nats.Msg) { m.Header.Set("Braid-Page", `{"v":2,"shape":"new"}`) })
	}
	if _, err := b.LastPage(t.Context(), "q", "0"); !errors.Is(err, messages.ErrVersion) {
		t.Errorf("the last page: %v", err)
	}
	if _, _, err := b.Result(t.Context(), "q", "0"); !errors.Is(err, messages.ErrVersion) || errors.Is(err, messages.ErrDamaged) {
		t.Errorf("the result: %v", err)
	}
	if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
		t.Fatal(err)
	}
	if have, err := b.HasResult(t.Context(), "q", "0"); !have || err != nil {
		t.Errorf("HasResult is %v, %v", have, err)
	}
}

func TestWhatIsNoPageIsADamagedLastPage(t *testing.T) {
	b := testkit.Bus(t)
	page := onePage()
	page.Query, page.Walk, page.Attempt, page.NextBytes, page.SHA256 = "q", "walk", "walk", 1, testkit.Digest("")
	good, err := page.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for i, head := range []string{"", "{}", string(good), strings.Replace(string(good), `"0"`, `"7"`, 1)} {
		msg := nats.NewMsg(bus.PageSubject("q", "0", "walk", 5+i))
		if head != "" {
			msg.Header.Set("Braid-Page", head)
		}
		if _, err := b.JetStream().PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		if last, err := b.LastPage(t.Context(), "q", "0"); !errors.Is(err, messages.ErrDamaged) {
			t.Errorf("%q is read as %+v, %v", head, last, err)
		}
	}
}

func TestAWalkWhosePageIsDamagedOnDiskIsNotGoneOnWith(t *testing.T) {
	t.Parallel()
	for place, offset := range places {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			b := damaged(t, "PARTS", "braid.page.q.0.walk.1", offset, func(b *bus.Bus) {
				w := b.NewResult("q", "walk")
				for i := range 4 {
					store(t, w, onePage(), fmt.Sprint("p", i+1), noise(100))
				}
				mustCommitAs(t, w, 4)
			})
			if _, _, err := b.Result(t.Context(), "q", "0"); !errors.Is(err, messages.ErrDamaged) {
				t.Errorf("the result: %v", err)
			}
			if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
				t.Fatal(err)
			}
			last, err := b.LastPage(t.Context(), "q", "0")
			if err != nil {
				t.Fatal(err)
			}
			w := b.NewResult("q", "again")
			err = w.Continue(t.Context(), last, func(*messages.Page, string) {})
			if last.Page > 0 { // where only a part of the stream is lost
				if !errors.Is(err, messages.ErrDamaged) {
					t.Errorf("going on behind page %d gave %v", last.Page, err)
				}
				w = b.NewResult("q", "anew")
			} else if err != nil {
				t.Errorf("what is left is whole, and gave %v", err)
			}
			store(t, w, onePage(), "p1", noise(100))
			mustCommitAs(t, w, 4)
			if _, _, err := b.Result(t.Context(), "q", "0"); err != nil {
				t.Errorf("fetched again: %v", err)
			}
		})
	}
}

func TestPagesOfNoResultAreRemovedAndTheOthersStay(t *testing.T) {
	b := testkit.Bus(t)
	for _, query := range []string{"q", "other"} {
		for _, p := range []messages.Position{"0", "0.1", "5"} {
			page := onePage()
			page.Position = p
			store(t, b.NewResult(query, "lost-"+strings.ReplaceAll(string(p), ".", "-")), page, "next", noise(2<<20))
		}
	}
	lost := stored(t, b, "PARTS") / 2
	rows := walked(t, b)
	before := stored(t, b, "PARTS")
	h, _, err := b.Result(t.Context(), "q", "0")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveOrphans(t.Context(), "q", func(id string) bool { return slices.Contains(h.StoredUnder(), id) }); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, b, "PARTS"); left != before-lost {
		t.Errorf("%d messages are left of %d, of which %d were of walks without a result", left, before, lost)
	}
	if _, have, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(have, rows) {
		t.Errorf("%d bytes are left, %v", len(have), err)
	}
}

func TestPagesGoWithTheirQuery(t *testing.T) {
	b := testkit.Bus(t)
	q := create(t, b, "q", []byte("spec"))
	walked(t, b)
	other := onePage()
	store(t, b.NewResult("q2", "walk"), other, "next", nil)
	if err := b.RemoveQuery(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, b, "PARTS"); left != 1 {
		t.Errorf("%d messages are left, want the other query's", left)
	}
}

func TestADamagedResultLeavesItsPagesToGoOnWith(t *testing.T) {
	b := testkit.Bus(t)
	rows := walked(t, b)
	overwrite(t, b, "RESULTS", bus.ResultSubject("q", "0"), func(m *nats.Msg) { m.Data = []byte("junk") })
	if err := b.RemoveDamaged(t.Context(), "q", "0"); err != nil {
		t.Fatal(err)
	}
	w, pages := goOn(t, b, "again")
	if len(pages) != 3 {
		t.Fatalf("%d pages are left", len(pages))
	}
	if err := w.Write(t.Context(), rows[len(rows)-100:]); err != nil {
		t.Fatal(err)
	}
	mustCommitAs(t, w, 4)
	if _, have, err := b.Result(t.Context(), "q", "0"); err != nil || !bytes.Equal(have, rows) {
		t.Errorf("%d bytes, %v", len(have), err)
	}
}

func TestAPageWithTooManyColumnsIsInvalid(t *testing.T) {
	b := testkit.Bus(t)
	page := onePage()
	page.Columns = slices.Repeat([]string{strings.Repeat("c", 100)}, 600)
	if _, _, err := b.NewResult("q", "walk").Store(t.Context(), page, "next", nil); !errors.Is(err, messages.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestPartsOfAResultThatMayBeStoredStay(t *testing.T) {
	b := testkit.Bus(t)
	w := b.NewResult("q", "first")
	if err := w.Write(t.Context(), noise(2<<20)); err != nil {
		t.Fatal(err)
	}
	// Nobody answers the commit, so that nobody knows what became of it.
	if err := b.JetStream().DeleteStream(t.Context(), "RESULTS"); err != nil {
		t.Fatal(err)
	}
	if err := commitFor(t, w, 300*time.Millisecond); err == nil || errors.Is(err, messages.ErrExists) {
		t.Fatalf("the commit gave %v", err)
	}
	if err := w.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stored(t, b, "PARTS") == 0 {
		t.Error("the parts are gone of what may be a result")
	}
}

func commitFor(t *testing.T, w *bus.ResultWriter, d time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return w.Commit(ctx, testkit.Header("q", 0, 1))
}

func digestOf(data []byte) string { return testkit.Digest(string(data)) }
