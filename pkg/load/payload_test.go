package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/planner/matrix"
)

const twoQueries = `{"force":true,"async_mode":true,"force_nonce":["x"],"tab_id":"t","result_type":"results","result_format":"csv","custom":1e3,"datasource":{"type":"table","id":31},
 "form_data":{"slice_id":1,"viz_type":"old","metric":"revenue"},
 "queries":[
  {"metrics":["revenue"],"filters":[{"col":"order_month","op":"TEMPORAL_RANGE","val":"Last year","x":1},{"col":"paid","op":"==","val":1.50}],"result_type":"samples"},
  {"time_range":"Last quarter","filters":null,"row_limit":12345678901234567890}
 ]}`

func variation(t testing.TB, text string) load.Variation {
	t.Helper()
	v, err := matrix.Normalise(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func request(t testing.TB, context, coordinate string) load.Request {
	t.Helper()
	return load.Request{
		Dashboard: 12, Chart: load.Chart{ID: 118, VizType: "bar", QueryContext: json.RawMessage(context)}, Variation: variation(t, coordinate),
		Filters: []load.NativeFilter{
			{ID: "a", Columns: []string{"region", "shop"}, Charts: []int64{118}}, {ID: "b", Columns: []string{"colour", "shop"}, Charts: []int64{121}},
		},
	}
}

func TestAPayloadIsTheStoredRequestWithTheVariation(t *testing.T) {
	const head = `{"custom":1e3,"datasource":{"type":"table","id":31},"force":false,"form_data":{"dashboardId":12,"metric":"revenue","slice_id":118,"viz_type":"bar"},"queries":[`
	const tail = `],"result_format":"json","result_type":"full"}`
	for name, c := range map[string]struct{ coordinate, want string }{
		"nothing varies": {
			`{}`,
			`{"filters":[{"col":"order_month","op":"TEMPORAL_RANGE","val":"Last year","x":1},{"col":"paid","op":"==","val":1.50}],"metrics":["revenue"]},` +
				`{"filters":[],"row_limit":12345678901234567890,"time_range":"Last quarter"}`,
		},
		"a time range replaces both": {
			`{"time_range":"2026-01-01 : \"now\""}`,
			`{"filters":[{"col":"order_month","op":"TEMPORAL_RANGE","val":"2026-01-01 : \"now\"","x":1},{"col":"paid","op":"==","val":1.50}],"metrics":["revenue"]},` +
				`{"filters":[],"row_limit":12345678901234567890,"time_range":"2026-01-01 : \"now\""}`,
		},
		"filters in scope are appended": {
			`{"role":"Gamma","filters":[{"col":"region","op":"in","val":["EU"]},{"col":"colour","op":"==","val":"red"},{"col":"shop","op":"==","val":1},{"col":"own","op":"is null"}]}`,
			`{"filters":[{"col":"order_month","op":"TEMPORAL_RANGE","val":"Last year","x":1},{"col":"paid","op":"==","val":1.50},` +
				`{"col":"own","op":"IS NULL","val":null},{"col":"region","op":"IN","val":["EU"]},{"col":"shop","op":"==","val":1}],"metrics":["revenue"]},` +
				`{"filters":[{"col":"own","op":"IS NULL","val":null},{"col":"region","op":"IN","val":["EU"]},{"col":"shop","op":"==","val":1}],"row_limit":12345678901234567890,"time_range":"Last quarter"}`,
		},
	} {
		got, err := load.Payload(request(t, twoQueries, c.coordinate))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(head+c.want+tail, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	forced := request(t, twoQueries, "{}")
	forced.Force = true
	var body struct {
		Force  bool   `json:"force"`
		Result string `json:"result_type"`
	}
	if got, err := load.Payload(forced); err != nil || json.Unmarshal(got, &body) != nil || !body.Force || body.Result != "full" {
		t.Errorf("%s, %v", got, err)
	}
	bare := load.Request{Dashboard: 1, Chart: load.Chart{ID: 2, Datasource: json.RawMessage(`"uuid"`), QueryContext: json.RawMessage(`{"queries":[{}]}`)}}
	want := `{"datasource":"uuid","force":false,"form_data":{"dashboardId":1,"slice_id":2},"queries":[{"filters":[]}],"result_format":"json","result_type":"full"}`
	if got, err := load.Payload(bare); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func TestATimeRangeReplacesWhereverTheChartHasOne(t *testing.T) {
	for context, want := range map[string]string{
		`{"queries":[{"filters":[{"col":"d","op":"Temporal_Range","val":"Last year"}]},{}]}`: `[{"filters":[{"col":"d","op":"Temporal_Range","val":"x"}]},{"filters":[]}]`,
		`{"queries":[{"filters":[{"col":"d","op":"TEMPORAL_RANGE"}]}]}`:                      `[{"filters":[{"col":"d","op":"TEMPORAL_RANGE","val":"x"}]}]`,
		`{"queries":[{"time_range":"Last year"},{"time_range":null}]}`:                       `[{"filters":[],"time_range":"x"},{"filters":[],"time_range":null}]`,
		`{"queries":[{"time_range":"x","granularity":"d"}]}`:                                 `[{"filters":[],"granularity":"d","time_range":"x"}]`,
		`{"queries":[{"granularity":"d"}]}`:                                                  `[{"filters":[],"granularity":"d"}]`,
	} {
		got, err := load.Payload(request(t, context, `{"time_range":"x"}`))
		var body struct {
			Queries json.RawMessage `json:"queries"`
		}
		if err != nil || json.Unmarshal(got, &body) != nil || string(body.Queries) != want {
			t.Errorf("%s gives %s, %v", context, body.Queries, err)
		}
	}
}

func TestAQueryContextThatCannotBeSentIsRefused(t *testing.T) {
	for _, context := range []string{
		``, `null`, `[]`, `{"queries":[]}`, `{}`, `{"queries":{}}`, `{"queries":[null]}`, `{"queries":[{"filters":{}}]}`, `{"queries":[{}],"form_data":[]}`, `{"queries":[1]}`,
	} {
		if got, err := load.Payload(request(t, context, "{}")); !errors.Is(err, load.ErrQueryContext) {
			t.Errorf("%s gives %s, %v", context, got, err)
		}
	}
}

func FuzzPayload(f *testing.F) {
	f.Add([]byte(twoQueries), "Last week", true)
	f.Add([]byte(`{"queries":[{"filters":["x",{"op":"temporal_range"}],"time_range":""}]}`), "", false)
	f.Fuzz(func(t *testing.T, context []byte, timeRange string, force bool) {
		r := request(t, string(context), `{"filters":[{"col":"region","op":"==","val":1}]}`)
		r.Variation.TimeRange, r.Force = timeRange, force
		body, err := load.Payload(r)
		if err != nil {
			if !errors.Is(err, load.ErrQueryContext) {
				t.Fatal(err)
			}
			return
		}
		var sent struct {
			Force   *bool  `json:"force"`
			Result  string `json:"result_type"`
			Format  string `json:"result_format"`
			Queries []struct {
				Filters []json.RawMessage `json:"filters"`
			} `json:"queries"`
			Form struct {
				Slice     int64 `json:"slice_id"`
				Dashboard int64 `json:"dashboardId"`
			} `json:"form_data"`
		}
		if err := json.Unmarshal(body, &sent); err != nil {
			return // a stored member in another case, such as Queries, is no concern of the server's
		}
		if sent.Force == nil || sent.Form.Slice != 118 || sent.Form.Dashboard != 12 || len(sent.Queries) == 0 || len(sent.Queries[0].Filters) == 0 {
			t.Fatalf("%q gives %s", context, body)
		}
		if !json.Valid(body) {
			t.Fatalf("%q gives %s", context, body)
		}
		again := r
		again.Chart.QueryContext = body
		again.Variation.Coordinate = nil
		if second, err := load.Payload(again); err != nil || !bytes.Equal(second, body) {
			t.Fatalf("%s becomes %s, %v", body, second, err)
		}
	})
}
