package messages

const maxPlanSummaryBytes = 128 << 10

// PlanSummary is what a plan would cost, as people are shown it before anything is sent.
type PlanSummary struct {
	Service         string         `json:"service"`
	Collection      string         `json:"collection"`
	Chunks          int            `json:"chunks"`
	Fingerprint     string         `json:"fingerprint"`
	LeastRequests   int64          `json:"least_requests"`           // one a chunk, or the pages that its estimated rows take
	InFlight        int            `json:"in_flight"`                // requests at a time
	LongestURLBytes int            `json:"longest_url_bytes"`        // of all requests
	URLLimit        int            `json:"url_limit"`                // bytes that the service takes; 0: no limit is known
	LargestValues   map[string]int `json:"largest_values,omitempty"` // divided parameter → most values of it in one request
	EstimatedRows   int64          `json:"estimated_rows,omitzero"`  // a guess; 0: the service's definition has none
	FirstURL        string         `json:"first_url,omitzero"`       // of the first chunk's request, cut to what a message carries
	LastURL         string         `json:"last_url,omitzero"`        // likewise of the last chunk's
}

// Validate reports the first field that is missing or out of bounds.
func (m *PlanSummary) Validate() error {
	for name, n := range m.LargestValues {
		if err := firstError(checkText("largest_values", name), checkCount("largest_values", int64(n))); err != nil {
			return err
		}
	}
	return firstError(
		field("service", CheckName(m.Service)),
		field("collection", CheckName(m.Collection)),
		checkCount("chunks", int64(m.Chunks)),
		field("fingerprint", checkDigest(m.Fingerprint)),
		checkCount("least_requests", m.LeastRequests),
		checkCount("in_flight", int64(m.InFlight)),
		checkCount("longest_url_bytes", int64(m.LongestURLBytes)),
		checkCount("url_limit", int64(m.URLLimit)),
		checkCount("estimated_rows", m.EstimatedRows),
		checkText("first_url", m.FirstURL),
		checkText("last_url", m.LastURL),
	)
}

// Encode validates m and gives its wire form.
func (m *PlanSummary) Encode() ([]byte, error) { return encode("plan summary", m, maxPlanSummaryBytes) }

// DecodePlanSummary reads a plan's summary; it refuses what Encode would not have written.
func DecodePlanSummary(data []byte) (*PlanSummary, error) {
	return decode[PlanSummary]("plan summary", data, maxPlanSummaryBytes)
}
