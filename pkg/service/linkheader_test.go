package service

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinkHeadersAreReadAsTheRFCSays(t *testing.T) {
	tests := []struct {
		name   string
		values []string
		want   []Link
	}{
		{"one", []string{`<https://a/b?c=d>; rel="next"`}, []Link{{"https://a/b?c=d", []string{"next"}}}},
		{"token", []string{`</x>;rel=next`}, []Link{{"/x", []string{"next"}}}},
		{"several in a value", []string{`<a>; rel=prev , <b>; rel="next"`}, []Link{{"a", []string{"prev"}}, {"b", []string{"next"}}}},
		{"several values", []string{`<a>; rel=prev`, `<b>; rel=next`}, []Link{{"a", []string{"prev"}}, {"b", []string{"next"}}}},
		{"several relations", []string{`<a>; rel="Start  NEXT"`}, []Link{{"a", []string{"Start", "NEXT"}}}},
		{"comma and quote in a title", []string{`<a,b;c>; title="x, <y>; rel=\"prev\""; REL = "next"`}, []Link{{"a,b;c", []string{"next"}}}},
		{"first relation counts", []string{`<a>; rel=prev; rel=next`}, []Link{{"a", []string{"prev"}}}},
		{"no relation", []string{`<a>`}, []Link{{"a", nil}}},
		{"lone name", []string{`<a>; crossorigin; rel=next`}, []Link{{"a", []string{"next"}}}},
		{"empty members", []string{`, ,<a>; rel=next,,`}, []Link{{"a", []string{"next"}}}},
		{"empty parameter", []string{`<a>;; rel=next;`}, []Link{{"a", []string{"next"}}}},
		{"other anchor", []string{`<a>; rel=next; anchor="/other", <b>; rel=next`}, []Link{{"b", []string{"next"}}}},
		{"malformed end", []string{`<a>; rel=next, b; rel=next`}, []Link{{"a", []string{"next"}}}},
		{"open quote", []string{`<a>; rel="next`}, nil},
		{"open target", []string{`<a; rel=next`}, nil},
		{"nothing", []string{""}, nil},
		{"too long", []string{`<a>; rel=next; x="` + strings.Repeat("a", 70_000) + `"`}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ParseLinks(test.values)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzParseLinksNeverPanicsAndIsBounded(f *testing.F) {
	f.Add(`<a>; rel="next \"", <b>;rel=x;anchor="",,<c>`)
	f.Add(`<>;=;"`)
	f.Fuzz(func(t *testing.T, value string) {
		links := ParseLinks([]string{value})
		if len(links) > strings.Count(value, "<") {
			t.Errorf("%d links in %q", len(links), value)
		}
		for _, link := range links {
			if strings.Contains(link.Target, ">") {
				t.Errorf("target %q", link.Target)
			}
		}
	})
}
