package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// link is a stored page as the model knows it.
type link struct{ rows, next string }

// racer is one of several processes at the same chunk.
type racer struct {
	w    *bus.ResultWriter
	walk string
	rows []string // of the pages that it goes on behind
}

// race is a chunk with racers, and what must be stored of it.
type race struct {
	*rapid.T
	bus    *bus.Bus
	query  string
	walks  map[string][]link
	ended  map[string]bool
	last   string // the walk that was stored to last
	result string // of the first commit; "" before
	ids    int
}

func (r *race) id() string {
	r.ids++
	return fmt.Sprintf("a%d", r.ids)
}

// enter is a new process that goes on with what is stored, or begins.
func (r *race) enter() *racer {
	id := r.id()
	c := &racer{w: r.bus.NewResult(r.query, id), walk: id}
	last, err := r.bus.LastPage(r.Context(), r.query, "0")
	switch {
	case errors.Is(err, messages.ErrNotFound):
		if r.last != "" {
			r.Fatalf("nothing is found of the walk %s", r.last)
		}
		return c
	case err != nil:
		r.Fatal(err)
	case last.Walk != r.last || last.Ended != r.ended[r.last]:
		r.Fatalf("the last page is %+v, want the walk %s, ended %v", last, r.last, r.ended[r.last])
	case last.Ended:
		return c
	}
	c.walk = last.Walk
	err = c.w.Continue(r.Context(), last, func(_ *messages.Page, next string) {
		have := r.walks[c.walk][len(c.rows)]
		if next != have.next {
			r.Fatalf("page %d goes on at %q, want %q", len(c.rows), next, have.next)
		}
		c.rows = append(c.rows, have.rows)
	})
	if err != nil || len(c.rows) != len(r.walks[c.walk]) {
		r.Fatalf("%d of %d pages, %v", len(c.rows), len(r.walks[c.walk]), err)
	}
	return c
}

// store has a racer store a page, or the end of its walk, and tells whether it can go on.
func (r *race) store(c *racer, ended bool) bool {
	n := len(c.rows)
	chain := r.walks[c.walk]
	page := &messages.Page{V: 1, Run: 1, Position: "0", Worker: "w1", Ended: ended}
	mine := link{}
	if !ended {
		mine = link{strings.Repeat(r.id()+"\n", rapid.IntRange(0, 3).Draw(r.T, "rows")), r.id()}
	}
	have, next, err := c.w.Store(r.Context(), page, mine.next, []byte(mine.rows))
	if err != nil {
		r.Fatal(err)
	}
	switch {
	case n < len(chain): // somebody was first
		if have.Ended || next != chain[n].next {
			r.Fatalf("page %d goes on at %q, want %q", n, next, chain[n].next)
		}
		c.rows = append(c.rows, chain[n].rows)
		return true
	case r.ended[c.walk]:
		if !have.Ended {
			r.Fatalf("the ended walk %s goes on with %+v", c.walk, have)
		}
		return false
	case have != page:
		r.Fatalf("%+v is stored in the place of page %d of %s", have, n, c.walk)
	}
	r.last = c.walk
	r.ended[c.walk] = ended
	if !ended {
		r.walks[c.walk] = append(chain, mine)
		c.rows = append(c.rows, mine.rows)
	}
	return !ended
}

func (r *race) commit(c *racer) {
	end := r.id()
	if err := c.w.Write(r.Context(), []byte(end)); err != nil {
		r.Fatal(err)
	}
	h := testkit.Header(r.query, 0, 1)
	h.Pages = len(c.rows) + 1
	err := c.w.Commit(r.Context(), h)
	if errors.Is(err, messages.ErrExists) != (r.result != "") || err != nil && r.result == "" {
		r.Fatalf("the commit gave %v, with %q there", err, r.result)
	}
	if r.result == "" {
		r.result = strings.Join(c.rows, "") + end
	}
}

func TestHoweverManyGoOnWithAChunkItsResultIsOneWalks(t *testing.T) {
	b := testkit.Bus(t)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		r := &race{T: t, bus: b, query: fmt.Sprintf("q%d", n), walks: map[string][]link{}, ended: map[string]bool{}}
		racers := make([]*racer, 3)
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			i := rapid.IntRange(0, len(racers)-1).Draw(t, "racer")
			c := racers[i]
			if c == nil {
				racers[i] = r.enter()
				continue
			}
			switch rapid.SampledFrom([]string{"store", "store", "store", "end", "die", "commit"}).Draw(t, "does") {
			case "store":
				if !r.store(c, false) {
					racers[i] = nil
				}
			case "end":
				if len(c.rows) > 0 && !r.store(c, true) {
					racers[i] = nil
				}
			case "die":
				racers[i] = nil
			case "commit":
				r.commit(c)
				racers[i] = nil
			}
		}
		if r.result == "" {
			r.commit(r.enter())
		}
		h, rows, err := b.Result(t.Context(), r.query, "0")
		if err != nil || string(rows) != r.result {
			t.Fatalf("%q came back, %v, want %q", rows, err, r.result)
		}
		// What belongs to no result goes, and the result stays whole.
		keep := map[string]bool{}
		for _, id := range h.StoredUnder() {
			keep[id] = true
		}
		if err := b.RemoveOrphans(t.Context(), r.query, func(id string) bool { return keep[id] }); err != nil {
			t.Fatal(err)
		}
		if _, rows, err := b.Result(t.Context(), r.query, "0"); err != nil || string(rows) != r.result {
			t.Fatalf("%q is left, %v, want %q", rows, err, r.result)
		}
	})
}
