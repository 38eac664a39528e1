package service

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
)

const dashboards = `schema: service/v1
name: boards
adapter: superset
base_url: https://boards.example
hosts: [{host: boards.example, credentials: [a, b]}]
credentials:
  a: {send: {basic: true}, from: env:A}
  b: {send: {bearer: true}, from: env:B}
environment:
  ENV
collections:
  chart_data: {fields: {chart: {type: int64}}}
`

func environmentOf(t *testing.T, block, limits string) (*Definition, error) {
	t.Helper()
	text := strings.Replace(dashboards, "ENV", strings.ReplaceAll(block, "\n", "\n  "), 1)
	if limits != "" {
		text += "limits: " + limits + "\n"
	}
	return Parse("boards.yaml", []byte(text))
}

func TestAnEnvironmentIsRead(t *testing.T) {
	d, err := environmentOf(t, `stage: ' preprod '
load_test_max_concurrent: 7
load_test_reserved_slots: 0
connection_pool_timeout: 5s
async: true
roles:
  Gamma: {credential: a, provider: ldap}
  Guest: {guest: {credential: a, embedded: 6f1d2c5e-4a8b-4d0c-9a5f-0d6f0a3b7c21, rls: [{clause: "x = 1"}, {dataset: 4, clause: y}]}}`, "{in_flight: 30}")
	if err != nil {
		t.Fatal(err)
	}
	pool, most, none := 30, 7, 0
	want := load.Environment{
		Name: "boards", BaseURL: "https://boards.example", Stage: "PREPROD", Pool: &pool, EnvMax: &most, Reserved: &none, PoolTimeout: 5 * time.Second, Async: true,
		Roles: []load.Role{
			{Name: "Gamma", Credential: "a", Provider: "ldap"},
			{Name: "Guest", Credential: "a", Provider: "db", Embedded: "6f1d2c5e-4a8b-4d0c-9a5f-0d6f0a3b7c21", Clauses: []load.GuestClause{{Clause: "x = 1"}, {Dataset: 4, Clause: "y"}}},
		},
	}
	got, ok := d.Environment()
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("the environment is there: %t; %s", ok, diff)
	}
	if err := d.Rebase("http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if got, _ := d.Environment(); got.BaseURL != "http://127.0.0.1:1" {
		t.Errorf("a mirror's environment is at %s", got.BaseURL)
	}
}

func TestThePoolIsTheSlotsOfTheService(t *testing.T) {
	const roles = "\nroles: {G: {credential: a}}"
	for name, c := range map[string]struct {
		block, limits string
		want          int
		absent        bool
	}{
		"neither is given":    {"stage: DEV", "", 20, true},
		"the pool is given":   {"connection_pool_size: 12", "", 12, false},
		"the slots are given": {"stage: DEV", "{in_flight: 9}", 9, false},
		"both, and they agree": {
			"connection_pool_size: 9", "{in_flight: 9}", 9, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := environmentOf(t, c.block+roles, c.limits)
			if err != nil {
				t.Fatal(err)
			}
			e, _ := d.Environment()
			if int(d.Limits.InFlight) != c.want || (e.Pool == nil) != c.absent || e.Pool != nil && *e.Pool != c.want {
				t.Errorf("slots %d, pool %v; want %d", d.Limits.InFlight, e.Pool, c.want)
			}
		})
	}
}

func TestWhatIsWrongWithAnEnvironmentIsToldWithItsCure(t *testing.T) {
	const roles = "\nroles: {G: {credential: a}}"
	for name, c := range map[string]struct{ block, limits, want string }{
		"no roles":                 {"stage: DEV", "", `"roles" is missing`},
		"empty roles":              {"roles: {}", "", "there are 0 roles"},
		"another stage":            {"stage: QA" + roles, "", "write DEV, PREPROD or PROD"},
		"a pool that disagrees":    {"connection_pool_size: 9" + roles, "{in_flight: 8}", "leave one of them out"},
		"no pool":                  {"stage: DEV" + roles, "{in_flight: unbounded}", "without a pool"},
		"a pool of none":           {"connection_pool_size: 0" + roles, "", "want 1 to"},
		"no load":                  {"load_test_max_concurrent: 0" + roles, "", "want 1 to"},
		"negative reserve":         {"load_test_reserved_slots: -1" + roles, "", "want 0 to"},
		"no patience":              {"connection_pool_timeout: 0s" + roles, "", "want 1ms to 1h"},
		"an unknown credential":    {"roles: {G: {credential: aa}}", "", "is not declared"},
		"no login":                 {"roles: {G: {credential: b}}", "", "send: {basic: true}"},
		"no identity":              {"roles: {G: {provider: db}}", "", "neither `credential` nor `guest`"},
		"nothing":                  {"roles: {G: }", "", "G"},
		"two identities":           {"roles: {G: {credential: a, guest: {credential: a, embedded: 6f1d2c5e-4a8b-4d0c-9a5f-0d6f0a3b7c21}}}", "", "has both"},
		"another provider":         {"roles: {G: {credential: a, provider: saml}}", "", "write db or ldap"},
		"no dashboard":             {"roles: {G: {guest: {credential: a}}}", "", "embedded"},
		"not a UUID":               {"roles: {G: {guest: {credential: a, embedded: '12'}}}", "", "is not a UUID"},
		"an empty clause":          {"roles: {G: {guest: {credential: a, embedded: 6f1d2c5e-4a8b-4d0c-9a5f-0d6f0a3b7c21, rls: [{dataset: 1, clause: ''}]}}}", "", "of SQL"},
		"a guest's own credential": {"roles: {G: {guest: {credential: b, embedded: 6f1d2c5e-4a8b-4d0c-9a5f-0d6f0a3b7c21}}}", "", "send: {basic: true}"},
		"an unknown key":           {"colour: red" + roles, "", "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := environmentOf(t, c.block, c.limits)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "boards.yaml:") {
				t.Errorf("got %v, want a line with %q", err, c.want)
			}
		})
	}
	if _, err := Parse("x.yaml", []byte(strings.Replace(strings.Replace(dashboards, "ENV", "roles: {G: {credential: a}}", 1), "adapter: superset", "adapter: other", 1))); err == nil || !strings.Contains(err.Error(), "is for dashboards alone") {
		t.Errorf("an environment of another adapter: %v", err)
	}
	if _, err := Parse("x.yaml", []byte(strings.Replace(dashboards, "environment:\n  ENV\n", "", 1))); err == nil || !strings.Contains(err.Error(), "needs the block `environment`") {
		t.Errorf("superset without an environment: %v", err)
	}
}
