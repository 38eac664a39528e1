package messages_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

func encoded(t testing.TB, m wire) []byte {
	t.Helper()
	data, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNothingButTheMessageItselfIsRead(t *testing.T) {
	for _, w := range words() {
		good := string(encoded(t, w.full))
		for name, data := range map[string]string{
			"empty":             "",
			"null":              "null",
			"a list":            "[" + good + "]",
			"cut off":           good[:len(good)-1],
			"an unknown field":  strings.Replace(good, "{", `{"surprise":1,`, 1),
			"a message behind":  good + good,
			"text behind":       good + " x",
			"a wrong type":      strings.NewReplacer(`"v":1`, `"v":"one"`, `"chunks":40`, `"chunks":"many"`).Replace(good),
			"not UTF-8 outside": "\xff" + good,
		} {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				if m, err := w.decode([]byte(data)); !errors.Is(err, messages.ErrInvalid) {
					t.Errorf("%s is read as %+v, %v", data, m, err)
				}
			})
		}
	}
}

func TestAnUnknownFieldDeepInsideIsRefused(t *testing.T) {
	deep := map[string]string{"failed": `"failure":{`, "executions": `"executions":[{`, "query": `"stop":{`}
	for _, w := range words() {
		at, ok := deep[w.name]
		if !ok {
			continue
		}
		data := strings.Replace(string(encoded(t, w.full)), at, at+`"surprise":1,`, 1)
		if m, err := w.decode([]byte(data)); !errors.Is(err, messages.ErrInvalid) || !strings.Contains(err.Error(), "surprise") {
			t.Errorf("%s is read as %+v, %v", data, m, err)
		}
	}
}

// What a newer version's fields are is not known here; the reader must hear that it is to be upgraded, not that they are wrong.
func TestANewerVersionIsNamedSo(t *testing.T) {
	for _, w := range words() {
		if w.name == "plan_summary" {
			continue // it has no version: it lives within one request
		}
		good := string(encoded(t, w.full))
		newer := strings.Replace(good, `{"v":1`, `{"v":2,"surprise":{"a":[1]}`, 1)
		if newer == good {
			t.Fatalf("%s does not begin with its version", good)
		}
		if m, err := w.decode([]byte(newer)); !errors.Is(err, messages.ErrVersion) {
			t.Errorf("%s: %s is read as %+v, %v", w.name, newer, m, err)
		}
		for _, v := range []string{"0", "-1", "1.5", `"1"`, "1e400"} {
			data := strings.Replace(good, `{"v":1`, `{"v":`+v, 1)
			if m, err := w.decode([]byte(data)); !errors.Is(err, messages.ErrInvalid) {
				t.Errorf("%s: version %s is read as %+v, %v", w.name, v, m, err)
			}
		}
		without := strings.Replace(good, `{"v":1,`, `{`, 1)
		if m, err := w.decode([]byte(without)); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%s: without a version it is read as %+v, %v", w.name, m, err)
		}
	}
}

func TestAMessageIsReadUpToItsLengthAndNoFurther(t *testing.T) {
	limits := map[string]int{
		"item": 776 << 10, "result": 48 << 10, "failed": 48 << 10, "page": 52 << 10, "ended": 52 << 10, "interruption": 16 << 10, "executions": 64 << 10, "query": 64 << 10,
		"progress": 12 << 10, "service": 4 << 10, "gate": 16 << 10, "worker": 32 << 10, "suspect": 16 << 10, "plan_summary": 128 << 10, "quota_ledger": 256 << 10, "quotas": 4 << 20,
	}
	for _, w := range words() {
		good := encoded(t, w.full)
		spaces := bytes.Repeat([]byte(" "), limits[w.name]-len(good))
		if _, err := w.decode(append(good, spaces...)); err != nil {
			t.Errorf("%s of %d bytes: %v", w.name, limits[w.name], err)
		}
		if _, err := w.decode(append(good, append(spaces, ' ')...)); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%s of %d bytes is read: %v", w.name, limits[w.name]+1, err)
		}
	}
}

// bound is a message that is wrong in one place, or just right at the edge of a bound.
type bound struct {
	word  string
	names string // what the error must name; empty: the message is right
	set   any    // func(*T) that changes the full example
}

