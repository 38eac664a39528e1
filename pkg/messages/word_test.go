package messages_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/messages"
)

var update = flag.Bool("update", false, "write the golden files of words whose wire form has changed")

// word is one message under test: a full example of it, and how it is read.
type word struct {
	name   string
	full   wire                                // every field is set
	decode func(data []byte) (wire, error)     // nil message on error
	like   func(t *testing.T, change any) wire // the full example, changed by a func(*T)
}

type wire interface {
	Validate() error
	Encode() ([]byte, error)
}

func wordOf[T any, P interface {
	*T
	wire
}](name string, full P, decode func([]byte) (P, error)) word {
	return word{
		name: name, full: full,
		decode: func(data []byte) (wire, error) {
			m, err := decode(data)
			if err != nil {
				if m != nil {
					return nil, fmt.Errorf("a message beside the error %w", err)
				}
				return nil, err
			}
			return m, nil
		},
		like: func(t *testing.T, change any) wire {
			t.Helper()
			data, err := full.Encode()
			if err != nil {
				t.Fatal(err)
			}
			m, err := decode(data)
			if err != nil {
				t.Fatal(err)
			}
			change.(func(*T))((*T)(m))
			return m
		},
	}
}

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

func noon(second int) time.Time { return time.Date(2025, 6, 1, 12, 0, second, 250_000_000, time.UTC) }

