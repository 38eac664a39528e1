package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// pageAt is the page of a walk of so many, each of two rows and of size bytes that do not compress, behind the cursor.
func pageAt(cursor string, of, size int) service.Page {
	n := 0
	if cursor != "" {
		n, _ = strconv.Atoi(strings.TrimPrefix(cursor, "p")) // the test would see another walk
	}
	page := testkit.Rows("a", 2*n, 2, "")
	page.Columns = []string{"site", fmt.Sprint("n", n)}
	if size > 0 {
		page.Rows = append(page.Rows, incompressible(size)...)
		page.Rows[len(page.Rows)-1] = byte(n)
	}
	if n+1 < of {
		page.Next = fmt.Sprint("p", n+1)
	}
	return page
}

// cursors lists what was asked for, in its order.
func cursors(script *testkit.Script) []string {
	var all []string
	for _, call := range script.Calls() {
		all = append(all, call.Cursor)
	}
	return all
}

// later is the item of the position 0 in a later run.
func later(run int) *messages.Item {
	item := testkit.Item("q", 0)
	item.Run = run
	return item
}

// leave stores pages of the position 0 that a process has fetched which is no more, the cursors of the next ones given.
func (r *rig) leave(walk string, fetched time.Time, next ...string) {
	r.t.Helper()
	r.leavePages(walk, fetched, false, next)
}

// leaveRestarted stores pages of a walk that began because those of one before contradicted one another.
func (r *rig) leaveRestarted(walk string, fetched time.Time, next ...string) {
	r.t.Helper()
	r.leavePages(walk, fetched, true, next)
}

func (r *rig) leavePages(walk string, fetched time.Time, restarted bool, next []string) {
	r.t.Helper()
	w := r.bus.NewResult("q", walk)
	for n, cursor := range next {
		page := testkit.Rows("a", 2*n, 2, "")
		_, _, err := w.Store(r.t.Context(), &messages.Page{
			V: 1, Run: 1, Position: "0", Rows: 2, Columns: page.Columns, Worker: "dead", Fetched: fetched, Restarted: restarted,
		}, cursor, page.Rows)
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// whole is the rows of a walk of n pages.
func whole(n, size int) string {
	var rows strings.Builder
	for i := range n {
		rows.Write(pageAt(fmt.Sprint("p", i), n, size).Rows)
	}
	return rows.String()
}

func TestAnInterruptedWalkGoesOnWhereItWasInAnotherProcess(t *testing.T) {
	t.Parallel()
	const pages = 4
	for name, size := range map[string]int{"small": 0, "in pieces": 1 << 20} {
		for at := range pages {
			t.Run(fmt.Sprintf("%s/at page %d", name, at), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 2, calm)
				before := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
					if c.Pages == at {
						return service.Page{}, refuse(service.ClassTransient, 503, "away")
					}
					return pageAt(c.Cursor, pages, size), nil
				})
				first := r.work("w1", before, func(s *setup) { s.Retry = testkit.QuickRetry(0) })
				r.publish(items(1)...)
				if told := r.interrupted(1); told[0].Requests != 1 {
					t.Errorf("%d requests are told of beside those of stored pages, want the refused one", told[0].Requests)
				}
				r.queueIsEmpty()
				if err := first.Stop(t); err != nil {
					t.Fatal(err)
				}
				after := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
					return pageAt(c.Cursor, pages, size), nil
				})
				r.work("w2", after, nil)
				r.publish(later(2))
				h, rows := r.result(0)
				if rows != whole(pages, size) {
					t.Errorf("%d bytes of rows, want %d", len(rows), len(whole(pages, size)))
				}
				if h.Rows != 2*pages || h.Pages != pages || h.StoredPages != pages-1 || h.Requests != pages || h.Outcome != messages.OutcomeRows {
					t.Errorf("header %+v", h)
				}
				if want := []string{"site", "n0", "n1", "n2", "n3"}; !slices.Equal(h.Columns, want) {
					t.Errorf("columns %v, want %v", h.Columns, want)
				}
				for i, call := range after.Calls() {
					if call.Pages != at+i || call.Rows != int64(2*(at+i)) {
						t.Errorf("call %d is %+v", i, call)
					}
				}
				if sent := len(before.Calls()) + len(after.Calls()); sent != pages+1 {
					t.Errorf("%d requests for %d pages and one interruption", sent, pages)
				}
			})
		}
	}
}