func bounds() []bound {
	long, text, path := strings.Repeat("x", 65), strings.Repeat("x", 4097), strings.Repeat("1.", 32)+"1"
	task := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	many := func(n int) []messages.Execution { return make([]messages.Execution, n) }
	columns := func(n int) []string { return slices.Repeat([]string{"c"}, n) }
	positions := func(n int) []messages.Position { return slices.Repeat([]messages.Position{"1234"}, n) }
	begun := func(n int) []messages.Begun {
		return slices.Repeat([]messages.Begun{{Attempt: "a", Worker: "w", Delivery: 1}}, n)
	}
	tripped := func(ended, failed, alike int) func(*messages.Query) {
		return func(m *messages.Query) {
			m.Stop.Tripped = &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: ended, Failed: failed, Alike: alike}
		}
	}
	return slices.Concat([]bound{
		{"query", "only", func(m *messages.Query) { m.Only = []messages.Position{"x"} }},
		{"query", "only", func(m *messages.Query) { m.Only = positions(messages.MaxOnlyBytes/4 + 1) }},
		{"query", "", func(m *messages.Query) { m.Only = positions(messages.MaxOnlyBytes / 4) }},
		{"query", "stop.tripped", tripped(101, 30, 30)},
		{"query", "stop.tripped", tripped(30, 31, 1)},
		{"query", "stop.tripped", tripped(30, 10, 11)},
		{"query", "", tripped(100, 100, 100)},
		{"suspect", "begun", func(m *messages.Suspect) { m.Begun = begun(messages.MaxBegun + 1) }},
		{"suspect", "begun", func(m *messages.Suspect) { m.Begun[0].Worker = "" }},
		{"suspect", "", func(m *messages.Suspect) { m.Begun = begun(messages.MaxBegun) }},
		{"suspect", "position", func(m *messages.Suspect) { m.Position = "" }},
		{"item", "query", func(m *messages.Item) { m.Query = "" }},
		{"item", "query", func(m *messages.Item) { m.Query = "a.b" }},
		{"item", "query", func(m *messages.Item) { m.Query = long }},
		{"item", "", func(m *messages.Item) { m.Query = long[:64] }},
		{"item", "query", func(m *messages.Item) { m.Query = "-a" }},
		{"item", "query", func(m *messages.Item) { m.Query = "é" }},
		{"item", "query", func(m *messages.Item) { m.Query = "a*" }},
		{"item", "run", func(m *messages.Item) { m.Run = 0 }},
		{"item", "run", func(m *messages.Item) { m.Run = 1 << 31 }},
		{"item", "", func(m *messages.Item) { m.Run = 1<<31 - 1 }},
		{"item", "position", func(m *messages.Item) { m.Position = "" }},
		{"item", "position", func(m *messages.Item) { m.Position = "01" }},
		{"item", "position", func(m *messages.Item) { m.Position = messages.Position(path) }},
		{"item", "", func(m *messages.Item) { m.Position = messages.Position(path[2:]) }},
		{"item", "service", func(m *messages.Item) { m.Service = "a b" }},
		{"item", "definition", func(m *messages.Item) { m.Definition = digest[:63] }},
		{"item", "definition", func(m *messages.Item) { m.Definition = digest[:63] + "g" }},
		{"item", "definition", func(m *messages.Item) { m.Definition = digest + "00" }},
		{"item", "collection", func(m *messages.Item) { m.Collection = "" }},
		{"item", "task", func(m *messages.Item) { m.Task = task(messages.MaxTaskBytes + 1) }},
		{"item", "", func(m *messages.Item) { m.Task = task(messages.MaxTaskBytes) }},
		{"interruption", "kind", func(m *messages.Interruption) { m.Kind = "tired" }},
		{"interruption", "service", func(m *messages.Interruption) { m.Service = "" }},
		{"interruption", "status", func(m *messages.Interruption) { m.Status = 1000 }},
		{"interruption", "status", func(m *messages.Interruption) { m.Status = -1 }},
		{"interruption", "reason", func(m *messages.Interruption) { m.Reason = text }},
		{"interruption", "", func(m *messages.Interruption) { m.Reason = text[:4096] }},
		{"interruption", "requests", func(m *messages.Interruption) { m.Requests = -1 }},
		{"interruption", "worker", func(m *messages.Interruption) { m.Worker = "" }},
		{"executions", "executions", func(m *messages.Executions) { m.Executions = nil }},
		{"executions", "executions", func(m *messages.Executions) { m.Executions = many(messages.MaxExecutions + 1) }},
		{"executions", "", func(m *messages.Executions) {
			m.Executions = slices.Repeat(m.Executions, messages.MaxExecutions)
		}},
		{"executions", "executions[0]: position", func(m *messages.Executions) { m.Executions[0].Position = "x" }},
		{"executions", "executions[1]: class", func(m *messages.Executions) {
			m.Executions = append(m.Executions, m.Executions[0])
			m.Executions[1].Class = ""
		}},
		{"executions", "attempt", func(m *messages.Executions) { m.Executions[0].Attempt = "" }},
		{"executions", "page", func(m *messages.Executions) { m.Executions[0].Page = -1 }},
		{"executions", "try", func(m *messages.Executions) { m.Executions[0].Try = -1 }},
		{"executions", "status", func(m *messages.Executions) { m.Executions[0].Status = 1000 }},
		{"executions", "bytes", func(m *messages.Executions) { m.Executions[0].Bytes = 1<<53 + 1 }},
		{"executions", "", func(m *messages.Executions) { m.Executions[0].Bytes = 1 << 53 }},
		{"executions", "worker", func(m *messages.Executions) { m.Worker = "" }},
	}, resultBounds(columns, text), pageBounds(columns), recordBounds(long, text))
}

