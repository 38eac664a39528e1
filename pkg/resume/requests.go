package resume

import "github.com/braidhq/braid/pkg/messages"

// counts is what is known of the requests of a query, beside what its results and interruptions tell.
type counts struct {
	sent  int64 // requests that a progress record of the query has counted
	gone  int64 // of these, those that nothing that is stored tells of any more
	walks map[string]*walked
}

// walked is what is known of a walk over the pages of a position.
type walked struct {
	pages    int64 // stored
	position messages.Position
	requests int64
	ended    bool
}

// ForgetPages drops what is known of stored pages: they are read anew.
func (r *Run) ForgetPages() { clear(r.walks) }

// Page takes in a stored page. Its requests count until its position has rows, or is split: that result counts them. A failure does not.
func (r *Run) Page(m *messages.Page) {
	w := r.walks[m.Walk]
	if w == nil {
		w = &walked{position: m.Position}
		r.walks[m.Walk] = w
	}
	if m.Ended {
		w.ended = true // whoever ended it has counted them
		return
	}
	w.requests += int64(max(1, m.Requests))
	w.pages++
}

// Sent tells the run what a progress record of the query has counted: there were no fewer requests, whatever is stored of
// them. killed: a process that ran the query ended without a word, and what it sent last is counted nowhere.
func (r *Run) Sent(p *messages.Progress, killed bool) {
	r.sent, r.gone = max(r.sent, p.Requests), max(r.gone, p.RequestsGone)
	r.progress.AtLeast = r.progress.AtLeast || killed || p.AtLeast
}

// Unaccounted tells whether the progress record has counted more requests than what the run has heard of: it may be pages that
// tell of them, and else they were of results that are gone.
func (r *Run) Unaccounted() bool { return r.told()+r.gone < r.sent }

// Accounted tells the run that it has heard of all that is stored. What else a progress record has counted was told by results that
// were lost or have given way to others; it stays counted beside what comes now.
func (r *Run) Accounted() { r.gone = max(r.gone, r.sent-r.told()) }

// Removed tells the run that a result which it did not keep is not stored any more: nothing but the run tells of its requests now.
func (r *Run) Removed(h *messages.ResultHeader) {
	r.progress.Requests -= int64(h.Requests)
	r.gone += int64(h.Requests)
}

// told counts the requests that stored things tell of.
func (r *Run) told() int64 {
	n := r.progress.Requests
	for _, w := range r.walks {
		if !w.ended && r.done.of(w.position) == noResult {
			n += w.requests
		}
	}
	return n
}

// requests counts what was sent as far as anything tells.
func (r *Run) requests() int64 { return max(r.told()+r.gone, r.sent) }