func words() []word {
	failure := &messages.Failure{Class: "bad_request", Status: 400, Message: "no such <site> & \"more\"", Hint: "check the site numbers"}
	request := &messages.Request{Sent: noon(1), Upstream: time.Second, Status: 200, Tries: 2, Bytes: 240, SHA256: digest}
	return []word{
		wordOf("item", &messages.Item{
			V: 1, Query: "q1", Run: 2, Position: "17.0", Service: "rivers", Definition: digest, Collection: "daily",
			Task: json.RawMessage(`{"method":"GET","url":"https://api.example.org/items?a=1&b=2"}`), Dispatched: noon(0), Recheck: true,
			Divisible: true, Asks: "monitoring_location_id: 2 values from USGS-01 to USGS-02", MaxRows: 100, HoldBack: 50, Allowance: 7,
		}, messages.DecodeItem),
		wordOf("result", &messages.ResultHeader{
			V: 1, Query: "q1", Run: 2, Position: "17", Outcome: messages.OutcomeRows, Rows: 3, Pages: 2, Requests: 4, Sent: 3,
			Columns: []string{"time", "value"}, Bytes: 120, SHA256: digest, Parts: 2, Walk: "a0", StoredPages: 1, Doubted: true, Uncounted: true, Attempt: "a1",
			Worker: "w1", Generation: 9,
			Started: noon(1), Finished: noon(2), SlotWait: time.Millisecond, Upstream: time.Second, LastPage: request,
		}, messages.DecodeResultHeader),
		wordOf("failed", &messages.ResultHeader{
			V: 1, Query: "q1", Run: 1, Position: "17", Outcome: messages.OutcomeFailed, Requests: 1,
			SHA256: digest, Attempt: "a1", Worker: "w1", Generation: 9, Started: noon(1), Finished: noon(2), Failure: failure,
		}, messages.DecodeResultHeader),
		wordOf("interruption", &messages.Interruption{
			V: 1, Query: "q1", Run: 1, Position: "17", Service: "rivers", Kind: messages.QuotaExhausted, Status: 429,
			Reason: "over the hourly limit", Until: noon(3), Requests: 2, Sent: 3, Worker: "w1", At: noon(1), Dispatched: noon(0),
		}, messages.DecodeInterruption),
		wordOf("executions", &messages.Executions{V: 1, Query: "q1", Run: 1, Worker: "w1", Executions: []messages.Execution{{
			Position: "17", Attempt: "a1", Page: 1, Try: 2, Class: "ok", Status: 200, Bytes: 64, Sent: noon(1),
			SlotWait: time.Millisecond, Upstream: time.Second,
		}}}, messages.DecodeExecutions),
		wordOf("query", &messages.Query{
			V: 1, ID: "q1", Name: "gauges", Service: "rivers", Collection: "daily", Definition: digest, Spec: digest, Fingerprint: digest,
			Chunks: 40, URL: "https://api.example.org/items?a=1&b=2", State: messages.Interrupted, Run: 2, WaitUpTo: time.Hour, MaxRows: 100, AllowBad: true, Covered: true, Unchanged: true, Lineage: digest, Base: "q0", Mark: noon(0), Bound: "9", Only: []messages.Position{"3", "17.0"}, MaxRequests: 500, BudgetSpent: 20, HoldBack: new(int64(7)), OnFailure: "finish", InFlight: messages.Unbounded, Rank: messages.Rank{Priority: -3, Weight: 7}, StuckSince: noon(1), StuckAt: 3, StuckRounds: 2, Killed: true, Owner: "ada", Team: "rivers", Key: digest, Asked: digest, Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Stop: &messages.Stop{
				Kind: "quota", Position: "17", Status: 429, Class: "quota", Reason: "over the hourly limit", Hint: "wait",
				Until: noon(9), At: noon(1), Tripped: &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: 40, Failed: 12, Alike: 10},
			},
			Created: noon(0), Updated: noon(1),
		}, messages.DecodeQuery),
		wordOf("progress", &messages.Progress{
			V: 1, Query: "q1", Run: 2, Completed: 10, Split: 2, Failed: 1, Doubted: 1, Waiting: 3, Rows: 100, Pages: 12, KeptPages: 3, Requests: 14, RequestsGone: 5, AtLeast: true, Bytes: 5000, Quotas: []messages.PoolLeft{{Pool: "gateway", Left: 588, Limit: 1000}}, Workers: &messages.Attendance{Present: 2, Last: noon(0)},
			Outstanding: []messages.Span{{11, 12}, {17, 17}}, Updated: noon(1),
		}, messages.DecodeProgress),
		wordOf("service", &messages.Service{V: 1, Name: "rivers", Slots: 8, Explicit: true, LeaseTTL: 30 * time.Second, Adapter: "soap"}, messages.DecodeService),
		wordOf("gate", &messages.Gate{V: 1, Service: "rivers", Until: noon(9), Status: 429, Reason: "over the limit", Worker: "w1", At: noon(1)}, messages.DecodeGate),
		wordOf("worker", &messages.Worker{
			V: 1, ID: "w1", Host: "alpha.example.org", Version: "v1.0.0", Concurrency: 32, Running: 4, Started: noon(0), Seen: noon(1), Instance: "k7f2",
		}, messages.DecodeWorker),
		wordOf("suspect", &messages.Suspect{
			V: 1, Query: "q1", Run: 2, Position: "17.0", Begun: []messages.Begun{{Attempt: "a1", Worker: "w1", Delivery: 3, At: noon(1)}},
		}, messages.DecodeSuspect),
		wordOf("quota_ledger", &messages.QuotaLedger{
			V: 1, Pool: "gateway", Owner: "key-usgs", Counts: "requests", Model: "rolling", Window: time.Hour, Limit: 1000, Observed: true, HoldBack: 100,
			Latest: noon(9).UnixNano(), Total: 412, Sets: 1, Full: noon(8).UnixNano(), Phase: noon(7).UnixNano(), Refused: noon(6).UnixNano(),
			Spent:    []messages.QuotaSpend{{From: noon(1).UnixNano(), To: noon(2).UnixNano(), Units: 400, Unsure: 7}, {From: noon(2).UnixNano(), To: noon(3).UnixNano(), Units: 12}},
			Reserved: []messages.QuotaReservation{{Holder: "w1-0", Free: 3, Flying: 4, From: noon(3).UnixNano(), Until: noon(8).UnixNano(), Heard: 12, Lapsed: 2}},
			Served:   true, Begun: noon(1).UnixNano(),
			Reading: &messages.QuotaReading{Remaining: 580, Total: 410, At: noon(3).UnixNano(), Reset: noon(30).UnixNano()},
		}, messages.DecodeQuotaLedger),
		wordOf("quotas", &messages.QuotaList{V: 1, Quotas: []messages.QuotaStanding{{
			Pool: "gateway", Owner: "key-usgs", Counts: "requests", Limit: 1000, Observed: true, Left: new(int64(588)), HoldBack: 100, Window: 3600, Model: "rolling", Reset: noon(5),
			Since: noon(1), Next: noon(9), Updated: noon(3),
		}}}, messages.DecodeQuotaList),
		wordOf("plan_summary", &messages.PlanSummary{
			Service: "rivers", Collection: "daily", Chunks: 40, Fingerprint: digest, Definition: digest, LeastRequests: 40, InFlight: 4, LongestURLBytes: 1990,
			URLLimit: 2000, LargestValues: map[string]int{"site": 90, "code": 2}, EstimatedRows: 1_000_000,
			FirstURL: "https://api.example.org/items?site=1", LastURL: "https://api.example.org/items?site=9",
			ExpectedRequests: 60, MostRequests: 80, LongestWalk: 2, PageRows: 50_000, MaxRows: 2_000_000,
			LongestBodyBytes: 500, BodyLimit: 600, LongestRequestBytes: 2490, RequestLimit: 2500,
			Quotas: []messages.PlanQuota{
				{
					Pool: "gateway", Counts: "requests", Limit: 50, HoldBack: 5, Window: 3600, Key: messages.KeyMissing, Anonymous: true, Windows: 2,
					Model: "rolling", Unknown: "how many requests it takes is not known",
					Left: new(int64(17)), LeftUnknown: "no query has spent it yet", Back: noon(4),
				},
			},
			RequestsUnknown: "the rows are not known", RowsUnknown: "site is not given", LastMethod: "GET",
			Seconds: 3630, Latency: 2000, Waited: 3600, Method: "POST", FirstBody: `{"op":"in"}`, LastBody: `{"op":"and"}`,
		}, messages.DecodePlanSummary),
		wordOf("page", &messages.Page{
			V: 1, Query: "q1", Run: 2, Position: "17.0", Walk: "a0", Page: 3, Rows: 2, Columns: []string{"time", "value"}, NextBytes: 40,
			Bytes: 120, SHA256: digest, Parts: 1, ClaimedRows: 250_000, ClaimedPages: 5, Requests: 2, Restarted: true, Attempt: "a1", Worker: "w1", Fetched: noon(1), Request: request,
		}, messages.DecodePage),
		wordOf("ended", &messages.Page{
			V: 1, Query: "q1", Run: 2, Position: "17.0", Walk: "a0", Page: 4, SHA256: digest, Ended: true, Attempt: "a1", Worker: "w1",
			Fetched: noon(2),
		}, messages.DecodePage),
	}
}

