package braid

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/frame"
)

const (
	buildTimeout = time.Hour       // until a table's first byte: the server reads all results before it
	stallTimeout = 2 * time.Minute // between two parts of a table
)

var errStalled = errors.New("the table stopped coming")

// Table writes the finished table to w as it comes; with partial, what there is of an unfinished one. With an error, what
// w has received is no table. The report's lists may be shortened, its counts of rows are not.
func (c *Client) Table(ctx context.Context, id, format string, partial bool, w io.Writer) (*frame.Report, error) {
	path, err := queryPath(id, "/results")
	if err != nil {
		return nil, err
	}
	parameters := url.Values{"format": {format}}
	if partial {
		parameters.Set("partial", "true")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(buildTimeout, func() { cancel(errStalled) })
	defer watchdog.Stop()
	response, err := c.send(ctx, http.MethodGet, path+"?"+parameters.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, c.refusal(response)
	}
	report, err := contract.DecodeReport(response.Header.Get(contract.ReportHeader))
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrServer, c.base, err)
	}
	if !endIsSeen(response) {
		return nil, fmt.Errorf("%w at %s: a proxy took away how the table's end is told; ask the coordinator itself", ErrServer, c.base)
	}
	out := &target{w: w}
	n, err := io.Copy(out, &watchedBody{response.Body, watchdog})
	switch {
	case out.err != nil:
		return nil, fmt.Errorf("write table: %w", out.err)
	case err != nil:
		return nil, fmt.Errorf("table broke off after %d bytes: %w", n, c.broken(ctx, err))
	}
	return report, nil
}

// endIsSeen tells whether a body that broke off would be told from one that ended.
func endIsSeen(response *http.Response) bool {
	return response.ProtoMajor >= 2 || response.ContentLength >= 0 || len(response.TransferEncoding) > 0
}

// watchedBody tells the watchdog of each part that comes.
type watchedBody struct {
	body     io.Reader
	watchdog *time.Timer
}

// Read reads a part.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.watchdog.Reset(stallTimeout)
	n, err := b.body.Read(p)
	b.watchdog.Reset(buildTimeout) // what the writer takes its time for is not the server's fault
	return n, err
}

// target remembers that it was the writer that failed.
type target struct {
	w   io.Writer
	err error
}

// Write passes p on.
func (t *target) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	if err != nil {
		t.err = err
	}
	return n, err
}
