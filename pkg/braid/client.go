package braid

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

// Errors of a Client, beside those that every Coordinator has.
var (
	// ErrServer is wrapped when the server could not be reached, broke off, or answered something that a caller cannot
	// mend. Whether a command was carried out is then unknown, unless the error says that nothing listens there.
	ErrServer = errors.New("no proper answer from the coordinator")
	// ErrURL is wrapped by NewClient when the URL cannot be a server's.
	ErrURL = errors.New("not the URL of a server")

	errCallTimeout = errors.New("the coordinator took too long")
)

const (
	callTimeout    = 5 * time.Minute // of everything but a table; a large query takes long to send and to plan
	maxAnswerBytes = 1 << 20
	maxListBytes   = 256 << 20
	apiPath        = "/v1/"
	queriesPath    = apiPath + "queries"
)

// Client is a Coordinator over HTTP. Its errors wrap the same sentinels as in the same process, with what the server
// said as their text; as ServerError they tell more. It is safe for concurrent use. It follows no redirect and, as
// nothing tells whether a command was carried out before its connection broke, never sends one twice; SubmitWithKey alone does.
type Client struct {
	base string
	http *http.Client

	token      string // empty: none is sent
	plainToken bool
	ca         []byte
}

var _ Coordinator = (*Client)(nil)

// ClientOption changes how a Client speaks to its server.
type ClientOption func(*Client)

// WithHTTPClient lets the Client send through another HTTP client, such as one with certificates of its own. Its timeout
// also bounds tables; redirects are not followed, whatever it says.
func WithHTTPClient(c *http.Client) ClientOption {
	return func(client *Client) { client.http = c }
}

// NewClient makes a client of the server at baseURL, such as http://127.0.0.1:7420 or https://example.org/braid. Nothing
// is sent yet. The error wraps ErrURL, or ErrToken.
func NewClient(baseURL string, opts ...ClientOption) (*Client, error) {
	address, err := url.Parse(baseURL)
	var why string
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: write it as http://host:port", ErrURL) // the parser's error repeats what may hold a password
	case address.Scheme != "http" && address.Scheme != "https":
		why = "it begins neither with http:// nor with https://"
	case address.Hostname() == "":
		why = "it has no host"
	case address.User != nil:
		why = "it has a user or password, by which no server knows anybody; give a token instead, such as with BRAID_TOKEN"
	case address.RawQuery != "" || address.Fragment != "" || address.ForceQuery:
		why = "it has a query or a fragment"
	}
	if why != "" {
		return nil, fmt.Errorf("%w: %s; write it as http://host:port", ErrURL, why)
	}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // bounds count the bytes as they come
		ForceAttemptHTTP2:      true,
	}
	c := &Client{base: strings.TrimRight(address.String(), "/"), http: &http.Client{Transport: transport}}
	for _, opt := range opts {
		opt(c)
	}
	if err := c.secure(address, transport); err != nil {
		return nil, err
	}
	own := *c.http
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	return c, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Submit plans a query, stores it and starts it.
func (c *Client) Submit(ctx context.Context, spec *query.Spec) (*messages.Query, error) {
	body, err := encodeSpec(spec)
	if err != nil {
		return nil, err
	}
	return c.change(ctx, http.MethodPost, queriesPath, body)
}

// Plan plans a query and stores nothing.
func (c *Client) Plan(ctx context.Context, spec *query.Spec) (*messages.PlanSummary, error) {
	body, err := encodeSpec(spec)
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodPost, apiPath+"plan", body, maxAnswerBytes, messages.DecodePlanSummary)
}

// Resume runs again what has no result. A nil again leaves everything as it was, with a new budget of requests.
func (c *Client) Resume(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	return c.resume(ctx, id, again, false)
}

// Retry runs again only the chunks that have failed. A nil again leaves everything as it was, with a new budget of requests.
func (c *Client) Retry(ctx context.Context, id string, again *query.Resumption) (*messages.Query, error) {
	return c.resume(ctx, id, again, true)
}

func (c *Client) resume(ctx context.Context, id string, again *query.Resumption, failed bool) (*messages.Query, error) {
	path, err := queryPath(id, "/resume")
	if err != nil {
		return nil, err
	}
	if again == nil {
		again = &query.Resumption{}
	}
	body, err := json.Marshal(contract.Resume{
		WaitUpTo: (*query.Duration)(again.WaitUpTo), MaxRequests: again.MaxRequests, HoldBack: again.HoldBack, OnFailure: again.OnFailure, Failed: failed,
		InFlight: again.InFlight, Priority: again.Priority, Weight: again.Weight,
	})
	if err != nil {
		return nil, fmt.Errorf("encode resume: %w", err)
	}
	return c.change(ctx, http.MethodPost, path, body)
}