func resultBounds(columns func(int) []string, text string) []bound {
	return []bound{
		{"result", "outcome", func(m *messages.ResultHeader) { m.Outcome = "perhaps" }},
		{"result", "outcome", func(m *messages.ResultHeader) { m.Rows = 0 }},
		{"result", "outcome", func(m *messages.ResultHeader) { m.Outcome = messages.OutcomeEmpty }},
		{"result", "", func(m *messages.ResultHeader) { m.Outcome, m.Rows = messages.OutcomeEmpty, 0 }},
		{"result", "outcome", func(m *messages.ResultHeader) { m.Outcome = messages.OutcomeSplit }},
		{"result", "", func(m *messages.ResultHeader) {
			m.Outcome, m.Rows, m.Walk, m.StoredPages = messages.OutcomeSplit, 0, "", 0
		}},
		{"result", "outcome", func(m *messages.ResultHeader) { m.Outcome = messages.OutcomeFailed }},
		{"result", "outcome", func(m *messages.ResultHeader) { m.Failure = &messages.Failure{Class: "auth"} }},
		{"result", "rows", func(m *messages.ResultHeader) { m.Rows = -1 }},
		{"result", "pages", func(m *messages.ResultHeader) { m.Pages = -1 }},
		{"result", "requests", func(m *messages.ResultHeader) { m.Requests = -1 }},
		{"result", "bytes", func(m *messages.ResultHeader) { m.Bytes = -1 }},
		{"result", "columns", func(m *messages.ResultHeader) { m.Columns = columns(1025) }},
		{"result", "", func(m *messages.ResultHeader) { m.Columns = columns(1024) }},
		{"result", "sha256", func(m *messages.ResultHeader) { m.SHA256 = "" }},
		{"result", "parts", func(m *messages.ResultHeader) { m.Parts = -1 }},
		{"result", "parts", func(m *messages.ResultHeader) { m.Parts = 1<<20 + 1 }},
		{"result", "", func(m *messages.ResultHeader) { m.Parts = 1 << 20 }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.StoredPages = -1 }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.StoredPages = 0 }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.StoredPages = 3 }},
		{"result", "", func(m *messages.ResultHeader) { m.StoredPages = 2 }},
		{"result", "", func(m *messages.ResultHeader) { m.StoredPages, m.Walk = 0, "" }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.Walk = "" }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.Walk = "a.b" }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.StoredPages, m.Pages = 1<<20+1, 1<<21 }},
		{"result", "stored_pages", func(m *messages.ResultHeader) { m.Outcome, m.Rows = messages.OutcomeSplit, 0 }},
		{"result", "attempt", func(m *messages.ResultHeader) { m.Attempt = "" }},
		{"result", "worker", func(m *messages.ResultHeader) { m.Worker = "" }},
		{"failed", "failure.class", func(m *messages.ResultHeader) { m.Failure.Class = "" }},
		{"failed", "failure.status", func(m *messages.ResultHeader) { m.Failure.Status = 1000 }},
		{"failed", "failure.message", func(m *messages.ResultHeader) { m.Failure.Message = text }},
		{"failed", "failure.hint", func(m *messages.ResultHeader) { m.Failure.Hint = text }},
	}
}