func TestAWalkOutlivesManyInterruptions(t *testing.T) {
	t.Parallel()
	const pages = 6
	r := newRig(t, 2, calm)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Try == 1 {
			return service.Page{}, refuse(service.ClassTransient, 503, "away")
		}
		return pageAt(c.Cursor, pages, 0), nil
	})
	r.work("w1", script, func(s *setup) { s.Retry = testkit.QuickRetry(0) })
	for run := 1; !r.hasResult(0) && run < 20; run++ {
		r.publish(later(run))
		r.queueIsEmpty()
	}
	if h, rows := r.result(0); rows != whole(pages, 0) || h.Pages != pages {
		t.Errorf("%q of %+v", rows, h)
	}
	if n := len(script.Calls()); n != 2*pages {
		t.Errorf("%d requests for %d pages, each of which was refused once", n, pages)
	}
}

func TestAStoppedWorkersWalkIsGoneOnWithByTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	hung := make(chan struct{}, 1)
	w := r.work("w1", testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if c.Pages < 2 {
			return pageAt(c.Cursor, 4, 0), nil
		}
		hung <- struct{}{}
		<-ctx.Done()
		return service.Page{}, ctx.Err()
	}), func(s *setup) { s.Grace = 50 * time.Millisecond })
	r.publish(items(1)...)
	testkit.Receive(t, "third request", hung)
	w.Cancel()
	testkit.Receive(t, "end", ended(w))
	after := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return pageAt(c.Cursor, 4, 0), nil })
	r.work("w2", after, nil)
	if _, rows := r.result(0); rows != whole(4, 0) {
		t.Errorf("rows %q", rows)
	}
	if got := cursors(after); !slices.Equal(got, []string{"p2", "p3"}) {
		t.Errorf("the next worker asked for %q", got)
	}
}

func TestALostLeaseCostsNoStoredPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, 2*time.Second)
	script := testkit.NewScript(func(ctx context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor == "p2" && c.Try == 1 {
			r.steal(ctx)
			<-ctx.Done()
		}
		return pageAt(c.Cursor, 4, 0), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	if h, rows := r.result(0); rows != whole(4, 0) || h.Requests != 4 || !h.Uncounted {
		t.Errorf("rows %q of %+v", rows, h)
	}
	if got := cursors(script); !slices.Equal(got, []string{"", "p1", "p2", "p2", "p3"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestWhatAProcessLeftThatWasKilledAnywhereIsGoneOnWith(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.leave("walk", time.Now(), "p1", "p2")
	// It was killed between the pieces of its third page and the page.
	for n := range 2 {
		if _, err := r.js.Publish(t.Context(), fmt.Sprintf("braid.page.q.0.walk.2.walk.%d", n), incompressible(1000)); err != nil {
			t.Fatal(err)
		}
	}
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return pageAt(c.Cursor, 5, 1<<20), nil })
	r.work("w1", script, nil)
	asked := testkit.Item("q", 0)
	asked.Recheck = true
	r.publish(asked)
	h, rows := r.result(0)
	if want := whole(2, 0) + whole(5, 1<<20)[len(whole(2, 1<<20)):]; rows != want || h.Pages != 5 || h.Walk != "walk" {
		t.Errorf("%d bytes of rows of %+v", len(rows), h)
	}
	if got := cursors(script); !slices.Equal(got, []string{"p2", "p3", "p4"}) {
		t.Errorf("asked for %q", got)
	}
}

// counting counts look-ups of what an earlier run may have left.
type counting struct {
	worker.Results
	lookUps atomic.Int32
}

func (c *counting) LastPage(ctx context.Context, query string, p messages.Position) (*messages.Page, error) {
	c.lookUps.Add(1)
	return c.Results.LastPage(ctx, query, p)
}

func (c *counting) HasResult(ctx context.Context, query string, p messages.Position) (bool, error) {
	c.lookUps.Add(1)
	return c.Results.HasResult(ctx, query, p)
}

func TestAFreshItemIsNotLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	results := &counting{}
	r.work("w1", testkit.NewScript(rowsOf), func(s *setup) {
		s.ports = func(p *worker.Ports) { results.Results, p.Results = p.Results, results }
	})
	r.publish(items(3)...)
	r.queueIsEmpty()
	if n := results.lookUps.Load(); n != 0 {
		t.Errorf("%d look-ups for 3 fresh items", n)
	}
	r.publish(func() *messages.Item { item := testkit.Item("q", 5); item.Run = 2; return item }())
	r.queueIsEmpty()
	if n := results.lookUps.Load(); n != 2 {
		t.Errorf("%d look-ups for an item of a later run, want 2", n)
	}
	if results, parts := testkit.Published(t, r.js, "RESULTS"), testkit.Published(t, r.js, "PARTS"); results != 4 || parts != 0 {
		t.Errorf("%d results and %d parts were published for 4 chunks of one page", results, parts)
	}
}

// another is a second process that goes on with what is stored for the position 0.
func (r *rig) another(t *testing.T) *bus.ResultWriter {
	t.Helper()
	last, err := r.bus.LastPage(t.Context(), "q", "0")
	if err != nil {
		t.Error(err)
		return nil
	}
	w := r.bus.NewResult("q", "another")
	if err := w.Continue(t.Context(), last, func(*messages.Page, string) {}); err != nil {
		t.Error(err)
	}
	return w
}

func TestTwoWorkersAtOneWalkMakeOneChain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"both have the page":                nil,
		"the second finds the cursor used":  refuse(service.ClassCursorGone, 410, "used"),
		"the second is refused for good":    refuse(service.ClassBadRequest, 400, "no such cursor"),
		"the second is told it is too much": refuse(service.ClassTooLarge, 413, "too much"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
				switch c.Cursor {
				case "":
					return pageAt("", 9, 0), nil
				case "p1": // while this is answered, the other stores its page, which is not the same
					_, _, err := r.another(t).Store(t.Context(), &messages.Page{
						V: 1, Run: 1, Position: "0", Rows: 1, Columns: []string{"other"}, Worker: "w2", Fetched: time.Now(),
					}, "elsewhere", []byte("{\"other\":1}\n"))
					if err != nil {
						t.Error(err)
					}
					return pageAt("p1", 9, 0), answer
				}
				return testkit.Rows("end", 0, 1, ""), nil
			})
			r.work("w1", script, nil)
			item := testkit.Item("q", 0)
			item.Divisible = true
			r.publish(item)
			h, rows := r.result(0)
			if want := whole(1, 0) + "{\"other\":1}\n{\"site\":\"end\",\"n\":0}\n"; rows != want || h.Rows != 4 || h.Pages != 3 {
				t.Errorf("rows %q of %+v", rows, h)
			}
			if !slices.Equal(h.Columns, []string{"site", "n0", "other", "n"}) {
				t.Errorf("columns %v", h.Columns)
			}
			if got := cursors(script); !slices.Equal(got, []string{"", "p1", "elsewhere"}) {
				t.Errorf("asked for %q", got)
			}
		})
	}
}

