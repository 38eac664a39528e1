package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/loadreport"
	"github.com/braidhq/braid/pkg/load"
)

type reportInput struct {
	OneRun
	Format string `query:"format" enum:"json,junit,html" default:"json" doc:"json; junit: a test case for how the run ended and one for each threshold; html: one page that needs nothing else"`
}

type loadSeriesOutput struct{ Body *load.Series }

type compareInput struct {
	Base string `query:"base" required:"true" minLength:"1" maxLength:"100" doc:"Id of the earlier run, or its first letters"`
	Run  string `query:"run" required:"true" minLength:"1" maxLength:"100" doc:"Id of the run that is set against it, or its first letters; latest is the newest run"`
}

type compareOutput struct{ Body *load.Comparison }

type executionsInput struct {
	OneRun
	After   int    `query:"after" minimum:"-1" maximum:"2147483647" default:"-1" doc:"Only executions with numbers above this: what next of the page before says"`
	Limit   int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"At most so many executions"`
	Chart   int64  `query:"chart" minimum:"0" doc:"Only those of this chart"`
	Role    string `query:"role" maxLength:"200" doc:"Only those that were sent as this role"`
	Outcome string `query:"outcome" enum:"success,error,timeout,cancelled,not_started" doc:"Only those that ended so"`
}

type executionsOutput struct{ Body contract.LoadExecutionList }

type executionInput struct {
	OneRun
	Number int `path:"number" minimum:"0" doc:"Number of the execution, from 0"`
}

type executionOutput struct{ Body *load.Execution }

const junitType = "application/xml"

func (a *api) routeLoadReports() {
	report := a.operation("report-load-run", http.MethodGet, loadReportPath, "Get the report of a load run, of all that is recorded by now")
	report.Responses["200"] = &huma.Response{Description: "The report", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[load.Report](a)},
		junitType:          {Schema: &huma.Schema{Type: huma.TypeString}},
		"text/html":        {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	huma.Register(a.huma, report, a.report)
	huma.Register(a.huma, a.operation("show-load-series", http.MethodGet, loadSeriesPath, "Tell how a load run went over its time"), a.loadSeries)
	huma.Register(a.huma, a.operation("compare-load-runs", http.MethodGet, comparePath, "Set a load run against an earlier one; what keeps them from being compared is in the answer"), a.compare)
	huma.Register(a.huma, a.operation("list-load-executions", http.MethodGet, executionsPath, "List executions of a load run by their numbers"), a.executions)
	one := a.operation("show-load-execution", http.MethodGet, executionPath, "Show all that is recorded of an execution")
	one.Description = "The rows that were kept of its answer are told to those alone who hold load:run: they are data of the role that the request was sent as."
	huma.Register(a.huma, one, a.execution)
}

func (a *api) report(ctx context.Context, in *reportInput) (*huma.StreamResponse, error) {
	report, err := readRun(ctx, a, &in.OneRun, "report", a.ports.Loads.Report)
	if err != nil {
		return nil, err
	}
	written, err := writtenAs(report, in.Format)
	if err != nil {
		return nil, a.failure("report", err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", written.kind)
		if written.policy != "" {
			w.Header().Set("Content-Security-Policy", written.policy)
		}
		if written.ending != "" {
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", report.Run+written.ending))
		}
		_, _ = w.Write(written.text) // the reader is gone
	}}, nil
}

// writtenReport is a report in a format.
type writtenReport struct {
	kind, policy string
	ending       string // of the file that it is kept in; empty: it is no file
	text         []byte
}

func writtenAs(report *load.Report, format string) (w writtenReport, err error) {
	switch format {
	case "junit":
		w.kind, w.ending = junitType, ".xml"
		w.text, err = load.JUnit(report)
	case "html":
		w.kind, w.ending, w.policy = "text/html; charset=utf-8", ".html", loadreport.Policy()
		w.text, err = loadreport.HTML(report)
	default:
		w.kind = "application/json"
		w.text, err = json.Marshal(report)
	}
	return w, err
}

// readRun reads what is told of one run, in its turn.
func readRun[T any](ctx context.Context, a *api, in *OneRun, what string, read func(context.Context, string) (T, error)) (T, error) {
	var none T
	id, err := in.id()
	if err != nil {
		return none, a.failure(what, err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	value, err := read(ctx, id)
	if err != nil {
		return none, a.failure(what, err)
	}
	return value, nil
}

func (a *api) loadSeries(ctx context.Context, in *OneRun) (*loadSeriesOutput, error) {
	series, err := readRun(ctx, a, in, "series", a.ports.Loads.Series)
	if err != nil {
		return nil, err
	}
	return &loadSeriesOutput{series}, nil
}

func (a *api) compare(ctx context.Context, in *compareInput) (*compareOutput, error) {
	base, err := runID(in.Base)
	if err != nil {
		return nil, a.failure("compare", err)
	}
	comparison, err := readRun(ctx, a, &OneRun{in.Run}, "compare", func(ctx context.Context, run string) (*load.Comparison, error) {
		return a.ports.Loads.Compare(ctx, base, run)
	})
	if err != nil {
		return nil, err
	}
	return &compareOutput{comparison}, nil
}

func (a *api) executions(ctx context.Context, in *executionsInput) (*executionsOutput, error) {
	next := -1
	page, err := readRun(ctx, a, &in.OneRun, "executions", func(ctx context.Context, id string) (page []*load.Execution, err error) {
		page, next, err = a.ports.Loads.Executions(ctx, id, load.ExecutionFilter{
			After: in.After, Limit: in.Limit, Chart: in.Chart, Role: in.Role, Outcome: load.Outcome(in.Outcome),
		})
		return page, err
	})
	if err != nil {
		return nil, err
	}
	out := &executionsOutput{contract.LoadExecutionList{Executions: []*load.Execution{}}}
	for _, e := range page {
		out.Body.Executions = append(out.Body.Executions, withoutRows(e))
	}
	if next >= 0 {
		out.Body.Next = &next
	}
	return out, nil
}

func (a *api) execution(ctx context.Context, in *executionInput) (*executionOutput, error) {
	e, err := readRun(ctx, a, &in.OneRun, "execution", func(ctx context.Context, id string) (*load.Execution, error) {
		return a.ports.Loads.Execution(ctx, id, in.Number)
	})
	if err != nil {
		return nil, err
	}
	if !actor(ctx).Run {
		e = withoutRows(e)
	}
	return &executionOutput{e}, nil
}

// withoutRows leaves out the rows that were kept: they are data of the role that the request was sent as.
func withoutRows(e *load.Execution) *load.Execution {
	bare := *e
	bare.Sample, bare.Truncated = nil, false
	return &bare
}
