package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/braidhq/braid/pkg/service"
)

const (
	maxRedirects = 5
	// maxRefusalBytes is what is read of an answer that is not a page: enough to tell what it means.
	maxRefusalBytes = 64 << 10
)

// exchange is one call: a request, the redirects it leads through, and the answer. It is used by one goroutine. The
// contexts of its methods are the watchdog's: they end by the caller's or by a timeout, and the cause tells which.
type exchange struct {
	client  *Client
	watch   *watchdog
	at      service.Walk
	request service.Request // its URL is where the exchange stands, and has no secret in it
	sent    secrets         // all secrets that were sent, to keep them out of what is told
	absent  []service.Credential
	share   share // of the memory for bodies
	metered service.Metered
}

func (e *exchange) run(ctx context.Context) (service.Page, error) {
	request, err := e.client.withoutSecrets(e.request.URL, nil)
	if err != nil {
		return service.Page{}, err
	}
	e.request.URL = request
	for redirects := 0; ; redirects++ {
		page, next, err := e.hop(ctx)
		if err != nil || next == "" {
			return page, err
		}
		if redirects == maxRedirects {
			return service.Page{}, badLink(fmt.Sprintf("more than %d redirects, the last one at the host %s", maxRedirects, e.host()), nil)
		}
		if e.at.Again != nil {
			if err := e.at.Again(ctx); err != nil {
				return service.Page{}, err
			}
		}
		e.request.URL = next
	}
}

// hop sends the request once. It gives the page, or the URL that a redirect leads to.
func (e *exchange) hop(ctx context.Context) (page service.Page, redirect string, err error) {
	r, err := e.prepare(ctx)
	if err != nil {
		return service.Page{}, "", err
	}
	ctx, span := e.client.cfg.Trace(ctx, e.request.Method, e.request.URL)
	status := 0
	defer func() { span(status, err) }()
	e.watch.connect()
	e.metered.Requests++
	response, err := e.client.cfg.Transport.RoundTrip(r)
	if err != nil {
		return service.Page{}, "", e.failure(ctx, err)
	}
	e.watch.connected()         // on a transport that tells of no connections too
	defer response.Body.Close() //nolint:errcheck // what was needed of it was read
	status = response.StatusCode
	e.told(response)
	e.metered.Readings = e.client.definition.ReadQuotas(response.Header, nil, e.client.cfg.Now())
	return e.answer(ctx, response)
}

// told tells whoever wants to see answers.
func (e *exchange) told(response *http.Response) {
	if e.client.cfg.Saw == nil {
		return
	}
	header := make(http.Header, len(response.Header))
	for name, values := range response.Header {
		for _, value := range values {
			header.Add(name, e.sent.hide(value))
		}
	}
	e.client.cfg.Saw(e.request.URL, response.StatusCode, header)
}