func pageBounds(columns func(int) []string) []bound {
	return []bound{
		{"page", "query", func(m *messages.Page) { m.Query = "" }},
		{"page", "run", func(m *messages.Page) { m.Run = 0 }},
		{"page", "position", func(m *messages.Page) { m.Position = "x" }},
		{"page", "walk", func(m *messages.Page) { m.Walk = "a.b" }},
		{"page", "page", func(m *messages.Page) { m.Page = -1 }},
		{"page", "page", func(m *messages.Page) { m.Page = 1<<20 + 1 }},
		{"page", "", func(m *messages.Page) { m.Page = 1 << 20 }},
		{"page", "rows", func(m *messages.Page) { m.Rows = -1 }},
		{"page", "", func(m *messages.Page) { m.Rows, m.Bytes, m.Columns = 0, 0, nil }},
		{"page", "columns", func(m *messages.Page) { m.Columns = columns(1025) }},
		{"page", "next_bytes", func(m *messages.Page) { m.NextBytes = -1 }},
		{"page", "next_bytes", func(m *messages.Page) { m.NextBytes = 1<<53 + 1 }},
		{"page", "bytes", func(m *messages.Page) { m.Bytes = -1 }},
		{"page", "claimed_rows", func(m *messages.Page) { m.ClaimedRows = -1 }},
		{"page", "claimed_pages", func(m *messages.Page) { m.ClaimedPages = 1<<53 + 1 }},
		{"page", "sha256", func(m *messages.Page) { m.SHA256 = "" }},
		{"page", "parts", func(m *messages.Page) { m.Parts = 1<<20 + 1 }},
		{"page", "ended", func(m *messages.Page) { m.NextBytes = 0 }},
		{"page", "ended", func(m *messages.Page) { m.Ended = true }},
		{"page", "attempt", func(m *messages.Page) { m.Attempt = "" }},
		{"page", "worker", func(m *messages.Page) { m.Worker = "" }},
		{"ended", "ended", func(m *messages.Page) { m.Rows = 1 }},
		{"ended", "ended", func(m *messages.Page) { m.Bytes = 1 }},
		{"ended", "ended", func(m *messages.Page) { m.Parts = 1 }},
		{"ended", "ended", func(m *messages.Page) { m.NextBytes = 1 }},
	}
}

