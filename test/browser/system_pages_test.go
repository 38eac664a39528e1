//go:build unix

package browser

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/test/rig"
)

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // it is a string
	}
	return string(data)
}

func TestAQueryIsSubmittedWatchedAndDownloaded(t *testing.T) {
	s := newSystem(t, simulator.Config{Latency: 400 * time.Millisecond})
	b := newTab(t, s.url)
	b.open("")
	b.reads("There are no queries yet.")
	b.shoot("list-empty")
	b.press("Submit a query")
	b.press("Insert the example")
	b.press("Show what it would cost")
	b.reads("What it would cost")
	b.shoot("submit")
	b.fitsPhone("submit")
	b.press("Submit")
	b.sees("the query's page is there", `document.querySelector("article") !== null`)
	b.is("running")
	b.sees("the page follows it", `document.querySelector('[role="progressbar"]').getAttribute("aria-valuenow") > 0`)
	b.is("complete")
	b.reads("100 %")
	b.sees("the last positions are drawn", `/done 8/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " "))`)
	b.sees("the first rows are there", `document.querySelectorAll(".preview tbody tr").length >= 10`)
	b.sees("the plots are there", `document.querySelectorAll(".plot canvas").length === 2 || document.querySelector(".one-step")`)
	b.press("What came of each value")
	b.reads("USGS-01013500")
	b.shoot("complete")
	b.scheme("dark")
	b.shoot("complete-dark")
	b.scheme("light")
	b.fitsPhone("complete")
	id, dir := b.id(), b.downloads()
	for _, format := range []string{"parquet", "csv", "jsonl", "arrow"} {
		b.click(fmt.Sprintf(`[data-format=%q]`, format))
		got := b.file(dir, format)
		if want := s.body("/v1/queries/" + id + "/results?format=" + format); !bytes.Equal(got, want) {
			t.Errorf("%s: the file has %d bytes, the API gives %d others", format, len(got), len(want))
		}
	}
	b.allow("422")
	b.click(`[data-format="geojson"]`) // these rows are nowhere
	b.reads("Could not download the table")
	b.click(`.chunks [data-position="3"] button`)
	b.reads("First request")
	b.sees("its attempt is told", `document.querySelector("dialog").innerText.includes("200")`)
	b.shoot("chunk")
	b.fitsPhone("chunk")
	b.keys(kb.Escape)
	b.sees("the dialog is closed", `document.querySelector("dialog") === null`)
	b.open("")
	b.reads("daily-flow")
	b.shoot("list")
	b.fitsPhone("list")
	b.open("#/services")
	b.reads("usgs-waterdata")
	b.shoot("services-real")
	b.open("#/workers")
	b.reads("2 workers")
	b.shoot("workers-real")
}

func TestAQueryIsWatchedLive(t *testing.T) {
	const chunks = 120
	s := newSystem(t, simulator.Config{Latency: 600 * time.Millisecond})
	b := newTab(t, s.url)
	b.submit(rig.DailyQuery(chunks, chunks))
	counted := func(word string) string {
		return `Number(new RegExp("` + word + ` ([0-9]+)").exec(document.querySelector(".legend").innerText.replace(/\s+/g, " "))[1])`
	}
	b.sees("chunks are done and others in flight", counted("done")+` > 20 && `+counted("in flight")+` > 0 && document.querySelectorAll(".plot canvas").length === 2`)
	b.shoot("running")
	b.scheme("dark")
	b.shoot("running-dark")
	b.scheme("light")
	b.fitsPhone("running")
	b.is("complete")
	b.sees("all are done", counted("done")+` === 120`)
}

func TestAQueryThatTheQuotaInterruptsSaysWhyAndIsResumedFromThePage(t *testing.T) {
	s := newSystem(t, simulator.Config{Latency: 20 * time.Millisecond, Quota: simulator.Quota{Limit: 5, Window: 6 * time.Second, RetryAfter: true}})
	b := newTab(t, s.url)
	b.submit(rig.DailyQuery(8, 8))
	b.is("interrupted")
	b.reads("The quota is used up")
	b.reads("HTTP 429")
	b.reads("It can go on")
	b.sees("what is done is drawn", `/done 5/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " ")) && document.querySelector(".interruptions") !== null`)
	b.sees("the table of chunks says the same", `document.querySelectorAll('.chunks tbody [data-state="done"]').length === 5 && document.querySelectorAll('.chunks tbody [data-state="pending"]').length === 3`)
	b.sees("the rows of what is done are there", `document.querySelectorAll(".preview tbody tr").length === 10`)
	b.sees("there is no choice to explain", `document.querySelector(".choices") === null && document.querySelector('[data-verb="resume"]').classList.contains("primary")`)
	b.shoot("interrupted")
	b.scheme("dark")
	b.shoot("interrupted-dark")
	b.scheme("light")
	b.fitsPhone("interrupted")
	if said := evaluate[string](b, `document.querySelector("#announce").innerText`); !strings.Contains(said, "interrupted") {
		t.Errorf("who does not see the page is told %q", said)
	}
	before := evaluate[int](b, `Number(document.querySelector('[role="progressbar"]').getAttribute("aria-valuenow"))`)
	if before < 1 || before > 5 {
		t.Errorf("%d chunks are complete, of 5 requests", before)
	}
	b.sees("its time has come", `/It can go on now/.test(document.querySelector(".why").innerText)`)
	b.click(`[data-verb="resume"]`)
	b.is("complete")
	b.reads("run 2")
}

