package superset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/retry"
)

const (
	dataPath        = "/api/v1/chart/data"
	setupTime       = 45 * time.Second // to have a token, before the request is admitted
	defaultDeadline = 65 * time.Second
	maxAnswerBytes  = 8 << 30 // decompressed
	readBytes       = 64 << 10
)

// errDeadline ends the context of an exchange whose own time is over.
var errDeadline = errors.New("no whole answer within the deadline of the request")

// Execute sends a chart's request once, and once more with a new token when the first one is answered with 401. It asks for the places right
// before: the shared one, then, as soon as there is a token, the admission. What comes of the request is in the Answer, and what went wrong
// with it is no error. An error wraps that of Places or the cause of ctx; the Answer then tells of what was sent before, if anything.
//
// The time is that of the request that was sent last: Admitted is its admission, Upstream lasts from there to Finished. Where nothing was
// admitted, Admitted is zero. Digests of the data are reckoned after Finished.
func (c *Client) Execute(ctx context.Context, r load.Request, places load.Places) (load.Answer, error) {
	x := &execution{client: c, request: r, places: places}
	err := x.run(ctx)
	x.answer.Message = clip(x.hide(x.answer.Message))
	x.answer.Sample, x.answer.Truncated = x.safeSample()
	x.hideInFields()
	return x.answer, err
}

// execution is one call of Execute. It is used by one goroutine.
type execution struct {
	client  *Client
	request load.Request
	places  load.Places
	who     *identity
	body    []byte
	queries int
	answer  load.Answer
	after   time.Duration                      // that the server asks to wait
	rows    func(answer *scanner, kept *spool) // of ordinary queries, which want them; nil: digest and sample
}

func (x *execution) run(ctx context.Context) error {
	who, unknown := x.client.identityOf(x.request.Variation.Role)
	if unknown != nil {
		x.fail(unknown)
		return nil
	}
	x.who = who
	body, err := load.Payload(x.request)
	if err != nil {
		x.fail(&failure{Kind: load.BadRequest, Message: "make the request of the chart: " + err.Error()})
		return nil
	}
	x.body, x.queries = body, int(gjson.GetBytes(body, "queries.#").Int())
	if x.places.Shared != nil {
		release, err := x.places.Shared(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	t, err := x.ready(ctx)
	if err != nil {
		return x.notSent(ctx, err)
	}
	if err := x.admit(ctx, false); err != nil {
		return err
	}
	deadline := x.request.Deadline
	if deadline <= 0 {
		deadline = defaultDeadline
	}
	bounded, cancel := context.WithDeadlineCause(ctx, x.answer.Admitted.Add(deadline), errDeadline)
	defer cancel()
	if err := x.sent(bounded, t); err != nil {
		return x.broken(ctx, bounded, err)
	}
	return nil
}

// ready does what must be done before the request can be sent.
func (x *execution) ready(ctx context.Context) (token, error) {
	ctx, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	if x.request.Async {
		tasks, err := x.who.hasTasks(ctx)
		if err != nil {
			return token{}, err
		}
		if tasks {
			if x.body, err = asTasks(x.body, x.request.Force); err != nil {
				return token{}, &failure{Kind: load.BadRequest, Message: "make the request of the chart: " + err.Error()}
			}
		}
	}
	return x.who.enter(ctx, 0)
}

// admit stores that a request will be sent now, and begins its time.
func (x *execution) admit(ctx context.Context, repeat bool) error {
	if x.places.Admit != nil {
		if err := x.places.Admit(ctx, repeat); err != nil {
			return err
		}
	}
	x.answer.Admitted = time.Now()
	x.answer.Requests++
	return nil
}

// sent sends the admitted request, and again with another token if this one is refused. Its error is of the connection, of ctx or of Places.
func (x *execution) sent(ctx context.Context, t token) error {
	unauthorized, err := x.post(ctx, t)
	if err != nil || !unauthorized {
		return err
	}
	x.finish()
	next, err := x.who.enter(ctx, t.Generation)
	if refusal, refused := errors.AsType[*failure](err); refused {
		x.answer.Message += "; a new token was refused: " + refusal.Error()
		return nil
	}
	if err != nil {
		return err
	}
	if err := x.admit(ctx, true); err != nil {
		return &refusedPlace{err}
	}
	_, err = x.post(ctx, next)
	return err
}

// refusedPlace is an error of Places in the middle of an exchange.
type refusedPlace struct{ err error }

func (e *refusedPlace) Error() string { return e.err.Error() }
func (e *refusedPlace) Unwrap() error { return e.err }

// post sends the request and reads the answer, following an asynchronous one. The answer is complete then; unauthorized tells of a 401.
func (x *execution) post(ctx context.Context, t token) (unauthorized bool, err error) {
	response, err := x.client.send(ctx, call{method: http.MethodPost, path: dataPath, body: x.body, jar: &x.who.jar, header: x.who.headers(t)})
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // what was needed of it was read
	if response.StatusCode == http.StatusAccepted {
		return false, x.accepted(ctx, response, t)
	}
	return response.StatusCode == http.StatusUnauthorized, x.read(ctx, response, nil)
}

// notSent tells of an execution that could not begin.
func (x *execution) notSent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	refusal, ok := errors.AsType[*failure](err)
	if !ok {
		refusal = &failure{Kind: load.Transport, Message: fmt.Sprintf("no token for %s", setupTime)}
	}
	x.fail(refusal)
	return nil
}

// broken tells of a request whose answer did not come whole.
func (x *execution) broken(ctx, bounded context.Context, err error) error {
	if place, ok := errors.AsType[*refusedPlace](err); ok {
		return place.err
	}
	x.finish()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(context.Cause(bounded), errDeadline), errors.Is(err, errDeadline):
		x.answer.Outcome, x.answer.Kind, x.answer.Message = load.Timeout, load.Deadline, errDeadline.Error()
	case errors.Is(err, errEncoding), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), isCorrupt(err):
		x.failAs(load.BadBody, err.Error())
	default:
		x.failAs(load.Transport, connectionTrouble(err))
	}
	return nil
}

