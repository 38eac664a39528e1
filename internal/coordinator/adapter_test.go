package coordinator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/service"
)

// answerTask answers an adapter's task with one row a site.
func answerTask(_ context.Context, c testkit.Call) (service.Page, error) {
	task, err := service.DecodeTask([]byte(c.Task))
	if err != nil {
		return service.Page{}, err
	}
	return testkit.Rows(task.Values["site"][0], 0, 1, ""), nil
}

func TestALeaderWithoutTheAdapterFailsTheQueryUntilOneHasIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.definitions.change(strings.Replace(rivers, "name: rivers\n", "name: rivers\nadapter: soap\n", 1))
	r.adapters = map[string]coordinator.Adapter{"soap": {Finalize: func(collection string) []frame.Operation {
		return []frame.Operation{{Add: map[string]string{"of": collection}}}
	}}}
	has := r.coordinator("has", r.bus, nil)
	q := r.submit(has, sites(2))
	r.adapters = nil
	lacks := testkit.Run(t, r.coordinator("lacks", r.bus, nil).Run)
	stop := r.settles(q.ID, 1, messages.Failed).Stop
	if !strings.Contains(stop.Reason, `"soap"`) || !strings.Contains(stop.Hint, "adapter") {
		t.Errorf("stopped because of %+v", stop)
	}
	if err := lacks.Stop(t); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, has.Run)
	script := testkit.NewScript(answerTask)
	r.work(script)
	r.resume(has, q.ID)
	r.settles(q.ID, 2, messages.Complete)
	if diff := cmp.Diff("site,n,of\ns00,0,daily\ns01,0,daily\n", r.csv(has, q.ID)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
	for _, call := range script.Calls() {
		if !strings.HasPrefix(call.Task, `{"collection":"daily","values":{"site":["s`) {
			t.Errorf("the task is %s", call.Task)
		}
	}
}
