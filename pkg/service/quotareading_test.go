package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func readAt() time.Time { return time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC) }

func quotaOf(t testing.TB, quota string) *Definition {
	t.Helper()
	d, err := Parse("rivers.yaml", []byte(`
schema: service/v1
name: rivers
base_url: https://api.example.org/v1
quotas: {pool: {limit: 100, window: 1h, `+quota+`}}
collections:
  levels: {request: {path: /levels}, rows: {format: json}, fields: {gauge: {type: text}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// headers reads lines of NAME: VALUE.
func headers(lines ...string) map[string][]string {
	h := map[string][]string{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h[name] = append(h[name], value)
	}
	return h
}

func TestWhatAnAnswerSaysOfAQuotaIsRead(t *testing.T) {
	const common = "observe: {limit: 'header:X-RateLimit-Limit', remaining: 'header:X-RateLimit-Remaining'}"
	reset := func(form string) string {
		return "observe: {remaining: 'header:X-Left', reset: {from: 'header:X-Reset', as: " + form + "}}"
	}
	in := func(d time.Duration) time.Time { return readAt().Add(d) }
	for name, c := range map[string]struct {
		quota  string
		header map[string][]string
		body   string
		want   []QuotaReading
	}{
		"limit and remaining":        {common, headers("x-ratelimit-limit: 1000", "x-ratelimit-remaining: 871"), "", []QuotaReading{{"pool", 1000, 871, time.Time{}}}},
		"none left":                  {common, headers("X-RateLimit-Limit: 1000", "X-RateLimit-Remaining: 0"), "", []QuotaReading{{"pool", 1000, 0, time.Time{}}}},
		"less than none":             {common, headers("X-RateLimit-Remaining: -3"), "", []QuotaReading{{"pool", 0, 0, time.Time{}}}},
		"a policy behind the number": {common, headers("X-RateLimit-Limit: 100, 100;w=60", "X-RateLimit-Remaining: 7"), "", []QuotaReading{{"pool", 100, 7, time.Time{}}}},
		"no number":                  {common, headers("X-RateLimit-Remaining: many", "X-RateLimit-Limit: 10k"), "", nil},
		"more than can be":           {common, headers("X-RateLimit-Remaining: 99999999999999999999"), "", []QuotaReading{{"pool", 0, mostUnits, time.Time{}}}},
		"nothing":                    {common, nil, "", nil},
		"nothing is observed":        {"counts: requests", headers("X-RateLimit-Remaining: 0"), "", nil},
		"delta_s":                    {reset("delta_s"), headers("X-Left: 1", "X-Reset: 30"), "", []QuotaReading{{"pool", 0, 1, in(31 * time.Second)}}},
		"delta_s with a fraction":    {reset("delta_s"), headers("X-Left: 1", "X-Reset: 1.5"), "", []QuotaReading{{"pool", 0, 1, in(1500 * time.Millisecond)}}},
		"delta_ms":                   {reset("delta_ms"), headers("X-Left: 1", "X-Reset: 250"), "", []QuotaReading{{"pool", 0, 1, in(250 * time.Millisecond)}}},
		"epoch_s":                    {reset("epoch_s"), headers("X-Left: 1", fmt.Sprintf("X-Reset: %d", in(time.Minute).Unix())), "", []QuotaReading{{"pool", 0, 1, in(61 * time.Second)}}},
		"epoch_ms":                   {reset("epoch_ms"), headers("X-Left: 1", fmt.Sprintf("X-Reset: %d", in(time.Minute).UnixMilli())), "", []QuotaReading{{"pool", 0, 1, in(time.Minute)}}},
		"http_date":                  {reset("http_date"), headers("X-Left: 1", "X-Reset: Sun, 01 Jun 2025 12:01:00 GMT"), "", []QuotaReading{{"pool", 0, 1, in(61 * time.Second)}}},
		"a reset in the past":        {reset("epoch_s"), headers("X-Left: 1", "X-Reset: 1700000000"), "", []QuotaReading{{"pool", 0, 1, time.Time{}}}},
		"no time":                    {reset("delta_s"), headers("X-Left: 1", "X-Reset: NaN"), "", []QuotaReading{{"pool", 0, 1, time.Time{}}}},
		"a time before all times":    {reset("delta_s"), headers("X-Left: 1", "X-Reset: -1e300"), "", []QuotaReading{{"pool", 0, 1, time.Time{}}}},
		"in the body":                {"observe: {limit: '$.rate.limit', remaining: '$.rate.left'}", nil, `{"rate":{"limit":50,"left":"4"}}`, []QuotaReading{{"pool", 50, 4, time.Time{}}}},
		"in a body that is no JSON":  {"observe: {limit: '$.rate.limit', remaining: '$.rate.left'}", nil, `{"rate":`, nil},
		"ietf": {
			"observe: ietf", headers(`RateLimit-Policy: "default";q=100;w=3600`, `RateLimit: "default";r=50;t=30`), "",
			[]QuotaReading{{"pool", 100, 50, in(31 * time.Second)}},
		},
		"ietf, the policy with the window": {
			"observe: ietf", headers(`RateLimit-Policy: "burst";q=10;w=1, "hour";q=1000;w=3600;pk=:YWJj:`, `RateLimit: "burst";r=1;t=1, "hour";r=900;t=60`), "",
			[]QuotaReading{{"pool", 1000, 900, in(61 * time.Second)}},
		},
		"ietf, else the one that leaves least": {
			"observe: ietf", headers(`RateLimit-Policy: "a";q=10;w=1`, `RateLimit-Policy: "b";q=500;w=60`, `RateLimit: "b";r=3;t=9`, `RateLimit: "a";r=9;t=1`), "",
			[]QuotaReading{{"pool", 500, 3, in(10 * time.Second)}},
		},
		"ietf, another unit": {"observe: ietf", headers(`RateLimit-Policy: "a";q=10;w=3600;qu="content-bytes"`, `RateLimit: "a";r=3`), "", nil},
		"ietf, policy alone": {"observe: ietf", headers(`RateLimit-Policy: "a";q=10;w=3600`), "", []QuotaReading{{"pool", 10, -1, time.Time{}}}},
		"ietf, broken":       {"observe: ietf", headers(`RateLimit: "a;r=3`), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := quotaOf(t, c.quota).ReadQuotas(c.header, []byte(c.body), readAt())
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func FuzzReadQuotas(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"default";q=100;w=60;qu="requests";pk=:YQ==:`, `{"left":1}`)
	f.Add(`"\";=,`, `a;;=;b=:`, `[`)
	quotas := []*Definition{
		quotaOf(f, "observe: ietf"),
		quotaOf(f, "observe: {limit: 'header:RateLimit', remaining: '$.left', reset: {from: 'header:RateLimit-Policy', as: epoch_s}}"),
	}
	f.Fuzz(func(t *testing.T, limit, policy, body string) {
		for _, d := range quotas {
			for _, r := range d.ReadQuotas(map[string][]string{"RateLimit": {limit}, "RateLimit-Policy": {policy}}, []byte(body), readAt()) {
				if r.Limit < 0 || r.Limit > mostUnits || r.Remaining > mostUnits || !r.Reset.IsZero() && !r.Reset.After(readAt()) {
					t.Errorf("%+v", r)
				}
			}
		}
	})
}
