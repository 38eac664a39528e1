package timing

import "time"

// Waits are the three parts of an execution's time (LR-3.1).
type Waits struct {
	Queue    time.Duration `json:"queue_wait_ns"`       // from enqueued to taken, by the clock of the stream
	Resource time.Duration `json:"resource_wait_ns"`    // from taken to admitted: all places are held
	Upstream time.Duration `json:"upstream_latency_ns"` // from admitted to the last byte of the answer, or the error
}

// EndToEnd is the sum of the three.
func (w Waits) EndToEnd() time.Duration { return w.Queue + w.Resource + w.Upstream }

// Percentiles of one dimension over successful samples, by nearest rank. Without samples all are nil.
type Percentiles struct {
	Samples int            `json:"sample_count"`
	P50     *time.Duration `json:"p50_ns"`
	P90     *time.Duration `json:"p90_ns"`
	P95     *time.Duration `json:"p95_ns"`
	P99     *time.Duration `json:"p99_ns"`
}

// Summary has the percentiles of each dimension (LR-3.6).
type Summary struct {
	Queue    Percentiles `json:"queue_wait"`
	Resource Percentiles `json:"resource_wait"`
	Upstream Percentiles `json:"upstream_latency"`
	EndToEnd Percentiles `json:"end_to_end"`
}
