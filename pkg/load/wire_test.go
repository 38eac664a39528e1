package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/timing"
)

const digest = "bbf7f0f5ccaefe244f3627b2883aebdbcef2e3377558186fa83cd2b4d21e4cae"

type encoder interface{ Encode() ([]byte, error) }

// wireForm is one of the words that are stored, filled, and how it is read.
type wireForm struct {
	name   string
	full   encoder
	decode func([]byte) (encoder, error)
}

func reader[T any, P interface {
	*T
	encoder
}](decode func([]byte) (P, error)) func([]byte) (encoder, error) {
	return func(data []byte) (encoder, error) {
		m, err := decode(data)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

func wireForms() []wireForm {
	at := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	late, number := 3*time.Second, 4
	return []wireForm{
		{"item", &load.Item{V: 1, Run: "r1", Number: 7, Intended: at, WarmUp: true}, reader(load.DecodeItem)},
		{"admission", &load.Admission{V: 1, Run: "r1", Number: 7, Attempt: 2, Repeat: true, Worker: "w1", At: at}, reader(load.DecodeAdmission)},
		{"execution", &load.Execution{
			V: 1, Run: "r1", Number: 7, Attempt: 2, WarmUp: true, Chart: 12, Variation: digest, FiltersHash: digest, Role: "Gamma", TimeRange: "Last month",
			RepeatOf: &number, Outcome: load.Error, Kind: load.QueryFailed, Status: 400, Message: "Error: <b>&", Waits: timing.Waits{Queue: 1, Resource: 2, Upstream: 3},
			Clock: load.Clock{Source: "stream", Offset: -5, Within: 6}, Late: &late, Enqueued: at, Taken: at, Admitted: at, Finished: at, Requests: 2, Polls: 1, Async: true,
			Force: true, Cache: load.Mixed, Queries: []load.QueryOutcome{{IsCached: json.RawMessage(`null`), CacheTimeout: json.RawMessage(`-1`), State: load.Miss, Rows: 3}},
			BodySHA256: digest, DataSHA256: digest, BodyBytes: 1 << 40, WireBytes: 5, Rows: 3, Sample: json.RawMessage(`[{"a":1.50},null]`), Truncated: true,
			Rejected: []string{"region"}, ReaderLag: 9, Worker: "w1",
		}, reader(load.DecodeExecution)},
		{"profile", &load.Profile{V: 1, ID: "p1", Revision: 3, Name: "Sales", Environment: "dashboards", Axes: json.RawMessage(`{"role":["Gamma"]}`), Deadline: time.Minute}, reader(load.DecodeProfile)},
		{"run", &load.Run{V: 1, ID: "r1", Environment: "dashboards", State: load.Draining, Slots: 25, Total: 4500, Reason: "because", Profile: load.Profile{V: 1, Axes: json.RawMessage(`{}`)}}, reader(load.DecodeRun)},
		{"approval", &load.Approval{V: 1, ID: "a1", Hash: digest, By: "ann", Reason: "release", At: at}, reader(load.DecodeApproval)},
		{"progress", &load.Progress{V: 1, Run: "r1", Total: 3, Kinds: map[string]int{"auth": 1, "deadline": 2}}, reader(load.DecodeProgress)},
		{"look-up", &load.LookUp{V: 1, ID: "e1", Environment: "dashboards", Definition: digest, Dashboard: "sales", Expires: at}, reader(load.DecodeLookUp)},
		{"snapshot", &load.Snapshot{V: 1, ID: digest, Environment: "dashboards", Title: "Sales", Taken: at}, reader(load.DecodeSnapshot)},
		{"selection", &load.Selection{V: 1, Theoretical: "4800", Cap: 500, Seed: 7, RepeatOf: map[int]int{3: 1, 20: 2}}, reader(load.DecodeSelection)},
	}
}

func TestWhatIsStoredIsReadAsItWas(t *testing.T) {
	for _, w := range wireForms() {
		data, err := w.full.Encode()
		if err != nil {
			t.Fatal(err)
		}
		have, err := w.decode(data)
		if err != nil || !reflect.DeepEqual(have, w.full) {
			t.Errorf("%s: %v\n%s\n%+v", w.name, err, data, have)
		}
		again, err := have.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: equal words have other bytes", w.name)
		}
		for what, bad := range map[string]string{
			"a newer version": strings.Replace(string(data), `"v":1`, `"v":2,"news":1`, 1), "no version": strings.Replace(string(data), `"v":1,`, ``, 1),
			"an unknown member": strings.Replace(string(data), `"v":1`, `"v":1,"news":1`, 1), "more behind it": string(data) + "{}", "half": string(data[:len(data)/2]), "nothing": "",
			"null": "null", "a list": "[]", "too long": string(data) + strings.Repeat(" ", load.MaxFileBytes),
		} {
			_, err := w.decode([]byte(bad))
			want := messages.ErrInvalid
			if what == "a newer version" {
				want = messages.ErrVersion
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: %v", w.name, what, err)
			}
		}
	}
}

func TestARecordOutOfBoundsIsNeitherWrittenNorRead(t *testing.T) {
	for what, edit := range map[string]func(e *load.Execution){
		"a dot in the run": func(e *load.Execution) { e.Run = "a.b" }, "a long run": func(e *load.Execution) { e.Run = strings.Repeat("a", 61) },
		"number":  func(e *load.Execution) { e.Number = load.MaxTotal },
		"attempt": func(e *load.Execution) { e.Attempt = 0 }, "outcome": func(e *load.Execution) { e.Outcome = "fine" },
		"a wait": func(e *load.Execution) { e.Waits.Queue = -1 }, "digest": func(e *load.Execution) { e.DataSHA256 = "00" },
		"sample":      func(e *load.Execution) { e.Sample = json.RawMessage(`{}`) },
		"half sample": func(e *load.Execution) { e.Sample = json.RawMessage(`[`) },
		"long sample": func(e *load.Execution) { e.Sample = json.RawMessage(`["` + strings.Repeat("x", load.MaxSample) + `"]`) },
		"message":     func(e *load.Execution) { e.Message = strings.Repeat("x", 5000) },
		"role":        func(e *load.Execution) { e.Role = "\xff" }, "worker": func(e *load.Execution) { e.Worker = "" },
	} {
		e, ok := wireForms()[2].full.(*load.Execution)
		if !ok {
			t.Fatal("the third is no execution")
		}
		edit(e)
		if _, err := e.Encode(); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzWire holds that whatever is read is written again, and is then read as the same.
func FuzzWire(f *testing.F) {
	for i, w := range wireForms() {
		data, err := w.full.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, data)
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		forms := wireForms()
		w := forms[uint(which)%uint(len(forms))] //nolint:gosec // any will do
		m, err := w.decode(data)
		if err != nil {
			return
		}
		text, err := m.Encode()
		if err != nil {
			t.Fatalf("%s: read and not written: %v\n%s", w.name, err, data)
		}
		again, err := w.decode(text)
		if err != nil {
			t.Fatalf("%s: written and not read: %v\n%s", w.name, err, text)
		}
		if last, err := again.Encode(); err != nil || !bytes.Equal(last, text) {
			t.Fatalf("%s: %v\n%s\n%s", w.name, err, text, last)
		}
	})
}
