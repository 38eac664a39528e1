package braid

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// SubmitWithKey is Submit that may be sent again: what is submitted under a key that was used before is the query that it made, and no
// second one. So it sends it once more by itself when the connection breaks. A key is 1 to 255 visible ASCII characters, and new for each
// new query, such as a UUID. The error wraps query.ErrKeyReused when the key was used for another query.
func (c *Client) SubmitWithKey(ctx context.Context, spec *query.Spec, key string) (*messages.Query, error) {
	if key == "" || len(key) > 255 || key[0] == '"' || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fmt.Errorf("%w: the key has to be 1 to 255 visible ASCII characters, the first no quote", query.ErrInvalid)
	}
	body, err := encodeSpec(spec)
	if err != nil {
		return nil, err
	}
	submit := func() (*messages.Query, error) {
		return callWithin(ctx, c, callTimeout, http.MethodPost, queriesPath, body, maxAnswerBytes, messages.DecodeQuery, func(h http.Header) {
			h.Set("Idempotency-Key", key)
		})
	}
	q, err := submit()
	var said *ServerError
	if err == nil || ctx.Err() != nil || errors.As(err, &said) || !errors.Is(err, ErrServer) {
		return q, err
	}
	return submit()
}
