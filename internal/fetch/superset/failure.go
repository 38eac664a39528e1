package superset

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

const kindAuth = load.Auth

// failure is why there is no answer to go on with: its kind is one of the outcome table, its message is bounded and has no secret in it. It is
// shared between workers when a login is refused.
type failure struct {
	Kind    string `json:"kind"`
	Status  int    `json:"status,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	err     error
	after   time.Duration // that the server asks to wait
}

// Error gives what to read.
func (f *failure) Error() string {
	if f.Hint == "" {
		return f.Message
	}
	return f.Message + "; " + f.Hint
}

// Unwrap gives the cause, if it is one of this package's errors.
func (f *failure) Unwrap() error { return f.err }

// failed is the failure of what went wrong before anything was sent.
func failed(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if refusal, ok := errors.AsType[*service.ResponseError](err); ok && refusal.Class == service.ClassAuth {
		return &failure{Kind: kindAuth, Message: refusal.Message}
	}
	return &failure{Kind: load.Transport, Message: err.Error(), err: err}
}

// ErrSubject is a deployment whose own tokens it does not take.
var ErrSubject = errors.New(`the server gives tokens that it does not take itself ("Subject must be a string"): its JWT library and its Superset disagree`)

const subjectCure = "set JWT_VERIFY_SUB = False in superset_config.py, or install a version of PyJWT below 2.10"

// judge tells what an answer means that is no success, from its status, its headers and the beginning of its body.
func judge(status int, header http.Header, head []byte) *failure {
	f := &failure{Kind: kindOf(status, header, head), Status: status, Message: fetch.MessageOf(status, head)}
	text := said(head)
	switch {
	case status == http.StatusUnprocessableEntity && strings.Contains(text, "Subject must be a string"):
		f.Message, f.Hint, f.err = ErrSubject.Error(), subjectCure, ErrSubject
	case isRedirect(status) && f.Kind == kindAuth:
		f.Message = fmt.Sprintf("HTTP %d: the server sends to its login page", status)
	case isRedirect(status):
		f.Message = fmt.Sprintf("HTTP %d: the server redirects to %s, which is not followed", status, targetOf(header))
		f.Hint = "give the address that answers as base_url"
	case status == http.StatusTooManyRequests:
		f.Hint = "the server's limit of requests counts all workers behind one address"
	}
	return f
}

// kindOf is the kind that the outcome table gives an answer that is no success.
func kindOf(status int, header http.Header, head []byte) string {
	x := load.Exchange{Status: status, Whole: true, Entries: -1, Message: said(head)}
	x.Login = isRedirect(status) && isLogin(header.Get("Location")) || status < 300 && isLoginPage(head)
	_, kind := load.OutcomeOf(x)
	return kind
}

// said is the message of an answer in JSON, wherever the layers of the server put it; else empty.
func said(head []byte) string {
	if !json.Valid(head) {
		return ""
	}
	for _, path := range []string{"message", "msg", "errors.0.message", "error"} {
		if text := gjson.GetBytes(head, path); text.Type == gjson.String {
			return strings.TrimSpace(text.Str)
		}
	}
	return ""
}

func isRedirect(status int) bool {
	return status >= 300 && status < 400 && status != http.StatusNotModified
}

// isLogin tells whether a redirect leads to the login page.
func isLogin(location string) bool {
	u, err := url.Parse(location)
	return err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/login")
}

var passwordField = regexp.MustCompile(`(?i)<input\b[^>]{0,500}\btype\s*=\s*["']?password\b`)

// isLoginPage tells whether a page is one to log in at: it has a field for a password, or its form goes to the login.
func isLoginPage(head []byte) bool {
	text := strings.TrimSpace(string(head))
	if !strings.HasPrefix(text, "<") {
		return false
	}
	return passwordField.MatchString(text) || strings.Contains(text, `action="/login`) || strings.Contains(text, `href="/login/`)
}

// targetOf names where a redirect leads, without what may be secret in it.
func targetOf(header http.Header) string {
	u, err := url.Parse(header.Get("Location"))
	if err != nil || u.Host == "" && u.Path == "" {
		return "no address"
	}
	return fmt.Sprintf("%.200q", (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
}