func TestAQueryIsCancelledResumedAndRemoved(t *testing.T) {
	s := newSystem(t, simulator.Config{Latency: time.Minute})
	b := newTab(t, s.url)
	b.submit(rig.DailyQuery(6, 6))
	b.is("running")
	b.sees("positions are in flight", `/in flight [1-6]/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " "))`)
	b.press("Cancel")
	b.reads("Cancel the query?")
	b.shoot("cancel-asks")
	b.press("Leave it")
	b.press("Cancel")
	b.press("Cancel it")
	b.is("cancelled")
	b.sees("nothing is in flight any more", `/in flight 0/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " "))`)
	b.shoot("cancelled")
	s.change(func(c *simulator.Config) { c.Latency = 0 })
	b.press("Resume")
	b.is("complete")
	b.press("Remove")
	b.reads("This cannot be undone")
	b.press("Remove it")
	b.reads("There are no queries yet.")
}

func TestAFailedChunkIsShownWithItsReasonAndRetried(t *testing.T) {
	s := newSystem(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultKeyEcho, Contains: rig.Site(3)}}})
	b := newTab(t, s.url)
	b.submit(rig.DailyQuery(12, 12) + "run: {on_failure: finish}\n")
	b.is("failed")
	b.reads("A chunk failed")
	b.sees("the failure is counted", `/failed 1/.test(document.querySelector(".legend").innerText.replace(/\s+/g, " "))`)
	b.sees("the failed chunk is named with its class, its answer and what to do", `/Chunk 3[^]*bad_request · HTTP 400[^]*cannot be answered[^]*check the query/.test(document.querySelector('.why [data-failed="3"]').innerText)`)
	b.sees("the others are done", `document.querySelectorAll('.chunks tbody [data-state="done"]').length === 11 && document.querySelectorAll(".preview tbody tr").length === 10`)
	b.sees("retry and resume are explained", `/Retry failed runs the chunk that failed, and nothing else[^]*Resume runs all that has no result; here that is the same/.test(document.querySelector(".why .choices").innerText)`)
	b.sees("what is needed comes first", `document.querySelector(".actions button").dataset.verb === "retry" && document.querySelector('.actions [data-verb="retry"]').classList.contains("primary") && !document.querySelector('.actions [data-verb="resume"]').classList.contains("primary")`)
	b.shoot("failed")
	b.scheme("dark")
	b.shoot("failed-dark")
	b.scheme("light")
	b.fitsPhone("failed")
	b.click(`.chunks [data-state="failed"] button`)
	b.sees("the dialog says why", `document.querySelector("dialog .box.error") !== null && document.querySelector("dialog").innerText.includes("400")`)
	b.shoot("chunk-failed")
	b.keys(kb.Escape)
	dir := b.downloads()
	b.click(".check input")
	b.click(`[data-format="csv"]`)
	if n := bytes.Count(b.file(dir, "csv"), []byte("\n")); n < 100 {
		t.Errorf("the partial table has %d lines", n)
	}
	s.change(func(c *simulator.Config) { c.Faults = nil })
	b.press("Retry failed")
	b.is("complete")
}

func TestTheServerGoesAwayAndComesBack(t *testing.T) {
	s := newSystem(t, simulator.Config{})
	b := newTab(t, s.url)
	b.allow("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE", "ERR_EMPTY", "ERR_CONNECTION_RESET", "404")
	b.submit(rig.DailyQuery(4, 4))
	b.is("complete")
	address := strings.TrimPrefix(s.url, "http://")
	b.open("")
	b.reads("query")
	s.stopServing()
	b.reads("The server does not answer since")
	b.shoot("server-away")
	s.serve(address)
	b.sees("it is there again", `document.querySelector(".banner") === null`)
	b.open("#/queries/0192-not-there")
	b.reads("There is no query 0192-not-there.")
	b.shoot("no-such-query")
	b.open("#/nowhere")
	b.reads("There is no such page")
}

