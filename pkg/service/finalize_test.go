package service

import (
	"strings"
	"testing"
)

func TestAStepOfFinalizeNamesColumnsThatThereMayBe(t *testing.T) {
	_, steps, found := strings.Cut(minimal, "    finalize:")
	if !found {
		t.Fatal("the sample has no finalize")
	}
	steps = "    finalize:" + steps
	for name, test := range map[string]struct {
		unknown, steps string
		want           []string
	}{
		"all there":                   {"drop", "[{rename: {flow: discharge}}, {cast: {discharge: float64}}, {sort: [area, discharge]}, {drop: [name]}, {select: [area, x_mgd]}, {sort: [x_mgd]}]", nil},
		"undeclared, and not kept":    {"drop", "[{sort: [aera]}]", []string{`finalize[0].sort[0]: there is no column "aera" here; did you mean "area"?`}},
		"undeclared, and not allowed": {"fail", "[{rename: {flw: f}}]", []string{`finalize[0].rename.flw: there is no column "flw" here; did you mean "flow"?`}},
		"undeclared, and kept":        {"text", "[{sort: [tmie]}, {rename: {more: less}}, {cast: {x: int64}}, {filter: {y: a}}]", nil},
		"dropped before":              {"text", "[{drop: [flow]}, {cast: {flow: int64}}]", []string{`finalize[1].cast.flow: there is no column "flow" here`}},
		"renamed before":              {"text", "[{rename: {flow: discharge}}, {filter: {flow: a}}]", []string{`finalize[1].filter.flow: there is no column "flow" here`}},
		"not selected before":         {"text", "[{select: [area]}, {drop: [flow]}]", []string{`finalize[1].drop[0]: there is no column "flow" here`}},
		"two on one line":             {"drop", "[{cast: {a1: int64, b1: int64}}]", []string{`cast.a1: there is no column`, `cast.b1: there is no column`}},
		"two of one name":             {"text", "[{rename: {flow: area}}]", []string{`finalize[0]: two columns would be "area"`}},
		"added twice":                 {"text", "[{add: {flow: x}}]", []string{`finalize[0]: there is a column "flow" already`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("rivers.yaml", []byte(edited(steps, "    unknown_fields: "+test.unknown+"\n    finalize: "+test.steps+"\n")))
			got := ""
			if err != nil {
				got = err.Error()
			}
			rest := got
			for _, want := range test.want {
				_, behind, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%q is not in\n%s", want, got)
				}
				rest = behind
			}
			if lines := strings.Count(got, "rivers.yaml:"); lines != len(test.want) {
				t.Errorf("%d problems, want %d:\n%s", lines, len(test.want), got)
			}
		})
	}
}
