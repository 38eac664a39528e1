package fetch

import (
	"bytes"
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/service"
)

func TestNoSpellingOfASecretIsOverlooked(t *testing.T) {
	spell := map[string]func(string) string{
		"query": url.QueryEscape, "path": url.PathEscape, "html": html.EscapeString,
		"json":   func(text string) string { quoted := strconv.QuoteToASCII(text); return quoted[1 : len(quoted)-1] },
		"nobody": func(text string) string { return text },
		"bytes": func(text string) string {
			var out strings.Builder
			for _, b := range []byte(text) {
				fmt.Fprintf(&out, "%%%02x", b)
			}
			return out.String()
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[g-z][!-~]{4,12}[A-Za-z0-9]{6,12}[ -~]{0,12}[g-z]`).Draw(t, "secret")
		s := secrets{{service.Credential{}, value}}
		text := value
		for _, way := range rapid.SliceOfN(rapid.SampledFrom([]string{"query", "path", "html", "json", "nobody", "bytes"}), 0, 3).Draw(t, "ways") {
			text = spell[way](text)
		}
		before, behind := rapid.StringMatching(`[g-z: ]{0,8}`).Draw(t, "before"), rapid.StringMatching(`[ g-z:]{0,8}`).Draw(t, "behind")
		if !s.in(before + text + behind) {
			t.Fatalf("%q is not found in %q", value, text)
		}
		if told := s.hide(before + text + behind); s.in(told) || !strings.HasPrefix(told, before) || !strings.HasSuffix(told, behind) || !strings.Contains(told, hidden) {
			t.Fatalf("%q became %q", before+text+behind, told)
		}
	})
}

func FuzzPlainText(f *testing.F) {
	for _, seed := range []string{"", "%", "%2", "%2f", `\`, `\u00e`, `\u00e9`, `\x4`, "&", "&#;", "&#x110000;", "&amp;amp;", "&;", "+%2B", "\xff", "a&#0;b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := plainOf(text)
		if len(p.from) != len(p.text)+1 || p.from[len(p.text)] != len(text) || len(p.text) > len(text) {
			t.Fatalf("%q: %d bytes from %d places", text, len(p.text), len(p.from))
		}
		for i := range p.text {
			if p.from[i] > p.from[i+1] {
				t.Fatalf("%q: byte %d begins behind the next one", text, i)
			}
		}
		s := secrets{{service.Credential{}, "plumQx9W"}}
		if told := s.hide(text); strings.Contains(told, "plumQx9W") {
			t.Fatalf("%q still has the secret", told)
		}
	})
}

func BenchmarkRowsWithoutTheSecret(b *testing.B) {
	rows := bytes.Repeat([]byte(`{"monitoring_location_id":"USGS-01013500","value":"12.50","time":"2024-01-01"}`+"\n"), 100_000)
	s := secrets{{service.Credential{}, "0123456789abcdefghijklmnopqrstuvwxyzABCD"}}
	b.SetBytes(int64(len(rows)))
	for b.Loop() {
		if s.inRows(rows) {
			b.Fatal("found")
		}
	}
}
