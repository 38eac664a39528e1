package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Latest stands for the newest query where a path names one.
const Latest = "latest"

// MaxResumeBytes bounds the body of a resume.
const MaxResumeBytes = 4 << 10

// Resume is the body of a resume. It may be left out.
type Resume struct {
	// WaitUpTo is the longest pause that the coordinator waits out by itself from now on; nil: as before.
	WaitUpTo *query.Duration `json:"wait_up_to,omitempty" doc:"Longest pause that the coordinator waits out by itself, such as 90s, 1h or 2d; left out: as before"`
	// Failed limits the run to the chunks that have failed.
	Failed bool `json:"failed,omitempty" doc:"Run again only the chunks that have failed; left out: all that has no result"`
	// MaxRequests is the budget of requests from now on; nil: a new one of the old size.
	MaxRequests *int64 `json:"max_requests,omitempty" minimum:"1" doc:"Budget of requests from now on; left out: a new one of the old size, if there was one"`
	// HoldBack is how many requests of each quota are left for others from now on; nil: as before.
	HoldBack *int64 `json:"hold_back,omitempty" minimum:"0" doc:"Requests of each quota that are left for others from now on; left out: as before"`
	// OnFailure says what becomes of the other chunks when one has failed for good; empty: as before.
	OnFailure query.OnFailure `json:"on_failure,omitempty" enum:"stop,finish" doc:"What becomes of the other chunks when one has failed; left out: as before"`
	// InFlight, Priority and Weight are how the query asks to stand at its service from now on; nil: as before.
	InFlight *messages.InFlight `json:"in_flight,omitempty" doc:"Requests in flight at a time, over all workers, or unbounded; left out: as before"`
	Priority *int               `json:"priority,omitempty" minimum:"-10" maximum:"10" doc:"While a query has work to give out, those of lower priority at its service get nothing; left out: as before"`
	Weight   *int               `json:"weight,omitempty" minimum:"1" maximum:"100" doc:"Weight of the query's share among those of its priority at its service; left out: as before"`
}

// Resumption is what changes for the query.
func (r *Resume) Resumption() *query.Resumption {
	return &query.Resumption{
		WaitUpTo: (*time.Duration)(r.WaitUpTo), MaxRequests: r.MaxRequests, HoldBack: r.HoldBack, OnFailure: r.OnFailure,
		InFlight: r.InFlight, Priority: r.Priority, Weight: r.Weight,
	}
}

// DecodeResume reads the body of a resume; none at all is the zero Resume.
func DecodeResume(data []byte) (*Resume, error) {
	r := new(Resume)
	if len(bytes.TrimSpace(data)) == 0 {
		return r, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("decode resume: %w", err)
	}
	if err := r.Resumption().Validate(); err != nil {
		return nil, fmt.Errorf("decode resume: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode resume: data after the body")
	}
	return r, nil
}
