//go:build unix

package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/access"
)

// slowly has the database take a moment, and the cache next to none.
func slowly(median time.Duration) superset.Latency {
	return superset.Latency{Base: superset.Distribution{Shape: superset.LogNormal, Low: median, Sigma: 0.6, High: 20 * median}, Hit: 2 * time.Millisecond}
}

func TestALoadRunFromItsProfileToAComparison(t *testing.T) {
	s := newBoards(t, superset.Config{Seed: 7, Latency: slowly(60 * time.Millisecond)})
	b := newTab(t, s.url)
	b.allow("409") // nothing was looked up yet
	b.open("#/load")
	b.reads("There are no load runs yet")
	b.apply(profileText("sales", "boards-dev", 12, "warm_up: 10\nthresholds:\n  - {metric: upstream_latency_ms.p95, cache: miss, max: 5000}\n  - {metric: upstream_latency_ms.p50, cache: hit, max: 0.001}\n"))
	b.reads("No approval is needed here")
	b.sees("the binding term is named", `document.querySelector("main").innerText.includes("◀ binds")`)
	b.shoot("load-profile")
	b.fitsPhone("load-profile")

	base := b.start()
	b.sees("it goes", `Number(document.querySelector('.progress').getAttribute("aria-valuenow")) > 60`)
	b.sees("its plots are there", `document.querySelector(".plot canvas") !== null`)
	b.shoot("load-live")
	b.ended("completed")
	for _, text := range []string{"failed: ", "✓ passed", "The three waits", "Latency by chart", "Revenue by month", "Breaker"} {
		b.reads(text)
	}
	b.sees("hits and misses are apart", `document.querySelectorAll(".by-chart .cache.hit").length > 3 && document.querySelectorAll(".by-chart .cache.miss").length > 3`)
	b.shoot("load-ended")
	b.fitsPhone("load-ended")
	b.scheme("dark")
	b.shoot("load-ended-dark")
	b.scheme("light")

	b.choose(`select[name="outcome"]`, "success")
	b.click(`tr[data-number="12"] button`)
	b.sees("the drawer tells of the cache and the digests", `document.querySelector("dialog.drawer").innerText.includes("is_cached") && document.querySelector("dialog.drawer .digests code").innerText.length === 64`)
	b.shoot("load-execution")
	b.keys("\x1b")
	b.sees("the drawer is closed", `document.querySelector("dialog") === null`)

	b.open("#/load/profiles/sales")
	second := b.start()
	b.ended("completed")
	b.choose(".inline select", base)
	b.sees("the comparison is there", `document.querySelector("article").dataset.comparable === "true" && document.querySelectorAll(".differences tbody tr").length > 5`)
	b.reads("noise floor")
	b.shoot("load-compare")
	b.fitsPhone("load-compare")

	// Another concurrency makes another capacity, and a difference says nothing.
	b.apply(profileText("sales", "boards-dev", 3, "stages: [{concurrency: 2, executions: 20}, {concurrency: 4}]\n"))
	third := b.start()
	b.ended("completed")
	b.open("#/load/compare/" + second + "/" + third)
	b.reads("The two runs are not comparable")
	b.shoot("load-not-comparable")

	b.open("#/load")
	b.sees("the runs are listed", `document.querySelectorAll("table.runs tbody tr").length === 3`)
	b.click(`tr[data-run="` + base + `"] input`)
	b.click(`tr[data-run="` + second + `"] input`)
	b.reads("Compare the two")
	b.shoot("load-list")
	b.fitsPhone("load-list")
	b.press("Compare the two")
	b.sees("the earlier one is the base", `location.hash === "#/load/compare/`+base+`/`+second+`"`)
}

func TestProdNeedsAnApprovalAndPermissions(t *testing.T) {
	s := newBoards(t, superset.Config{Seed: 7, Latency: slowly(5 * time.Millisecond)})
	setUp := newTab(t, s.url)
	setUp.allow("409")
	setUp.apply(profileText("gated", "boards-prod", 2, "force: true\n"))
	setUp.reads("It rewrites the cache entries that everybody who looks at the dashboard reads")
	setUp.sees("the start is shut", `document.querySelector('button[data-verb="start"]').disabled`)
	setUp.reads("somebody has to approve the gate first")
	sent := s.fake.Stats().Requests

	tokens := s.asksForTokensOf(
		access.Entry{Name: "rita", Role: access.Reader}, access.Entry{Name: "lou", Role: access.Reader, Permissions: []access.Permission{access.LoadRun}},
		access.Entry{Name: "paula", Role: access.Reader, Permissions: []access.Permission{access.LoadRun, access.LoadProd}},
	)
	logIn := func(name string) *tab {
		b := newTab(t, s.url)
		b.allow("401")
		b.open("#/load/profiles/gated")
		b.click("input[name=token]")
		b.keys(tokens[name] + "\r")
		b.sees("the gate is there", `document.querySelector("[data-class=PROD]") !== null`)
		return b
	}
	reader := logIn("rita")
	reader.sees("who only reads can press nothing", `[...document.querySelectorAll("button[data-verb]")].every((b) => b.disabled)`)
	reader.reads("the token lacks the permission")
	reader.shoot("load-no-permission")
	runner := logIn("lou")
	runner.sees("who may not put load on PROD can press nothing", `[...document.querySelectorAll("button[data-verb]")].every((b) => b.disabled)`)

	approver := logIn("paula")
	approver.sees("an approval needs a reason", `document.querySelector('button[data-verb="approve"]').disabled`)
	approver.click("textarea[name=reason]")
	approver.keys("Release 2026.9, window agreed with <b>operations</b>")
	approver.shoot("load-gate")
	approver.fitsPhone("load-gate")
	approver.click(`button[data-verb="approve"]`)
	approver.sees("the approval is listed", `document.querySelectorAll("table.approvals .state.complete").length === 1`)
	approver.reads("Release 2026.9, window agreed with <b>operations</b>")
	approver.shoot("load-approved")
	if now := s.fake.Stats().Requests; now != sent {
		t.Errorf("%d requests were sent before the start", now-sent)
	}
	run := approver.start()
	approver.ended("completed")
	approver.reads("By paula")
	approver.open("#/load/profiles/gated")
	approver.sees("the approval is used up", `document.querySelector("table.approvals").innerText.includes("used by") && document.querySelector('button[data-verb="start"]').disabled`)
	approver.sees("by the run", `document.querySelector("table.approvals a").hash === "#/load/runs/`+run+`"`)
	runner.open("#/load/runs/" + run)
	runner.sees("who may not stop cannot", `document.querySelector('button[data-verb="stop"]:not(:disabled)') === null`)
}

