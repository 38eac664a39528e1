//go:build unix

package browser

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/braid"
)

// boards is the whole of Braid in this process with a fake Superset, which is two environments: boards-dev and boards-prod.
type boards struct {
	*system
	fake *superset.Server
}

const boardsDefinition = `schema: service/v1
name: NAME
adapter: superset
base_url: BASE
hosts: [{host: 'HOST', insecure: true, credentials: [admin, gamma]}]
credentials:
  admin: {send: {basic: true}, from: env:ADMIN}
  gamma: {send: {basic: true}, from: env:GAMMA}
environment:
  stage: STAGE
  load_test_max_concurrent: 8
  roles:
    Admin: {credential: admin}
    Gamma: {credential: gamma}
collections:
  chart_data:
    params:
      chart: {type: int64, many: comma, required: true}
    axes: [{each: chart}]
    fields: {chart_id: {type: int64}}
`

func newBoards(t *testing.T, config superset.Config) *boards {
	t.Helper()
	if chromium == nil {
		t.Skip(errNoChromium)
	}
	t.Parallel() // most of a test is waiting
	s := &boards{system: &system{t: t}, fake: superset.New(config)}
	ctx, stop := context.WithCancel(context.Background())
	base, wait, err := s.fake.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		s.fake.Close()
		if err := wait(); err != nil {
			t.Error(err)
		}
	})
	definitions := t.TempDir()
	for name, stage := range map[string]string{"boards-dev": "DEV", "boards-prod": "PROD"} {
		text := strings.NewReplacer("NAME", name, "BASE", base, "HOST", strings.TrimPrefix(base, "http://"), "STAGE", stage).Replace(boardsDefinition)
		if err := os.WriteFile(filepath.Join(definitions, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.all, err = braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{
		Dir: t.TempDir(), Durability: braid.Fast, Workers: 2, LeaseTTL: 2 * time.Second, Grace: time.Second, Version: "0.7.0",
		Definitions: braid.Definitions{Dir: definitions},
		Getenv: func(name string) string {
			return map[string]string{"ADMIN": "admin:admin-secret", "GAMMA": "gamma:gamma-secret"}[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	running := testkit.Run(t, s.all.Run)
	t.Cleanup(func() {
		s.stopServing()
		if err := running.Stop(t); err != nil {
			t.Error(err)
		}
		if err := s.all.Close(); err != nil {
			t.Error(err)
		}
	})
	s.serve("127.0.0.1:0")
	return s
}

// profileText is a profile of the sales dashboard with so many time ranges for each of two filters.
func profileText(id, environment string, ranges int, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "schema: load/v1\nid: %s\nname: Sales, before the release\nenvironment: %s\ndashboard: sales\nconcurrency: 8\nseed: 7\n", id, environment)
	b.WriteString("axes:\n  filters:\n    - []\n    - [{col: region, op: IN, val: [EU]}]\n  role: [Admin, Gamma]\n  time_range:\n")
	for i := range ranges {
		fmt.Fprintf(&b, "    - '2026-01-01 : 2026-%02d-%02d'\n", 2+i/28, 1+i%28)
	}
	return b.String() + more
}

// apply stores a profile by the form, looks its dashboard up, and waits for the preview.
func (b *tab) apply(text string) {
	b.t.Helper()
	b.open("#/load/profiles")
	b.press("Store a profile file")
	b.paste(text)
	b.press("Store it")
	b.sees("the profile's page is there", `document.querySelector("article[data-profile]") !== null`)
	b.press("Look up the dashboard")
	b.sees("the preview is there", `document.querySelector("[data-class]") !== null`)
}

// start starts a run of the profile that is shown, and waits for its page.
func (b *tab) start() (id string) {
	b.t.Helper()
	b.click(`button[data-verb="start"]:not(:disabled)`)
	b.press("Start it")
	b.sees("the run's page is there", `document.querySelector("article[data-run]") !== null`)
	return evaluate[string](b, `document.querySelector("article").dataset.run`)
}

// ended waits until the run that is shown has ended in a way, and its report is there.
func (b *tab) ended(ending string) {
	b.t.Helper()
	b.sees("the run has ended: "+ending, `document.querySelector("article").dataset.ending === "`+ending+`" && document.querySelector("article").dataset.state === "ended"`)
	b.sees("its numbers are there", `document.querySelector("#charts-title") !== null`)
}

// choose takes a value of a list.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	there := fmt.Sprintf(`[...(document.querySelector(%q)?.options ?? [])].some((o) => o.value === %q)`, selector, value)
	b.sees(selector+" has "+value, there)
	evaluate[bool](b, fmt.Sprintf(`(() => { const s = document.querySelector(%q); s.value = %q; return s.dispatchEvent(new Event("change", {bubbles: true})); })()`, selector, value))
}

// asksForTokensOf serves anew, to those whose tokens it gives by their names.
func (s *system) asksForTokensOf(entries ...access.Entry) (tokens map[string]string) {
	s.t.Helper()
	tokens = map[string]string{}
	for i := range entries {
		token, err := access.NewToken(rand.Reader)
		if err != nil {
			s.t.Fatal(err)
		}
		if entries[i].SHA256, err = access.ParseToken(token); err != nil {
			s.t.Fatal(err)
		}
		tokens[entries[i].Name] = token
	}
	roster, err := access.NewRoster(entries)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tokens = filepath.Join(s.t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(s.tokens, roster.Encode(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.stopServing()
	s.serve("127.0.0.1:0")
	return tokens
}
