package worker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

func TestAResultThatNoStoreTakesFailsAndIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, calm)
	page := testkit.Rows("a", 0, 1, "")
	for i := range 600 {
		page.Columns = append(page.Columns, fmt.Sprintf("%s%d", strings.Repeat("c", 100), i))
	}
	script := testkit.NewScript(func(context.Context, testkit.Call) (service.Page, error) { return page, nil })
	r.work("w1", script, nil)
	r.publish(items(1)...)
	h, _ := r.result(0)
	if h.Outcome != messages.OutcomeFailed || h.Failure.Class != "bad_page" || !strings.Contains(h.Failure.Message, "column names") {
		t.Errorf("result %+v, failure %+v", h, h.Failure)
	}
	r.queueIsEmpty()
	if n := len(script.Calls()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}
