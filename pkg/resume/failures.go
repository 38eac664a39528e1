package resume

import "github.com/braidhq/braid/pkg/messages"

// failures are the positions that failed. The lowest of those that count is asked for at each step of a run, however many
// there are.
type failures struct {
	at     map[messages.Position]*messages.Failure
	lowest messages.Position // empty: none counts
	stale  bool              // the lowest is to be found anew
}

func (f *failures) has(p messages.Position) bool {
	_, have := f.at[p]
	return have
}

// add notes that p failed; counts is the completion's word on it.
func (f *failures) add(p messages.Position, failure *messages.Failure, counts bool) {
	f.at[p] = failure
	if counts && (f.lowest == "" || p.Compare(f.lowest) < 0) {
		f.lowest = p
	}
}

func (f *failures) remove(p messages.Position) {
	delete(f.at, p)
	f.stale = f.stale || p == f.lowest
}

// find gives the lowest failure that counts, or "".
func (f *failures) find(counts func(messages.Position) bool) messages.Position {
	if !f.stale {
		return f.lowest
	}
	f.lowest, f.stale = "", false
	for p := range f.at {
		if (f.lowest == "" || p.Compare(f.lowest) < 0) && counts(p) {
			f.lowest = p
		}
	}
	return f.lowest
}

// failure is the one of the lowest position, of those that count.
func (r *Run) failure() *messages.Stop {
	lowest := r.failed.find(r.done.Counts)
	if lowest == "" {
		return nil
	}
	f := r.failed.at[lowest]
	return &messages.Stop{
		Kind: messages.StopFailure, Position: lowest, Status: f.Status, Class: f.Class, Reason: f.Message, Hint: f.Hint,
	}
}

// belowFailure tells whether p came from a split that cannot be carried out: it is never dispatched.
func (r *Run) belowFailure(p messages.Position) bool {
	for parent := p.Parent(); parent != ""; parent = parent.Parent() {
		if r.failed.has(parent) {
			return true
		}
	}
	return false
}

// owes tells whether there is a position that has neither a result nor a failure.
func (r *Run) owes() bool {
	owed := r.total - r.done.Before(r.total)
	for p := range r.failed.at {
		if !p.IsChild() && r.done.of(p) == noResult {
			owed--
		}
	}
	if owed > 0 {
		return true
	}
	for child := range r.done.missing {
		if !r.Decided(child) && !r.belowFailure(child) {
			return true
		}
	}
	return false
}
