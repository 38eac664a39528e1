package braid

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

// ServerError is what a server answered instead of what it was asked for. It wraps the sentinel of its kind, the *load.GateError or
// *load.LookUpError of a load run, or ErrServer when the kind has none or this build does not know it.
type ServerError struct {
	Status int          // HTTP status
	Type   string       // of the problem, such as /problems/not-found
	Title  string       // of the kind, for people
	Detail string       // what happened
	Fields []FieldError // what is wrong with single fields
	// RequestID is how the server's log calls the request; empty: it did not say.
	RequestID string
	err       error
}

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	Location string // path of the field, such as values.time; may be empty
	Line     int    // of a query file, from 1; 0: not known
	Message  string
}

// Error gives what the server said.
func (e *ServerError) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return e.Title
}

// Unwrap gives the sentinel of the kind.
func (e *ServerError) Unwrap() error { return e.err }

// refusal reads an answer that is no success.
func (c *Client) refusal(response *http.Response) error {
	if !isMedia(response, contract.ProblemType) {
		return c.stranger(response)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, contract.MaxProblemBytes+1))
	if err != nil {
		return fmt.Errorf("%w at %s: answer %s broke off: %w", ErrServer, c.base, response.Status, err)
	}
	p, err := contract.DecodeProblem(data)
	if err != nil {
		return fmt.Errorf("%w at %s: answer %s: %w", ErrServer, c.base, response.Status, err)
	}
	e := &ServerError{Status: response.StatusCode, Type: p.Type, Title: p.Title, Detail: p.Detail, RequestID: p.RequestID, err: contract.KindAt(p.Type).Err}
	if own := p.Err(); own != nil {
		e.err = own
	}
	for _, f := range p.Errors {
		e.Fields = append(e.Fields, FieldError(f))
	}
	if e.err == nil {
		e.err = ErrServer
	}
	return e
}

// stranger is the error for an answer that Braid does not give.
func (c *Client) stranger(response *http.Response) error {
	return fmt.Errorf("%w: %s answered %.60s with content type %.60q, which no coordinator does; is the URL right, or a proxy in between?",
		ErrServer, c.base, response.Status, response.Header.Get("Content-Type"))
}

// broken is the error for a request that got no whole answer. What the caller's context says goes first.
func (c *Client) broken(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCallTimeout), errors.Is(cause, errStalled):
		return fmt.Errorf("%w at %s: %w", ErrServer, c.base, cause)
	case cause != nil:
		return cause
	case isAs[x509.UnknownAuthorityError](err):
		return fmt.Errorf("%w at %s: %w", ErrServer, c.base, ErrAuthority)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no coordinator at %s: is it running? %w: %w", c.base, ErrServer, err)
	}
	return fmt.Errorf("%w at %s: %w", ErrServer, c.base, err)
}

// ErrAuthority says that nobody whom this machine trusts has signed a server's certificate; WithCA names who is to be trusted.
var ErrAuthority = errors.New("its certificate is signed by an authority that is not known here")

func isAs[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}
