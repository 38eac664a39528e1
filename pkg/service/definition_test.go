package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/strictyaml"
)

func TestEveryShippedDefinitionParses(t *testing.T) {
	names := BuiltinNames()
	if !slices.Contains(names, "usgs-waterdata") {
		t.Errorf("names are %v", names)
	}
	for _, name := range names {
		data, ok := Builtin(name)
		if !ok {
			t.Fatalf("%s is listed and not there", name)
		}
		d, err := Parse(name+".yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != name {
			t.Errorf("%s calls itself %s", name, d.Name)
		}
	}
	for _, name := range []string{"nothing", "../builtin/usgs-waterdata", ""} {
		if _, ok := Builtin(name); ok {
			t.Errorf("%q is there", name)
		}
	}
}

func TestTheDefinitionIsReadWithItsDefaults(t *testing.T) {
	d := daily(t).Definition()
	quota := d.Quotas[0]
	if quota.Pool != "api-data-gov" || quota.Limit != 1000 || quota.Window != time.Hour || !quota.AnonymousLimit.Observe || quota.Observe.Remaining.Header != "X-RateLimit-Remaining" {
		t.Errorf("quota %+v", quota)
	}
	if d.Timeouts != defaultTimeouts() || d.Retry != defaultRetry() {
		t.Errorf("timeouts %+v, retry %+v", d.Timeouts, d.Retry)
	}
	want := Limits{URLBytes: 8000, PageRows: 50000, InFlight: 16, ResponseBytes: 256 << 20, ChunkRows: 1000000}
	if diff := cmp.Diff(want, daily(t).Limits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]CredentialSource{{"env", "API_USGS_PAT"}, {"file", "usgs.key"}, {"keyring", "usgs"}}, []CredentialSource(d.Credentials[0].From)); diff != "" {
		t.Error(diff)
	}
}

func TestDefaultsMergeIntoCollections(t *testing.T) {
	c := gauges(t, "    rows: {format: json", "    paging: {max_pages: 7}\n    limits: {url_bytes: 900}\n    rows: {format: json")
	if p := c.Paging(); p.MaxPages != 7 || p.Style != PagingLink || p.Count.Returned.IsZero() {
		t.Errorf("paging %+v", p)
	}
	if c.Limits.URLBytes != 900 || c.Limits.PageRows != 500 {
		t.Errorf("limits %+v", c.Limits)
	}
}

func TestTheShapeIsTheDefinitions(t *testing.T) {
	limit := 10
	want := frame.Shape{
		Fields: []frame.Field{
			{Name: "station_id", Type: frame.Text, From: "$.id"},
			{Name: "area", Type: frame.Decimal, From: "$.basin.area", Null: []string{"-999"}},
			{Name: "basin", Type: frame.JSON},
			{Name: "name", Type: frame.Text},
			{Name: "*_mgd", Type: frame.Float64},
			{Name: "flow", Type: frame.Decimal},
		},
		Unknown:     frame.UnknownText,
		Key:         []string{"station_id"},
		OnDuplicate: frame.FailIfDifferent,
		Finalize: []frame.Operation{
			{Rename: map[string]string{"flow": "flow_m3s"}},
			{Filter: map[string][]string{"name": {"a"}}},
			{Cast: map[string]frame.Type{"name": frame.Text}},
			{Limit: &limit},
		},
	}
	if diff := cmp.Diff(want, gauges(t).Shape()); diff != "" {
		t.Error(diff)
	}
	if shape := daily(t).Shape(); shape.OnDuplicate != frame.KeepNewest || shape.NewestBy != "last_modified" {
		t.Errorf("duplicates %s by %s", shape.OnDuplicate, shape.NewestBy)
	}
}

func TestAxesStandInTheOrderOfTheFile(t *testing.T) {
	want := []Axis{{Kind: AxisEach, Params: []string{"state", "basin"}}, {Kind: AxisPack, Params: []string{"site"}}}
	if diff := cmp.Diff(want, gauges(t).Axes()); diff != "" {
		t.Error(diff)
	}
}

