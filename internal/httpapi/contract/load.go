package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/query"
)

// Bounds of the bodies of load runs' requests.
const (
	MaxLoadProfileBytes = 512 << 10
	MaxLoadFileBytes    = 1 << 20
	MaxLoadStartBytes   = 16 << 10
)

// LoadApprove is the body that approves a run in PROD.
type LoadApprove struct {
	GateHash string          `json:"gate_hash" doc:"Of the gate that the person has seen in the preview"`
	Reason   string          `json:"reason" doc:"Why load is put on PROD, 1 to 500 characters"`
	ValidFor *query.Duration `json:"valid_for,omitempty" doc:"How long a run may be started with it, such as 30m or 2h, at most 168h; left out: 1h"`
}

// Request is what is asked of the desk.
func (a *LoadApprove) Request() load.ApprovalRequest {
	r := load.ApprovalRequest{Hash: a.GateHash, Reason: a.Reason}
	if a.ValidFor != nil {
		r.ValidFor = time.Duration(*a.ValidFor)
	}
	return r
}

// LoadProfileFile is a profile file as a person has written it.
type LoadProfileFile struct {
	Name string `json:"name,omitempty" doc:"Name of the file, which names the profile where it has no id; left out: profile.yaml"`
	Text string `json:"text" doc:"The file itself: YAML or JSON of schema load/v1"`
}

// LoadProfileList lists profiles by their ids.
type LoadProfileList struct {
	Profiles []*load.Profile `json:"profiles" nullable:"false"`
}

// LoadApprovalList lists approvals, the newest first.
type LoadApprovalList struct {
	Approvals []*load.Approval `json:"approvals" nullable:"false"`
}

// LoadRunList lists runs, the newest first.
type LoadRunList struct {
	Runs []*load.RunStatus `json:"runs" nullable:"false"`
	Next string            `json:"next,omitempty" doc:"What after takes for the next page; left out: there are no more"`
}

// LoadExecutionList lists executions of a run by their numbers.
type LoadExecutionList struct {
	Executions []*load.Execution `json:"executions" nullable:"false" doc:"Without the rows that were kept of them; a page may have fewer than limit, even none, and others after it"`
	Next       *int              `json:"next,omitempty" doc:"What after takes for the next page; left out: there are no more"`
}

// LoadEnvironmentList lists environments by their names.
type LoadEnvironmentList struct {
	Environments []load.EnvironmentView `json:"environments" nullable:"false"`
}

// LoadRunEnd is the data of the event end.
type LoadRunEnd struct {
	ID      string       `json:"id"`
	Ending  load.Ending  `json:"ending"`
	Verdict load.Verdict `json:"verdict,omitempty"`
}

// DecodeLoad reads the body of a request of load runs strictly.
func DecodeLoad[T any](what string, data []byte) (*T, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, fmt.Errorf("decode %s: the body is empty", what)
	}
	value := new(T)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return nil, fmt.Errorf("decode %s: %w", what, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("decode %s: there is more behind it", what)
	}
	return value, nil
}
