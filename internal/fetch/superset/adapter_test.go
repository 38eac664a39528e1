package superset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/service"
)

func taskOf(t *testing.T, values service.Values) json.RawMessage {
	t.Helper()
	task, err := service.Task{Collection: "chart_data", Values: values}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestAChartIsReadByAnOrdinaryQuery(t *testing.T) {
	r := newRig(t, simulator.Config{})
	c := r.worker("a")
	page, err := c.FetchPage(t.Context(), taskOf(t, service.Values{"chart": {"101"}, "dashboard": {"12"}, "role": {"Gamma"}}), service.Walk{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"chart_id", "order_month", "region", "revenue"}, page.Columns); diff != "" {
		t.Error(diff)
	}
	lines := bytes.Split(bytes.TrimSuffix(page.Rows, []byte("\n")), []byte("\n"))
	if len(lines) != page.Count || page.Count == 0 || page.Next != "" || page.Status != 200 || page.Metered.Requests != 2 {
		t.Errorf("%d lines, %+v", len(lines), page)
	}
	for _, line := range lines {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil || row["chart_id"] != 101.0 || len(row) != 4 {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

func TestLR_2_9_LoadAndOrdinaryQueriesAreOneClient(t *testing.T) {
	r := newRig(t, simulator.Config{})
	c, request := r.worker("a"), r.chart(101, "Gamma")
	execute(t, c, request)
	if _, err := c.FetchPage(t.Context(), taskOf(t, service.Values{"chart": {"104"}, "role": {"Gamma"}}), service.Walk{}); err != nil {
		t.Fatal(err)
	}
	if logins := r.Stats().Logins["gamma"]; logins != 1 {
		t.Errorf("%d logins", logins)
	}
}

func TestEachFurtherRequestOfAChartIsAskedFor(t *testing.T) {
	r := newRig(t, simulator.Config{})
	spent := errors.New("no quota is left")
	_, err := r.worker("a").FetchPage(t.Context(), taskOf(t, service.Values{"chart": {"101"}}), service.Walk{Again: func(context.Context) error { return spent }})
	if !errors.Is(err, spent) || r.counted() != 0 {
		t.Errorf("%v, the server counted %d", err, r.counted())
	}
}

func TestWhatBecomesOfAChartThatCannotBeRead(t *testing.T) {
	status := func(n int) simulator.Fault { return simulator.Fault{Action: simulator.Status, Status: n} }
	for name, c := range map[string]struct {
		values service.Values
		fault  simulator.Fault
		want   service.Class
	}{
		"no request of its own": {service.Values{"chart": {"131"}}, simulator.Fault{}, service.ClassBadRequest},
		"hidden":                {service.Values{"chart": {"134"}, "role": {"Gamma"}}, simulator.Fault{}, service.ClassBadRequest},
		"no such query":         {service.Values{"chart": {"101"}, "query": {"1"}}, simulator.Fault{}, service.ClassBadRequest},
		"no number":             {service.Values{"chart": {"x"}}, simulator.Fault{}, service.ClassBadRequest},
		"no chart":              {service.Values{"role": {"Gamma"}}, simulator.Fault{}, service.ClassBadRequest},
		"two charts":            {service.Values{"chart": {"101", "102"}}, simulator.Fault{}, service.ClassBadRequest},
		"another parameter":     {service.Values{"chart": {"101"}, "colour": {"red"}}, simulator.Fault{}, service.ClassBadRequest},
		"no role":               {service.Values{"chart": {"101"}, "role": {"X"}}, simulator.Fault{}, service.ClassAuth},
		"wrong password":        {service.Values{"chart": {"101"}, "role": {"Wrong"}}, simulator.Fault{}, service.ClassAuth},
		"forbidden":             {service.Values{"chart": {"101"}}, status(403), service.ClassAuth},
		"too many requests":     {service.Values{"chart": {"101"}}, status(429), service.ClassQuota},
		"gateway":               {service.Values{"chart": {"101"}}, status(502), service.ClassTransient},
		"server error":          {service.Values{"chart": {"101"}}, status(500), service.ClassTransient},
		"connection":            {service.Values{"chart": {"101"}}, simulator.Fault{Action: simulator.Refuse}, service.ClassTransient},
		"failed query":          {service.Values{"chart": {"101"}}, simulator.Fault{Action: simulator.QueryFailed}, service.ClassTransient},
		"not JSON":              {service.Values{"chart": {"101"}}, simulator.Fault{Action: simulator.HTMLBody}, service.ClassBadPage},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, simulator.Config{})
			if c.fault.Action != "" {
				if err := r.SetFaults(c.fault); err != nil {
					t.Fatal(err)
				}
			}
			_, err := r.worker("a").FetchPage(t.Context(), taskOf(t, c.values), service.Walk{})
			refused, ok := errors.AsType[*service.ResponseError](err)
			if !ok || refused.Class != c.want || refused.Message == "" {
				t.Errorf("got %v, want class %s", err, c.want)
			}
		})
	}
}

func TestRowsThatAreNoneAreABadPage(t *testing.T) {
	for name, body := range map[string]string{
		"no data": `{"result": [{}]}`, "no list": `{"result": [{"data": {}}]}`, "no objects": `{"result": [{"data": [1]}]}`,
		"the column that is ours": `{"result": [{"data": [{"chart_id": 1}]}]}`, "a token": `{"result": [{"data": [{"a": "an-access-token-of-the-odd-server"}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := odd{handler: func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/api/v1/chart/7") {
					context, _ := json.Marshal(string(oddRequest().Chart.QueryContext))
					_, _ = w.Write([]byte(`{"result": {"id": 7, "viz_type": "table", "query_context": ` + string(context) + `}}`))
					return
				}
				_, _ = w.Write([]byte(body))
			}}
			_, err := oddClient(t, o).FetchPage(t.Context(), taskOf(t, service.Values{"chart": {"7"}}), service.Walk{})
			if refused, ok := errors.AsType[*service.ResponseError](err); !ok || refused.Class != service.ClassBadPage {
				t.Errorf("got %v", err)
			}
		})
	}
}
