package httpapi

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"

	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/messages"
)

const requestIDHeader = "X-Request-Id"

var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID is how the log calls a request: as a client or proxy in front calls it already, when that is fit for a log.
func requestID(r *http.Request) string {
	given := r.Header.Values(requestIDHeader)
	if len(given) == 1 && saneRequestID.MatchString(given[0]) && access.Redact(given[0]) == given[0] {
		return given[0]
	}
	return rand.Text()
}

// visit is what becomes known of a request on its way through the server. The goroutine of the request alone uses it.
type visit struct {
	requestID string
	remote    string // the machine or network that it comes from
	answer    *answer
	principal *access.Principal // nil: nobody is known, as on a server without tokens
	operation string            // id
	query     string            // that is changed, as far as it is known: the whole id, else as it was given
	ofLoad    bool              // query is the load profile or run that is changed
	atEnd     []func()
}

type visitKey struct{}

// visitOf gives the visit of a request. Outside of one it is an empty one.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// party is whom turns are counted for: a person, or a machine where nobody is known.
func (v *visit) party() string {
	if v.principal != nil {
		return "name " + v.principal.Name
	}
	return "from " + v.remote
}

// end does what was put off to the end of the request.
func (v *visit) end() {
	for _, f := range v.atEnd {
		f()
	}
}

func (v *visit) name() string {
	if v.principal == nil {
		return ""
	}
	return v.principal.Name
}

// submissionOf is who submits a query by a request.
func submissionOf(ctx context.Context) messages.Submission {
	p := visitOf(ctx).principal
	if p == nil {
		return messages.Submission{}
	}
	return messages.Submission{Owner: p.Name, Team: p.Team}
}

// anybodys is the ownership that changing asks for where the operation's own permission is enough.
func anybodys(*access.Principal, access.Ownership) error { return nil }

// changeable gives the whole id of the query that a request is to change, when whoever sent it may. The id is made whole before it is
// judged: latest, or the first letters of an id, may mean another query a moment later.
func (a *api) changeable(ctx context.Context, id string, may func(*access.Principal, access.Ownership) error) (string, error) {
	v := visitOf(ctx)
	if v.principal == nil {
		return id, nil
	}
	status, err := a.ports.Views.Status(ctx, id)
	if err != nil {
		return "", err
	}
	v.query = status.Query.ID
	if err := may(v.principal, access.Ownership{Owner: status.Query.Owner, Team: status.Query.Team}); err != nil {
		return "", err
	}
	return status.Query.ID, nil
}
