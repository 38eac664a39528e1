//go:build unix

package ledger

import (
	"testing"

	"github.com/braidhq/braid/pkg/journal"
)

// BenchmarkBatch stores batches of fifty executions, as when the ledger catches up.
func BenchmarkBatch(b *testing.B) {
	r := newRig(b)
	number := 0
	for b.Loop() {
		batch := make([]*journal.Record, 0, MostRecords)
		for range MostRecords {
			batch = append(batch, r.execution(success("run-1", number, 1)))
			number++
		}
		r.mustStore(batch...)
	}
	b.ReportMetric(float64(number)/b.Elapsed().Seconds(), "records/s")
}
