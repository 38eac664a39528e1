package httpapi_test

import (
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

func TestATableThatCannotBeMadeIsAProblem(t *testing.T) {
	response, body := ask(t, serve(t, &desk{err: fmt.Errorf("read: %w", messages.ErrDamaged)}, httpapi.Config{}), "GET", "/v1/queries/q1/results", "")
	wantProblem(t, response, body, "results-damaged")
	if response.Header.Get(contract.ReportHeader) != "" || response.Header.Get("Content-Disposition") != "" {
		t.Errorf("the problem has a table's headers: %v", response.Header)
	}
}

// brokenContent is a table that can be read up to a point.
type brokenContent struct{ *strings.Reader }

func (b brokenContent) Read(p []byte) (int, error) {
	if at := b.Size() - int64(b.Len()); at >= b.Size()/2 {
		return 0, errors.New("planted")
	}
	return b.Reader.Read(p[:min(len(p), b.Len()/4+1)])
}

func TestATableThatFailsUnderWayNeverEndsProperly(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "larger than every buffer": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, &desk{content: brokenContent{strings.NewReader(strings.Repeat("x", size))}, etag: `"x"`}, httpapi.Config{})
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

// part asks for the results with some headers.
func part(t *testing.T, d *desk, method string, header http.Header) (*http.Response, string) {
	t.Helper()
	server := serve(t, d, httpapi.Config{})
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/v1/queries/q1/results", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestPartsOfATableAreSentAsAsked(t *testing.T) {
	const whole = "a,b\n1,2\n"
	for _, c := range []struct {
		method string
		header http.Header
		status int
		body   string
		length string
	}{
		{"HEAD", http.Header{}, 200, "", "8"},
		{"GET", http.Header{}, 200, whole, "8"},
		{"GET", http.Header{"Range": {"bytes=2-4"}}, 206, "b\n1", "3"},
		{"GET", http.Header{"Range": {"bytes=-3"}}, 206, ",2\n", "3"},
		{"GET", http.Header{"Range": {"bytes=2-4"}, "If-Range": {`"x"`}}, 206, "b\n1", "3"},
		{"GET", http.Header{"Range": {"bytes=2-4"}, "If-Range": {`"before"`}}, 200, whole, "8"},
		{"GET", http.Header{"Range": {"bytes=8-"}}, 416, contract.NoSuchRange, ""},
		{"GET", http.Header{"Range": {"rows=0-5"}}, 200, whole, "8"},
		{"GET", http.Header{"If-None-Match": {`"x"`}}, 304, "", ""},
		{"GET", http.Header{"If-Match": {`"before"`}}, 412, contract.Precondition, ""},
	} {
		d := &desk{etag: `"x"`}
		response, body := part(t, d, c.method, c.header)
		if c.status > 400 {
			wantProblem(t, response, body, c.body)
			if name := response.Header.Get("Content-Disposition"); name != "" {
				t.Errorf("%s %v: the problem is to be saved as %s", c.method, c.header, name)
			}
			continue
		}
		if response.StatusCode != c.status || body != c.body || response.Header.Get("Content-Length") != c.length {
			t.Errorf("%s %v: %s %q of %s bytes, want %d %q of %s", c.method, c.header, response.Status, body, response.Header.Get("Content-Length"), c.status, c.body, c.length)
		}
		if got := response.Header.Get("Accept-Ranges"); got != "bytes" && c.status < 300 {
			t.Errorf("%s %v: Accept-Ranges is %q", c.method, c.header, got)
		}
		if d.closed.Load() != 1 {
			t.Errorf("%s %v: the table was not closed", c.method, c.header)
		}
	}
}

func TestATableThatMayChangeHasNoParts(t *testing.T) {
	response, body := part(t, &desk{}, "GET", http.Header{"Range": {"bytes=2-4"}})
	if response.StatusCode != 200 || body != "a,b\n1,2\n" || response.Header.Get("Accept-Ranges") != "none" || response.Header.Get("ETag") != "" {
		t.Errorf("%s %q %v", response.Status, body, response.Header)
	}
}
