package query

import (
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/service"
)

func TestATableOfOneColumnWithoutAHeaderIsReadWhenItsFirstLineCanBeNoName(t *testing.T) {
	d, err := service.Parse("rivers.yaml", []byte(strings.Replace(rivers, "      state: {type: text}",
		"      site: {type: text, many: comma, pattern: '^[^-]+-.+$'}\n      state: {type: text}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("levels")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		parameter, path, prefix, text string
		unknown                       bool // the definition is not at hand
		want                          []string
		says                          string
	}{
		"a pattern that takes no name":      {parameter: "gauge", path: "g.csv", text: "ABC\nDEF\n", want: []string{"ABC", "DEF"}},
		"its other name":                    {parameter: "stn", path: "g.csv", text: "ABC\n", want: []string{"ABC"}},
		"byte order mark and blank lines":   {parameter: "gauge", path: "g.csv", text: "\ufeff\n\nABC\n", want: []string{"ABC"}},
		"of tabs":                           {parameter: "gauge", path: "g.TSV", text: "ABC\n", want: []string{"ABC"}},
		"a header":                          {parameter: "gauge", path: "g.csv", text: "name\nABC\n", says: "may name the columns"},
		"the parameter's name":              {parameter: "gauge", path: "g.csv", text: "gauge\nABC\n", says: "may name the columns"},
		"digits behind a prefix":            {parameter: "site", path: "s.csv", prefix: "USGS-", text: "01013500\n01022500\n", want: []string{"USGS-01013500", "USGS-01022500"}},
		"a header that a prefix would suit": {parameter: "site", path: "s.csv", prefix: "USGS-", text: "number\n01022500\n", says: "may name the columns"},
		"with its prefix":                   {parameter: "site", path: "s.csv", text: "USGS-1\nUSGS-2\n", want: []string{"USGS-1", "USGS-2"}},
		"any text, a number":                {parameter: "state", path: "s.csv", text: "55\n27\n", want: []string{"55", "27"}},
		"any text, a word":                  {parameter: "state", path: "s.csv", text: "Ohio\nIowa\n", says: "may name the columns"},
		"in quotes":                         {parameter: "site", path: "s.csv", text: "\"USGS-1\"\nUSGS-2\n\"USGS-3\"\n", want: []string{"USGS-1", "USGS-2", "USGS-3"}},
		"digits and a prefix of their own":  {parameter: "site", path: "s.csv", prefix: "USGS-", text: "USGS-1\nUSGS-2\n", want: []string{"USGS-1", "USGS-2"}},
		"a header with a hyphen":            {parameter: "site", path: "s.csv", text: "AGENCY-ID\nUSGS-1\n", says: "may name the columns"},
		"a header in quotes":                {parameter: "gauge", path: "g.csv", text: "\"name\"\n\"ABC\"\n", says: "may name the columns"},
		"two columns":                       {parameter: "gauge", path: "g.csv", text: "ABC,DEF\n", says: "its columns are ABC, DEF"},
		"two columns further down":          {parameter: "gauge", path: "g.csv", text: "ABC\nDEF,GHI\n", says: "g.csv:2: where.gauge: the line has several columns"},
		"no such parameter":                 {parameter: "gage", path: "g.csv", text: "ABC\n", says: "may name the columns"},
		"an unknown definition":             {parameter: "gauge", path: "g.csv", text: "ABC\n", unknown: true, says: "may name the columns"},
	} {
		t.Run(name, func(t *testing.T) {
			from := sources(map[string]string{test.path: test.text})
			if !test.unknown {
				from.Accepts = c.Accepts
			}
			place := Place{File: "q.yaml", Line: 5, Path: "where." + test.parameter}
			q := &Query{Where: []Condition{{test.parameter, ValueSource{File: &ValueFile{Path: test.path, Prefix: test.prefix}}, place}}}
			r, err := q.Resolve(from)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %q", err, test.says)
				}
				return
			}
			if err != nil || !slices.Equal(r.Values[test.parameter], test.want) {
				t.Errorf("got %v, %v, want %v", r.Values, err, test.want)
			}
		})
	}
}
