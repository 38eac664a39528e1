package service

import (
	"strings"
	"testing"
)

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

func TestStatesOfTheGroundWaterNetworkAreWrittenAsEachCollectionTakesThem(t *testing.T) {
	tests := []struct {
		collection, sent string
		given            []string
		want             string // "": refused
	}{
		{"sites", "state_name", []string{"wi", "Minnesota", "NEW YORK"}, "Wisconsin,Minnesota,New York"},
		{"sites", "state_name", []string{"OR"}, "Oregon"},
		{"sites", "state_name", []string{"District of Columbia"}, "District of Columbia"},
		{"sites", "state_name", []string{"U.S. Virgin Islands"}, "Virgin Islands"},
		{"sites", "state_name", []string{"Wisconsn"}, ""},
		{"sites", "state_name", []string{"ZZ"}, ""},
		{"providers", "state", []string{"wisconsin"}, "WI"},
		{"providers", "state", []string{"or"}, "OR"},
		{"providers", "state", []string{"Puerto Rico"}, "PR"},
		{"providers", "state", []string{"XX"}, ""},
	}
	for _, test := range tests {
		query, err := sentQuery(t, shipped(t, "usgs-ngwmn", test.collection), Values{"state": test.given})
		if got := query.Get(test.sent); got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%s of %s: sent %q, %v, want %q", strings.Join(test.given, ","), test.collection, got, err, test.want)
		}
	}
}
