package messages_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fuzz holds for every word: whatever is read is valid, is written again, and is then read as the same.
func fuzz(f *testing.F, name string) {
	f.Helper()
	for _, w := range words() {
		if w.name == name {
			fuzzWord(f, w)
			return
		}
	}
	f.Fatalf("there is no word %s", name)
}

func fuzzWord(f *testing.F, w word) {
	f.Helper()
	good := encoded(f, w.full)
	f.Add(good)
	f.Add([]byte(`{"v":2}`))
	f.Add(append(good, good...))
	for _, file := range goldens(f, w) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := w.decode(data)
		if err != nil {
			return
		}
		if err := m.Validate(); err != nil {
			t.Fatalf("what was read is not valid: %v", err)
		}
		if len(data) > 1<<10 {
			return // written with its defaults and escapes it may be longer than what is read
		}
		again, err := w.decode(encoded(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, again, cmpopts.EquateEmpty(), sameTask()); diff != "" {
			t.Error(diff)
		}
	})
}

func FuzzDecodeItem(f *testing.F)         { fuzz(f, "item") }
func FuzzDecodeResultHeader(f *testing.F) { fuzz(f, "failed") }
func FuzzDecodePage(f *testing.F)         { fuzz(f, "page") }
func FuzzDecodeInterruption(f *testing.F) { fuzz(f, "interruption") }
func FuzzDecodeExecutions(f *testing.F)   { fuzz(f, "executions") }
func FuzzDecodeQuery(f *testing.F)        { fuzz(f, "query") }
func FuzzDecodeProgress(f *testing.F)     { fuzz(f, "progress") }
func FuzzDecodeService(f *testing.F)      { fuzz(f, "service") }
func FuzzDecodeGate(f *testing.F)         { fuzz(f, "gate") }
func FuzzDecodeWorker(f *testing.F)       { fuzz(f, "worker") }
func FuzzDecodeQuotaLedger(f *testing.F)  { fuzz(f, "quota_ledger") }
func FuzzDecodeQuotaList(f *testing.F)    { fuzz(f, "quotas") }
func FuzzDecodePlanSummary(f *testing.F)  { fuzz(f, "plan_summary") }
