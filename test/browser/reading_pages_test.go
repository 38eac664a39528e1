//go:build unix

package browser

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"

	"github.com/braidhq/braid/pkg/messages"
)

const shift = 8 // the protocol's bit of the key

// mouse sends an event of the mouse.
func (b *tab) mouse(kind input.DispatchMouseEventType, x, y float64, change func(*input.DispatchMouseEventParams)) {
	b.t.Helper()
	params := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	if change != nil {
		change(&params)
	}
	call[input.DispatchMouseEventParams, cdp.Empty](b, "move the mouse", input.DispatchMouseEvent, params)
}

// told is which positions the grid says that it shows.
func (b *tab) told() [2]int {
	b.t.Helper()
	return evaluate[[2]int](b, `(() => { const m = /Positions ([0-9,]+) to ([0-9,]+) of/.exec(document.querySelector(".told").innerText); return m ? [m[1], m[2]].map((n) => Number(n.replaceAll(",", ""))) : [0, 999999]; })()`)
}

func TestTheGridIsZoomedByTheWheelAndMovedByADrag(t *testing.T) {
	f := newFixture(t)
	f.statuses = []*messages.Status{newStatus("q1", "continental-flow", messages.Running, million, 611_388)}
	f.grid = millionGrid("q1")
	b := newTab(t, f.url)
	b.allow("404")
	b.open("#/queries/q1")
	b.sees("the grid is drawn", `document.querySelector(".grid canvas").dataset.rects > 0`)
	evaluate[bool](b, `(document.querySelector(".grid canvas").scrollIntoView({block: "center"}), true)`)
	at := evaluate[[2]float64](b, `(() => { const r = document.querySelector(".grid canvas").getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`)
	x, y := math.Round(at[0]), math.Round(at[1])
	wheel := func(by float64, keys int64) {
		b.mouse(input.DispatchMouseEventTypeMouseWheel, x, y, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY, p.Modifiers = 0.01, by, keys }) // a delta of 0 is left out, and refused
	}
	wheel(-40, 0)
	b.sees("the wheel alone scrolls the page", `scrollY >= 0`)
	if got := b.told(); got != [2]int{0, million - 1} {
		t.Fatalf("the wheel alone shows %v", got)
	}
	evaluate[bool](b, `(document.querySelector(".grid canvas").scrollIntoView({block: "center"}), true)`)
	wheel(-120, shift)
	b.sees("a wheel with Shift zooms in", `/Positions [0-9,]+ to/.test(document.querySelector(".told").innerText)`)
	wheel(-120, shift)
	b.sees("and further", `(() => { const m = /Positions ([0-9,]+) to ([0-9,]+) of/.exec(document.querySelector(".told").innerText).slice(1).map((n) => Number(n.replaceAll(",", ""))); return m[1] - m[0] < 600000; })()`)
	near := b.told()
	if near[0] >= 500_000 || near[1] <= 500_000 {
		t.Errorf("the wheel stood at the middle, and shows %v", near)
	}
	b.sees("the part is drawn", `document.querySelector(".grid canvas").getAttribute("aria-label").includes("in view `+thousands(near[0])+` to")`)
	held := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y, nil)
	b.mouse(input.DispatchMouseEventTypeMousePressed, x, y, held)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y+22, held)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, x, y+44, held)
	b.mouse(input.DispatchMouseEventTypeMouseReleased, x, y+44, held)
	b.sees("a drag down shows what is before", `!document.querySelector(".told").innerText.includes("Positions `+thousands(near[0])+` to")`)
	moved := b.told()
	if moved[0] >= near[0] || moved[1]-moved[0] != near[1]-near[0] {
		t.Errorf("dragged down from %v: %v", near, moved)
	}
	if evaluate[bool](b, `document.querySelector("dialog") !== null`) {
		t.Error("a drag opens a chunk")
	}
	wheel(120, shift)
	wheel(120, shift)
	wheel(120, shift)
	b.reads("All 1,000,000 positions")
}

func thousands(n int) string {
	text := ""
	for ; n >= 1000; n /= 1000 {
		text = "," + string([]byte{byte('0' + n%1000/100), byte('0' + n%100/10), byte('0' + n%10)}) + text
	}
	return strconv.Itoa(n) + text
}

