//go:build unix

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/braidhq/braid/pkg/messages"
)

const million = 1_000_000

// millionGrid has every state in it: a front that moves, splits and empties here and there, failures that are rare.
func millionGrid(id string) func(from, to, bins int) *messages.Grid {
	return func(from, to, bins int) *messages.Grid {
		width := (to - from + bins - 1) / bins
		n := (to - from + width - 1) / width
		g := &messages.Grid{
			V: 1, Query: id, Run: 1, Chunks: million, From: from, To: to, Width: width,
			Done: make([]int, n), Empty: make([]int, n), Split: make([]int, n), Failed: make([]int, n), InFlight: make([]int, n),
		}
		for p := from; p < to; p++ {
			i := (p - from) / width
			switch {
			case p >= 612_400:
			case p >= 612_000:
				g.InFlight[i]++
			case p%77_777 == 5:
				g.Failed[i]++
			case p%9_001 < 40:
				g.Split[i]++
			case p/5_000%7 == 3:
				g.Empty[i]++
			default:
				g.Done[i]++
			}
		}
		return g
	}
}

func TestAMillionPositionsAreDrawnInBinsAndCanBeZoomedTo(t *testing.T) {
	f := newFixture(t)
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	f.statuses = []*messages.Status{newStatus(id, "continental-flow", messages.Running, million, 611_388)}
	f.statuses[0].Progress.Waiting = 400
	f.grid = millionGrid(id)
	b := newTab(t, f.url)
	b.allow("404") // there are no chunks, rows and series
	b.open("#/queries/" + id)
	b.sees("the grid is drawn", `document.querySelector(".grid canvas").dataset.rects > 0`)
	check := func(when string) {
		t.Helper()
		bins, rects := evaluate[int](b, `Number(document.querySelector(".grid canvas").dataset.bins)`), evaluate[int](b, `Number(document.querySelector(".grid canvas").dataset.rects)`)
		nodes := evaluate[int](b, `document.querySelectorAll("*").length`)
		// A cell has at most six states, each with a mark.
		if bins < 500 || bins > 4096 || rects < bins || rects > 12*bins || nodes > 1200 {
			t.Errorf("%s: %d bins, %d rectangles, %d elements", when, bins, rects, nodes)
		}
	}
	check("at first")
	b.reads("All 1,000,000 positions")
	b.shoot("million")
	b.scheme("dark")
	b.shoot("million-dark")
	b.scheme("light")
	b.fitsPhone("million")
	// By keyboard alone: into the grid, to a cell, and nearer, until it is single positions.
	b.do("focus the grid")
	evaluate[bool](b, `(document.querySelector(".grid canvas").focus({focusVisible: true}), true)`)
	b.keys(kb.End)
	b.reads("999,999: ")
	b.keys(kb.Home)
	b.keys(kb.ArrowRight)
	for range 14 {
		b.keys("+")
	}
	b.sees("single positions are shown", `document.querySelector(".grid canvas").dataset.bins == 64 || /one to a cell/.test(document.querySelector(".grid").innerText)`)
	check500 := evaluate[int](b, `Number(document.querySelector(".grid canvas").dataset.bins)`)
	if check500 > 4096 {
		t.Errorf("zoomed in: %d bins", check500)
	}
	b.shoot("million-zoomed")
	b.keys("0")
	b.sees("all positions are shown again", `/[0-9] to a cell/.test(document.querySelector(".grid").innerText) && document.querySelector(".grid canvas").dataset.bins > 500`)
	f.tell(id, func(s *messages.Status) { s.Progress.Completed = 700_001 })
	b.reads("700,001")
	check("after news")
}

