package service

import (
	"errors"
	"strings"
	"testing"
)

func linkedDefinition(t *testing.T, hosts string) *Definition {
	t.Helper()
	d, err := Parse("linked.yaml", []byte(`schema: service/v1
name: linked
base_url: https://api.example.org/v1
hosts: [`+hosts+`]
credentials: {key: {send: {header: X-Key}, from: env:KEY}}
collections:
  a: {request: {path: /a}, rows: {format: json}, fields: {x: {type: text}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestALinkIsFollowedToListedHostsOnly(t *testing.T) {
	const (
		plain   = "{host: api.example.org, credentials: [key]}"
		aliased = "{host: api.example.org, credentials: [key], aliases: [old.example.org, 'older.example.org:8080']}"
		ported  = "{host: 'api.example.org:443', credentials: [key]}, {host: 'api.example.org:8443'}, {host: 'other.example.org:81', insecure: true}"
	)
	tests := []struct {
		hosts, link, want string
		key               bool
	}{
		{plain, "?p=2", "https://api.example.org/v1/a?p=2", true},
		{plain, "//api.example.org/x#frag", "https://api.example.org/x", true},
		{plain, "https://u:p@API.EXAMPLE.ORG:443/x", "https://api.example.org/x", true},
		{plain, "https://api.example.org:8443/x", "https://api.example.org:8443/x", true},
		{plain, "https://api.example.org:80/x", "https://api.example.org/x", true},
		{plain, "http://api.example.org:8080/x", "https://api.example.org/x", true},
		{aliased, "http://old.example.org/x", "https://api.example.org/x", true},
		{aliased, "https://old.example.org:8443/x", "https://api.example.org/x", true},
		{aliased, "https://api.example.org:8443/x", "https://api.example.org/x", true},
		{aliased, "https://older.example.org:8080/x", "https://api.example.org/x", true},
		{aliased, "https://older.example.org/x", "", false},
		{ported, "https://api.example.org/x", "https://api.example.org:443/x", true},
		{ported, "https://api.example.org:8443/x", "https://api.example.org:8443/x", false},
		{ported, "https://api.example.org:9443/x", "", false},
		{ported, "http://other.example.org:81/x", "http://other.example.org:81/x", false},
		{ported, "http://other.example.org/x", "", false},
		{plain, "https://api.example.org.evil.example/", "", false},
		{plain, "https://api.example.org@evil.example/", "", false},
		{plain, "https://evil.example/api.example.org", "", false},
		{plain, `https://evil.example\@api.example.org/`, "", false},
		{plain, "https://api.example.org./x", "", false},
		{plain, "https://api.example.org%2eevil.example/", "", false},
		{plain, "wss://api.example.org/x", "", false},
		{plain, "javascript:alert(1)", "", false},
		{plain, "https://[bad", "", false},
		{plain, "https:opaque", "", false},
		{plain, "https://api.example.org/" + strings.Repeat("x", maxLinkBytes), "", false},
	}
	for _, test := range tests {
		d := linkedDefinition(t, test.hosts)
		got, err := d.FollowLink("https://api.example.org/v1/a", test.link)
		if got != test.want || (err == nil) != (test.want != "") || err != nil && (!errors.Is(err, ErrLink) || len(err.Error()) > 400) {
			t.Errorf("%s: got %q, %v, want %q", test.link, got, err, test.want)
		}
		if key := len(d.CredentialsFor(got)) > 0; key != test.key {
			t.Errorf("%s: the key goes along: %t, want %t", got, key, test.key)
		}
	}
}

func TestALinkToTheAliasOfAnInsecureHostIsFollowedAsItsPageWas(t *testing.T) {
	d := linkedDefinition(t, "{host: api.example.org, credentials: [key]}, {host: '127.0.0.1:8089', aliases: [old.example.org], insecure: true}")
	for _, test := range []struct{ page, link, want string }{
		{"http://127.0.0.1:8089/a", "https://old.example.org/b", "http://127.0.0.1:8089/b"},
		{"https://127.0.0.1:8089/a", "http://old.example.org/b", "https://127.0.0.1:8089/b"},
		{"https://api.example.org/a", "https://old.example.org/b", "https://127.0.0.1:8089/b"},
		{"http://127.0.0.1:8089/a", "https://127.0.0.1:8089/b", "https://127.0.0.1:8089/b"},
	} {
		if got, err := d.FollowLink(test.page, test.link); err != nil || got != test.want {
			t.Errorf("%s at %s: got %q, %v, want %q", test.link, test.page, got, err, test.want)
		}
	}
}

func TestAKeyGoesByHTTPAlone(t *testing.T) {
	d := linkedDefinition(t, "{host: api.example.org, credentials: [key], insecure: true}")
	for url, want := range map[string]bool{
		"https://api.example.org/": true, "http://api.example.org:8080/": true, "wss://api.example.org/": false, "ws://api.example.org/": false,
		"ftp://api.example.org/": false, "//api.example.org/": false,
	} {
		if got := len(d.CredentialsFor(url)) > 0; got != want {
			t.Errorf("%s: the key goes along: %t, want %t", url, got, want)
		}
	}
}

func TestAMalformedLinkHeaderThatMayNameTheNextPageIsNoEnd(t *testing.T) {
	c := pagedBy(t, "{style: link, next: 'header:Link[rel=next]'}")
	for link, want := range map[string]Class{
		`<?p=2>; rel="next`:                      ClassBadPage,
		`?p=2; rel="next"`:                       ClassBadPage,
		`<?p=2; rel=next`:                        ClassBadPage,
		`<?p=1>; rel=prev, <?p=2>; rel="next" x`: ClassBadPage,
		`<?p=1>; rel="prev`:                      "",
		`<?p=1>; rel=Next`:                       "",
		``:                                       "",
		strings.Repeat("<a>;rel=x,", 300) + "<b>":          "",
		strings.Repeat("<a>;rel=x,", 300) + "<b>;rel=next": ClassBadPage,
	} {
		_, err := c.DecodePage(Walk{}, "https://api.example.org/v1/things", map[string][]string{"Link": {link}}, []byte(`{"items":[]}`))
		if classOf(err) != want {
			t.Errorf("%.60s: got %v, want class %q", link, err, want)
		}
	}
}
