package superset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
)

const (
	maxRefusalBytes  = 64 << 10
	maxMetadataBytes = 16 << 20
	metadataTime     = 30 * time.Second // of one request that is no chart's
)

// call is one request below base_url.
type call struct {
	method string
	path   string // escaped, with a slash at its beginning
	query  url.Values
	body   []byte // JSON; nil: none
	jar    *jar
	header http.Header // with the token; nil: none
}

// send sends a request once and does not follow where the answer leads. The error has no secret in it but what net/http says of the address,
// which has none either.
func (c *Client) send(ctx context.Context, what call) (*http.Response, error) {
	address := *c.base
	address.Path = strings.TrimSuffix(c.base.Path, "/") + what.path
	if plain, err := url.PathUnescape(address.Path); err == nil && plain != address.Path {
		address.RawPath, address.Path = address.Path, plain
	}
	address.RawQuery = what.query.Encode()
	r, err := http.NewRequestWithContext(ctx, what.method, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	maps.Copy(r.Header, what.header)
	r.Header.Set("User-Agent", c.cfg.UserAgent)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "gzip")
	if what.body != nil {
		// With a way to read the body again net/http opens another connection when the kept one turns out to be dead before a byte was written.
		// It repeats no POST of which anything was.
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(what.body)), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength = int64(len(what.body))
		r.Header.Set("Content-Type", "application/json")
	}
	if r.URL.Scheme == "https" {
		r.Header.Set("Referer", c.base.String()+"/")
	}
	what.jar.give(r)
	spanned, end := c.cfg.Trace(ctx, what.method, address.String())
	// A process that stood still goes on before its timers do.
	if until, bounded := ctx.Deadline(); bounded && !time.Now().Before(until) {
		end(0, errDeadline)
		return nil, errDeadline
	}
	response, err := c.cfg.Transport.RoundTrip(r.WithContext(spanned))
	if err != nil {
		end(0, err)
		return nil, err
	}
	end(response.StatusCode, nil)
	what.jar.take(response, c.now())
	return response, nil
}

// ask sends a request that is no chart's and reads its answer, which has to be short. The error is a *failure, or the cause of ctx.
func (c *Client) ask(ctx context.Context, what call) (answer []byte, err error) {
	bounded, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	status, header, data, err := c.exchange(bounded, what)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, c.broken(what, err)
	case status != http.StatusOK && status != http.StatusCreated:
		f := judge(status, header, data[:min(len(data), maxRefusalBytes)])
		f.Message = what.method + " " + what.path + ": " + f.Message
		return nil, f
	}
	return data, nil
}

func (c *Client) exchange(ctx context.Context, what call) (status int, header http.Header, data []byte, err error) {
	response, err := c.send(ctx, what)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close() //nolint:errcheck // what was needed of it was read
	body, err := decoded(response, response.Body)
	if err != nil {
		return 0, nil, nil, err
	}
	data, err = io.ReadAll(io.LimitReader(body, maxMetadataBytes+1))
	switch {
	case err != nil && response.StatusCode == http.StatusOK:
		return 0, nil, nil, err
	case len(data) > maxMetadataBytes:
		return 0, nil, nil, fmt.Errorf("the answer has more than %d bytes", maxMetadataBytes)
	}
	return response.StatusCode, response.Header, data, nil
}

// broken is the failure of a connection.
func (c *Client) broken(what call, err error) *failure {
	f := &failure{Kind: load.Transport, Message: what.method + " " + what.path + ": " + connectionTrouble(err)}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errDeadline) {
		f.Kind, f.Message = load.Deadline, fmt.Sprintf("%s %s: no answer for %s", what.method, what.path, metadataTime)
	}
	return f
}

func connectionTrouble(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the answer was cut short"
	case errors.Is(err, io.EOF):
		return "the connection was closed before an answer came"
	}
	text := err.Error()
	return text[:min(len(text), 300)]
}

// errEncoding is a body that cannot be decompressed.
var errEncoding = errors.New("the answer cannot be decompressed")

// decoded gives the body of an answer, decompressed, read from wire.
func decoded(response *http.Response, wire io.Reader) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(response.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
		return wire, nil
	case "gzip", "x-gzip":
		compressed, err := gzip.NewReader(wire)
		switch {
		case errors.Is(err, io.EOF): // an empty body is not compressed
			return bytes.NewReader(nil), nil
		case errors.Is(err, gzip.ErrHeader):
			return nil, fmt.Errorf("%w: %w", errEncoding, err)
		case err != nil:
			return nil, err
		}
		return compressed, nil
	default:
		return nil, fmt.Errorf("%w: its encoding is %.40q, and asked was for gzip", errEncoding, encoding)
	}
}

// hide takes the secrets of an identity out of what a server said.
func (who *identity) hide(text string) string { return fetch.Hide(text, who.secrets()...) }
