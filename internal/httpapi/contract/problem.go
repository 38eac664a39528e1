package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
)

const (
	// ProblemType is the media type of problem documents.
	ProblemType = "application/problem+json"
	// MaxProblemBytes bounds a problem document.
	MaxProblemBytes = 1 << 20
	// MaxFieldErrors is the most field errors in one problem.
	MaxFieldErrors = 100

	maxFieldBytes = 1 << 10
)

// Problem is a problem document as RFC 9457 describes it. It is an error whose text is the detail.
type Problem struct {
	Type   string       `json:"type" doc:"Identifies the kind of problem; it never changes" example:"/problems/not-found"`
	Title  string       `json:"title" doc:"The kind, for people"`
	Status int          `json:"status" doc:"HTTP status"`
	Detail string       `json:"detail,omitempty" doc:"What happened, and what to do"`
	Errors []FieldError `json:"errors,omitempty" doc:"What is wrong with single fields"`
	// Gate is why a gate of load runs stayed shut, for the kinds that begin with load-gate-.
	Gate *GateRefusal `json:"gate,omitempty" doc:"Why nothing was started, and what stands now"`
	// LookUp is what a worker met when it looked a dashboard up.
	LookUp *LookUpFailure `json:"look_up,omitempty" doc:"Why a dashboard could not be looked up"`
	// RequestID is how the server's log calls the request.
	RequestID string `json:"request_id,omitempty" doc:"How the server's log calls the request"`
}

// FieldError is what is wrong with one field or parameter of a request.
type FieldError struct {
	Location string `json:"location,omitempty" doc:"Path of the field, such as values.time, or query.format of a parameter"`
	Line     int    `json:"line,omitempty" doc:"Line of a query file, from 1"`
	Message  string `json:"message"`
}

// NewProblem makes a problem of a kind. Detail and fields are cut to their bounds.
func NewProblem(k Kind, detail string, fields ...FieldError) *Problem {
	p := &Problem{Type: k.Type(), Title: k.Title, Status: k.Status, Detail: messages.Text(detail)}
	for _, f := range fields[:min(len(fields), MaxFieldErrors)] {
		p.Errors = append(p.Errors, FieldError{Location: clip(f.Location, maxFieldBytes), Line: max(f.Line, 0), Message: clip(f.Message, maxFieldBytes)})
	}
	return p
}

// Error gives the detail, or the title when there is none.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Detail
}

// GetStatus gives the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives the media type of the document, whatever was negotiated.
func (p *Problem) ContentType(string) string { return ProblemType }

// DecodeProblem reads a problem document. Members it does not know are passed over, as RFC 9457 demands.
func DecodeProblem(data []byte) (*Problem, error) {
	if len(data) > MaxProblemBytes {
		return nil, fmt.Errorf("decode problem: %d bytes, at most %d", len(data), MaxProblemBytes)
	}
	var p Problem
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, fmt.Errorf("decode problem: %w", err)
	}
	if p.Type == "" && p.Title == "" && p.Detail == "" {
		return nil, errors.New("decode problem: neither type, title nor detail")
	}
	return bounded(p), nil
}

// bounded cuts a problem that somebody else wrote to the bounds of our own.
func bounded(p Problem) *Problem {
	cut := NewProblem(Kind{Status: p.Status, Title: clip(p.Title, maxFieldBytes)}, p.Detail, p.Errors...)
	cut.Type = clip(p.Type, maxFieldBytes)
	cut.RequestID = clip(p.RequestID, maxFieldBytes)
	cut.Gate, cut.LookUp = p.Gate.bounded(), p.LookUp.bounded()
	return cut
}

// clip cuts text to at most n bytes, at a character boundary, and makes it valid UTF-8.
func clip(text string, n int) string {
	return strings.ToValidUTF8(text[:min(len(text), n)], "")
}
