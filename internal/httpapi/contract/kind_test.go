package contract

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func TestSlugsAreDistinctAndLeadBackToTheirKind(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Slug] || http.StatusText(k.Status) == "" || k.Title == "" || k.Fix == "" {
			t.Errorf("%+v is not complete, or not the only one of its slug", k)
		}
		seen[k.Slug] = true
		for _, typ := range []string{k.Type(), "https://example.org" + k.Type(), "https://example.org/braid" + k.Type()} {
			if got := KindAt(typ); got.Slug != k.Slug {
				t.Errorf("%s leads to %q, want %q", typ, got.Slug, k.Slug)
			}
		}
	}
}

func TestAnUnknownTypeHasNoKind(t *testing.T) {
	for _, typ := range []string{"", "about:blank", "/problems/", "/problems/other", "not-found", "%zz"} {
		if k := KindAt(typ); k.Slug != "" {
			t.Errorf("%q leads to %+v", typ, k)
		}
	}
}

func TestTheKindOfAnErrorIsTheOneACallerCanMend(t *testing.T) {
	for want, err := range map[string]error{
		QueryInvalid:        fmt.Errorf("%w: %w", query.ErrInvalid, messages.ErrNotFound),
		"results-damaged":   fmt.Errorf("%w: %w", messages.ErrNotFound, messages.ErrDamaged),
		"store-unreachable": fmt.Errorf("read: %w", messages.ErrUnreachable),
		"table-impossible":  fmt.Errorf("table of q: %w: %w", query.ErrTable, frame.ErrUnknownField),
		Internal:            errors.New("other"),
	} {
		if got := KindOf(err); got.Slug != want {
			t.Errorf("%v: got %s, want %s", err, got.Slug, want)
		}
	}
}
