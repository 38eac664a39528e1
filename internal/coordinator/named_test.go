package coordinator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestAChunkThatHasNoAnswerIsNamedWhereOthersHave(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{500: "chunk 3 (site: s03) answers HTTP 500: ", 503: "chunk 3 (site: s03) answers HTTP 503: "} {
		r := newRig(t)
		c := r.lead()
		r.work(testkit.NewScript(func(_ context.Context, call testkit.Call) (service.Page, error) {
			if siteOf(call) == "s03" {
				return service.Page{}, refuse(service.ClassTransient, status, 0)
			}
			return two(call)
		}))
		q := r.settles(r.submit(c, sites(4)).ID, 1, messages.Interrupted)
		if !strings.HasPrefix(q.Stop.Reason, want) || !strings.HasSuffix(q.Stop.Reason, "; 3 of 4 chunks are complete") || q.Stop.Hint == "" {
			t.Errorf("%+v", q.Stop)
		}
	}
}
