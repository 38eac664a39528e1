package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

const resultsPath = queryPath + "/results"

type resultsInput struct {
	One
	Format  string `query:"format" enum:"parquet,csv,jsonl,arrow,geojson" default:"parquet" doc:"Format of the table; geojson needs a column of the type geometry"`
	Partial bool   `query:"partial" doc:"true: of an unfinished query, what there is"`
}

func contentTypes() map[string]string {
	return map[string]string{
		"parquet": "application/vnd.apache.parquet", "csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl",
		"arrow": "application/vnd.apache.arrow.file", "geojson": "application/geo+json",
	}
}

func (a *api) routeResults() {
	op := a.operation("get-results", http.MethodGet, resultsPath, "Get the table of a query")
	op.Description = "The table is streamed; an answer that breaks off is no table. The header " + contract.ReportHeader +
		" carries, as JSON, what became of the rows."
	answer := &huma.Response{Description: "The table", Content: map[string]*huma.MediaType{}, Headers: map[string]*huma.Param{
		contract.ReportHeader: {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	for _, contentType := range contentTypes() {
		answer.Content[contentType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	op.Responses["200"] = answer
	huma.Register(a.huma, op, a.results)
}

func (a *api) results(ctx context.Context, in *resultsInput) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("get results", err)
	}
	table, err := a.ports.Tables.Table(ctx, id, in.Format, in.Partial)
	if err != nil {
		return nil, a.failure("get results", err)
	}
	header, err := tableHeader(table, in)
	if err != nil {
		return nil, a.failure("get results", err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		a.stream(w, r, table, header)
	}}, nil
}

func tableHeader(table *Table, in *resultsInput) (http.Header, error) {
	report, err := contract.EncodeReport(table.Report)
	if err != nil {
		return nil, err
	}
	if err := messages.CheckName(table.Query); err != nil {
		return nil, fmt.Errorf("name the file: %w", err)
	}
	name := table.Query
	if in.Partial {
		name += ".partial"
	}
	contentType := table.ContentType
	if contentType == "" {
		contentType = contentTypes()[in.Format]
	}
	header := http.Header{}
	header.Set("Content-Type", contentType)
	header.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, name, in.Format))
	header.Set(contract.ReportHeader, report)
	return header, nil
}

// stream writes the table. Until its first byte a failure is a problem like any other; from then on the status is sent,
// and only a connection that breaks tells the reader that what came is not the table.
func (a *api) stream(w http.ResponseWriter, r *http.Request, table *Table, header http.Header) {
	body := &tableBody{w: w, header: header}
	if r.Method == http.MethodHead {
		body.begin()
		return
	}
	err := table.Write(r.Context(), body)
	if err == nil {
		body.begin()
		return
	}
	if !body.begun {
		writeProblem(w, a.failure("write results", err))
		return
	}
	if !errors.Is(err, context.Canceled) {
		a.log.Error("results broke off; the connection is cut", "query", table.Query, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// tableBody sends the header with the table's first bytes.
type tableBody struct {
	w      http.ResponseWriter
	header http.Header
	begun  bool
}

func (b *tableBody) begin() {
	if b.begun {
		return
	}
	b.begun = true
	maps.Copy(b.w.Header(), b.header)
	b.w.WriteHeader(http.StatusOK)
}

// Write sends p.
func (b *tableBody) Write(p []byte) (int, error) {
	b.begin()
	return b.w.Write(p)
}