func TestThePlotsCanBeReadWithoutSeeingThem(t *testing.T) {
	f := newFixture(t)
	f.statuses = []*messages.Status{newStatus("q1", "daily-flow", messages.Running, 400, 60)}
	series := func(steps int) *messages.Series {
		s := &messages.Series{V: 1, Query: "q1", Start: time.Now().Add(-time.Minute), Step: 2 * time.Second, Interruptions: []*messages.Interruption{}}
		for i := range steps {
			s.Chunks, s.Requests = append(s.Chunks, int64(i)), append(s.Requests, int64(2*i))
			s.Rows, s.Bytes = append(s.Rows, 0), append(s.Bytes, 0)
			s.Median, s.P95, s.Wait = append(s.Median, new(float64(100+i))), append(s.P95, new(float64(300+i))), append(s.Wait, nil)
		}
		return s
	}
	f.series = series(1)
	b := newTab(t, f.url)
	b.allow("404")
	b.open("#/queries/q1")
	b.sees("one step is told in words", `/0 in 2 s[^]*100 ms[^]*300 ms/.test(document.querySelector(".one-step").innerText.replace(/\s+/g, " ")) && document.querySelector(".plot") === null`)
	f.change(func() { f.series = series(30) })
	f.tell("q1", func(s *messages.Status) { s.Progress.Completed = 61 })
	b.sees("two plots", `document.querySelectorAll(".plot canvas").length === 2`)
	b.sees("the legends tell the last values before anybody points", `(() => { const told = [...document.querySelectorAll(".u-legend")].map((l) => l.innerText.replace(/\s+/g, " ")); return /chunks ?14.5\/s ?requests ?29\/s/.test(told[0]) && /median ?129 ms ?95 % ?329 ms ?wait for a slot ?–/.test(told[1]) && [...document.querySelectorAll(".u-legend td")].every((v) => getComputedStyle(v).visibility === "visible"); })()`)
	evaluate[bool](b, `(document.querySelector(".plots").scrollIntoView({block: "center"}), true)`)
	over := evaluate[[2]float64](b, `(() => { const r = document.querySelector(".plot .u-over").getBoundingClientRect(); return [r.left + 2, r.top + r.height / 2]; })()`)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, over[0], over[1], nil)
	b.sees("whoever points reads what is there", `/chunks ?0\/s ?requests ?0\/s/.test(document.querySelector(".u-legend").innerText.replace(/\s+/g, " "))`)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, 5, 5, nil)
	b.sees("and the last values again after that", `/chunks ?14.5\/s/.test(document.querySelector(".u-legend").innerText.replace(/\s+/g, " "))`)
	b.shoot("plots")
	b.scheme("dark")
	b.sees("the legends tell them in another theme", `/chunks ?14.5\/s/.test(document.querySelector(".u-legend").innerText.replace(/\s+/g, " "))`)
	b.shoot("plots-dark")
	b.scheme("light")
	b.fitsPhone("plots")
	b.sees("each says what it shows", `[...document.querySelectorAll(".plot-box")].every((p) => p.getAttribute("role") === "img") && /median 129 ms/.test(document.querySelectorAll(".plot-box")[1].getAttribute("aria-label"))`)
	evaluate[bool](b, `(document.querySelector(".values summary").focus(), true)`)
	b.keys(kb.Enter)
	b.sees("a row for each step", `document.querySelectorAll(".values tbody tr").length === 30`)
	if row := evaluate[string](b, `[...document.querySelectorAll(".values tbody tr:last-child td")].map((c) => c.innerText).join(" | ")`); row != "14.5/s | 29/s | 129 ms | 329 ms | –" {
		t.Errorf("the last row is %q", row)
	}
	b.shoot("plot-values")
}

