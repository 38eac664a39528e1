package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/messages"
)

func TestCoverageIsSummedUpByParameter(t *testing.T) {
	c := &messages.Coverage{V: 1, Query: "q1", Values: []messages.Covered{
		{Parameter: "site", Value: "a,b", State: messages.CoveredWhole, Rows: 3},
		{Parameter: "site", Value: "b", State: messages.CoveredPartly, Rows: 1},
		{Parameter: "site", Value: "c", State: messages.SaidEmpty},
		{Parameter: "site", Value: "d", State: messages.NotFetched},
		{Parameter: "code", Value: "00060", State: messages.CoverageUnclear},
	}}
	var lines []string
	for _, line := range coverageLines(c) {
		lines = append(lines, line.text)
	}
	want := "site: 4 asked: 2 with data, 1 said to be empty, 1 not fetched; of 1 only a part\n" +
		"code: 1 asked: 0 with data, 0 said to be empty, 0 not fetched; of 1 the rows do not tell"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var table bytes.Buffer
	if err := writeCoverage(&table, c); err != nil || !strings.HasPrefix(table.String(), "parameter,value,state,rows\nsite,\"a,b\",rows,3\nsite,b,partly,1\n") {
		t.Errorf("%v\n%s", err, table.String())
	}
	if lines := coverageLines(&messages.Coverage{}); len(lines) != 1 {
		t.Errorf("%v", lines)
	}
}