func recordBounds(long, text string) []bound {
	return []bound{
		{"query", "id", func(m *messages.Query) { m.ID = "" }},
		{"query", "name", func(m *messages.Query) { m.Name = long }},
		{"query", "service", func(m *messages.Query) { m.Service = "" }},
		{"query", "collection", func(m *messages.Query) { m.Collection = "" }},
		{"query", "definition", func(m *messages.Query) { m.Definition = "" }},
		{"query", "spec", func(m *messages.Query) { m.Spec = "" }},
		{"query", "fingerprint", func(m *messages.Query) { m.Fingerprint = "" }},
		{"query", "chunks", func(m *messages.Query) { m.Chunks = -1 }},
		{"query", "url", func(m *messages.Query) { m.URL = text }},
		{"query", "state", func(m *messages.Query) { m.State = "asleep" }},
		{"query", "run", func(m *messages.Query) { m.Run = 0 }},
		{"query", "stop.kind", func(m *messages.Query) { m.Stop.Kind = "" }},
		{"query", "stop.position", func(m *messages.Query) { m.Stop.Position = "x" }},
		{"query", "", func(m *messages.Query) { m.Stop.Position = "" }},
		{"query", "stop.status", func(m *messages.Query) { m.Stop.Status = 1000 }},
		{"query", "stop.class", func(m *messages.Query) { m.Stop.Class = "a b" }},
		{"query", "", func(m *messages.Query) { m.Stop.Class = "" }},
		{"query", "stop.reason", func(m *messages.Query) { m.Stop.Reason = text }},
		{"query", "stop.hint", func(m *messages.Query) { m.Stop.Hint = text }},
		{"query", "", func(m *messages.Query) { m.Stop = nil }},
		{"progress", "outstanding", func(m *messages.Progress) { m.Outstanding = []messages.Span{{3, 2}} }},
		{"progress", "query", func(m *messages.Progress) { m.Query = "" }},
		{"progress", "run", func(m *messages.Progress) { m.Run = 0 }},
		{"progress", "completed", func(m *messages.Progress) { m.Completed = -1 }},
		{"progress", "failed", func(m *messages.Progress) { m.Failed = -1 }},
		{"progress", "waiting", func(m *messages.Progress) { m.Waiting = -1 }},
		{"progress", "rows", func(m *messages.Progress) { m.Rows = -1 }},
		{"progress", "pages", func(m *messages.Progress) { m.Pages = -1 }},
		{"progress", "requests", func(m *messages.Progress) { m.Requests = -1 }},
		{"progress", "bytes", func(m *messages.Progress) { m.Bytes = -1 }},
		{"service", "name", func(m *messages.Service) { m.Name = "" }},
		{"service", "slots", func(m *messages.Service) { m.Slots = 0 }},
		{"service", "slots", func(m *messages.Service) { m.Slots = messages.MaxSlots + 1 }},
		{"service", "", func(m *messages.Service) { m.Slots = messages.MaxSlots }},
		{"service", "lease_ttl_ns", func(m *messages.Service) { m.LeaseTTL = time.Second / 2 }},
		{"service", "lease_ttl_ns", func(m *messages.Service) { m.LeaseTTL = time.Second * 3 / 2 }},
		{"service", "lease_ttl_ns", func(m *messages.Service) { m.LeaseTTL = time.Hour + time.Second }},
		{"service", "", func(m *messages.Service) { m.LeaseTTL = time.Hour }},
		{"gate", "service", func(m *messages.Gate) { m.Service = "" }},
		{"gate", "reason", func(m *messages.Gate) { m.Reason = text }},
		{"gate", "worker", func(m *messages.Gate) { m.Worker = "" }},
		{"worker", "id", func(m *messages.Worker) { m.ID = "" }},
		{"worker", "host", func(m *messages.Worker) { m.Host = text }},
		{"worker", "version", func(m *messages.Worker) { m.Version = text }},
		{"worker", "concurrency", func(m *messages.Worker) { m.Concurrency = -1 }},
		{"worker", "running", func(m *messages.Worker) { m.Running = -1 }},
		{"plan_summary", "service", func(m *messages.PlanSummary) { m.Service = "" }},
		{"plan_summary", "collection", func(m *messages.PlanSummary) { m.Collection = "" }},
		{"plan_summary", "chunks", func(m *messages.PlanSummary) { m.Chunks = -1 }},
		{"plan_summary", "fingerprint", func(m *messages.PlanSummary) { m.Fingerprint = "" }},
		{"plan_summary", "least_requests", func(m *messages.PlanSummary) { m.LeastRequests = -1 }},
		{"plan_summary", "in_flight", func(m *messages.PlanSummary) { m.InFlight = -1 }},
		{"plan_summary", "longest_url_bytes", func(m *messages.PlanSummary) { m.LongestURLBytes = -1 }},
		{"plan_summary", "url_limit", func(m *messages.PlanSummary) { m.URLLimit = -1 }},
		{"plan_summary", "largest_values", func(m *messages.PlanSummary) { m.LargestValues["site"] = -1 }},
		{"plan_summary", "largest_values", func(m *messages.PlanSummary) { m.LargestValues[text] = 1 }},
		{"plan_summary", "estimated_rows", func(m *messages.PlanSummary) { m.EstimatedRows = -1 }},
		{"plan_summary", "first_url", func(m *messages.PlanSummary) { m.FirstURL = text }},
		{"plan_summary", "last_url", func(m *messages.PlanSummary) { m.LastURL = text }},
		{"plan_summary", "expected_requests", func(m *messages.PlanSummary) { m.ExpectedRequests = -1 }},
		{"plan_summary", "most_requests", func(m *messages.PlanSummary) { m.MostRequests = -1 }},
		{"plan_summary", "longest_walk", func(m *messages.PlanSummary) { m.LongestWalk = -1 }},
		{"plan_summary", "page_rows", func(m *messages.PlanSummary) { m.PageRows = -1 }},
		{"plan_summary", "max_rows", func(m *messages.PlanSummary) { m.MaxRows = -1 }},
		{"plan_summary", "longest_body_bytes", func(m *messages.PlanSummary) { m.LongestBodyBytes = -1 }},
		{"plan_summary", "body_limit", func(m *messages.PlanSummary) { m.BodyLimit = -1 }},
		{"plan_summary", "longest_request_bytes", func(m *messages.PlanSummary) { m.LongestRequestBytes = -1 }},
		{"plan_summary", "request_limit", func(m *messages.PlanSummary) { m.RequestLimit = -1 }},
		{"plan_summary", "eta_seconds", func(m *messages.PlanSummary) { m.Seconds = -1 }},
		{"plan_summary", "latency_ms", func(m *messages.PlanSummary) { m.Latency = -1 }},
		{"plan_summary", "wait_seconds", func(m *messages.PlanSummary) { m.Waited = -1 }},
		{"plan_summary", "method", func(m *messages.PlanSummary) { m.Method = text }},
		{"plan_summary", "last_method", func(m *messages.PlanSummary) { m.LastMethod = text }},
		{"plan_summary", "expected_requests_unknown", func(m *messages.PlanSummary) { m.RequestsUnknown = messages.Unknown(text) }},
		{"plan_summary", "estimated_rows_unknown", func(m *messages.PlanSummary) { m.RowsUnknown = messages.Unknown(text) }},
		{"plan_summary", "quotas.model", func(m *messages.PlanSummary) { m.Quotas[0].Model = text }},
		{"plan_summary", "quotas.windows_unknown", func(m *messages.PlanSummary) { m.Quotas[0].Unknown = messages.Unknown(text) }},
		{"plan_summary", "first_body", func(m *messages.PlanSummary) { m.FirstBody = text }},
		{"plan_summary", "last_body", func(m *messages.PlanSummary) { m.LastBody = text }},
		{"plan_summary", "quotas", func(m *messages.PlanSummary) { m.Quotas = make([]messages.PlanQuota, 17) }},
		{"quota_ledger", "pool", func(m *messages.QuotaLedger) { m.Pool = "" }},
		{"quota_ledger", "owner", func(m *messages.QuotaLedger) { m.Owner = text }},
		{"quota_ledger", "model", func(m *messages.QuotaLedger) { m.Model = text }},
		{"quota_ledger", "counts", func(m *messages.QuotaLedger) { m.Counts = text }},
		{"quota_ledger", "window_ns", func(m *messages.QuotaLedger) { m.Window = 0 }},
		{"quota_ledger", "limit", func(m *messages.QuotaLedger) { m.Limit = -1 }},
		{"quota_ledger", "hold_back", func(m *messages.QuotaLedger) { m.HoldBack = -1 }},
		{"quota_ledger", "total", func(m *messages.QuotaLedger) { m.Total = -1 }},
		{"quota_ledger", "instants", func(m *messages.QuotaLedger) { m.Latest = 1<<63 - 1 }},
		{"quota_ledger", "spent[1]", func(m *messages.QuotaLedger) { m.Spent[1].Units = 0 }},
		{"quota_ledger", "spent[1]", func(m *messages.QuotaLedger) { m.Spent[1].To = m.Spent[0].To }},
		{"quota_ledger", "spent", func(m *messages.QuotaLedger) {
			m.Spent = nil
			for i := range int64(messages.MaxQuotaSpends + 1) {
				m.Spent = append(m.Spent, messages.QuotaSpend{From: i, To: i, Units: 1})
			}
		}},
		{"quota_ledger", "reserved[0]", func(m *messages.QuotaLedger) { m.Reserved[0].Free = -1 }},
		{"quota_ledger", "reserved[1]", func(m *messages.QuotaLedger) { m.Reserved = append(m.Reserved, m.Reserved[0]) }},
		{"quota_ledger", "reading.remaining", func(m *messages.QuotaLedger) { m.Reading.Remaining = -1 }},
		{"quota_ledger", "reading.at", func(m *messages.QuotaLedger) { m.Reading.At = -1 }},
		{"quotas", "quotas[0]: pool", func(m *messages.QuotaList) { m.Quotas[0].Pool = "" }},
		{"quotas", "quotas[0]: left", func(m *messages.QuotaList) { m.Quotas[0].Left = new(int64(-1)) }},
		{"progress", "quotas", func(m *messages.Progress) { m.Quotas = make([]messages.PoolLeft, 9) }},
		{"progress", "remaining", func(m *messages.Progress) { m.Quotas[0].Left = -1 }},
		{"item", "hold_back", func(m *messages.Item) { m.HoldBack = -1 }},
		{"item", "allowance", func(m *messages.Item) { m.Allowance = -1 }},
		{"query", "max_requests", func(m *messages.Query) { m.MaxRequests = -1 }},
		{"query", "budget_spent", func(m *messages.Query) { m.BudgetSpent = -1 }},
		{"plan_summary", "quotas.pool", func(m *messages.PlanSummary) { m.Quotas[0].Pool = "" }},
		{"plan_summary", "quotas.counts", func(m *messages.PlanSummary) { m.Quotas[0].Counts = text }},
		{"plan_summary", "quotas.key", func(m *messages.PlanSummary) { m.Quotas[0].Key = messages.KeyState(text) }},
		{"plan_summary", "quotas.limit", func(m *messages.PlanSummary) { m.Quotas[0].Limit = -1 }},
		{"plan_summary", "quotas.hold_back", func(m *messages.PlanSummary) { m.Quotas[0].HoldBack = -1 }},
		{"plan_summary", "quotas.window_seconds", func(m *messages.PlanSummary) { m.Quotas[0].Window = -1 }},
		{"plan_summary", "quotas.windows", func(m *messages.PlanSummary) { m.Quotas[0].Windows = -1 }},
	}
}

