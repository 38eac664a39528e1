package bus_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/lease"
	"github.com/braidhq/braid/pkg/messages"
)

func keep(t *testing.T, b *bus.Bus, h *messages.ResultHeader) {
	t.Helper()
	w := b.NewResult(h.Query, "a-"+string(h.Position[:1]))
	if err := w.Write(t.Context(), []byte(`{"site":"a","n":1}`+"\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context(), h); err != nil {
		t.Fatal(err)
	}
}

func TestHeadersAreReadOfThePositionsThatHaveResults(t *testing.T) {
	server := testkit.ServerOn(t, bus.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	b := testkit.Join(t, server)
	for i := range 5 {
		keep(t, b, testkit.Header("q1", i, 1))
	}
	child := testkit.Header("q1", 5, 1)
	child.Position = "5.0"
	keep(t, b, child)
	keep(t, b, testkit.Header("q2", 6, 1))
	js := testkit.JetStream(t, server)
	for _, at := range []string{"7", "8"} { // no header, and that of another position
		msg := nats.NewMsg("braid.result.q1." + at)
		if at == "8" {
			head, err := testkit.Header("q1", 3, 1).Encode()
			if err == nil {
				msg.Header.Set("Braid-Result", string(head))
			}
		}
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
	}
	asked := []messages.Position{"1", "3", "5", "5.0", "6", "7", "8", "9"}
	for i := len(asked); i < bus.MaxHeaders; i++ {
		asked = append(asked, messages.PositionAt(100+i))
	}
	headers, err := b.ResultHeaders(t.Context(), "q1", asked)
	var found []messages.Position
	for _, h := range headers {
		found = append(found, h.Position)
	}
	slices.SortFunc(found, messages.Position.Compare)
	if err != nil || !slices.Equal(found, []messages.Position{"1", "3", "5.0"}) {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := b.ResultHeaders(t.Context(), "q1", append(asked, "2")); err == nil {
		t.Error("too many positions are taken")
	}
	if found, err := b.ResultHeaders(t.Context(), "q1", nil); err != nil || len(found) > 0 {
		t.Errorf("of none: %v, %v", found, err)
	}
}

func TestPagesOfAPositionAreNotThoseOfItsChildren(t *testing.T) {
	b := testkit.Bus(t)
	for _, at := range []messages.Position{"1", "1.0", "11"} {
		w := b.NewResult("q1", "walk-"+string(at[len(at)-1:]))
		for n := range 3 {
			page := onePage()
			page.Position = at
			store(t, w, page, fmt.Sprintf("c%d", n), []byte(`{"n":1}`+"\n"))
		}
	}
	var pages []int
	err := b.PagesAt(t.Context(), "q1", "1", func(p *messages.Page) {
		if p.Position != "1" {
			t.Errorf("a page of %s", p.Position)
		}
		pages = append(pages, p.Page)
	})
	if err != nil || !slices.Equal(pages, []int{0, 1, 2}) {
		t.Errorf("%v, %v", pages, err)
	}
}

func TestTheNewestEventsOfAQueryAreRead(t *testing.T) {
	b := testkit.Bus(t)
	told := 0
	tell := func(query string) {
		told++
		m := &messages.Executions{V: 1, Query: query, Run: 1, Worker: "w1", Executions: []messages.Execution{{
			Position: "0", Attempt: "a1", Page: told, Try: 1, Class: "ok", Sent: time.Unix(int64(told), 0),
		}}}
		if err := b.PublishExecutions(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		tell("q1")
	}
	for range 100 {
		tell("q2")
	}
	interruption := &messages.Interruption{V: 1, Query: "q1", Run: 1, Position: "0", Service: "rivers", Kind: messages.QuotaExhausted, Worker: "w1"}
	if err := b.PublishInterruption(t.Context(), interruption); err != nil {
		t.Fatal(err)
	}
	for most, want := range map[uint64]int{1000: 20, 21: 20, 20: 19, 5: 4, 2: 1, 1: 0} {
		var pages []int
		interruptions := 0
		err := b.Events(t.Context(), "q1", most, func(*messages.Interruption) { interruptions++ }, func(m *messages.Executions) {
			if m.Query != "q1" {
				t.Errorf("an event of %s", m.Query)
			}
			pages = append(pages, m.Executions[0].Page)
		})
		if err != nil || interruptions != 1 || len(pages) != want || !slices.IsSorted(pages) {
			t.Errorf("at most %d: %d records, %d interruptions, %v", most, len(pages), interruptions, err)
		}
		if len(pages) > 0 && pages[len(pages)-1] != 20 {
			t.Errorf("at most %d: the newest is %d", most, pages[len(pages)-1])
		}
	}
	if err := b.Events(t.Context(), "q3", 10, func(*messages.Interruption) { t.Error("one") }, func(*messages.Executions) { t.Error("one") }); err != nil {
		t.Error(err)
	}
}

func TestHoldersOfSlotsAreRead(t *testing.T) {
	b := testkit.Bus(t)
	semaphore, err := lease.New(b.Leases(), lease.Name{Service: "rivers", Capacity: "load"}, lease.Config{Slots: 3, Holder: "w1", TTL: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, semaphore.Run)
	slot, err := semaphore.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Leases().Put(t.Context(), "lakes.0", []byte("no holding"), 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	held := func() (names []lease.SlotName, workers []string) {
		err := b.EachHolder(t.Context(), func(s lease.SlotName, h lease.Holding) { names, workers = append(names, s), append(workers, h.Worker) })
		if err != nil {
			t.Fatal(err)
		}
		return names, workers
	}
	names, workers := held()
	if len(names) != 1 || names[0].Service != "rivers" || names[0].Capacity != "load" || workers[0] != "w1" {
		t.Errorf("%+v, %v", names, workers)
	}
	if err := slot.Release(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if names, _ := held(); len(names) > 0 {
		t.Errorf("after the release: %+v", names)
	}
}

func TestServicesAreListed(t *testing.T) {
	b := testkit.Bus(t)
	if all, err := b.ListServices(t.Context()); err != nil || len(all) > 0 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, name := range []string{"rivers", "lakes"} {
		err := b.UpdateService(t.Context(), name, func(*messages.Service) *messages.Service {
			return &messages.Service{V: 1, Name: name, Slots: 2, LeaseTTL: time.Second}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all, err := b.ListServices(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}
