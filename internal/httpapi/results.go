package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

const resultsPath = queryPath + "/results"

type resultsInput struct {
	One
	Format  string `query:"format" enum:"parquet,csv,jsonl,arrow,geojson,pgcopy" default:"parquet" doc:"Format of the table; geojson needs a column of the type geometry; pgcopy is a line of JSON with the columns, and then what COPY of PostgreSQL reads"`
	Partial bool   `query:"partial" doc:"true: of an unfinished query, what there is"`
}

func contentTypes() map[string]string {
	return map[string]string{
		"parquet": "application/vnd.apache.parquet", "csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl",
		"arrow": "application/vnd.apache.arrow.file", "geojson": "application/geo+json",
		"pgcopy": "application/vnd.braid.pgcopy",
	}
}

func (a *api) routeResults() {
	op := a.operation("get-results", http.MethodGet, resultsPath, "Get the table of a query")
	op.Description = "The table, or with the header Range a part of it, so that Parquet is read column by column. What is shorter than " +
		"its Content-Length is no table. The header " + contract.ReportHeader + " carries, as JSON, what became of the rows."
	answer := &huma.Response{Description: "The table", Content: map[string]*huma.MediaType{}, Headers: map[string]*huma.Param{
		contract.ReportHeader: {Schema: &huma.Schema{Type: huma.TypeString}},
	}}
	for _, contentType := range contentTypes() {
		answer.Content[contentType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	op.Responses["200"] = answer
	op.Responses["206"] = &huma.Response{Description: "The part of the table that was asked for", Content: answer.Content, Headers: answer.Headers}
	op.Responses["304"] = &huma.Response{Description: "The table is the one whose ETag was given"}
	huma.Register(a.huma, op, a.results)
}

func (a *api) results(ctx context.Context, in *resultsInput) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("get results", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	table, err := a.ports.Tables.Table(ctx, id, in.Format, in.Partial)
	done() // whoever reads it slowly holds up nobody
	if err != nil {
		return nil, a.failure("get results", err)
	}
	header, err := tableHeader(table, in)
	if err != nil {
		table.Close()
		return nil, a.failure("get results", err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		send(w, r, table, header)
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

// send answers with the table, or with the part of it that was asked for (RFC 9110, 14). All of it has been written, so that its
// size is told first: who receives less knows.
func send(w http.ResponseWriter, r *http.Request, table *Table, header http.Header) {
	defer table.Close()
	maps.Copy(w.Header(), header)
	if unit := r.Header.Get("Range"); !strings.HasPrefix(unit, "bytes=") {
		r.Header.Del("Range") // a unit that is not known is passed over (RFC 9110, 14.2)
	}
	if table.ETag == "" {
		r.Header.Del("Range") // of a table that may be another one next time there are no parts
		w = wholeOnly{w}
	} else {
		w.Header().Set("ETag", table.ETag)
	}
	if ranges := r.Header.Get("Range"); ranges != "" {
		r.Header.Del("Range")
		if ranges = servable(ranges); ranges != "" {
			r.Header.Set("Range", ranges)
		}
	}
	http.ServeContent(&explained{ResponseWriter: w}, r, "", time.Time{}, table.Content)
}

const (
	maxRanges = 16
	// noRange is a range that no table has.
	noRange = "bytes=9223372036854775807-"
)

// servable is the header Range with what http.ServeContent makes a sound answer of. The last 0 bytes are no part (RFC 9110, 14.1.2), which it
// does not know; empty is a header that is passed over, as RFC 9110, 14.2 allows for many parts.
func servable(ranges string) string {
	var parts []string
	none := false
	for part := range strings.SplitSeq(strings.TrimPrefix(ranges, "bytes="), ",") {
		part = strings.Trim(part, " \t")
		length, ofEnd := strings.CutPrefix(part, "-")
		switch {
		case part == "":
		case ofEnd && length != "" && strings.Trim(length, "0") == "":
			none = true
		default:
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) > maxRanges:
		return ""
	case len(parts) == 0 && none:
		return noRange
	}
	return "bytes=" + strings.Join(parts, ",")
}

// explained answers with a problem where http.ServeContent refuses with a line of text, or with nothing.
type explained struct {
	http.ResponseWriter
	refused bool
}

// WriteHeader is http.ResponseWriter's.
func (e *explained) WriteHeader(status int) {
	var p *contract.Problem
	switch status {
	case http.StatusRequestedRangeNotSatisfiable:
		p = problem(contract.NoSuchRange, "the table has no such part; its size is in the header Content-Range, behind the slash")
	case http.StatusPreconditionFailed:
		p = problem(contract.Precondition, "the table is another one than that of the request's condition")
	default:
		e.ResponseWriter.WriteHeader(status)
		return
	}
	e.refused = true
	for _, name := range []string{"Content-Disposition", "Content-Length", contract.ReportHeader} {
		e.Header().Del(name)
	}
	writeProblem(e.ResponseWriter, p)
}

// Write is http.ResponseWriter's.
func (e *explained) Write(p []byte) (int, error) {
	if e.refused {
		return len(p), nil
	}
	return e.ResponseWriter.Write(p)
}

// wholeOnly says that no parts can be asked for.
type wholeOnly struct{ http.ResponseWriter }

// WriteHeader is http.ResponseWriter's.
func (w wholeOnly) WriteHeader(status int) {
	w.Header().Set("Accept-Ranges", "none")
	w.ResponseWriter.WriteHeader(status)
}
