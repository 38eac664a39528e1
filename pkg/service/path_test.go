package service

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func selected(t *testing.T, path, doc string) []string {
	t.Helper()
	p, err := ParsePath(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	p.each(gjson.Parse(doc), func(value gjson.Result) bool {
		found = append(found, value.Raw)
		return true
	})
	return found
}

func TestAPathSelects(t *testing.T) {
	const doc = `{"a":{"b":1,"c.d":2},"l":[{"k":"x","v":1},{"k":"y","v":2},{"k":"y","v":3},7],"n":[[1,2],[3]],"twice":1,"twice":2,"esc\u0061pe":5}`
	for path, want := range map[string][]string{
		"$":               {doc},
		"$.a.b":           {"1"},
		"$['a']['c.d']":   {"2"},
		"$.l[0].v":        {"1"},
		"$.l[*].v":        {"1", "2", "3"},
		"$.l[?k=y].v":     {"2", "3"},
		"$.n[*][*]":       {"1", "2", "3"},
		"$.n[1][0]":       {"3"},
		"$.n[2]":          nil,
		"$.a[0]":          nil,
		"$.missing.b":     nil,
		"$.a.b.c":         nil,
		"$.twice":         {"2"},
		"$.escape":        {"5"},
		"$.l[?v=1].k":     {`"x"`},
		"$.l[?nothing=1]": nil,
	} {
		if diff := cmp.Diff(want, selected(t, path, doc)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestTextThatIsNoPathIsRefused(t *testing.T) {
	for _, text := range []string{"", "a", "$a", "$.", "$..a", "$.a.", "$[", "$[]", "$['a", "$['']", "$[-1]", "$[01]", "$[?a]", "$[?=1]", "$.a b", "$[99999999999]", "$.a]", "$[*", "$" + string(make([]byte, 600))} {
		if _, err := ParsePath(text); err == nil {
			t.Errorf("%.40q was read", text)
		}
	}
}

func FuzzPathNeverPanicsAndKeepsItsText(f *testing.F) {
	f.Add("$.a['b'][*][0][?c=d]", `{"a":{"b":[[[{"c":"d"}]]]}}`)
	f.Add("$[?a==]", `[{"a":"="}]`)
	f.Fuzz(func(t *testing.T, text, doc string) {
		p, err := ParsePath(text)
		if err != nil {
			return
		}
		if p.String() != text {
			t.Errorf("%q became %q", text, p)
		}
		if !json.Valid([]byte(doc)) {
			return
		}
		p.each(gjson.Parse(doc), func(value gjson.Result) bool {
			if !json.Valid([]byte(value.Raw)) {
				t.Errorf("%q selects %q", text, value.Raw)
			}
			return true
		})
	})
}
