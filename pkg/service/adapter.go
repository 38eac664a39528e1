package service

import (
	"context"
	"encoding/json"
	"time"
)

// Adapter speaks to one service. The worker's engine owns the walk over pages, slots, retries and the commit; an
// adapter sends exactly one request per call and never retries, sleeps or follows a page link by itself.
//
// Implementations are safe for concurrent use.
type Adapter interface {
	// FetchPage sends one request: the first page of the task when at is zero, else the page that follows those that
	// at tells of. A response that is not a page is a *ResponseError; any other error counts as transient. The context
	// ends when the slot that covers the request can no longer be trusted.
	FetchPage(ctx context.Context, task json.RawMessage, at Walk) (Page, error)
}

// Walk is where a walk over the pages of one chunk stands. It is stored with each page, so that another process can go on
// behind it.
type Walk struct {
	Cursor  string // that the page before named; empty on the first page
	Pages   int    // before this one
	Rows    int64  // of those pages
	Claimed Claims // by those pages
	// Again is asked before each further request of the call, such as one to which a redirect leads: it charges the quotas for it.
	// The request is not sent when it fails, and its error is returned as it is. Nil: any may be sent. It is not stored.
	Again func(ctx context.Context) error
}

// Claims are the largest numbers that the pages of a walk have given of the whole walk; 0: none has given one. The walk does
// not end before them.
type Claims struct {
	Rows  int64
	Pages int64
}

// Page is one decoded response.
type Page struct {
	Rows    []byte   // JSON lines: one object a row, values in the server's exact text
	Count   int      // number of rows
	Columns []string // names seen in Rows, in first-seen order
	Next    string   // cursor of the next page, empty at the end
	Doubted bool     // the end is not confirmed: the last page was full, and nothing tells how many rows there are
	Status  int      // HTTP status
	Bytes   int64    // size of the decoded body
	Claimed Claims   // by this page and those before it
	Metered Metered
}

// Class tells what a response means; the set is closed.
type Class string

// The classes of a response (docs/service-definition.md, responses).
const (
	ClassOK         Class = "ok"
	ClassNoData     Class = "no_data"     // completes the chunk with no rows; no answer for a page that the page before named
	ClassQuota      Class = "quota"       // quota refused: pause, costs no attempt
	ClassTransient  Class = "transient"   // retry
	ClassTooLarge   Class = "too_large"   // split the chunk
	ClassCursorGone Class = "cursor_gone" // drop the pages, walk again
	ClassBadRequest Class = "bad_request" // deterministic failure
	ClassAuth       Class = "auth"        // deterministic failure of the credentials
	ClassBadLink    Class = "bad_link"    // the next page's link leads where it must not
	ClassBadPage    Class = "bad_page"    // the answer decodes but contradicts itself (cycle, counts)
)

// ResponseError is an answer, or the lack of one, that is not a page.
type ResponseError struct {
	Class      Class
	GivesUpAs  Class         // what a transient error becomes when its attempts are used up; empty: the service is interrupted
	Status     int           // HTTP status, 0 without an answer
	RetryAfter time.Duration // what the service asked for; 0: no hint
	Message    string        // what the service said, bounded, without secrets
	Err        error         // cause, may be nil
	// Unsteady says of a bad_page that the page alone may be right and contradicts the pages before it, as when the data
	// changed while they were read: the walk is worth beginning again, once.
	Unsteady bool
	Metered  Metered
}

// Error gives class, status and message.
func (e *ResponseError) Error() string {
	text := string(e.Class)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap gives the cause.
func (e *ResponseError) Unwrap() error { return e.Err }
