package messages_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/messages"
)

// draw makes valid values of a message's fields.
type draw struct{ *rapid.T }

func (d draw) name() string {
	return rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,63}`).Draw(d.T, "name")
}

func (d draw) text() string { return messages.Text(rapid.String().Draw(d.T, "text")) }

func (d draw) position() messages.Position { return positionOf(path().Draw(d.T, "position")) }

func (d draw) run() int { return rapid.IntRange(1, 1<<31-1).Draw(d.T, "run") }

func (d draw) status() int { return rapid.IntRange(0, 999).Draw(d.T, "status") }

func (d draw) count() int64 { return rapid.Int64Range(0, 1<<53).Draw(d.T, "count") }

func (d draw) number() int { return rapid.IntRange(0, 1<<53).Draw(d.T, "number") }

func (d draw) yes() bool { return rapid.Bool().Draw(d.T, "yes") }

func (d draw) wait() time.Duration { return time.Duration(rapid.Int64().Draw(d.T, "wait")) }

func (d draw) digest() string {
	return hex.EncodeToString(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(d.T, "digest"))
}

func (d draw) time() time.Time {
	if rapid.Bool().Draw(d.T, "no time") {
		return time.Time{}
	}
	return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(d.T, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(d.T, "nanoseconds")).UTC()
}

func (d draw) failure() *messages.Failure {
	return &messages.Failure{Class: d.name(), Status: d.status(), Message: d.text(), Hint: d.text()}
}

func (d draw) item() wire {
	task, err := json.Marshal(map[string]string{"url": d.text(), "body": d.text()})
	if err != nil {
		d.Fatal(err)
	}
	return &messages.Item{
		V: 1, Query: d.name(), Run: d.run(), Position: d.position(), Service: d.name(), Definition: d.digest(), Collection: d.name(),
		Task: task, Dispatched: d.time(), Recheck: d.yes(),
	}
}

func (d draw) header() wire {
	m := &messages.ResultHeader{
		V: 1, Query: d.name(), Run: d.run(), Position: d.position(), Pages: d.number(), Requests: d.number(), Bytes: d.count(),
		Columns: rapid.SliceOfN(rapid.StringN(0, 30, -1), 0, 20).Draw(d.T, "columns"), SHA256: d.digest(),
		Parts: rapid.IntRange(0, 1<<20).Draw(d.T, "parts"), Attempt: d.name(), Worker: d.name(),
		Generation: rapid.Uint64().Draw(d.T, "generation"), Started: d.time(), Finished: d.time(), SlotWait: d.wait(), Upstream: d.wait(),
	}
	m.Outcome = rapid.SampledFrom([]messages.Outcome{
		messages.OutcomeRows, messages.OutcomeEmpty, messages.OutcomeSplit, messages.OutcomeFailed,
	}).Draw(d.T, "outcome")
	if m.Outcome == messages.OutcomeRows || m.Outcome == messages.OutcomeEmpty {
		m.LastPage = d.request()
	}
	switch m.Outcome {
	case messages.OutcomeRows:
		m.Rows = 1 + d.count()/2
		if n := rapid.IntRange(0, min(m.Pages, 1<<20)).Draw(d.T, "stored"); n > 0 {
			m.StoredPages, m.Walk, m.Doubted = n, d.name(), d.yes()
		}
	case messages.OutcomeFailed:
		m.Failure = d.failure()
	case messages.OutcomeEmpty, messages.OutcomeSplit:
	}
	return m
}

func (d draw) request() *messages.Request {
	if d.yes() {
		return nil
	}
	return &messages.Request{Sent: d.time(), Upstream: d.wait(), Status: d.status(), Tries: d.number(), Bytes: d.count(), SHA256: d.digest()}
}

func (d draw) page() wire {
	m := &messages.Page{
		V: 1, Query: d.name(), Run: d.run(), Position: d.position(), Walk: d.name(), Page: rapid.IntRange(0, 1<<20).Draw(d.T, "page"),
		Columns: rapid.SliceOfN(rapid.StringN(0, 30, -1), 0, 20).Draw(d.T, "columns"), SHA256: d.digest(), Ended: d.yes(), Restarted: d.yes(),
		Attempt: d.name(), Worker: d.name(), Fetched: d.time(),
	}
	if !m.Ended {
		m.Rows, m.Bytes, m.NextBytes = d.count(), d.count(), 1+d.count()/2
		m.Parts = rapid.IntRange(0, 1<<20).Draw(d.T, "parts")
		m.ClaimedRows, m.ClaimedPages = d.count(), d.count()
		m.Request = d.request()
	}
	return m
}

func (d draw) interruption() wire {
	kind := rapid.SampledFrom([]messages.InterruptionKind{messages.QuotaExhausted, messages.ServiceInterrupted, messages.HandedBack})
	return &messages.Interruption{
		V: 1, Query: d.name(), Run: d.run(), Position: d.position(), Service: d.name(), Kind: kind.Draw(d.T, "kind"), Status: d.status(),
		Reason: d.text(), Until: d.time(), Requests: d.number(), Worker: d.name(), At: d.time(), Dispatched: d.time(),
	}
}

func (d draw) executions() wire {
	m := &messages.Executions{V: 1, Query: d.name(), Run: d.run(), Worker: d.name()}
	for range rapid.IntRange(1, 3).Draw(d.T, "executions") {
		m.Executions = append(m.Executions, messages.Execution{
			Position: d.position(), Attempt: d.name(), Page: d.number(), Try: d.number(), Class: d.name(), Status: d.status(),
			Bytes: d.count(), Sent: d.time(), SlotWait: d.wait(), Upstream: d.wait(),
		})
	}
	return m
}

func (d draw) query() wire {
	states := []messages.QueryState{
		messages.Running, messages.Stopping, messages.Interrupted, messages.Failed, messages.Cancelled, messages.Complete,
	}
	m := &messages.Query{
		V: 1, ID: d.name(), Name: d.name(), Service: d.name(), Collection: d.name(), Definition: d.digest(), Spec: d.digest(),
		Fingerprint: d.digest(), Chunks: d.number(), URL: d.text(), State: rapid.SampledFrom(states).Draw(d.T, "state"), Run: d.run(),
		WaitUpTo: d.wait(), AllowBad: d.yes(), Created: d.time(), Updated: d.time(),
	}
	m.Only = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) messages.Position { return draw{t}.position() }), 0, 5).Draw(d.T, "only")
	if len(m.Only) == 0 {
		m.Only = nil
	}
	if d.yes() {
		m.Stop = &messages.Stop{
			Kind: d.name(), Position: d.position(), Status: d.status(), Class: d.name(), Reason: d.text(), Hint: d.text(),
			Until: d.time(), At: d.time(),
		}
	}
	return m
}

func (d draw) progress() wire {
	return &messages.Progress{
		V: 1, Query: d.name(), Run: d.run(), Completed: d.number(), Failed: d.number(), Waiting: d.number(), Rows: d.count(),
		Pages: d.count(), Requests: d.count(), RequestsGone: d.count(), Bytes: d.count(), Updated: d.time(),
	}
}

func (d draw) service() wire {
	return &messages.Service{
		V: 1, Name: d.name(), Slots: rapid.IntRange(1, messages.MaxSlots).Draw(d.T, "slots"), Explicit: d.yes(),
		LeaseTTL: time.Duration(rapid.IntRange(1, 3600).Draw(d.T, "seconds")) * time.Second,
	}
}

func (d draw) gate() wire {
	return &messages.Gate{V: 1, Service: d.name(), Until: d.time(), Status: 429, Reason: d.text(), Worker: d.name(), At: d.time()}
}

func (d draw) worker() wire {
	return &messages.Worker{
		V: 1, ID: d.name(), Host: d.text(), Version: d.text(), Concurrency: d.number(), Running: d.number(), Started: d.time(), Seen: d.time(),
	}
}

func (d draw) suspect() wire {
	m := &messages.Suspect{V: 1, Query: d.name(), Run: d.run(), Position: d.position()}
	for range rapid.IntRange(0, messages.MaxBegun).Draw(d.T, "begun") {
		m.Begun = append(m.Begun, messages.Begun{Attempt: d.name(), Worker: d.name(), Delivery: d.number(), At: d.time()})
	}
	return m
}

func (d draw) summary() wire {
	largest := rapid.MapOfN(rapid.Map(rapid.String(), messages.Text), rapid.IntRange(0, 1<<53), 0, 4)
	return &messages.PlanSummary{
		Service: d.name(), Collection: d.name(), Chunks: d.number(), Fingerprint: d.digest(), Definition: d.digest(), LeastRequests: d.count(), InFlight: d.number(),
		LongestURLBytes: d.number(), URLLimit: d.number(), LargestValues: largest.Draw(d.T, "largest"), EstimatedRows: d.count(),
		FirstURL: d.text(), LastURL: d.text(),
		ExpectedRequests: d.count(), MostRequests: d.count(), LongestWalk: d.count(), PageRows: d.number(), MaxRows: d.count(),
		LongestBodyBytes: d.number(), BodyLimit: d.number(), LongestRequestBytes: d.number(), RequestLimit: d.number(),
		Quotas: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) messages.PlanQuota {
			d := draw{t}
			return messages.PlanQuota{
				Pool: d.name(), Counts: d.text(), Limit: d.count(), HoldBack: d.count(), Window: d.count(),
				Key: messages.KeyState(d.text()), Anonymous: rapid.Bool().Draw(t, "anonymous"), Windows: d.count(),
				Model: d.text(), Unknown: messages.Unknown(d.text()),
			}
		}), 0, 3).Draw(d.T, "quotas"),
		RequestsUnknown: messages.Unknown(d.text()), RowsUnknown: messages.Unknown(d.text()), LastMethod: d.text(),
		Seconds: d.count(), Latency: d.count(), Waited: d.count(), Method: d.text(), FirstBody: d.text(), LastBody: d.text(),
	}
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	drawn := map[string]func(draw) wire{
		"item": draw.item, "result": draw.header, "page": draw.page, "interruption": draw.interruption, "executions": draw.executions, "query": draw.query,
		"progress": draw.progress, "service": draw.service, "gate": draw.gate, "worker": draw.worker, "suspect": draw.suspect, "plan_summary": draw.summary,
		"quota_ledger": draw.ledger, "quotas": draw.quotas,
	}
	for _, w := range words() {
		if w.name == "failed" || w.name == "ended" {
			continue // another face of a result, or of a page
		}
		t.Run(w.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := drawn[w.name](draw{t})
				data, err := m.Encode()
				if err != nil {
					t.Fatal(err)
				}
				got, err := w.decode(data)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m, got, cmpopts.EquateEmpty(), sameTask()); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}
