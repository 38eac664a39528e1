package testkit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/braidhq/braid/internal/worker"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/retry"
	"github.com/braidhq/braid/pkg/service"
)

// Call is one request that a Script was sent.
type Call struct {
	Task    string // the item's task, as it is
	Cursor  string
	Pages   int // of the walk before this call
	Rows    int64
	Claimed service.Claims
	Try     int // 1 for the first call with this task and cursor
}

// Script is a service.Adapter whose answers are a function, and which counts what it was asked.
type Script struct {
	answer func(context.Context, Call) (service.Page, error)

	mu             sync.Mutex // guards all below
	calls          []Call
	inFlight, most int
}

// NewScript makes an adapter that answers as answer does. answer is called concurrently.
func NewScript(answer func(context.Context, Call) (service.Page, error)) *Script {
	return &Script{answer: answer}
}

// FetchPage is service.Adapter's.
func (s *Script) FetchPage(ctx context.Context, task json.RawMessage, at service.Walk) (service.Page, error) {
	s.mu.Lock()
	call := Call{Task: string(task), Cursor: at.Cursor, Pages: at.Pages, Rows: at.Rows, Claimed: at.Claimed, Try: 1}
	for _, earlier := range s.calls {
		if earlier.Task == call.Task && earlier.Cursor == at.Cursor {
			call.Try++
		}
	}
	s.calls = append(s.calls, call)
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inFlight--
	}()
	return s.answer(ctx, call)
}

// Calls gives all calls so far, in the order in which they came.
func (s *Script) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// CallsWith counts the calls whose task contains text.
func (s *Script) CallsWith(text string) int {
	n := 0
	for _, call := range s.Calls() {
		if strings.Contains(call.Task, text) {
			n++
		}
	}
	return n
}

// Most is the largest number of calls that were under way at once.
func (s *Script) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// Rows makes a page of n rows {"site":…,"n":…} that begin at number first.
func Rows(site string, first, n int, next string) service.Page {
	var rows strings.Builder
	for i := range n {
		fmt.Fprintf(&rows, "{\"site\":%q,\"n\":%d}\n", site, first+i)
	}
	return service.Page{
		Rows: []byte(rows.String()), Count: n, Columns: []string{"site", "n"}, Next: next, Status: 200, Bytes: int64(rows.Len()),
	}
}

// Upstreams gives one upstream for all items.
type Upstreams worker.Upstream

// Upstream is worker.Upstreams'.
func (u *Upstreams) Upstream(context.Context, *messages.Item) (*worker.Upstream, error) {
	up := worker.Upstream(*u)
	if up.MaxPages == 0 {
		up.MaxPages = 100
	}
	if up.Retry == (retry.Policy{}) {
		up.Retry = QuickRetry(2)
	}
	return &up, nil
}

// QuickRetry is a policy that waits next to nothing.
func QuickRetry(retries int) retry.Policy {
	p := retry.Default()
	p.Attempts, p.Base, p.Cap = retries, 1, 1
	return p
}
