package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/httpapi"
	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
)

func TestATableComesWithItsReportAndASafeName(t *testing.T) {
	report := frame.Report{Read: 3, Rows: 2, Duplicates: 1, Unknown: []string{"größe"}}
	server := serve(t, &desk{report: report}, httpapi.Config{})
	for query, want := range map[string][2]string{
		"":                         {"application/vnd.apache.parquet", `attachment; filename="q1.parquet"`},
		"?format=csv":              {"text/csv; charset=utf-8", `attachment; filename="q1.csv"`},
		"?format=jsonl&partial=1":  {"application/jsonl", `attachment; filename="q1.partial.jsonl"`},
		"?format=csv&partial=true": {"text/csv; charset=utf-8", `attachment; filename="q1.partial.csv"`},
	} {
		response, body := ask(t, server, "GET", "/v1/queries/q1/results"+query, "")
		got := [2]string{response.Header.Get("Content-Type"), response.Header.Get("Content-Disposition")}
		if got != want || body != "a,b\n1,2\n" {
			t.Errorf("%s: got %q and %q, want %q", query, got, body, want)
		}
		r, err := contract.DecodeReport(response.Header.Get(contract.ReportHeader))
		if err != nil || !cmp.Equal(*r, report) {
			t.Errorf("%s: report is %+v, %v", query, r, err)
		}
	}
}

func TestATableOfAnUnsafeIDIsNotSent(t *testing.T) {
	response, body := ask(t, serve(t, &desk{tableID: "a\"\r\nX: y"}, httpapi.Config{}), "GET", "/v1/queries/q1/results", "")
	wantProblem(t, response, body, contract.Internal)
}

func TestATableThatFailsBeforeItsFirstByteIsAProblem(t *testing.T) {
	d := &desk{table: func(context.Context, io.Writer) error { return fmt.Errorf("read: %w", messages.ErrDamaged) }}
	response, body := ask(t, serve(t, d, httpapi.Config{}), "GET", "/v1/queries/q1/results", "")
	wantProblem(t, response, body, "results-damaged")
	if response.Header.Get(contract.ReportHeader) != "" || response.Header.Get("Content-Disposition") != "" {
		t.Errorf("the problem has a table's headers: %v", response.Header)
	}
}

func TestATableThatFailsUnderWayNeverEndsProperly(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "larger than every buffer": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			d := &desk{table: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, strings.Repeat("x", size))
				return errors.Join(err, errors.New("planted"))
			}}
			server := serve(t, d, httpapi.Config{})
			request, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/queries/q1/results", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := server.Client().Do(request)
			if err != nil {
				return // cut before anything was sent: an error too
			}
			defer response.Body.Close()
			if n, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Errorf("%d bytes read to a proper end", n)
			}
		})
	}
}

func TestAHeadRequestWritesNoTable(t *testing.T) {
	d := &desk{table: func(context.Context, io.Writer) error {
		t.Error("the table was written")
		return nil
	}}
	response, _ := ask(t, serve(t, d, httpapi.Config{}), "HEAD", "/v1/queries/q1/results", "")
	if response.StatusCode != 200 || response.Header.Get(contract.ReportHeader) == "" {
		t.Errorf("got %s %v", response.Status, response.Header)
	}
}
