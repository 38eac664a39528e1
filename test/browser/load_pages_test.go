//go:build unix

package browser

import (
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
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
