package coordinator_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// What the client puts beside a table depends on what ran when: the headers of the answer with the lowest counter, the sum of the
// times, and, without a canonical URL, the URL of whichever chunk came first (U-5.7). Beside a table of Braid stands nothing
// that can differ between two runs, so that equal rows give equal files. Of the recorded metadata only the URL of the whole query
// has a counterpart; times are told with the progress, and headers are not kept.
func TestBesideATableStandsNothingThatDependsOnTheRun(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/combine.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.definitions.change(strings.NewReplacer("site: {type: text}}\n    axes", "site: {type: text, many: comma}}\n    axes", "{each: site}", "{pack: site}").Replace(rivers))
	c := r.lead()
	r.work(testkit.NewScript(always))
	read := 0
	for _, raw := range file.Cases {
		var response struct {
			ID, Kind string
			In       struct {
				Order     []json.RawMessage `json:"completion_order"`
				Canonical *string           `json:"canonical_url"`
			}
			Expect struct{ URL *string }
		}
		var head struct{ Kind string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != "responses" {
			continue
		}
		if err := json.Unmarshal(raw, &response); err != nil {
			t.Fatal(err)
		}
		read++
		spec := sites(max(1, len(response.In.Order)))
		spec.MaxChunks = len(spec.Values["site"])
		q := r.submit(c, spec)
		r.settles(q.ID, 1, messages.Complete)
		e, err := c.Export(t.Context(), q.ID, false)
		if err != nil {
			t.Fatal(err)
		}
		whole := "https://rivers.example/daily?site=" + strings.Join(spec.Values["site"], ",")
		if e.Meta["braid.url"] != whole {
			t.Errorf("%s: the URL is %s, want that of the whole query, %s", response.ID, e.Meta["braid.url"], whole)
		}
		if response.In.Canonical != nil && (response.Expect.URL == nil || *response.Expect.URL != *response.In.Canonical) {
			t.Errorf("%s: recorded the URL %v, and the whole query's is %s", response.ID, response.Expect.URL, *response.In.Canonical)
		}
		if diff := cmp.Diff([]string{"braid.collection", "braid.plan", "braid.service", "braid.url"}, slices.Sorted(maps.Keys(e.Meta))); diff != "" {
			t.Errorf("%s: metadata\n%s", response.ID, diff)
		}
	}
	if read < 4 {
		t.Errorf("only %d cases", read)
	}
}
