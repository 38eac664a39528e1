package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// slots is what the workers are told, and what the queue lets them have in hand.
func (r *rig) slots() (slots, pending int) {
	r.t.Helper()
	err := r.bus.UpdateService(r.t.Context(), "rivers", func(have *messages.Service) *messages.Service {
		slots = have.Slots
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	consumer, err := r.js.Consumer(r.t.Context(), "ITEMS", "rivers")
	if err != nil {
		r.t.Fatal(err)
	}
	info, err := consumer.Info(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return slots, info.Config.MaxAckPending
}

func (r *rig) mustHave(what string, want int) {
	r.t.Helper()
	if slots, pending := r.slots(); slots != want || pending != 2*want {
		r.t.Errorf("%s: %d slots and %d items in hand, want %d and %d", what, slots, pending, want, 2*want)
	}
}

// becomes waits until a change has come to the service.
func (r *rig) becomes(want int) {
	r.t.Helper()
	testkit.Until(r.t, fmt.Sprintf("the service has %d slots", want), func() bool {
		slots, pending := r.slots()
		return slots == want && pending == 2*want
	})
}

// A number that somebody has set never gives way to a default, wherever it was set, and without a bound there are as many slots as
// chunks.
func TestTheSlotsOfAServiceAreThoseOfTheStrongestSource(t *testing.T) {
	t.Parallel()
	const unbounded = messages.Unbounded
	for name, c := range map[string]struct {
		operator, query, beside, settings messages.InFlight
		definition                        string
		want                              int
	}{
		"definition":                      {definition: "4", want: 4},
		"definition without a bound":      {definition: "unbounded", want: 50},
		"settings":                        {settings: 6, definition: "4", want: 6},
		"settings without a bound":        {settings: unbounded, definition: "4", want: 50},
		"query":                           {query: 7, settings: 6, definition: "4", want: 7},
		"query without a bound":           {query: unbounded, settings: 6, definition: "4", want: 50},
		"one at a time":                   {query: 1, settings: unbounded, definition: "unbounded", want: 1},
		"query beside":                    {beside: 7, settings: 6, definition: "4", want: 7},
		"the lowest of two":               {query: 7, beside: 3, settings: 6, definition: "4", want: 3},
		"a number beside one without":     {query: unbounded, beside: 3, definition: "4", want: 3},
		"operator":                        {operator: 9, query: 2, beside: 3, settings: 6, definition: "4", want: 9},
		"operator without a bound":        {operator: unbounded, query: 2, settings: 6, definition: "4", want: 50},
		"operator against a definition's": {operator: 2, definition: "unbounded", want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.definitions.change(strings.ReplaceAll(rivers, "in_flight: 4", "in_flight: "+c.definition))
			lead := r.coordinator("c1", r.bus, func(cfg *coordinator.Config) { cfg.InFlight, cfg.DefaultInFlight = c.operator, c.settings })
			beside := sites(30)
			beside.Run.InFlight = c.beside
			r.submit(lead, beside)
			spec := sites(20)
			spec.Run.InFlight = c.query
			q := r.submit(lead, spec)
			r.mustHave("submitted", c.want)
			testkit.Run(t, lead.Run)
			r.becomes(c.want)
			if q = r.query(q.ID); q.InFlight != c.query {
				t.Errorf("the record says %q, want %q", q.InFlight, c.query)
			}
		})
	}
}

// What was asked for at the start is not pinned: a resume may be gentler, or not bound at all.
func TestTheSlotsAreResolvedAnewByEachResume(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	spec := sites(20)
	spec.Run.InFlight, spec.Run.Weight = 8, 5
	q := r.submit(c, spec)
	r.becomes(8)
	resumeAs := func(opts coordinator.ResumeOptions) *messages.Query {
		t.Helper()
		again, err := c.Resume(t.Context(), q.ID, opts)
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
	if err := c.Interrupt(t.Context(), q.ID, "as the test says"); err != nil {
		t.Fatal(err)
	}
	if again := resumeAs(coordinator.ResumeOptions{InFlight: new(messages.InFlight(1)), Priority: new(-3)}); again.InFlight != 1 || again.Rank != (messages.Rank{Priority: -3, Weight: 5}) {
		t.Errorf("resumed as %+v", again)
	}
	r.becomes(1)
	// While it runs, too.
	if again := resumeAs(coordinator.ResumeOptions{InFlight: new(messages.Unbounded), Weight: new(1)}); again.Run != 2 || again.Rank != (messages.Rank{Priority: -3}) {
		t.Errorf("resumed as %+v", again)
	}
	r.becomes(20)
	if err := c.Interrupt(t.Context(), q.ID, "as the test says"); err != nil {
		t.Fatal(err)
	}
	resumeAs(coordinator.ResumeOptions{})
	r.becomes(20)
	for _, wrong := range []coordinator.ResumeOptions{
		{InFlight: new(messages.InFlight(10_001))}, {InFlight: new(messages.InFlight(-2))}, {Priority: new(11)}, {Weight: new(0)}, {Weight: new(101)},
	} {
		if _, err := c.Resume(t.Context(), q.ID, wrong); !errors.Is(err, query.ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// A query that asked for few requests at a time binds the others for as long as it runs.
func TestTheOthersHaveTheirSlotsWhenTheStrictestQueryEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.lead()
	long, short := sites(40), sites(20)
	short.Run.InFlight = 1
	r.submit(c, long)
	strict := r.submit(c, short)
	r.becomes(1)
	r.work(testkit.NewScript(func(ctx context.Context, call testkit.Call) (service.Page, error) {
		if siteOf(call) >= "s20" {
			<-ctx.Done() // only of the long one
		}
		return two(call)
	}))
	if _, err := c.Cancel(t.Context(), strict.ID); err != nil {
		t.Fatal(err)
	}
	r.becomes(4)
}

// A spec says what is asked for: the same one is pinned, however it is run.
func TestHowAQueryIsRunIsNoPartOfWhatIsPinned(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.coordinator("c1", r.bus, nil)
	plain := r.submit(c, sites(20))
	spec := sites(20)
	spec.Run.InFlight, spec.Run.Priority, spec.Run.Weight = messages.Unbounded, new(3), 9
	other := r.submit(c, spec)
	if plain.Spec != other.Spec {
		t.Errorf("%s and %s are pinned", plain.Spec, other.Spec)
	}
	if spec.Run.InFlight != messages.Unbounded || *spec.Run.Priority != 3 || spec.Run.Weight != 9 {
		t.Errorf("the caller's spec became %+v", spec.Run)
	}
	if other.InFlight != messages.Unbounded || other.Rank != (messages.Rank{Priority: 3, Weight: 9}) {
		t.Errorf("the record says %+v", other)
	}
}