func TestAWrongDefinitionIsRefusedWithLineAndRemedy(t *testing.T) {
	tests := []struct {
		name   string
		oldnew []string
		want   string
	}{
		{"schema", []string{"service/v1", "service/v9"}, `rivers.yaml:1: schema: "service/v9" is not read by this version; write service/v1`},
		{"misspelt", []string{"aliases:", "alaises:"}, `rivers.yaml:7: hosts[0].alaises: unknown key; did you mean "aliases"?`},
		{"in defaults", []string{"style: link", "styel: link"}, `rivers.yaml:19: collections.gauges.paging.styel: unknown key; did you mean "style"?`},
		{"cursor", []string{"style: link", "style: cursor"}, `rivers.yaml:19: collections.gauges.paging: style cursor needs send with exactly one parameter that has {} in it`},
		{"csv", []string{"format: json", "format: csv"}, `rivers.yaml:20: collections.gauges.paging.next: a path needs a JSON body, and rows.format is csv`},
		{"xml", []string{"format: json", "format: xml"}, `unknown value "xml"; allowed are json, geojson, jsonl, csv`},
		{"stop", []string{"style: link", "style: link\n    stop: short_page"}, `rivers.yaml:20: collections.gauges.paging.stop: is not used with style link`},
		{"adapter", []string{"name: rivers", "name: rivers\nadapter: X y"}, `rivers.yaml:3: adapter: `},
		{"class", []string{"then: no_data", "then: nodata"}, `rivers.yaml:14: responses[0].then: unknown value "nodata"; allowed are ok, no_data`},
		{"no condition", []string{"{status: [404], body: 'no observations'}", "{}"}, `has no condition`},
		{"regexp", []string{"'no observations'", "'('"}, `missing closing )`},
		{"credential", []string{"credentials: [key]", "credentials: [kye]"}, `the credential "kye" is not declared; did you mean "key"?`},
		{"unbound credential", []string{"credentials: [key]", "credentials: []"}, `rivers.yaml:10: credentials.key: no host may see it; name it under the credentials of a host`},
		{"secret in the file", []string{"env:RIVERS_KEY", "abc123"}, `names no place of a secret`},
		{"file outside", []string{"env:RIVERS_KEY", "file:../x"}, `leads out of the configuration folder`},
		{"two ways", []string{"{header: X-Key}", "{header: X-Key, bearer: true}"}, `name exactly one of header, query, basic, bearer`},
		{"base host", []string{"https://api.example.org/v1", "https://evil.example/v1"}, `the host evil.example is not listed under hosts`},
		{"base http", []string{"https://api.example.org/v1", "http://api.example.org/v1"}, `http is not allowed; use https, or declare`},
		{"base user", []string{"https://api.example.org/v1", "https://a:b@api.example.org/v1"}, `has a user, query or fragment`},
		{"base path", []string{"https://api.example.org/v1", "api.example.org/v1"}, `is not an http or https URL`},
		{"host twice", []string{"[old.example.org]", "[API.example.org:443]"}, `stands twice`},
		{"host with scheme", []string{"- host: api.example.org", "- host: https://api.example.org"}, `is not a host; write host or host:port`},
		{"params", []string{"pack: site", "pack: sites"}, `the parameter "sites" is not declared; did you mean "site"?`},
		{"pack of one", []string{"pack: site", "pack: mode"}, `the parameter "mode" takes one value at a time`},
		{"alternatives", []string{"exactly_one: [state, basin]", "exactly_one: [state, site]"}, `"basin" is one of several alternatives`},
		{"placeholder", []string{"'{page_rows}'", "'{rows}'"}, `"{rows}" is no placeholder`},
		{"placeholder here", []string{"'{page_rows}'", "'{from}'"}, `{from} has no meaning here`},
		{"page rows", []string{"limits: {page_rows: 500}", "limits: {}"}, `{page_rows} needs limits.page_rows`},
		{"sent twice", []string{"order: 'id,ts'", "site: x"}, `is sent by the parameter site too`},
		{"path", []string{"path: /gauges", "path: /../x"}, `is not a path below base_url`},
		{"key", []string{"key: [station_id]", "key: [station]"}, `the column "station" is not declared under fields`},
		{"type", []string{"flow: {type: decimal}", "flow: {type: number}"}, `unknown value "number"; allowed are text, int64`},
		{"newest", []string{"fail_if_different", "{newest: ts}"}, `the column "ts" is not declared`},
		{"two steps in one", []string{"- limit: 10", "- {limit: 10, drop: [name]}"}, `a step is exactly one of rename`},
		{"default", []string{"default: overlap", "default: overlpa"}, `the value "overlpa" is not allowed; did you mean "overlap"?`},
		{"path language", []string{"'$.data[*]'", "'$..data'"}, `"$..data" is not a path`},
		{"list path", []string{"'$.data[*]'", "'$.data'"}, `does not name one list`},
		{"values", []string{"{page_rows: 500}", "{page_rows: 500, values: -1}"}, `rivers.yaml:12: limits.values: -1 is out of bounds, want 0 to 1000000`},
		{"limits", []string{"{page_rows: 500}", "{page_rows: 500, in_flight: 0}"}, `rivers.yaml:12: limits.in_flight: 0 is out of bounds, want a whole number from 1 to 10000, or unbounded`},
		{"no collection", []string{"collections:\n  gauges:", "x:\n  gauges:"}, `the key "collections" is missing`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("rivers.yaml", []byte(edited(test.oldnew...)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Errorf("%T does not wrap ErrInvalid", err)
			}
		})
	}
}

