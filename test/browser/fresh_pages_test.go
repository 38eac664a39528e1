//go:build unix

package browser

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// heldTimers makes a page's timers wait for the test, but for those that only gather what comes at once.
const heldTimers = `(() => {
	const [set, clear, held] = [setTimeout, clearTimeout, new Map()];
	let next = 1e9;
	window.setTimeout = (what, wait, ...more) => (wait > 120 ? (held.set(++next, what), next) : set(what, wait, ...more));
	window.clearTimeout = (id) => { held.delete(id); clear(id); };
	window.timeGoesOn = () => { const due = [...held.values()]; held.clear(); due.forEach((what) => what()); return due.length; };
})()`

// pausedAt5 gives a query of eight chunks whose views say that nothing is done, and what they say when five are.
func pausedAt5(f *fixture) (paused func()) {
	f.statuses = []*messages.Status{newStatus("q1", "daily-flow", messages.Running, 8, 0)}
	show := func(done int) {
		f.list = nil
		for i := range 8 {
			c := messages.Chunk{Position: messages.PositionAt(i), State: messages.ChunkPending}
			if i < done {
				c.State, c.Rows, c.Pages, c.Finished = messages.ChunkDone, 366, 1, time.Now()
			}
			f.list = append(f.list, c)
		}
		f.grid = func(from, to, _ int) *messages.Grid {
			g := &messages.Grid{V: 1, Query: "q1", Run: 1, Chunks: 8, From: from, To: to, Width: 1, Done: make([]int, 8), Empty: make([]int, 8), Split: make([]int, 8), Failed: make([]int, 8), InFlight: make([]int, 8)}
			for i := range done {
				g.Done[i] = 1
			}
			return g
		}
		f.preview = &messages.Preview{V: 1, Query: "q1", Columns: []messages.PreviewColumn{{Name: "value", Type: "decimal"}}, Rows: [][]*string{}}
		if done > 0 {
			f.preview.Rows = append(f.preview.Rows, []*string{new("19.5")})
		}
	}
	show(0)
	return func() { f.change(func() { show(5) }) }
}

func TestAChangeOfStateIsAskedForAtOnceAndAgainForWhatTheServerShowsLate(t *testing.T) {
	f := newFixture(t)
	paused := pausedAt5(f)
	b := newTab(t, f.url)
	b.allow("404") // there is no series
	call(b, "hold the timers", page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: heldTimers})
	b.open("#/queries/q1")
	b.sees("nothing is done at first", `document.querySelectorAll('.chunks tbody [data-state="pending"]').length === 8 && document.querySelector("[aria-labelledby=preview-title]").innerText.includes("no rows yet")`)
	b.sees("the positions are drawn", `document.querySelector(".grid canvas").dataset.rects > 0`)
	b.sees("all that is owed was asked for", `timeGoesOn() === 0`)
	evaluate[bool](b, `(document.querySelector('.chunks [data-position="3"] button').focus(), document.activeElement.scrollIntoView({block: "center"}), true)`)
	const place = `document.activeElement.getBoundingClientRect().top`
	stood := evaluate[float64](b, place)
	views := []string{"grid", "chunks", "rows"}
	before := map[string]int{}
	for _, view := range views {
		before[view] = f.count(view)
	}
	f.tell("q1", func(s *messages.Status) {
		s.Query.State, s.Progress.Completed, s.Progress.Rows = messages.Interrupted, 5, 1830
		s.Query.Stop = &messages.Stop{Kind: "quota", Status: 429, Reason: "the quota is used up", At: time.Now()}
	})
	for _, view := range views {
		testkit.Until(t, "no time passes, and "+view+" are asked for", func() bool { return f.count(view) > before[view] })
	}
	paused() // the server shows it a moment later than it tells
	b.sees("it is shown too", `timeGoesOn() >= 0 && document.querySelectorAll('.chunks tbody [data-state="done"]').length === 5 && document.querySelectorAll(".preview tbody tr").length === 1 && /done 5/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " "))`)
	if at := evaluate[string](b, `document.activeElement.innerText`); at != "3" {
		t.Errorf("the focus was on position 3, and is now on %q", at)
	}
	b.sees("the page comes to rest", `timeGoesOn() === 0`)
	if stands := evaluate[float64](b, place); math.Abs(stands-stood) > 3 {
		t.Errorf("what the reader looks at has moved by %v pixels", stands-stood)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.same == 0 {
		t.Error("the grid was never asked for by its tag")
	}
}

func TestTheFilterOfChunksStaysWhileTheyMove(t *testing.T) {
	f := newFixture(t)
	paused := pausedAt5(f)
	b := newTab(t, f.url)
	b.allow("404")
	b.open("#/queries/q1")
	b.sees("all are there", `document.querySelectorAll(".chunks tbody tr").length === 8`)
	evaluate[bool](b, `(() => { const s = document.querySelector('[aria-labelledby="chunks-title"] select'); s.value = "done"; return s.dispatchEvent(new Event("change", {bubbles: true})); })()`)
	b.reads("No chunk is done.")
	paused()
	f.tell("q1", func(s *messages.Status) { s.Progress.Completed, s.Progress.Rows = 5, 1830 })
	b.sees("only those that are done are there", `document.querySelectorAll(".chunks tbody tr").length === 5 && document.querySelector('[aria-labelledby="chunks-title"] select').value === "done"`)
}