func TestMistakesOfAQueryAreShownWhereTheyStand(t *testing.T) {
	s := newSystem(t, simulator.Config{})
	b := newTab(t, s.url)
	b.allow("422")
	b.open("#/submit")
	b.paste("schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n  parameter_code: 60\n  nonsense: 1\n  time: {from: 2023-10-01, to: 2023-09-01}\nmax_chunk: 3\n")
	b.press("Show what it would cost")
	b.sees("the unknown key is told with its line", `[...document.querySelectorAll(".field-errors li")].some((l) => l.innerText.includes("line 8") && l.innerText.includes("max_chunk"))`)
	b.sees("all that is wrong is told at once", `/line 6[^]*nonsense[^]*line 7[^]*line 8/.test(document.querySelector(".field-errors").innerText)`)
	b.shoot("submit-mistakes")
	b.scheme("dark")
	b.shoot("submit-mistakes-dark")
	b.scheme("light")
	b.fitsPhone("submit-mistakes")
	b.press("line 8")
	if selected := evaluate[string](b, `getSelection().toString()`); selected != "max_chunk: 3" {
		t.Errorf("line 8 selects %q", selected)
	}
	b.paste("schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n  monitoring_location_id: {file: sites.csv}\n  nonsense: 1\n  parameter_code: {file: codes.csv}\n")
	b.press("Submit")
	b.sees("missing files are not all that is told", `/line 5[^]*not given[^]*line 6[^]*nonsense[^]*line 7[^]*not given/.test(document.querySelector(".field-errors").innerText)`)
	b.shoot("submit-missing")
	b.paste("schema: query/v1\nservice: usgs-waterdata\ncollection: daily\nwhere:\n  nonsense: 1\n")
	b.press("Submit")
	b.sees("what the service does not know is told with its line", `[...document.querySelectorAll(".field-errors li")].some((l) => l.innerText.includes("line 5") && l.innerText.includes("nonsense"))`)
	b.paste("{\"v\": 1,\n \"name\": }")
	b.press("Submit")
	b.reads("is no JSON")
}

// tabTo presses Tab until what has the focus has these words.
func (b *tab) tabTo(words string) {
	b.t.Helper()
	for range 60 {
		if evaluate[string](b, `(document.activeElement.innerText || "").trim()`) == words {
			if !evaluate[bool](b, `document.activeElement.matches(":focus-visible")`) {
				b.t.Errorf("nobody sees that %q has the focus", words)
			}
			return
		}
		b.keys(kb.Tab)
	}
	b.t.Fatalf("Tab never reaches %q", words)
}

func TestAQueryIsSubmittedByKeyboardAlone(t *testing.T) {
	s := newSystem(t, simulator.Config{})
	b := newTab(t, s.url)
	b.open("")
	b.reads("There are no queries yet.")
	b.keys(kb.Tab)
	if words := evaluate[string](b, `document.activeElement.innerText`); words != "Skip to the content" {
		t.Errorf("the first Tab goes to %q", words)
	}
	b.shoot("skip-link")
	b.keys(kb.Enter)
	b.tabTo("Submit a query")
	b.keys(kb.Enter)
	b.sees("the form is there", `document.querySelector("textarea") !== null`)
	b.tabTo("Insert the example")
	b.keys(kb.Enter)
	b.tabTo("Submit")
	b.keys(kb.Enter)
	b.sees("the query's page is there", `document.querySelector("article") !== null`)
	b.is("complete")
}

func TestATokenOpensASessionThatEndsWithALogout(t *testing.T) {
	s := newSystem(t, simulator.Config{})
	token := s.asksForTokens("rita", access.Submitter)
	b := newTab(t, s.url)
	b.allow("401")
	b.open("")
	b.reads("Paste the token that you were given")
	b.keys("braid_wrong" + kb.Enter)
	b.reads("does not know this token")
	b.keys(token + kb.Enter)
	b.reads("There are no queries yet.")
	b.reads("rita")
	b.submit(rig.DailyQuery(2, 2))
	b.is("complete")
	b.sees("it is the submitter's own", `document.querySelector(".about").innerText.includes("rita") && !document.querySelector('[data-verb="remove"]').disabled`)
	if text := evaluate[string](b, `JSON.stringify([{...localStorage}, {...sessionStorage}]) + document.cookie + location.href + document.documentElement.outerHTML`); strings.Contains(text, token) {
		t.Error("the page keeps the token")
	}
	b.press("Log out")
	b.reads("Paste the token that you were given")
}