func TestDataIsNeverReadAsMarkup(t *testing.T) {
	f := newFixture(t)
	const evil = `<img src=x onerror="document.title='taken'">`
	s := newStatus("evil", evil, messages.Interrupted, 4, 2)
	s.Query.Owner, s.Query.Service, s.Query.Collection, s.Query.URL = evil, evil, evil, "javascript:document.title='taken'//"+evil
	s.Query.Stop = &messages.Stop{Kind: evil, Reason: evil, Hint: evil, At: time.Now(), Position: "2"}
	f.statuses = []*messages.Status{s}
	f.grid = func(from, to, _ int) *messages.Grid {
		return &messages.Grid{V: 1, Query: "evil", Run: 1, Chunks: 4, From: from, To: to, Width: 1, Done: []int{1, 1, 0, 0}, Empty: make([]int, 4), Split: make([]int, 4), Failed: []int{0, 0, 1, 0}, InFlight: make([]int, 4)}
	}
	text := evil
	f.preview = &messages.Preview{V: 1, Query: "evil", Columns: []messages.PreviewColumn{{Name: evil, Type: evil, Unit: evil}}, Rows: [][]*string{{&text}, {nil}}}
	f.list = []messages.Chunk{{Position: "2", State: messages.ChunkFailed, Class: evil, Message: evil, Worker: evil}}
	f.chunks["2"] = &messages.ChunkDetail{V: 1, Query: "evil", Chunk: f.list[0], Asks: evil, URL: evil, Failure: &messages.Failure{Class: evil, Message: evil, Hint: evil}}
	f.services = &messages.ServiceList{V: 1, Services: []*messages.ServiceView{{V: 1, Name: evil, Title: evil, URL: evil, Docs: "javascript:document.title='taken'", Collections: []string{evil}}}}
	f.workers = &messages.WorkerList{V: 1, Now: time.Now(), Workers: []*messages.Worker{{V: 1, ID: evil, Host: evil, Version: evil}}}
	b := newTab(t, f.url)
	b.allow("404")
	for page, whole := range map[string]string{
		"": `document.querySelector(".queries tbody tr")`, "#/queries/evil": `document.querySelector(".preview") && document.querySelector(".chunks") && document.querySelector(".grid canvas").dataset.rects > 0`,
		"#/queries/evil/chunks/2": `document.querySelector("dialog .box.error")`, "#/services": `document.querySelector("[data-service]")`, "#/workers": `document.querySelector("[data-worker]")`,
	} {
		b.open(page)
		b.sees("all of it is there", whole)
		b.reads(evil)
		if n := evaluate[int](b, `document.querySelectorAll('img:not([src="/assets/icon.svg"]), a[href^="javascript"], [onerror]').length`); n > 0 {
			t.Errorf("%q: %d elements were made of data", page, n)
		}
		if title := evaluate[string](b, `document.title`); title == "taken" {
			t.Errorf("%q ran a script that stands in data", page)
		}
	}
	b.open("#/queries/evil/chunks/2")
	b.sees("all of it is there", `document.querySelector("dialog .box.error") && document.querySelector(".preview") && document.querySelector(".chunks")`)
	b.shoot("hostile-text")
}

func TestWhoIsNotKnownLogsInAndSeesWhatTheTokenAllows(t *testing.T) {
	f := newFixture(t)
	f.token, f.role, f.may = "secret-token", "reader", []string{"queries:read"}
	s := newStatus("q1", "daily-flow", messages.Interrupted, 40, 12)
	s.Query.Owner = "grace"
	s.Query.Stop = &messages.Stop{Kind: "quota", Status: 429, Reason: "quota api-data-gov is used up: 1,000 of 1,000 requests in the last hour", Until: time.Now().Add(41 * time.Minute), At: time.Now(), Position: "12"}
	f.statuses = []*messages.Status{s}
	b := newTab(t, f.url)
	b.allow("401", "404")
	b.open("#/queries/q1")
	b.reads("Log in")
	b.shoot("login")
	b.keys("wrong" + kb.Enter)
	b.reads("does not know this token")
	b.shoot("login-refused")
	b.scheme("dark")
	b.shoot("login-dark")
	b.scheme("light")
	b.keys("secret-token" + kb.Enter)
	b.reads("daily-flow")
	b.reads("ada")
	if !evaluate[bool](b, `document.querySelector('[data-verb="resume"]').disabled && document.querySelector('[data-verb="resume"]').title.includes("may not")`) {
		t.Error("a reader can press Resume")
	}
	if text := evaluate[string](b, `JSON.stringify(localStorage) + document.cookie + document.documentElement.outerHTML`); strings.Contains(text, "secret-token") {
		t.Error("the page keeps the token")
	}
	b.reads("in 40 min")
	b.shoot("reader")
}

