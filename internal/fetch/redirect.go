package fetch

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/braidhq/braid/pkg/service"
)

func isRedirect(response *http.Response) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, response.StatusCode) && response.Header.Get("Location") != ""
}

// follow gives the URL that a redirect leads to, without any secret in it.
func (e *exchange) follow(response *http.Response) (string, error) {
	status := response.StatusCode
	if e.request.Method != http.MethodGet && status != 307 && status != 308 {
		return "", e.refusal(status, service.ClassBadLink, fmt.Sprintf("a redirect with status %d from %s would turn the %s into a GET", status, e.host(), e.request.Method))
	}
	target, err := e.client.definition.FollowLink(e.request.URL, response.Header.Get("Location"))
	if err == nil {
		target, err = e.client.withoutSecrets(target, e.sent)
	}
	if err != nil {
		return "", e.withStatus(badLink("a redirect from "+e.host()+": "+err.Error(), err), status)
	}
	return target, nil
}