func TestAWalkThatAnotherWorkerHasEndedBeginsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor == "p1" && c.Try == 1 {
			_, _, err := r.another(t).Store(t.Context(), &messages.Page{V: 1, Run: 1, Position: "0", Ended: true, Worker: "w2"}, "", nil)
			if err != nil {
				t.Error(err)
			}
		}
		return pageAt(c.Cursor, 3, 0), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	if h, rows := r.result(0); rows != whole(3, 0) || h.Pages != 3 {
		t.Errorf("rows %q of %+v", rows, h)
	}
	if got := cursors(script); !slices.Equal(got, []string{"", "p1", "", "p1", "p2"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestPagesThatCannotBeReadAreFetchedAgain(t *testing.T) {
	t.Parallel()
	replace := func(r *rig, n int) {
		subject := fmt.Sprintf("braid.page.q.0.walk.%d", n)
		stream, err := r.js.Stream(r.t.Context(), "PARTS")
		if err == nil {
			err = stream.Purge(r.t.Context(), jetstream.WithPurgeSubject(subject))
		}
		if err == nil {
			_, err = r.js.Publish(r.t.Context(), subject, []byte("junk"))
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for name, damage := range map[string]func(r *rig){
		"the first":  func(r *rig) { replace(r, 0) },
		"the last":   func(r *rig) { replace(r, 1) },
		"in the way": func(r *rig) { replace(r, 2) },
		"the first is missing": func(r *rig) {
			stream, err := r.js.Stream(r.t.Context(), "PARTS")
			if err == nil {
				err = stream.Purge(r.t.Context(), jetstream.WithPurgeSubject("braid.page.q.0.walk.0"))
			}
			if err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			r.leave("walk", time.Now(), "p1", "p2")
			script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
				if c.Pages == 2 && name == "in the way" && c.Try == 1 {
					damage(r) // which nobody could have seen before
				}
				return pageAt(c.Cursor, 4, 0), nil
			})
			if name != "in the way" {
				damage(r)
			}
			r.work("w1", script, nil)
			r.publish(later(2))
			if h, rows := r.result(0); rows != whole(4, 0) || h.Pages != 4 || h.Walk == "walk" {
				t.Errorf("rows %q of %+v", rows, h)
			}
			r.queueIsEmpty()
		})
	}
}

func TestACursorThatIsTooOldIsNotTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ttl, age time.Duration
		first    string
	}{
		"older":            {5 * time.Minute, 6 * time.Minute, ""},
		"younger":          {5 * time.Minute, 4 * time.Minute, "p1"},
		"of unknown life":  {0, 1000 * time.Hour, "p1"},
		"of a clock ahead": {5 * time.Minute, -time.Hour, "p1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			r.leave("walk", time.Now().Add(-c.age), "p1")
			script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return pageAt(c.Cursor, 3, 0), nil })
			r.work("w1", script, func(s *setup) { s.CursorTTL = c.ttl })
			r.publish(later(2))
			if _, rows := r.result(0); rows != whole(3, 0) {
				t.Errorf("rows %q", rows)
			}
			if got := cursors(script); got[0] != c.first {
				t.Errorf("asked for %q", got)
			}
		})
	}
}

func TestACursorThatIsGoneIsTriedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.leave("walk", time.Now(), "p1", "p2")
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		switch {
		case c.Cursor == "p2" && c.Try == 1:
			return service.Page{}, refuse(service.ClassCursorGone, 410, "expired")
		case c.Cursor == "" && c.Try == 1:
			return service.Page{}, refuse(service.ClassTransient, 503, "away")
		}
		return pageAt(c.Cursor, 3, 0), nil
	})
	r.work("w1", script, func(s *setup) { s.Retry = testkit.QuickRetry(0) })
	r.publish(later(2))
	r.interrupted(1)
	r.queueIsEmpty()
	r.publish(later(3))
	if h, rows := r.result(0); rows != whole(3, 0) || h.Pages != 3 {
		t.Errorf("rows %q of %+v", rows, h)
	}
	if got := cursors(script); !slices.Equal(got, []string{"p2", "", "", "p1", "p2"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestACursorThatNeverLivesInterrupts(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor != "" {
			return service.Page{}, refuse(service.ClassCursorGone, 410, "expired")
		}
		return pageAt(c.Cursor, 3, 0), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	if m := r.interrupted(1)[0]; m.Kind != messages.ServiceInterrupted || m.Status != 410 || m.Reason != "expired" || m.Requests != 8 {
		t.Errorf("interruption %+v", m)
	}
	r.queueIsEmpty()
}

func TestACircleIsFoundOverProcessesAndFailsTheChunk(t *testing.T) {
	t.Parallel()
	circle := "go in a circle"
	for name, c := range map[string]struct {
		left   []string
		next   string
		edit   func(*setup)
		failed string
	}{
		"A, A":                     {[]string{"a"}, "a", nil, circle},
		"A, A, where that ends it": {[]string{"a"}, "a", func(s *setup) { s.RepeatEnd = true }, ""},
		"A, B, A":                  {[]string{"a", "b"}, "a", nil, circle},
		"A, B, A, where an immediate repeat ends it": {[]string{"a", "b"}, "a", func(s *setup) { s.RepeatEnd = true }, circle},
		"more pages than the bound":                  {[]string{"a", "b"}, "c", func(s *setup) { s.MaxPages = 3 }, "more than 3 pages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 2, calm)
			r.leaveRestarted("walk", time.Now(), c.left...)
			script := testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
				if call.Cursor == "" {
					return pageAt("", 1, 0), nil
				}
				return testkit.Rows("a", 7, 1, c.next), nil
			})
			r.work("w1", script, c.edit)
			r.publish(later(2))
			h, _ := r.result(0)
			if n := len(script.Calls()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			if c.failed == "" {
				if h.Outcome != messages.OutcomeRows || h.Pages != 2 || h.Rows != 3 {
					t.Errorf("result %+v", h)
				}
				return
			}
			if h.Outcome != messages.OutcomeFailed || h.Failure.Class != "bad_page" || h.Walk != "" {
				t.Fatalf("result %+v, failure %+v", h, h.Failure)
			}
			contains(t, h.Failure.Message, c.failed)
			r.queueIsEmpty()
			// Tried again in a later run, the chunk does not go on where it failed.
			if err := r.bus.RemoveAttempt(t.Context(), "q", "0", h.Attempt); err != nil {
				t.Fatal(err)
			}
			r.publish(later(3))
			if h, rows := r.result(0); rows != whole(1, 0) || h.Pages != 1 {
				t.Errorf("rows %q of %+v", rows, h)
			}
		})
	}
}

func TestRefusedCredentialsCostNoStoredPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		if c.Cursor == "p2" && c.Try == 1 {
			return service.Page{}, refuse(service.ClassAuth, 403, "the key is disabled")
		}
		return pageAt(c.Cursor, 4, 0), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	h, _ := r.result(0)
	if h.Outcome != messages.OutcomeFailed || h.Failure.Class != "auth" {
		t.Fatalf("result %+v", h)
	}
	r.queueIsEmpty()
	if err := r.bus.RemoveAttempt(t.Context(), "q", "0", h.Attempt); err != nil {
		t.Fatal(err)
	}
	r.publish(later(2))
	if _, rows := r.result(0); rows != whole(4, 0) {
		t.Errorf("rows %q", rows)
	}
	if got := cursors(script); !slices.Equal(got, []string{"", "p1", "p2", "p2", "p3"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestAStoreThatIsFullInterruptsAndKeepsThePages(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	resize := func(bytes int64) {
		stream, err := r.js.Stream(t.Context(), "PARTS")
		if err != nil {
			t.Fatal(err)
		}
		cfg := stream.CachedInfo().Config
		cfg.MaxBytes = bytes
		if _, err := r.js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	resize(1 << 20)
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		return pageAt(c.Cursor, 5, 400<<10), nil
	})
	r.work("w1", script, nil)
	r.publish(items(1)...)
	contains(t, r.interrupted(1)[0].Reason, "free some space")
	r.queueIsEmpty()
	asked := len(script.Calls())
	resize(-1)
	r.publish(later(2))
	if _, rows := r.result(0); rows != whole(5, 400<<10) {
		t.Errorf("%d bytes of rows", len(rows))
	}
	if got := cursors(script)[asked:]; got[0] != fmt.Sprint("p", asked-1) || asked < 2 {
		t.Errorf("after %d requests, asked for %q", asked, got)
	}
}

func TestAWalkIsNotGoneOnWithForAQueryThatStops(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	r.leave("walk", time.Now(), "p1")
	script := testkit.NewScript(rowsOf)
	r.hear(script, messages.Stopping, nil)
	asked := testkit.Item("q", 0)
	asked.Recheck = true
	r.publish(asked)
	if m := r.interrupted(1)[0]; m.Kind != messages.HandedBack {
		t.Errorf("interruption %+v", m)
	}
	if n := len(script.Calls()); n != 0 {
		t.Errorf("%d requests for a stopping query", n)
	}
}

func TestAWalkEndsWithTheRowsThatAreAskedFor(t *testing.T) {
	t.Parallel()
	for most, pages := range map[int64]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 8: 4, 9: 4, 0: 4} {
		for _, left := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d rows/%v", most, left), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 2, calm)
				if left {
					r.leave("walk", time.Now(), "p1")
				}
				script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
					page := pageAt(c.Cursor, 4, 0)
					page.Doubted = true
					return page, nil
				})
				r.work("w1", script, nil)
				item := later(2)
				item.MaxRows = most
				r.publish(item)
				h, rows := r.result(0)
				if rows != whole(pages, 0) || h.Pages != pages || h.Rows != int64(2*pages) {
					t.Errorf("rows %q of %+v", rows, h)
				}
				if h.Doubted != (most == 0 || most > 8) {
					t.Errorf("with at most %d rows, that the end is doubted is said %v", most, h.Doubted)
				}
				want := pages
				if left {
					want--
				}
				if n := len(script.Calls()); n != want {
					t.Errorf("%d requests, want %d", n, want)
				}
			})
		}
	}
}

var errNoStore = errors.New("the store is away")

// away is Results that cannot tell what is stored, once.
type away struct {
	worker.Results
	asked atomic.Bool
}

func (a *away) LastPage(ctx context.Context, query string, p messages.Position) (*messages.Page, error) {
	if !a.asked.Swap(true) {
		return nil, errNoStore
	}
	return a.Results.LastPage(ctx, query, p)
}

func TestAStoreThatCannotTellOfPagesLeavesTheItem(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, time.Second) // the queue's patience is a second and a half
	r.leave("walk", time.Now(), "p1")
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) { return pageAt(c.Cursor, 2, 0), nil })
	results := &away{}
	r.work("w1", script, func(s *setup) {
		s.ports = func(p *worker.Ports) { results.Results, p.Results = p.Results, results }
	})
	r.publish(later(2))
	r.result(0)
	if got := cursors(script); !slices.Equal(got, []string{"p1"}) {
		t.Errorf("asked for %q", got)
	}
}

func TestNothingIsStoredForAQueryThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, calm)
	heard := make(chan messages.QueryState, 10)
	asked := make(chan struct{})
	script := testkit.NewScript(func(_ context.Context, c testkit.Call) (service.Page, error) {
		close(asked)
		for testkit.Receive(t, "word of the query", heard) != messages.Cancelled {
		}
		return pageAt(c.Cursor, 3, 0), nil
	})
	r.work("w1", script, func(s *setup) {
		s.ports = func(p *worker.Ports) { p.Records = testkit.Hearing{Records: p.Records, Heard: heard} }
	})
	r.publish(items(1)...)
	testkit.Receive(t, "request", onClose(asked))
	r.setState(messages.Cancelled)
	r.queueIsEmpty()
	if n := testkit.Published(t, r.js, "PARTS"); n != 0 {
		t.Errorf("%d pages were stored for a cancelled query", n)
	}
}