func TestTheTimeLeftIsThatOfTheCommandLine(t *testing.T) {
	f := newFixture(t)
	b := newTab(t, f.url)
	b.open("")
	evaluate[bool](b, `(import("/assets/js/eta.js").then((m) => { window.eta = m; }), true)`)
	b.sees("the rule is there", `window.eta !== undefined`)
	// Each case tells what was seen at which second, and asks at the last.
	for name, c := range map[string]struct{ seen, want string }{
		"nothing is complete": {`[[0, {requests: 0, completed: 0, pages: 0}], [9, {requests: 20, completed: 0, pages: 0}]]`, "null"},
		"too short":           {`[[0, {requests: 0, completed: 0, pages: 0}], [2, {requests: 20, completed: 10, pages: 20}]]`, "null"},
		"by pages":            {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20}]]`, "90"},
		"pages that are kept": {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20, kept_pages: 80}]]`, "50"},
		"the quota is short":  {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20, quotas: [{limit: 1000, remaining: 179}]}]]`, "null"},
		"the quota suffices":  {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20, quotas: [{limit: 1000, remaining: 180}]}]]`, "90"},
		"nobody works":        {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20, waiting: 4, workers: {present: 0}}]]`, "null"},
		"a pause is no work":  {`[[0, {requests: 0, completed: 0, pages: 0}], [5, {requests: 10, completed: 5, pages: 10, waiting: 4, workers: {present: 0}}], [95, {requests: 10, completed: 5, pages: 10}], [100, {requests: 20, completed: 10, pages: 20}]]`, "90"},
		"another run":         {`[[0, {requests: 0, completed: 0, pages: 0}], [10, {requests: 20, completed: 10, pages: 20}, 2]]`, "null"},
	} {
		got := evaluate[string](b, `(() => { const pace = new eta.Pace(); let query, progress, at; for (const [second, seen, run] of `+c.seen+`) { at = second * 1000; query = {state: "running", run: run ?? 1, chunks: 100}; progress = seen; pace.add(query, seen, at); } return String(pace.left(query, progress, at)); })()`)
		if got != c.want {
			t.Errorf("%s: %s seconds, want %s", name, got, c.want)
		}
	}
}

func TestAServiceIsPausedByAPoolOfWhichNoAccountHasAUnit(t *testing.T) {
	f := newFixture(t)
	f.services = &messages.ServiceList{V: 1, Services: []*messages.ServiceView{}}
	b := newTab(t, f.url)
	b.open("#/services")
	evaluate[bool](b, `(import("/assets/js/services.js").then((m) => { window.services = m; }), true)`)
	b.sees("the rule is there", `window.services !== undefined`)
	for name, c := range map[string]struct{ pools, want string }{ // seconds of the hour
		"none":                         {`[]`, "null"},
		"units are left":               {`[{pool: "a", limit: 10, left: 3}]`, "null"},
		"none is left":                 {`[{pool: "a", limit: 10, left: 0, next: at(60)}]`, "a 60"},
		"what is left is held back":    {`[{pool: "a", limit: 10, left: 2, hold_back: 2, next: at(60)}]`, "a 60"},
		"by the service's own word":    {`[{pool: "a", limit: 10, left: 0, reset: at(90)}]`, "a 90"},
		"until nobody knows when":      {`[{pool: "a", limit: 10, left: 0}]`, "a -"},
		"of an unknown limit":          {`[{pool: "a", left: null, next: at(60)}]`, "a 60"},
		"the pace is no pause":         {`[{pool: "a", limit: 10, left: 3, next: at(1)}]`, "null"},
		"what is over":                 {`[{pool: "a", limit: 10, left: 3, next: at(-5)}]`, "null"},
		"another account may":          {`[{pool: "a", limit: 10, left: 0, next: at(60)}, {pool: "a", limit: 10, left: 1}]`, "null"},
		"the first account to return":  {`[{pool: "a", limit: 10, left: 0, next: at(60)}, {pool: "a", limit: 10, left: 0, next: at(30)}]`, "a 30"},
		"the longest of several pools": {`[{pool: "a", limit: 10, left: 0, next: at(60)}, {pool: "b", limit: 10, left: 0, next: at(90)}, {pool: "c", limit: 9, left: 9}]`, "b 90"},
	} {
		got := evaluate[string](b, `(() => { const now = new Date(), at = (s) => new Date(now.getTime() + s * 1000).toISOString(), spent = services.spentPool(`+c.pools+`, now); return spent === null ? "null" : spent.pool + " " + (spent.until ? Math.round((spent.until - now) / 1000) : "-"); })()`)
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAQueryThatTheServiceGaveNoAnswerToIsSettledAsTheCoordinatorSays(t *testing.T) {
	f := newFixture(t)
	b := newTab(t, f.url)
	b.open("")
	evaluate[bool](b, `(import("/assets/js/states.js").then((m) => { window.states = m; }), true)`)
	b.sees("the rule is there", `window.states !== undefined`)
	for rounds, want := range map[int]bool{messages.MaxStuckRounds - 1: true, messages.MaxStuckRounds: false} {
		got := evaluate[bool](b, `states.resumesByItself({state: "interrupted", wait_up_to_ns: 3.6e12, stuck_rounds: `+strconv.Itoa(rounds)+`, stop: {kind: "service", at: new Date().toISOString()}})`)
		if got != want {
			t.Errorf("after %d rounds: it goes on by itself: %t", rounds, got)
		}
	}
}
