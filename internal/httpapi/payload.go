package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

// bodyTimeout is how long a body may take to come.
const bodyTimeout = 5 * time.Minute

// Payload is a request's JSON body, unread. Embedded in a route's input it leaves reading and judging to the route: the
// library would echo what it refuses, and leave its deadline to cut the connection while the route still works.
type Payload struct {
	request *http.Request
	writer  http.ResponseWriter
}

// Resolve takes the request before the route is called.
func (b *Payload) Resolve(ctx huma.Context) []error {
	b.request, b.writer = humago.Unwrap(ctx)
	return nil
}

// smallBody is up to how many bytes of a body are taken in without asking whether there is room: commands must not wait behind large queries.
const smallBody = 64 << 10

// read gives the body, at most limit bytes of it, once there is room for it; the room is given back at the end of the request. An error is a
// *contract.Problem.
func (b *Payload) read(ctx context.Context, a *api, limit int64) ([]byte, error) {
	r := b.request
	if r.ContentLength == 0 {
		return nil, nil
	}
	if kind := r.Header.Get("Content-Type"); !isJSON(kind) {
		return nil, problem(contract.NotJSON, "Content-Type is %.60q; send application/json", kind)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, problem(contract.NotJSON, "Content-Encoding is %.60q; send the body as it is", coding)
	}
	if r.ContentLength > limit {
		return nil, problem(contract.TooLarge, "the body has %d bytes, at most %d are read", r.ContentLength, limit)
	}
	if r.ContentLength > smallBody {
		if err := a.makeRoom(ctx, r.ContentLength); err != nil {
			return nil, err
		}
	}
	control := http.NewResponseController(b.writer)
	body := http.MaxBytesReader(b.writer, &pacedBody{body: r.Body, control: control, begun: time.Now()}, limit)
	data, err := readBody(body, r.ContentLength, func() error { return a.makeRoom(ctx, limit) })
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	var network net.Error
	var refused *contract.Problem
	switch {
	case err == nil:
		return data, nil
	case errors.As(err, &refused):
		return nil, refused
	case errors.As(err, &tooLarge):
		return nil, problem(contract.TooLarge, "the body has more than %d bytes", limit)
	case errors.As(err, &network) && network.Timeout():
		return nil, problem(contract.ReadTimeout, "the body came too slowly: within %s, and then with %d bytes a second", bodyGrace, bodyRate)
	}
	return nil, problem(contract.RequestInvalid, "the body broke off: %s", err)
}

// makeRoom waits until bytes of a body may be taken in, until the end of the request.
func (a *api) makeRoom(ctx context.Context, bytes int64) error {
	v := visitOf(ctx)
	done, ok := a.bodies.take(ctx, v.party(), bytes, turnWait)
	switch {
	case ok:
		v.atEnd = append(v.atEnd, done)
		return nil
	case ctx.Err() != nil:
		return a.failure("wait for room", context.Cause(ctx))
	}
	return problem(contract.Busy, "the bodies of %d bytes that are in hand leave no room for %d more, of which one caller gets a part, and none became free within %s", a.bodies.all, bytes, turnWait)
}

// readBody reads a body of a known length (-1: of none), without taking more memory than it has bytes. When one of no known length turns out not
// to be small it asks for room first.
func readBody(body io.Reader, length int64, room func() error) ([]byte, error) {
	if length >= 0 {
		data := make([]byte, length)
		_, err := io.ReadFull(body, data)
		return data, err
	}
	head, err := io.ReadAll(io.LimitReader(body, smallBody))
	if err != nil || len(head) < smallBody {
		return head, err
	}
	if err := room(); err != nil {
		return nil, err
	}
	return io.ReadAll(io.MultiReader(bytes.NewReader(head), body))
}

func isJSON(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == "application/json"
}

func problem(slug, format string, args ...any) *contract.Problem {
	return contract.NewProblem(contract.KindNamed(slug), fmt.Sprintf(format, args...))
}

// describeBody puts a route's body into the OpenAPI document, after the route was registered: the library would else
// read the body itself.
func describeBody[T any](a *api, path string, required bool) {
	a.huma.OpenAPI().Paths[path].Post.RequestBody = &huma.RequestBody{
		Required: required,
		Content:  map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](a)}},
	}
}

func schemaOf[T any](a *api) *huma.Schema {
	return a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}