func isCorrupt(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt
}

func (x *execution) finish() {
	x.answer.Finished = time.Now()
	if !x.answer.Admitted.IsZero() {
		x.answer.Upstream = x.answer.Finished.Sub(x.answer.Admitted)
	}
}

func (x *execution) failAs(kind, message string) {
	a := &x.answer
	a.Outcome, a.Kind, a.Message = load.Error, kind, message
	a.Cache, a.Queries, a.Rows, a.Sample, a.Truncated, a.Rejected, a.DataSHA256 = "", nil, 0, nil, false, nil, ""
	if a.Finished.IsZero() {
		x.finish()
	}
}

func (x *execution) fail(f *failure) {
	if f.Status != 0 {
		x.answer.Status = f.Status
	}
	x.failAs(f.Kind, f.Error())
}

// read reads an answer to its end and judges it. After an asynchronous run, tasks is not nil.
func (x *execution) read(ctx context.Context, response *http.Response, async *asyncRun) error {
	x.answer.Status = response.StatusCode
	kept := &spool{dir: x.client.cfg.ScratchDir, shared: &x.client.scratch}
	defer kept.close()
	answer := newScanner(x.queries, kept, x.request.Sample)
	head, bad, err := x.readBody(response, answer)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	x.finish()
	switch {
	case response.StatusCode != http.StatusOK:
		f := judge(response.StatusCode, response.Header, head)
		x.after, _ = retry.ParseRetryAfter(response.Header.Get("Retry-After"), x.client.now())
		x.fail(f)
	case bad != nil && isLoginPage(head):
		x.failAs(kindAuth, "HTTP 200: the answer is a page to log in at")
	case bad != nil:
		x.failAs(load.BadBody, bad.Error()+bodyHint(head))
	case answer.count != x.queries:
		x.failAs(load.BadBody, fmt.Sprintf("the answer has %d results, and the request %d queries", answer.count, x.queries))
	default:
		x.succeed(answer, kept, async)
	}
	return nil
}

// bodyHint shows the beginning of a body that was not expected.
func bodyHint(head []byte) string {
	if len(head) == 0 {
		return ": it is empty"
	}
	return ": " + fetch.MessageOf(http.StatusOK, head[:min(len(head), 2<<10)])
}

// wireReader counts what comes over the wire, and the time that one waited for it.
type wireReader struct {
	source io.Reader
	bytes  int64
	waited time.Duration
}

func (r *wireReader) Read(p []byte) (int, error) {
	begun := time.Now()
	n, err := r.source.Read(p)
	r.waited += time.Since(begun)
	r.bytes += int64(n)
	return n, err
}