func TestFailuresAreNamedUpToABound(t *testing.T) {
	f := newFixture(t)
	pausedAt5(f)
	s := f.statuses[0]
	s.Query.State, s.Progress.Failed = messages.Failed, 14
	s.Query.Stop = &messages.Stop{Kind: messages.StopFailure, Class: "bad_request", Reason: "HTTP 400", At: time.Now(), Position: "0"}
	f.failures = &messages.Failures{V: 1, Query: "q1", State: messages.Failed}
	for i := range 14 {
		f.failures.Failures = append(f.failures.Failures, messages.FailedChunk{Position: messages.PositionAt(i), Class: "bad_request", Status: 400, Message: fmt.Sprintf("no site %d", i), Hint: "look at the site", Asks: "site: x", Run: 1, Worker: "w", At: time.Now()})
	}
	b := newTab(t, f.url)
	b.allow("404")
	b.open("#/queries/q1")
	b.reads("14 chunks failed")
	b.reads("and 4 more")
	if n := evaluate[int](b, `document.querySelectorAll(".why [data-failed]").length`); n != 10 {
		t.Errorf("%d are named", n)
	}
	b.fitsPhone("failures")
	b.press("Retry failed")
	testkit.Until(t, "the failed ones are run again", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.posts) == 1 && f.posts[0] == "resume" })
}

func TestAQueryThatIsRemovedOrUnknownAfterARestartSaysSo(t *testing.T) {
	f := newFixture(t)
	pausedAt5(f)
	f.statuses = append(f.statuses, newStatus("q2", "stages", messages.Running, 8, 0))
	b := newTab(t, f.url)
	b.allow("404", "ERR_", "Failed to load")
	b.open("#/queries/q1")
	b.reads("daily-flow")
	f.remove("q1", true)
	b.reads("The query was removed.")
	b.open("#/queries/q2")
	b.reads("stages")
	f.remove("q2", false)
	f.disconnect()
	b.reads("The server has this query no more.")
	b.reads("other data than before")
	b.shoot("query-gone")
	b.press("Look at the list of queries")
	b.reads("There are no queries yet.")
}

func TestTheListForgetsWhatAServerWithOtherDataDoesNotHave(t *testing.T) {
	f := newFixture(t)
	pausedAt5(f)
	b := newTab(t, f.url)
	b.allow("ERR_", "Failed to load")
	b.open("")
	b.reads("daily-flow")
	f.remove("q1", false)
	f.change(func() { f.statuses = append(f.statuses, newStatus("q9", "stages", messages.Running, 8, 0)) })
	f.disconnect()
	b.reads("stages")
	b.sees("the other one is gone", `!document.body.innerText.includes("daily-flow")`)
}

// logsIn types a token into the form when that is there.
func (b *tab) logsIn(token string) {
	b.t.Helper()
	b.sees("the form waits for a token", `document.activeElement.name === "token" && document.activeElement.value === ""`)
	b.keys(token + "\r")
}

func TestATokenThatEndsInTheMiddleAsksForAnotherAndGoesOnWhereItWas(t *testing.T) {
	f := newFixture(t)
	pausedAt5(f)
	f.token, f.role, f.may = "first-token", "submitter", []string{"queries:read", "queries:submit"}
	b := newTab(t, f.url)
	b.allow("401", "404", "ERR_", "Failed to load")
	b.open("#/queries/q1")
	b.logsIn("first-token")
	b.reads("daily-flow")
	end := func(token string) {
		f.change(func() { f.token = token })
		f.disconnect()
	}
	end("second-token")
	b.logsIn("second-token")
	b.sees("it is the same page", `document.querySelector("article").dataset.query === "q1" && location.hash === "#/queries/q1"`)
	f.tell("q1", func(s *messages.Status) { s.Progress.Completed, s.Progress.Rows = 3, 4711 })
	b.reads("4,711")
	// What was written into a form is not lost with the session.
	b.open("#/submit")
	b.paste("schema: query/v1\nservice: usgs-waterdata\n")
	end("third-token")
	b.press("Submit")
	b.logsIn("third-token")
	b.sees("the text is there again", `document.querySelector("textarea").value.includes("usgs-waterdata")`)
}

func TestAnAnswerThatAnEventHasOvertakenIsNotShown(t *testing.T) {
	for path, hash := range map[string]string{"/v1/queries/q1": "#/queries/q1", "/v1/queries": "#/"} {
		t.Run(path, func(t *testing.T) {
			f := newFixture(t)
			pausedAt5(f)
			late := make(chan struct{})
			f.late = map[string]chan struct{}{path: late}
			b := newTab(t, f.url)
			b.allow("404") // there is no series
			b.open(hash)
			b.reads("daily-flow") // by an event
			f.tell("q1", func(s *messages.Status) { s.Progress.Completed, s.Progress.Rows = 3, 4711 })
			b.reads("4,711")
			close(late)
			b.sees("the late answer has come", fmt.Sprintf(`performance.getEntriesByType("resource").some((e) => new URL(e.name).pathname === %q && e.responseEnd > 0)`, path))
			evaluate[bool](b, `(window.drawn = false, requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; })), true)`)
			b.sees("the page was drawn since", `window.drawn`)
			b.reads("4,711")
		})
	}
}
