package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/planner/plantest"
	"github.com/braidhq/braid/pkg/service"
)

// filtered is a collection with a filter in one of several languages.
func filtered(t tb, limit int) *service.Collection {
	t.Helper()
	c := parsed(t, "method: POST_IF_MANY, path: /c",
		"site: {type: text, many: comma}, name: {type: text, many: cql2_in}, lang: {type: text}, filter: {type: cql2_text, language: lang, text_languages: [cql-text]}, body: {type: cql2_json}",
		"pack: site", "clauses: filter")
	c.Limits.URLBytes, c.Limits.RequestBytes = 0, limit
	return c
}

func TestAFilterIsDividedAtItsAlternatives(t *testing.T) {
	const filter = "a = '1'  or (b = '2' OR c = '3')\tOR d = 'x OR y' Or e = '5'"
	clauses := []string{"a = '1'", "(b = '2' OR c = '3')", "d = 'x OR y'", "e = '5'"}
	for name, test := range map[string]struct {
		limit     int
		values    service.Values
		maxChunks int
		want      [][]string
	}{
		"it fits, and stays as it was written": {400, service.Values{"filter": {filter}}, 0, [][]string{{filter}}},
		"max_chunks":                           {400, service.Values{"filter": {filter}, "lang": {"cql-text"}}, 3, [][]string{clauses[:2], clauses[2:3], clauses[3:]}},
		"it is too long":                       {95, service.Values{"filter": {filter}}, 0, [][]string{clauses[:2], clauses[2:]}},
		"it fits when written shortly":         {67, service.Values{"filter": {"a='1'" + strings.Repeat(" ", 60) + "OR b='2'"}}, 0, [][]string{{"a='1'", "b='2'"}}},
		"it stays beside other axes that divide": {
			90,
			service.Values{"filter": {"a='1'   or b='2'"}, "site": numbered("a long name of s", 2)},
			0,
			[][]string{{"a='1'   or b='2'"}, {"a='1'   or b='2'"}},
		},
		"another language":          {30, service.Values{"filter": {filter}, "lang": {"cql-json"}}, 9, [][]string{{filter}}},
		"another text language":     {30, service.Values{"filter": {filter}, "lang": {"cql2-text"}}, 9, [][]string{{filter}}},
		"a document":                {30, service.Values{"body": {`{"op":"not"}`}}, 9, [][]string{nil}},
		"one alternative":           {400, service.Values{"filter": {"a = '1'"}}, 9, [][]string{{"a = '1'"}}},
		"nothing but the separator": {400, service.Values{"filter": {" OR "}}, 9, [][]string{{" OR "}}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := planner.Divide(filtered(t, test.limit), test.values, planner.Options{MaxChunks: test.maxChunks})
			if err != nil {
				t.Fatal(err)
			}
			plantest.Check(t, plan)
			var got [][]string
			for chunk := range plan.All() {
				got = append(got, chunk.Values["filter"])
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFilterThatCannotBeDividedIsTooLarge(t *testing.T) {
	long := "a = '" + strings.Repeat("x", 100) + "'"
	for name, test := range map[string]struct {
		values           service.Values
		reason           planner.Reason
		parameter, value string
		more             int
	}{
		"one alternative":                 {service.Values{"filter": {long}}, planner.ReasonNoAxis, "filter", long, 0},
		"one long alternative":            {service.Values{"filter": {"b='1' OR " + long}}, planner.ReasonSaturated, "filter", long, 0},
		"two long alternatives":           {service.Values{"filter": {long + " OR b='1' OR " + long}}, planner.ReasonSaturated, "filter", long, 1},
		"a document beside a list":        {service.Values{"body": {`{"a":"` + long + `"}`}, "site": {"s1", "s2"}}, planner.ReasonSaturated, "body", `{"a":"` + long + `"}`, 0},
		"another language and a list":     {service.Values{"filter": {long}, "lang": {"cql-json"}, "site": {"s1", "s2"}}, planner.ReasonSaturated, "filter", long, 0},
		"one alternative beside a list":   {service.Values{"filter": {long}, "site": {"00060", "00065"}}, planner.ReasonSaturated, "filter", long, 0},
		"a long fixed name beside a list": {service.Values{"name": {strings.Repeat("n", 200)}, "site": {"00060", "00065"}}, planner.ReasonSaturated, "name", strings.Repeat("n", 200), 0},
		"one long id of a list":           {service.Values{"filter": {"a='1'"}, "site": {"1", strings.Repeat("9", 200)}}, planner.ReasonSaturated, "site", strings.Repeat("9", 200), 0},
		"a comment":                       {service.Values{"filter": {long + " /* x OR y */"}}, planner.ReasonNoAxis, "filter", long + " /* x OR y */", 0},
		"a comment beside a list":         {service.Values{"filter": {long + " /* x OR y */"}, "site": {"1", "2"}}, planner.ReasonSaturated, "filter", long + " /* x OR y */", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := planner.Divide(filtered(t, 90), test.values, planner.Options{})
			var got *planner.UnsplittableError
			if !errors.As(err, &got) {
				t.Fatal(err)
			}
			if got.Reason != test.reason || got.Parameter != test.parameter || got.Value != test.value || got.More != test.more || got.Part != "URL and body" || got.Limit != 90 {
				t.Errorf("%+v", *got)
			}
			if comment := strings.Contains(got.Value, "/*"); comment != strings.Contains(err.Error(), "part of a comment") || len(err.Error()) > 450 {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsTooLargeIsNamed(t *testing.T) {
	c := parsed(t, "method: POST, path: /c, body: {as: form}", "a: {type: text, many: comma}", "pack: a")
	for limit, want := range map[[3]int]planner.UnsplittableError{
		{20, 10, 0}:  {Part: "URL", Bytes: 25, Limit: 20},
		{100, 10, 0}: {Part: "body", Bytes: 22, Limit: 10},
		{100, 0, 30}: {Part: "URL and body", Bytes: 47, Limit: 30},
	} {
		want.Reason, want.Parameter, want.Value = planner.ReasonSaturated, "a", strings.Repeat("y", 20)
		if limit[0] == 20 {
			want.Value, want.More = "x", 1
		}
		c.Limits.URLBytes, c.Limits.BodyBytes, c.Limits.RequestBytes = limit[0], limit[1], limit[2]
		_, err := planner.Divide(c, service.Values{"a": {"x", strings.Repeat("y", 20)}}, planner.Options{})
		var got *planner.UnsplittableError
		if !errors.As(err, &got) || *got != want || !strings.Contains(err.Error(), fmt.Sprintf("%d bytes of %s", want.Bytes, want.Part)) {
			t.Errorf("%v: %v", limit, err)
		}
	}
}
