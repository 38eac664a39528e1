package messages

import (
	"encoding/json"
	"fmt"
	"time"
)

// Manifest proves a table: what was asked of whom, when, what came, and what became of it. Credentials are in no part of it.
type Manifest struct {
	V        int              `json:"v"`
	Made     time.Time        `json:"made"`
	Braid    string           `json:"braid"` // version of the coordinator that tells it
	Query    ManifestQuery    `json:"query"`
	Service  ManifestService  `json:"service"`
	Spec     json.RawMessage  `json:"spec,omitempty"`     // the query as it was asked, with its values; of one with since, before it was narrowed
	Citation string           `json:"citation,omitempty"` // a sentence for a list of references
	Columns  []ManifestColumn `json:"columns,omitempty"`
	Outputs  []ManifestOutput `json:"outputs,omitempty"` // files that it stands beside
	Requests ManifestRequests `json:"requests"`
	Chunks   []ManifestChunk  `json:"chunks"`                 // that have a result, in the order of the table
	Missing  []Position       `json:"missing,omitempty"`      // the first of those that have none; Requests counts them
	Before   []*Manifest      `json:"goes_on_from,omitempty"` // of the queries whose rows are of the table too, the oldest first; they repeat neither spec nor columns
}

// ManifestQuery names a query and what it is pinned to.
type ManifestQuery struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	State   QueryState `json:"state"`
	Runs    int        `json:"runs"`
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
	URL     string     `json:"url"` // the whole query as one request
	Spec    string     `json:"spec_sha256"`
	Plan    string     `json:"plan_fingerprint"`
	Chunks  int        `json:"chunks"` // of the plan
	MaxRows int64      `json:"max_rows,omitempty"`
}

// ManifestService names whom the query asked.
type ManifestService struct {
	Name       string `json:"name"`
	Title      string `json:"title,omitempty"`
	Docs       string `json:"docs,omitempty"`
	BaseURL    string `json:"base_url"`
	Collection string `json:"collection"`
	Definition string `json:"definition_sha256"`
}

// ManifestColumn is a column of the table.
type ManifestColumn struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Declared   bool   `json:"declared"`
	Unit       string `json:"unit,omitempty"`
	UnitColumn string `json:"unit_column,omitempty"`
}

// ManifestOutput is a file, or a table in a database, that the table was written to.
type ManifestOutput struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the file, in hex
}

// ManifestRequests sums up what was sent.
type ManifestRequests struct {
	Sent    int64     `json:"sent"`
	AtLeast bool      `json:"at_least,omitempty"` // there may have been more, of processes that ended without a word
	First   time.Time `json:"first,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Missing int       `json:"missing_chunks,omitempty"`
}

// ManifestChunk is a chunk with its result.
type ManifestChunk struct {
	Position Position       `json:"position"`
	Method   string         `json:"method,omitempty"` // of its first request, with URL and Body; empty where an adapter makes the requests
	URL      string         `json:"url,omitempty"`
	Body     string         `json:"body,omitempty"`
	Outcome  Outcome        `json:"outcome"`
	Rows     int64          `json:"rows"`
	Bytes    int64          `json:"bytes"`  // of the rows, as they are kept
	SHA256   string         `json:"sha256"` // of the rows, in hex
	Requests int            `json:"requests"`
	Doubted  bool           `json:"end_unconfirmed,omitempty"`
	Run      int            `json:"run"`
	Attempt  string         `json:"attempt"`
	Worker   string         `json:"worker"`
	Finished time.Time      `json:"finished"`
	Pages    []ManifestPage `json:"pages,omitempty"` // none where an earlier Braid has kept no record of them
}

// ManifestPage is the request that brought a page.
type ManifestPage struct {
	Page     int           `json:"page"`
	Sent     time.Time     `json:"sent"`
	Upstream time.Duration `json:"upstream_ns"`
	Status   int           `json:"status,omitempty"`
	Tries    int           `json:"tries"`
	Rows     int64         `json:"rows"`
	Bytes    int64         `json:"bytes"`  // of the answer
	SHA256   string        `json:"sha256"` // of the page's rows, in hex
}

// Validate reports the first field that is missing or out of bounds.
func (m *Manifest) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query.id", CheckName(m.Query.ID)),
		field("query.state", m.Query.State.check()),
		field("query.spec_sha256", checkDigest(m.Query.Spec)),
		field("query.plan_fingerprint", checkDigest(m.Query.Plan)),
		field("service.name", CheckName(m.Service.Name)),
		field("service.definition_sha256", checkDigest(m.Service.Definition)),
	)
}

// DecodeManifest reads what a coordinator answers.
func DecodeManifest(data []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("decode manifest: %w", err)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("decode manifest: %w", err)
	}
	return &m, nil
}
