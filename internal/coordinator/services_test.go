package coordinator_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

func TestAServiceTellsItsSlotsGateAndQueries(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := hold("s00")
	r.work(h.adapter)
	q := r.submit(r.lead(), sites(1))
	testkit.Receive(t, "call", h.came)
	closed := &messages.Gate{V: 1, Service: "rivers", Until: time.Now().Add(time.Hour), Status: 429, Reason: "over", Worker: "w1", At: time.Now()}
	if err := r.bus.CloseGate(t.Context(), closed); err != nil {
		t.Fatal(err)
	}
	ledger := &messages.QuotaLedger{V: 1, Pool: "gateway", Owner: "key", Counts: "requests", Model: "rolling", Window: time.Hour, Limit: 10, Latest: time.Now().UnixNano()}
	if err := r.bus.UpdateQuota(t.Context(), "gateway", "key", func(*messages.QuotaLedger) *messages.QuotaLedger { return ledger }); err != nil {
		t.Fatal(err)
	}
	c := r.onlooker()
	r.definitions.change(strings.Replace(rivers, "limits:", "quotas: {gateway: {counts: requests, limit: 10, window: 1h}}\nlimits:", 1))
	v, err := c.Service(t.Context(), "rivers")
	if err != nil {
		t.Fatal(err)
	}
	if v.Slots != 4 || v.LeaseTTL != 2*time.Second || v.URL != "https://rivers.example" || !slices.Equal(v.Collections, []string{"daily"}) || v.Unknown {
		t.Errorf("the service is %+v", v)
	}
	if len(v.Holders) != 1 || v.Holders[0].Worker != "w1" || v.Holders[0].Since.IsZero() {
		t.Errorf("holders are %+v", v.Holders)
	}
	if v.Gate == nil || v.Gate.Reason != "over" {
		t.Errorf("the gate is %+v", v.Gate)
	}
	if len(v.Queries) != 1 || v.Queries[0].ID != q.ID || v.Queries[0].State != messages.Running {
		t.Errorf("queries are %+v", v.Queries)
	}
	if len(v.Pools) != 1 || v.Pools[0].Pool != "gateway" || v.Pools[0].Limit != 10 {
		t.Errorf("pools are %+v", v.Pools)
	}
	close(h.letGo)
}

func TestAGateThatIsOpenAgainIsNotShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	was := &messages.Gate{V: 1, Service: "rivers", Until: now.Add(-time.Second), Status: 429, Reason: "over", Worker: "w1", At: now.Add(-time.Minute)}
	if err := r.bus.CloseGate(t.Context(), was); err != nil {
		t.Fatal(err)
	}
	if stored, err := r.bus.Gate(t.Context(), "rivers"); err != nil || stored == nil {
		t.Fatalf("it is not stored: %v", err)
	}
	c := r.onlooker()
	if v, err := c.Service(t.Context(), "rivers"); err != nil || v.Gate != nil {
		t.Errorf("the service has the gate %+v, %v", v.Gate, err)
	}
	if list, err := c.Services(t.Context()); err != nil || len(list.Services) != 1 || list.Services[0].Gate != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestServicesAreThoseDefinedAndThoseUsed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	err := r.bus.UpdateService(t.Context(), "lakes", func(*messages.Service) *messages.Service {
		return &messages.Service{V: 1, Name: "lakes", Slots: 2, LeaseTTL: time.Second}
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.onlooker().Services(t.Context())
	if err != nil || len(list.Services) != 2 || list.Services[0].Name != "lakes" || !list.Services[0].Unknown || list.Services[1].Unknown || list.Services[1].Slots != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestABreakersQueryIsShownWithItsService(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.onlooker()
	tripped := r.submit(c, sites(1))
	ended := r.submit(c, sites(1))
	r.edit(tripped.ID, func(q *messages.Query) {
		q.State = messages.Interrupted
		q.Stop = &messages.Stop{Kind: messages.StopBreaker, Reason: "too many failed", At: time.Now(), Tripped: &messages.Tripped{Window: 100, Minimum: 20, Threshold: "0.25", Ended: 40, Failed: 12, Alike: 10}}
	})
	r.edit(ended.ID, func(q *messages.Query) {
		q.State = messages.Failed
		q.Stop = &messages.Stop{Kind: messages.StopFailure, Reason: "no", At: time.Now()}
	})
	v, err := c.Service(t.Context(), "rivers")
	if err != nil || len(v.Queries) != 1 || v.Queries[0].ID != tripped.ID || v.Queries[0].Tripped == nil {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestWorkersAreListedByName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.onlooker()
	list, err := c.Workers(t.Context())
	if err != nil || list.Workers == nil || len(list.Workers) != 0 || list.Now.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, w := range []string{"w2 b", "w1 b", "w1 a"} {
		id, instance, _ := strings.Cut(w, " ")
		if err := r.bus.SaveWorker(t.Context(), &messages.Worker{V: 1, ID: id, Host: "h", Version: "v", Concurrency: 1, Seen: time.Now(), Instance: instance}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	list, err = c.Workers(t.Context())
	var names []string
	for _, w := range list.Workers {
		names = append(names, w.ID+" "+w.Instance)
	}
	if err != nil || !slices.Equal(names, []string{"w1 a", "w1 b", "w2 b"}) {
		t.Errorf("%v, %v", names, err)
	}
}
