package service

import "testing"

func TestAPlaceWithoutWaterUseIsNotABadQuery(t *testing.T) {
	c := shipped(t, "usgs-nwdc", "water-use")
	tests := []struct {
		status int
		body   string
		want   Class
	}{
		{400, `{"detail": "No data found for the given location."}`, ClassNoData},
		{400, `{"detail":"no data found for the requested location and dates"}`, ClassNoData},
		{400, `{ "detail" : [ "There are no records for huc12 010900020502" ] }`, ClassNoData},
		{400, "{\n \"detail\": \"No results\"\n}", ClassNoData},
		{400, `{"detail":"Error: no data"}`, ClassNoData},
		{400, `{"detail":"No matching data."}`, ClassNoData},
		{400, `{"detail":"unknown variable pswd"}`, ClassBadRequest},
		{400, `{"detail":"no datasets of this name"}`, ClassBadRequest},
		{400, `{"detail":"the model has no data type of that name"}`, ClassBadRequest},
		{400, `{"detail":[{"loc":["query","model"],"msg":"no data found"}]}`, ClassBadRequest},
		{400, `{"error":"no data found"}`, ClassBadRequest},
		{400, "", ClassBadRequest},
		{500, `{"detail":"No data found"}`, ClassTransient},
	}
	for _, test := range tests {
		if got, _ := c.Classify(test.status, nil, []byte(test.body)); got != test.want {
			t.Errorf("%d %s is %s, want %s", test.status, test.body, got, test.want)
		}
	}
}
