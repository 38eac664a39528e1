package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// Probe is one small request that tries a collection of a definition out. It spends quota like any other.
type Probe struct {
	Collection *service.Collection
	Values     service.Values // that CheckValues accepts
	Rows       int            // most rows that are asked for, where the request says how many; 0: five
	Getenv     func(string) string
	ConfigDir  string // folder of credential files
	Version    string
	Now        time.Time
}

// ProbeReport tells what came back.
type ProbeReport struct {
	Collection string           `json:"collection"`
	Method     string           `json:"method"`
	URL        string           `json:"url"`               // as it was sent, without credentials
	Body       string           `json:"body,omitempty"`    // likewise
	Status     int              `json:"status"`            // HTTP status; 0: no answer came
	Class      service.Class    `json:"class"`             // what the definition makes of the answer
	Rows       int              `json:"rows"`              // in the answer
	Columns    []string         `json:"columns"`           // seen in the rows
	Absent     []string         `json:"absent"`            // columns that are declared and were not seen
	Undeclared []string         `json:"undeclared"`        // columns that were seen and are not declared
	Bad        []frame.BadField `json:"bad,omitempty"`     // values that do not convert to their declared type
	Next       bool             `json:"next"`              // the answer names a next page
	Doubted    bool             `json:"doubted,omitempty"` // nothing confirms that the last page is the last one
	Headers    []ProbeHeader    `json:"headers"`           // what the answer says about the quota
	Problem    string           `json:"problem,omitempty"` // why the answer is no page, or its rows are no table
}

// ProbeHeader is one header of an answer.
type ProbeHeader struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

const probeRows = 5

// Run sends the request: that of the query's first chunk, with as few rows as the request can say. The error is one of
// planning, when there is nothing to send; whatever the service answers is in the report.
func (p Probe) Run(ctx context.Context) (*ProbeReport, error) {
	if !p.Collection.HasRequest() {
		return nil, fmt.Errorf("%w: the collection %s is spoken to by an adapter, which has no request to try", query.ErrInvalid, p.Collection.Name)
	}
	rows := p.Rows
	if rows == 0 {
		rows = probeRows
	}
	small := p.Collection.WithPageRows(int64(rows))
	plan, err := planner.Divide(small, p.Values, planner.Options{Now: p.Now})
	if err != nil {
		return nil, err
	}
	var request service.Request
	for chunk := range plan.All() {
		if request, err = small.Request(chunk.Values); err != nil {
			return nil, err
		}
		break
	}
	task, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	report := &ProbeReport{Collection: small.Name, Method: request.Method, URL: request.URL, Body: string(request.Body), Headers: []ProbeHeader{}}
	definition := small.Definition()
	secrets := fetch.CredentialSources{Getenv: p.Getenv, Dir: p.ConfigDir}
	client, err := fetch.New(small, fetch.Config{
		Credentials: secrets.Resolve, UserAgent: "braid/" + p.Version, InFlight: 1,
		Transport: fetch.NewTransport(fetch.TransportConfig{Connect: definition.Timeouts.Connect, InFlight: 1, Proxy: http.ProxyFromEnvironment}),
		Saw: func(url string, status int, header http.Header) {
			report.Status, report.Headers = status, quotaHeaders(definition, header)
			if url != "" {
				report.URL = url
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	page, err := client.FetchPage(ctx, task, service.Walk{})
	if err != nil {
		return report.refused(ctx, err)
	}
	report.Class, report.Status, report.Rows, report.Next, report.Doubted = service.ClassOK, page.Status, page.Count, page.Next != "", page.Doubted
	err = report.judge(ctx, small.Shape(), page)
	return report, err
}

func (r *ProbeReport) refused(ctx context.Context, err error) (*ProbeReport, error) {
	var refusal *service.ResponseError
	if !errors.As(err, &refusal) {
		if ctx.Err() != nil {
			return nil, err
		}
		r.Class, r.Problem = service.ClassTransient, err.Error()
		return r, nil
	}
	r.Class, r.Problem = refusal.Class, refusal.Message
	if refusal.Status > 0 {
		r.Status = refusal.Status
	}
	return r, nil
}

// judge compares the rows with what the definition declares. Finalize is left out: it would hide what came.
func (r *ProbeReport) judge(ctx context.Context, shape frame.Shape, page service.Page) error {
	r.Columns = page.Columns
	shape.Finalize, shape.Select = nil, nil
	for _, field := range shape.Fields {
		if !slices.ContainsFunc(page.Columns, func(name string) bool { return declares(field.Name, name) }) {
			r.Absent = append(r.Absent, field.Name)
		}
	}
	for _, name := range page.Columns {
		if !slices.ContainsFunc(shape.Fields, func(f frame.Field) bool { return declares(f.Name, name) }) {
			r.Undeclared = append(r.Undeclared, name)
		}
	}
	chunks := iter.Seq2[[]byte, error](func(yield func([]byte, error) bool) { yield(page.Rows, nil) })
	table, err := frame.Build(ctx, shape, page.Columns, chunks, nil)
	if ctx.Err() != nil {
		return fmt.Errorf("judge the rows: %w", context.Cause(ctx))
	}
	if err != nil {
		r.Problem = err.Error()
		return nil
	}
	r.Bad = table.Report.Bad
	return nil
}

// declares tells whether a declared field, which may be a family with a star, is of the column.
func declares(field, column string) bool {
	if prefix, ok := strings.CutSuffix(field, "*"); ok {
		return strings.HasPrefix(column, prefix)
	}
	if suffix, ok := strings.CutPrefix(field, "*"); ok {
		return strings.HasSuffix(column, suffix)
	}
	return field == column
}

// quotaHeaders gives the headers that the definition reads a quota from, and those that are common.
func quotaHeaders(d *service.Definition, header http.Header) []ProbeHeader {
	names := []string{"Ratelimit", "Ratelimit-Policy", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Retry-After"}
	for _, quota := range d.Quotas {
		for _, source := range []service.Source{quota.Observe.Limit, quota.Observe.Remaining, quota.Observe.Reset} {
			if source.Header != "" && !slices.Contains(names, http.CanonicalHeaderKey(source.Header)) {
				names = append(names, http.CanonicalHeaderKey(source.Header))
			}
		}
	}
	seen := []ProbeHeader{}
	for _, name := range names {
		for _, value := range header.Values(name) {
			const most = 200
			seen = append(seen, ProbeHeader{name, fmt.Sprintf("%.*s", most, value)})
		}
	}
	return seen
}
