package braid

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// storageTimeout is for what reads all that is stored.
const storageTimeout = 24 * time.Hour

// Verify checks every stored result of a query.
func (c *Client) Verify(ctx context.Context, id string, reopen bool) (*messages.Verification, error) {
	path, err := queryPath(id, "/verify")
	if err != nil {
		return nil, err
	}
	method := http.MethodGet
	if reopen {
		method = http.MethodPost
	}
	return callWithin(ctx, c, storageTimeout, method, path, nil, maxListBytes, messages.DecodeVerification)
}

// Collect removes what nothing needs, or tells what it is.
func (c *Client) Collect(ctx context.Context, opts messages.GarbageOptions) (*messages.Garbage, error) {
	values := url.Values{"dry_run": {strconv.FormatBool(opts.DryRun)}}
	if opts.OlderThan > 0 {
		values.Set("older_than", opts.OlderThan.String())
	}
	if opts.Interrupted {
		values.Set("interrupted", "true")
	}
	return callWithin(ctx, c, storageTimeout, http.MethodPost, apiPath+"gc?"+values.Encode(), nil, maxListBytes, messages.DecodeGarbage)
}