func TestAFieldOutOfItsBoundIsNamedWhenWrittenAndWhenRead(t *testing.T) {
	byName := map[string]word{}
	for _, w := range words() {
		byName[w.name] = w
	}
	for i, b := range bounds() {
		t.Run(fmt.Sprintf("%s/%s/%d", b.word, b.names, i), func(t *testing.T) {
			w := byName[b.word]
			m := w.like(t, b.set)
			_, errEncode := m.Encode()
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			_, errDecode := w.decode(raw)
			if b.names == "" {
				if errEncode != nil || errDecode != nil {
					t.Errorf("refused: %v, %v", errEncode, errDecode)
				}
				return
			}
			for _, err := range []error{errEncode, errDecode} {
				if !errors.Is(err, messages.ErrInvalid) || !strings.Contains(err.Error(), " "+b.names) {
					t.Errorf("the error is %v", err)
				}
			}
		})
	}
}

func TestEveryWordHasItsBoundsTested(t *testing.T) {
	tested := map[string]bool{}
	for _, b := range bounds() {
		tested[b.word] = true
	}
	for _, w := range words() {
		if !tested[w.name] {
			t.Errorf("%s has no bound among %v", w.name, slices.Sorted(maps.Keys(tested)))
		}
	}
}

func TestATaskThatIsNoJSONIsNotWritten(t *testing.T) {
	for _, task := range []string{"", "{", `{"a":1} {`, "\x00"} {
		item := *words()[0].full.(*messages.Item)
		item.Task = json.RawMessage(task)
		if data, err := item.Encode(); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%q is written as %s, %v", task, data, err)
		}
	}
}