func TestAnUnknownCollectionOffersTheNearest(t *testing.T) {
	_, err := daily(t).Definition().Collection("dialy")
	if !errors.Is(err, ErrUnknownCollection) || !strings.Contains(err.Error(), `did you mean "daily"?`) {
		t.Errorf("got %v", err)
	}
}

func TestARebasedDefinitionSpeaksToItsBaseOnly(t *testing.T) {
	c := gauges(t)
	d := c.Definition()
	if err := d.Rebase("http://127.0.0.1:8080/sim/"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Host{{Host: "127.0.0.1:8080", Insecure: true}}, d.Hosts); diff != "" {
		t.Error(diff)
	}
	request, err := c.Request(Values{"state": {"WI"}})
	if err != nil || !strings.HasPrefix(request.URL, "http://127.0.0.1:8080/sim/gauges?") {
		t.Errorf("got %s, %v", request.URL, err)
	}
	if got := append(d.CredentialsFor(request.URL), d.Credentials...); len(got) != 0 {
		t.Errorf("credentials %v", got)
	}
	for _, link := range []string{"https://api.example.org/v1", "https://old.example.org/", "http://127.0.0.1:9/"} {
		if _, err := d.FollowLink(request.URL, link); !errors.Is(err, ErrLink) {
			t.Errorf("%s: got %v", link, err)
		}
	}
	for _, base := range []string{"http://mirror.example.org/", "ftp://x/", "https://u:p@x/", "https://x/?q", "127.0.0.1:80", "http://127.0.0.1.evil.example/"} {
		if err := riversDefinition(t).Rebase(base); !errors.Is(err, ErrUnsafeBase) {
			t.Errorf("%s: got %v", base, err)
		}
	}
	for _, base := range []string{"https://mirror.example.org", "http://localhost:1", "http://[::1]:80/x"} {
		if err := riversDefinition(t).Rebase(base); err != nil {
			t.Errorf("%s: got %v", base, err)
		}
	}
}

func riversDefinition(t *testing.T) *Definition { return gauges(t).Definition() }

func TestACredentialGoesToItsHostsAndNoOther(t *testing.T) {
	d := gauges(t).Definition()
	for url, want := range map[string]int{
		"https://api.example.org/v1/x":      1,
		"https://API.example.org:443/v1/x":  1,
		"http://api.example.org/v1/x":       0,
		"https://old.example.org/v1/x":      0,
		"https://api.example.org.evil/v1":   0,
		"https://api.example.org@evil.org/": 0,
		"https://evil.org/api.example.org":  0,
		"://":                               0,
	} {
		if got := len(d.CredentialsFor(url)); got != want {
			t.Errorf("%s: %d credentials, want %d", url, got, want)
		}
	}
}

func TestTheDigestIsOfTheText(t *testing.T) {
	if Digest([]byte("a")) == Digest([]byte("b")) || len(Digest(nil)) != 64 {
		t.Error("digests do not tell texts apart")
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add(minimal)
	data, _ := Builtin("usgs-waterdata")
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse("f.yaml", []byte(text))
		if err != nil {
			return
		}
		for _, c := range d.Collections {
			c.Shape()
			if err := c.CheckValues(Values{}); err != nil {
				continue
			}
			if _, err := c.Request(Values{}); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	})
}

func TestTheNumberOfValuesInARequestIsALimit(t *testing.T) {
	c := gauges(t, "    rows: {format: json", "    limits: {values: 100}\n    rows: {format: json")
	if c.Limits.Values != 100 {
		t.Errorf("limits %+v", c.Limits)
	}
}
