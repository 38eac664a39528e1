package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	// InFlight, Priority and Weight are how the query asks to stand at its service from now on; nil: as before.
	InFlight *messages.InFlight `json:"in_flight,omitempty" doc:"Requests in flight at a time, over all workers, or unbounded; left out: as before"`
	Priority *int               `json:"priority,omitempty" minimum:"-10" maximum:"10" doc:"While a query has work to give out, those of lower priority at its service get nothing; left out: as before"`
	Weight   *int               `json:"weight,omitempty" minimum:"1" maximum:"100" doc:"Weight of the query's share among those of its priority at its service; left out: as before"`
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
	if r.MaxRequests != nil {
		if err := query.CheckBound(*r.MaxRequests, query.MaxRequests); err != nil {
			return nil, fmt.Errorf("decode resume: max_requests: %w", err)
		}
	}
	if err := r.checkStanding(); err != nil {
		return nil, fmt.Errorf("decode resume: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode resume: data after the body")
	}
	return r, nil
}

func (r *Resume) checkStanding() error {
	if r.InFlight != nil && *r.InFlight == 0 { // any other was checked when it was read
		return fmt.Errorf("in_flight: %w", messages.ErrInFlight)
	}
	if r.Priority != nil {
		if err := messages.CheckPriority(*r.Priority); err != nil {
			return fmt.Errorf("priority: %w", err)
		}
	}
	if r.Weight != nil {
		if err := messages.CheckWeight(*r.Weight); err != nil {
			return fmt.Errorf("weight: %w", err)
		}
	}
	return nil
}