// goldens lists the forms in which a word was ever written, the oldest first.
func goldens(t testing.TB, w word) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", w.name, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return names // numbered with three digits
}

// A changed form goes into a further file: the one before it was written by somebody, and must still be read.
func TestEachWordIsWrittenAsItsLastGoldenSays(t *testing.T) {
	for _, w := range words() {
		t.Run(w.name, func(t *testing.T) {
			data, err := w.full.Encode()
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, data, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			files := goldens(t, w)
			var golden []byte
			if len(files) > 0 {
				if golden, err = os.ReadFile(files[len(files)-1]); err != nil {
					t.Fatal(err)
				}
			}
			diff := cmp.Diff(string(golden), pretty.String())
			if diff != "" && !*update {
				t.Fatalf("run the test with -update if the form is meant to change:\n%s", diff)
			}
			if diff == "" {
				return
			}
			next := filepath.Join("testdata", w.name, fmt.Sprintf("%03d.json", len(files)+1))
			if err := os.MkdirAll(filepath.Dir(next), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(next, pretty.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEveryFormEverWrittenIsStillRead(t *testing.T) {
	for _, w := range words() {
		files := goldens(t, w)
		if len(files) == 0 {
			t.Errorf("%s has no golden", w.name)
		}
		for i, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m, err := w.decode(data)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if i < len(files)-1 {
				continue
			}
			if diff := cmp.Diff(w.full, m, sameTask()); diff != "" {
				t.Errorf("%s is read as something else:\n%s", file, diff)
			}
		}
	}
}

// Otherwise a field could change its name without any golden noticing.
func TestTheExamplesLeaveNoFieldUnset(t *testing.T) {
	set := map[string]bool{}
	all := map[string]bool{}
	for _, w := range words() {
		note(reflect.ValueOf(w.full), "", all, set)
	}
	for name := range all {
		if !set[name] {
			t.Errorf("no example sets %s", name)
		}
	}
}

// note walks over the fields of our own structs and notes which exist and which are set.
func note(v reflect.Value, name string, all, set map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			note(v.Elem(), name, all, set)
		}
		return
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Struct && v.Len() > 0 {
			note(v.Index(0), name, all, set)
		}
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.HasSuffix(v.Type().PkgPath(), "pkg/messages") {
		return
	}
	for field, value := range v.Fields() {
		if field.Tag.Get("json") == "-" {
			continue // it is not in the form that is written
		}
		path := v.Type().Name() + "." + field.Name
		all[path] = true
		set[path] = set[path] || !value.IsZero()
		note(value, path, all, set)
	}
}

// sameTask compares tasks as JSON, whatever their white space.
func sameTask() cmp.Option {
	return cmp.Comparer(func(a, b json.RawMessage) bool { return compacted(a) == compacted(b) })
}

func compacted(task json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Compact(&out, task); err != nil {
		return string(task)
	}
	return out.String()
}
