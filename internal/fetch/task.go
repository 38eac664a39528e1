package fetch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/braidhq/braid/pkg/service"
)

const (
	maxTaskBytes   = 1 << 20
	maxTaskHeaders = 100
)

// decodeTask reads a task and judges it like any input from outside: it came over the network.
func (c *Client) decodeTask(task json.RawMessage) (service.Request, error) {
	var request service.Request
	if len(task) > maxTaskBytes {
		return request, badTask("it has %d bytes, at most %d", len(task), maxTaskBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(task))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		return request, badTask("it is no JSON request: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return request, badTask("there is data behind the request")
	}
	if request.Method != http.MethodGet && request.Method != http.MethodPost {
		return request, badTask("method: %.20q is not supported; allowed are GET, POST", request.Method)
	}
	if request.Method == http.MethodGet && len(request.Body) > 0 {
		return request, badTask("body: a GET has none; use POST")
	}
	if err := c.checkHeader(request.Header); err != nil {
		return request, err
	}
	if u, err := url.Parse(request.URL); err != nil || !u.IsAbs() {
		return request, badTask("url: it is not absolute")
	}
	target, err := c.definition.FollowLink(c.definition.BaseURL, request.URL)
	if err != nil {
		return request, badTask("url: %w", err)
	}
	request.URL = target
	return request, nil
}

// checkHeader refuses what would change how the request is sent or to whom, and what only a credential may set.
func (c *Client) checkHeader(header map[string]string) error {
	if len(header) > maxTaskHeaders {
		return badTask("header: %d headers, at most %d", len(header), maxTaskHeaders)
	}
	for name := range header {
		switch strings.ToLower(name) {
		case "authorization", "cookie", "proxy-authorization", "host", "content-length", "connection", "transfer-encoding",
			"trailer", "te", "upgrade", "expect", "accept-encoding",
			"idempotency-key", "x-idempotency-key": // to net/http they are the permission to send a request again
			return badTask("header: %s is set by Braid and by nobody else", name)
		}
		for _, credential := range c.definition.Credentials {
			if strings.EqualFold(name, credential.Send.Header) {
				return badTask("header: %s is set by the credential %s alone", name, credential.ID)
			}
		}
	}
	return nil
}

func badTask(format string, args ...any) error {
	err := fmt.Errorf("the item's task: "+format, args...)
	return &service.ResponseError{Class: service.ClassBadRequest, Message: err.Error(), Err: errors.Unwrap(err)}
}

func badLink(message string, cause error) error {
	return &service.ResponseError{Class: service.ClassBadLink, Message: message, Err: cause}
}