func TestServicesAndWorkersShowWhatHoldsThemUp(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	holders := make([]messages.SlotHolder, 12)
	for i := range holders {
		holders[i] = messages.SlotHolder{Slot: i, Worker: fmt.Sprintf("gauge-%d", i%3), Since: now.Add(-time.Duration(i*17) * time.Second)}
	}
	f.services = &messages.ServiceList{V: 1, Services: []*messages.ServiceView{
		{V: 1, Name: "open-hydro", Title: "Open hydrology data", Collections: []string{"stages", "stations"}},
		{
			V: 1, Name: "usgs-ngwmn", Title: "National Ground-Water Monitoring Network", Collections: []string{"sites"}, Slots: 8,
			Pools: []messages.QuotaStanding{
				{Pool: "api-data-gov", Owner: "anonymous", Counts: "requests", Limit: 1000, Left: new(int64(0)), Window: 3600, Model: "rolling", Since: now.Add(-30 * time.Minute), Next: now.Add(30 * time.Minute), Updated: now},
			},
			Queries: []messages.ServiceQuery{{ID: "q3", Name: "water-levels", State: messages.Interrupted}},
		},
		{
			V: 1, Name: "usgs-waterdata", Title: "USGS Water Data", URL: "https://api.waterdata.usgs.gov/ogcapi/v0", Docs: "https://api.waterdata.usgs.gov/docs",
			Collections: []string{"daily", "continuous", "monitoring-locations"}, Slots: 16, Explicit: true, LeaseTTL: 8 * time.Second, Holders: holders,
			Gate: &messages.Gate{V: 1, Service: "usgs-waterdata", Until: now.Add(37 * time.Minute), Status: 429, Reason: "the quota is used up", Worker: "gauge-1", At: now.Add(-time.Minute)},
			Pools: []messages.QuotaStanding{
				{Pool: "api-data-gov", Owner: "key-5f3a", Counts: "requests", Limit: 1000, Left: new(int64(129)), HoldBack: 100, Window: 3600, Model: "rolling", Since: now.Add(-50 * time.Minute), Next: now.Add(10 * time.Minute), Updated: now},
				{Pool: "downloads", Owner: "anonymous", Counts: "bytes", Window: 86400, Model: "fixed", Updated: now},
			},
			Queries: []messages.ServiceQuery{
				{ID: "q1", Name: "daily-flow", State: messages.Interrupted},
				{ID: "q2", Name: "stage-heights", State: messages.Failed, Tripped: &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: 40, Failed: 22, Alike: 21}},
			},
		},
	}}
	f.workers = &messages.WorkerList{V: 1, Now: now, Workers: []*messages.Worker{
		{V: 1, ID: "gauge-0", Host: "river-1.example", Version: "0.6.0", Concurrency: 32, Running: 9, Started: now.Add(-26 * time.Hour), Seen: now.Add(-time.Second)},
		{V: 1, ID: "gauge-1", Host: "river-2.example", Version: "0.6.0", Concurrency: 32, Running: 32, Started: now.Add(-3 * time.Hour), Seen: now.Add(-9 * time.Second)},
	}}
	b := newTab(t, f.url)
	b.open("#/services")
	b.reads("closed, opens in 36 min")
	b.reads("129 of 1,000 requests left, 100 held back")
	b.reads("22 of the last 40 chunks failed")
	b.sees("a service whose quota is used up is not open", `/paused by its quota until [0-9:]+ UTC \(in (29|30) min/.test(document.querySelector('[data-service="usgs-ngwmn"] .gate').innerText.replace(/\s+/g, " ")) && /open/.test(document.querySelector('[data-service="open-hydro"] .gate').innerText)`)
	b.press("Who holds them")
	b.reads("gauge-2")
	b.shoot("services")
	b.scheme("dark")
	b.shoot("services-dark")
	b.scheme("light")
	b.fitsPhone("services")
	b.press("Workers")
	b.reads("41 of 64 places in use")
	b.shoot("workers")
	b.fitsPhone("workers")
	f.mu.Lock()
	f.workers = &messages.WorkerList{V: 1, Now: now, Workers: []*messages.Worker{}}
	f.mu.Unlock()
	b.reads("No worker is there.")
	b.shoot("workers-none")
}