// prepare makes the request as it goes out, with the secrets that its host may see.
func (e *exchange) prepare(ctx context.Context) (*http.Request, error) {
	secrets, absent, err := e.client.secretsFor(e.request.URL)
	if err != nil {
		return nil, err
	}
	e.sent, e.absent = append(e.sent, secrets...), absent
	u, err := url.Parse(secrets.addTo(e.request.URL))
	if err != nil {
		return nil, badLink("the address to request is no URL", service.ErrLink)
	}
	if limit := e.client.collection.Limits.URLBytes; limit > 0 && len(secrets) > 0 && len(e.request.URL) <= limit && len(u.String()) > limit {
		return nil, &service.ResponseError{
			Class:   service.ClassTooLarge,
			Message: fmt.Sprintf("the URL has %d bytes with the credential in it, at most %d", len(u.String()), limit),
		}
	}
	r := (&http.Request{
		Method: e.request.Method, URL: u, Host: u.Host, Header: make(http.Header),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	for name, value := range e.request.Header {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", e.client.cfg.UserAgent)
	r.Header.Set("Accept-Encoding", "gzip")
	secrets.setHeader(r.Header)
	setBody(r, e.request.Body)
	return r, nil
}

// answer judges a response.
func (e *exchange) answer(ctx context.Context, response *http.Response) (page service.Page, redirect string, err error) {
	limit := e.client.collection.Limits.ResponseBytes
	success := response.StatusCode >= 200 && response.StatusCode < 300
	if success && response.ContentLength > limit {
		return page, "", e.refusal(response.StatusCode, service.ClassTooLarge, fmt.Sprintf("the answer has %d bytes, at most %d", response.ContentLength, limit))
	}
	b, data, whole, err := e.readStart(ctx, response, success)
	if err != nil {
		return page, "", err
	}
	e.metered.Readings = e.client.definition.ReadQuotas(response.Header, data, e.client.cfg.Now())
	class, givesUpAs := e.client.collection.Classify(response.StatusCode, response.Header, data)
	if !whole && class != service.ClassQuota && class != service.ClassTransient && class != service.ClassBadLink {
		// What broke off might have said something else, such as that the request was too large: it is asked again before the
		// status alone decides.
		class, givesUpAs = service.ClassTransient, class
	}
	switch {
	case class == service.ClassOK:
		page, err = e.page(ctx, response, b)
		return page, "", err
	case class == service.ClassBadLink && isRedirect(response):
		redirect, err = e.follow(response)
		return page, redirect, err
	case class == service.ClassNoData:
		if err := e.client.collection.EndsUnserved(e.at); err != nil {
			return page, "", e.withStatus(err, response.StatusCode)
		}
		if e.at.Cursor != "" {
			return service.Page{Status: response.StatusCode, Bytes: int64(len(data)), Claimed: e.at.Claimed}, "", nil
		}
	}
	return page, "", e.refuse(response, data, class, givesUpAs)
}

// readStart reads what is needed to tell the class: all of a success, and the beginning of anything else. A refusal whose
// body breaks off or stalls is not whole, and its status and beginning are told all the same.
func (e *exchange) readStart(ctx context.Context, response *http.Response, success bool) (b *body, data []byte, whole bool, err error) {
	b, err = newBody(response, e.watch, &e.share)
	if err != nil {
		if success || isUnwanted(ctx) {
			return nil, nil, false, e.unreadable(ctx, response.StatusCode, err)
		}
		return &body{ended: true}, nil, false, nil
	}
	limit := e.client.collection.Limits.ResponseBytes
	if !success {
		limit = min(limit, maxRefusalBytes)
	}
	data, ended, err := b.read(ctx, limit)
	switch {
	case err != nil && (success || isUnwanted(ctx)):
		return nil, nil, false, e.unreadable(ctx, response.StatusCode, err)
	case success && !ended:
		return nil, nil, false, e.refusal(response.StatusCode, service.ClassTooLarge, fmt.Sprintf("the answer has more than %d bytes", limit))
	}
	return b, data, err == nil, nil
}

// page decodes a body that the definition calls ok.
func (e *exchange) page(ctx context.Context, response *http.Response, b *body) (service.Page, error) {
	limit := e.client.collection.Limits.ResponseBytes
	data, ended, err := b.read(ctx, limit)
	if err != nil {
		return service.Page{}, e.unreadable(ctx, response.StatusCode, err)
	}
	if !ended {
		return service.Page{}, e.refusal(response.StatusCode, service.ClassTooLarge, fmt.Sprintf("the answer has more than %d bytes", limit))
	}
	page, err := e.client.collection.DecodePage(e.at, e.request.URL, response.Header, data)
	if err != nil {
		return service.Page{}, e.withStatus(err, response.StatusCode)
	}
	page.Status = response.StatusCode
	if err := e.keepOut(&page); err != nil {
		return service.Page{}, e.withStatus(err, response.StatusCode)
	}
	return page, nil
}

// keepOut takes the secrets out of the page's cursor. Rows are data, of which nothing is taken out: a page that repeats a
// secret in them is refused, because rows are stored and shown to people who may not know it.
func (e *exchange) keepOut(page *service.Page) (err error) {
	if e.sent.inRows(page.Rows) {
		return &service.ResponseError{Class: service.ClassBadPage, Message: "the service repeats a credential in the rows of its answer, and so they are not kept; if it is a common word there, use another credential"}
	}
	switch {
	case page.Next == "":
	case e.client.collection.Paging().Style == service.PagingLink:
		page.Next, err = e.client.withoutSecrets(page.Next, e.sent)
	case e.sent.in(page.Next):
		err = badLink("the cursor that the server gave has a secret in it", service.ErrLink)
	}
	return err
}

func (e *exchange) withStatus(err error, status int) error {
	var refusal *service.ResponseError
	if errors.As(err, &refusal) && refusal.Status == 0 {
		refusal.Status = status
	}
	return err
}

func (e *exchange) refusal(status int, class service.Class, message string) error {
	return &service.ResponseError{Class: class, Status: status, Message: message}
}

// host names where the exchange stands.
func (e *exchange) host() string {
	u, err := url.Parse(e.request.URL)
	if err != nil {
		return ""
	}
	return u.Host
}
