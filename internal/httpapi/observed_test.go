package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/braidhq/braid/internal/httpapi"
)

// Before anything is decided of a request it is told whether its sender is known: by a token, or by a session.
func TestWhoObservesARequestLearnsWhetherItsSenderIsKnown(t *testing.T) {
	g := guard(t, people(t)...)
	var known []bool
	observe := func(ctx context.Context, _ *http.Request, sender func() bool) (context.Context, string, func(httpapi.Served)) {
		known = append(known, sender())
		return ctx, "", func(httpapi.Served) {}
	}
	guarded := serve(t, g.desk, httpapi.Config{Access: g.access, Observe: observe})
	cookie := logIn(t, g, readerSeed)
	open := serve(t, g.desk, httpapi.Config{Observe: observe})
	for _, c := range []struct {
		what   string
		server *httptest.Server
		edit   func(*http.Request)
		want   bool
	}{
		{"nobody", guarded, func(*http.Request) {}, false},
		{"a token of nobody", guarded, bearer(tokenOf(t, strangerSeed)), false},
		{"half a token", guarded, bearer("braid_x"), false},
		{"a token", guarded, bearer(tokenOf(t, readerSeed)), true},
		{"a session", guarded, with(cookie), true},
		{"nobody, where everybody may", open, func(*http.Request) {}, true},
	} {
		ask(t, c.server, "GET", "/v1/whoami", "", c.edit)
		if got := known[len(known)-1]; got != c.want {
			t.Errorf("%s: known is %t", c.what, got)
		}
	}
}