// readBody reads a body to its end: its digest, its length, and what the scanner finds in it; head is its beginning. bad is why it is no answer in
// JSON. The error is that it did not come whole; of a refusal, what came is enough.
func (x *execution) readBody(response *http.Response, answer *scanner) (head []byte, bad, err error) {
	begun := time.Now()
	wire := &wireReader{source: response.Body}
	defer func() {
		x.answer.WireBytes = wire.bytes
		x.answer.ReaderLag = max(0, time.Since(begun)-wire.waited)
	}()
	success := response.StatusCode == http.StatusOK
	body, err := decoded(response, wire)
	if err != nil {
		if success {
			return nil, nil, err
		}
		return nil, nil, nil
	}
	x.answer.BodyBytes = 0
	sum := sha256.New()
	for buffer := make([]byte, readBytes); ; {
		n, err := body.Read(buffer)
		sum.Write(buffer[:n])
		x.answer.BodyBytes += int64(n)
		if room := maxRefusalBytes - len(head); room > 0 {
			head = append(head, buffer[:min(n, room)]...)
		}
		if success && bad == nil && n > 0 {
			_, bad = answer.Write(buffer[:n])
		}
		switch {
		case errors.Is(err, io.EOF):
			x.answer.BodySHA256 = hex.EncodeToString(sum.Sum(nil))
			if success && bad == nil {
				bad = answer.close()
			}
			return head, bad, nil
		case err != nil && success:
			return head, nil, err
		case err != nil:
			return head, nil, nil // its status says it
		case x.answer.BodyBytes > maxAnswerBytes:
			return head, fmt.Errorf("the answer has more than %d bytes", int64(maxAnswerBytes)), nil
		}
	}
}

// succeed fills in what an answer tells.
func (x *execution) succeed(answer *scanner, kept *spool, async *asyncRun) {
	a := &x.answer
	a.Outcome, a.Kind, a.Message = load.Success, "", ""
	if x.rows != nil {
		x.rows(answer, kept)
		return
	}
	states := make([]load.CacheState, 0, len(answer.queries))
	for _, q := range answer.queries {
		outcome := outcomeOf(q, x.request.Force)
		a.Rows += outcome.Rows
		a.Queries = append(a.Queries, outcome)
	}
	if async != nil {
		async.settle(a.Queries, x.request.Force)
	}
	for _, q := range a.Queries {
		states = append(states, q.State)
	}
	a.Cache = load.Combine(states)
	a.Rejected = rejected(x.request.Variation, answer.queries)
	a.Sample, a.Truncated = answer.sample.Sample()
	digest, err := dataDigest(kept, answer.queries)
	if err = errors.Join(answer.dataErr, err); err != nil {
		a.Message = "data_sha256 was not reckoned: " + err.Error()
		return
	}
	a.DataSHA256 = digest
}

// outcomeOf passes on what one query's result tells, untouched.
func outcomeOf(q *found, force bool) load.QueryOutcome {
	outcome := load.QueryOutcome{
		IsCached: q.fields["is_cached"], CachedDttm: q.fields["cached_dttm"], QueriedDttm: q.fields["queried_dttm"],
		CacheTimeout: q.fields["cache_timeout"], CacheKey: q.fields["cache_key"], Rows: q.rows,
	}
	if rows, err := strconv.ParseInt(string(q.fields["rowcount"]), 10, 64); err == nil && rows >= 0 {
		outcome.Rows = rows
	}
	outcome.Settle(force)
	if !q.object {
		outcome.State, outcome.Reason = load.Unknown, "no_query_object"
	}
	return outcome
}

// rejected are the columns of the variation that the server did not apply, sorted (LR-5.8).
func rejected(v load.Variation, queries []*found) []string {
	asked := map[string]bool{}
	gjson.GetBytes(v.Coordinate, "filters").ForEach(func(_, filter gjson.Result) bool {
		asked[filter.Get("col").String()] = true
		return true
	})
	var columns []string
	for _, q := range queries {
		gjson.ParseBytes(q.fields["rejected_filters"]).ForEach(func(_, filter gjson.Result) bool {
			if column := filter.Get("column").String(); asked[column] && !slices.Contains(columns, column) {
				columns = append(columns, column)
			}
			return true
		})
	}
	slices.Sort(columns)
	return columns
}

func (x *execution) hide(text string) string {
	if x.who == nil {
		return text
	}
	return x.who.hide(text)
}

// safeSample is the sample, unless the server repeats a secret in it.
func (x *execution) safeSample() (sample []byte, truncated bool) {
	if x.who != nil && fetch.Holds(x.answer.Sample, x.who.secrets()...) {
		return []byte("[]"), true
	}
	return x.answer.Sample, x.answer.Truncated
}

// hideInFields takes out the fields of the cache in which the server repeats a secret. They have been judged by then.
func (x *execution) hideInFields() {
	if x.who == nil {
		return
	}
	secrets := x.who.secrets()
	for i := range x.answer.Queries {
		q := &x.answer.Queries[i]
		for _, field := range []*json.RawMessage{&q.IsCached, &q.CachedDttm, &q.QueriedDttm, &q.CacheTimeout, &q.CacheKey} {
			if len(*field) > len("null") && fetch.Holds(*field, secrets...) {
				*field = json.RawMessage(`"[hidden]"`)
			}
		}
	}
}

// clip bounds a message.
func clip(text string) string {
	const most = 600
	if len(text) <= most {
		return text
	}
	return string([]rune(text[:most])) + "…"
}