func TestAChangeOfTheProfileShutsTheGateAndSaysSo(t *testing.T) {
	s := newBoards(t, superset.Config{Seed: 7})
	b := newTab(t, s.url)
	b.allow("409", "412")
	b.apply(profileText("moved", "boards-dev", 2, ""))
	b.sees("it can be started", `!document.querySelector('button[data-verb="start"]').disabled`)
	b.click(`button[data-verb="start"]`)
	other := newTab(t, s.url)
	other.allow("409")
	other.apply(profileText("moved", "boards-dev", 3, ""))
	sent := s.fake.Stats().Requests
	b.press("Start it") // what the person saw is no longer what would run
	b.reads("Nothing was started, and nothing was sent")
	b.sees("it says why", `document.querySelector("[data-gate]").dataset.gate === "profile_changed"`)
	b.shoot("load-gate-shut")
	if now := s.fake.Stats().Requests; now != sent {
		t.Errorf("%d requests were sent", now-sent)
	}
}

func TestTheBreakerOfARunTripsAndThePageSaysWhy(t *testing.T) {
	s := newBoards(t, superset.Config{Seed: 7, Latency: slowly(10 * time.Millisecond), Faults: []superset.Fault{{Match: superset.Match{From: 60}, Action: superset.Status, Status: 503}}})
	b := newTab(t, s.url)
	b.allow("409")
	b.apply(profileText("trips", "boards-dev", 12, ""))
	b.start()
	b.ended("tripped")
	b.reads("Its breaker tripped")
	b.reads("The share of failures was")
	b.sees("the breaker shows as tripped", `document.querySelector("[data-breaker]").dataset.breaker === "tripped"`)
	b.reads("not dispatched")
	b.sees("a trip is no pass", `document.querySelector("h1").innerText.includes("failed")`)
	b.shoot("load-tripped")
	b.choose(`select[name="outcome"]`, "error")
	b.sees("only failures are listed", `document.querySelectorAll(".executions tbody tr").length > 5 && [...document.querySelectorAll(".executions tbody tr")].every((r) => r.dataset.outcome === "error")`)
}

func TestARunIsStoppedByItsButton(t *testing.T) {
	s := newBoards(t, superset.Config{Seed: 7, Latency: slowly(200 * time.Millisecond)})
	b := newTab(t, s.url)
	b.allow("409")
	b.apply(profileText("stops", "boards-dev", 28, ""))
	b.start()
	b.sees("it goes", `Number(document.querySelector('.progress').getAttribute("aria-valuenow")) > 5`)
	b.click(`button[data-verb="stop"]`)
	b.sees("the keyboard is on what leaves it", `document.activeElement.innerText === "Leave it"`)
	b.keys("\x1b")
	b.sees("Escape leaves it", `document.querySelector("dialog") === null && document.querySelector("article").dataset.ending !== "stopped"`)
	b.click(`button[data-verb="stop"]`)
	b.shoot("load-stop")
	b.press("Stop it")
	b.ended("stopped")
	b.reads("It was stopped")
	b.sees("nothing is left out", `document.querySelector(".legend").innerText.includes("not dispatched")`)
}

func TestNamesOfADashboardAreShownAsText(t *testing.T) {
	const attack = `<img src=x onerror="document.title='broken'"><b>bold</b>`
	world := superset.DefaultWorld()
	for i := range world.Charts {
		world.Charts[i].Name = attack + " " + world.Charts[i].Name
	}
	for i := range world.Dashboards {
		world.Dashboards[i].Title = attack
	}
	s := newBoards(t, superset.Config{Seed: 7, World: world})
	b := newTab(t, s.url)
	b.allow("409")
	b.apply(profileText("names", "boards-dev", 1, ""))
	id := b.start()
	b.ended("completed")
	b.sees("names are texts", `document.querySelector(".by-chart th[scope=row]").innerText.startsWith("<img src=x") && document.querySelector("main img, main b") === null`)
	b.fitsPhone("load-names")
	report := newTab(t, s.url)
	report.do("open the report", chromedp.Navigate(s.url+"/v1/load/runs/"+id+"/report?format=html"))
	report.sees("it is the report", `document.querySelector("h1").innerText === "Sales, before the release" && document.querySelectorAll("svg").length > 5`)
	report.sees("its style is let in by the policy", `getComputedStyle(document.querySelector("td.n")).textAlign === "right"`)
	report.sees("and names are texts there", `document.querySelector("img, b") === null && document.body.innerText.includes("<img src=x")`)
	report.shoot("load-report")
	report.scheme("dark")
	report.shoot("load-report-dark")
}