// A header that grows past what a message carries in its headers would be refused by the store, after all the work.
func TestAHeaderTooLongForItsMessageIsNotWritten(t *testing.T) {
	header := *words()[1].full.(*messages.ResultHeader)
	header.Columns = slices.Repeat([]string{strings.Repeat("c", 100)}, 600)
	if _, err := header.Encode(); !errors.Is(err, messages.ErrInvalid) || !strings.Contains(err.Error(), "column names") {
		t.Errorf("the error is %v", err)
	}
	header.Columns = slices.Repeat([]string{"col<um>n &"}, 1000)
	data, err := header.Encode()
	if err != nil || bytes.ContainsAny(data, "\r\n") {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	// The columns that a result has room for, a page has room for too, whatever else it says.
	page := &messages.Page{V: 1, SHA256: digest}
	header = messages.ResultHeader{
		V: 1, Query: "q", Run: 1, Position: "0", Outcome: messages.OutcomeRows, Rows: 1, SHA256: page.SHA256, Attempt: "a", Worker: "w",
	}
	for size := 1; err == nil; size++ {
		page.Columns = header.Columns
		header.Columns = slices.Repeat([]string{strings.Repeat("c", size)}, 1000)
		_, err = header.Encode()
	}
	page.Query, page.Walk, page.Attempt, page.Worker = strings.Repeat("x", 64), strings.Repeat("x", 64), strings.Repeat("x", 64), strings.Repeat("x", 64)
	page.Position = messages.Position(strings.Repeat("2147483647.", 31) + "2147483647")
	page.Rows, page.Bytes, page.NextBytes, page.Run, page.Parts = 1<<53, 1<<53, 1<<53, 1<<31-1, 1<<20
	if data, err := page.Encode(); err != nil || bytes.ContainsAny(data, "\r\n") || len(page.Columns) == 0 {
		t.Errorf("a page with the columns of a result: %d bytes, %v", len(data), err)
	}
}
