package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// reports fetches reports of a service that takes signed requests only, and gives no data at once: a report is ordered,
// which answers with its number, and is then fetched page by page. It keeps nothing between calls, so that another process
// can go on with a report that this one has ordered: all that it needs stands in the cursor.
type reports struct {
	base   string // without a slash at its end
	key    []byte // of the signatures
	client *http.Client
	now    func() time.Time
}

const (
	requestTimeout   = time.Minute
	maxResponseBytes = 16 << 20
)

func newReports(base string, key []byte) *reports {
	return &reports{
		base: strings.TrimSuffix(base, "/"), key: key, now: time.Now,
		client: &http.Client{
			Timeout: requestTimeout,
			// A signature is for the service and for nobody that it may point to.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// FetchPage is service.Adapter's: exactly one request. Ordering the report is the first page of a chunk, one without rows.
func (r *reports) FetchPage(ctx context.Context, task json.RawMessage, at service.Walk) (service.Page, error) {
	if at.Cursor != "" {
		return r.fetch(ctx, at.Cursor)
	}
	asked, err := service.DecodeTask(task)
	if err != nil {
		return service.Page{}, err
	}
	return r.order(ctx, asked)
}

func (r *reports) order(ctx context.Context, task service.Task) (service.Page, error) {
	period := task.Values["period"]
	if len(period) != 2 {
		return service.Page{}, badRequest(errors.New("a period has two ends"))
	}
	body, err := json.Marshal(map[string]any{"stations": task.Values["station"], "from": period[0], "to": period[1]})
	if err != nil {
		return service.Page{}, badRequest(err)
	}
	var answer struct {
		Report int `json:"report"`
	}
	status, n, err := r.send(ctx, http.MethodPost, "/reports", body, &answer)
	if err != nil {
		return service.Page{}, err
	}
	return service.Page{Next: cursor{answer.Report, 1}.String(), Status: status, Bytes: n}, nil
}

func (r *reports) fetch(ctx context.Context, text string) (service.Page, error) {
	at, err := parseCursor(text)
	if err != nil {
		return service.Page{}, badRequest(err)
	}
	var answer struct {
		Rows []struct {
			Station string      `json:"station"`
			Time    string      `json:"time"`
			H       json.Number `json:"h"` // the service's own digits
		} `json:"rows"`
		Last bool `json:"last"`
	}
	status, n, err := r.send(ctx, http.MethodGet, fmt.Sprintf("/reports/%d?page=%d", at.report, at.page), nil, &answer)
	if err != nil {
		return service.Page{}, err
	}
	page := service.Page{Count: len(answer.Rows), Columns: []string{"station", "time", "h"}, Status: status, Bytes: n}
	var rows bytes.Buffer
	for _, row := range answer.Rows {
		if err := json.NewEncoder(&rows).Encode(row); err != nil { // ends the line
			return service.Page{}, &service.ResponseError{Class: service.ClassBadPage, Status: status, Message: err.Error(), Err: err}
		}
	}
	page.Rows = rows.Bytes()
	if !answer.Last {
		page.Next = cursor{at.report, at.page + 1}.String()
	}
	return page, nil
}

// cursor is where a report stands: its number, and the page that comes next.
type cursor struct{ report, page int }

func (c cursor) String() string { return fmt.Sprintf("%d/%d", c.report, c.page) }

func parseCursor(text string) (c cursor, err error) {
	report, page, _ := strings.Cut(text, "/")
	if c.report, err = strconv.Atoi(report); err == nil {
		c.page, err = strconv.Atoi(page)
	}
	if err != nil {
		return cursor{}, fmt.Errorf("not a cursor: %.40q", text)
	}
	return c, nil
}

// send sends one signed request and reads its answer.
func (r *reports) send(ctx context.Context, method, path string, body []byte, answer any) (status int, n int64, err error) {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, 0, badRequest(err)
	}
	r.sign(request, path, body)
	response, err := r.client.Do(request)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // the URL is known, and says nothing to people
		}
		return 0, 0, &service.ResponseError{Class: service.ClassTransient, Message: err.Error(), Err: err}
	}
	defer func() { _ = response.Body.Close() }() // all that matters has been read
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return 0, 0, &service.ResponseError{Class: service.ClassTransient, Status: response.StatusCode, Message: "the answer was cut off", Err: err}
	case len(data) > maxResponseBytes:
		return 0, 0, &service.ResponseError{Class: service.ClassTooLarge, Status: response.StatusCode, Message: "the page is too large"}
	case response.StatusCode >= 300:
		return 0, 0, refusal(response, data)
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return 0, 0, &service.ResponseError{Class: service.ClassTransient, Status: response.StatusCode, Message: "not the JSON of a report", Err: err}
	}
	return response.StatusCode, int64(len(data)), nil
}

// sign adds when the request was made, and a digest that only who has the key can make.
func (r *reports) sign(request *http.Request, path string, body []byte) {
	at := r.now().UTC().Format(time.RFC3339)
	request.Header.Set("X-Time", at)
	request.Header.Set("X-Signature", signature(r.key, request.Method, path, at, body))
}

func signature(key []byte, method, path, at string, body []byte) string {
	sum := hmac.New(sha256.New, key)
	fmt.Fprintf(sum, "%s\n%s\n%s\n", method, path, at)
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

// refusal says what a status means: everything that Braid does with it follows from the class.
func refusal(response *http.Response, body []byte) error {
	classes := map[int]service.Class{
		http.StatusUnauthorized:          service.ClassAuth,
		http.StatusForbidden:             service.ClassAuth,
		http.StatusGone:                  service.ClassCursorGone, // the report is no longer kept: order it again
		http.StatusRequestEntityTooLarge: service.ClassTooLarge,   // divide the chunk
		http.StatusTooEarly:              service.ClassTransient,  // the report is not ready yet
		http.StatusTooManyRequests:       service.ClassQuota,
	}
	refused := &service.ResponseError{
		Class: classes[response.StatusCode], Status: response.StatusCode,
		Message: fmt.Sprintf("HTTP %d: %.200s", response.StatusCode, bytes.ToValidUTF8(bytes.TrimSpace(body), []byte("?"))),
	}
	switch {
	case refused.Class != "":
	case response.StatusCode >= 500:
		refused.Class = service.ClassTransient
	default:
		refused.Class = service.ClassBadRequest
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		refused.RetryAfter = time.Duration(min(seconds, 24*3600)) * time.Second
	}
	return refused
}

func badRequest(err error) error {
	return &service.ResponseError{Class: service.ClassBadRequest, Message: err.Error(), Err: err}
}