// Cancel stops a query for good.
func (c *Client) Cancel(ctx context.Context, id string) (*messages.Query, error) {
	path, err := queryPath(id, "/cancel")
	if err != nil {
		return nil, err
	}
	return c.change(ctx, http.MethodPost, path, nil)
}

// Remove deletes a query that is not active, with all that was kept of it.
func (c *Client) Remove(ctx context.Context, id string) error {
	path, err := queryPath(id, "")
	if err != nil {
		return err
	}
	_, err = call(ctx, c, http.MethodDelete, path, nil, maxAnswerBytes, func([]byte) (*struct{}, error) { return nil, nil })
	return err
}

// Status gives a query with its progress.
func (c *Client) Status(ctx context.Context, id string) (*messages.Status, error) {
	path, err := queryPath(id, "")
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxAnswerBytes, decodeStatus)
}

// Coverage says what came of each value that a query asks for.
func (c *Client) Coverage(ctx context.Context, id string) (*messages.Coverage, error) {
	path, err := queryPath(id, "/coverage")
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeCoverage)
}

// Failures lists the chunks that have failed, the lowest position first.
func (c *Client) Failures(ctx context.Context, id string) (*messages.Failures, error) {
	path, err := queryPath(id, "/failures")
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeFailures)
}

// Manifest proves the query's table.
func (c *Client) Manifest(ctx context.Context, id string) (*messages.Manifest, error) {
	path, err := queryPath(id, "/manifest")
	if err != nil {
		return nil, err
	}
	return call(ctx, c, http.MethodGet, path, nil, maxListBytes, messages.DecodeManifest)
}

// Ready tells whether the server can carry out commands.
func (c *Client) Ready(ctx context.Context) error {
	_, err := call(ctx, c, http.MethodGet, "/readyz", nil, maxAnswerBytes, func([]byte) (*struct{}, error) { return nil, nil })
	return err
}

func (c *Client) change(ctx context.Context, method, path string, body []byte) (*messages.Query, error) {
	return call(ctx, c, method, path, body, maxAnswerBytes, messages.DecodeQuery)
}

// encodeSpec refuses here what the server would refuse, with the same error.
func encodeSpec(spec *query.Spec) ([]byte, error) {
	body, err := spec.Encode()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", query.ErrInvalid, err)
	}
	return body, nil
}

// queryPath refuses what cannot be an id, so that no id leads to another path.
func queryPath(id, rest string) (string, error) {
	if id == "" {
		id = contract.Latest
	}
	if err := messages.CheckName(id); err != nil {
		return "", fmt.Errorf("query %.40q: %w", id, messages.ErrNotFound)
	}
	return queriesPath + "/" + id + rest, nil
}

func decodeStatus(data []byte) (*messages.Status, error) {
	var parts struct{ Query, Progress json.RawMessage }
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("decode status: %w", err)
	}
	q, err := messages.DecodeQuery(parts.Query)
	if err != nil {
		return nil, fmt.Errorf("decode status: %w", err)
	}
	status := &messages.Status{Query: q}
	if len(parts.Progress) > 0 && string(parts.Progress) != "null" {
		if status.Progress, err = messages.DecodeProgress(parts.Progress); err != nil {
			return nil, fmt.Errorf("decode status: %w", err)
		}
	}
	return status, nil
}

// call sends one request and reads its whole answer, at most limit bytes of it.
func call[T any](ctx context.Context, c *Client, method, path string, body []byte, limit int64, decode func([]byte) (*T, error)) (*T, error) {
	return callWithin(ctx, c, callTimeout, method, path, body, limit, decode)
}

// callWithin is call for what may take longer.
func callWithin[T any](
	ctx context.Context, c *Client, most time.Duration, method, path string, body []byte, limit int64, decode func([]byte) (*T, error),
	edit ...func(http.Header),
) (*T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, most, errCallTimeout)
	defer cancel()
	response, err := c.send(ctx, method, path, body, edit...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, c.refusal(response)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w at %s: its answer has more than %d bytes", ErrServer, c.base, limit)
	}
	if response.StatusCode != http.StatusNoContent && !isMedia(response, "application/json") {
		return nil, c.stranger(response)
	}
	value, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrServer, c.base, err)
	}
	return value, nil
}

// request makes each request of the client: it says who sends it.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err)
	}
	request.Header.Set("User-Agent", "braid")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

func (c *Client) send(ctx context.Context, method, path string, body []byte, edit ...func(http.Header)) (*http.Response, error) {
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, e := range edit {
		e(request.Header)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	return response, nil
}

func isMedia(response *http.Response, want string) bool {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && media == want
}
