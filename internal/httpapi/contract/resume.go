package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("decode resume: data after the body")
	}
	return r, nil
}
