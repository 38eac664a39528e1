package worker

import "github.com/braidhq/braid/pkg/quota"

// ask is what is known of a request before it is sent.
type ask struct {
	collection string
	rows       int64 // that an answer may have, as the request says; 0: not known
}

// answers is how large those of each collection have been, for pools that count bytes or rows: what an answer costs is known when it
// is there. So much is reserved for a request as the largest answer of its collection had; before the first one, as many rows as a
// page may have. Where nothing is known, one request shows it before others are sent. So a pool is overspent by no more than what
// answers that were in flight together had beyond the largest one before them.
type answers struct {
	largest map[string]int64
	awaits  map[string]bool // the first answer is under way
}

const maxCollections = 1024

func (a *answers) expected(cfg quota.Config, ask ask) int64 {
	if cfg.Counts == "requests" {
		return 1
	}
	if largest := a.largest[ask.collection]; largest > 0 {
		return largest
	}
	if cfg.Counts == "rows" {
		return max(1, ask.rows)
	}
	return 1
}

func (a *answers) unknown(cfg quota.Config, ask ask) bool {
	return cfg.Counts != "requests" && a.largest[ask.collection] == 0 && (cfg.Counts != "rows" || ask.rows == 0)
}

// awaited tells whether a request is to wait for the first answer of its collection.
func (a *answers) awaited(cfg quota.Config, ask ask) bool {
	return a.awaits[ask.collection] && a.unknown(cfg, ask)
}

func (a *answers) begin(cfg quota.Config, ask ask) {
	if !a.unknown(cfg, ask) {
		return
	}
	if a.awaits == nil {
		a.awaits = map[string]bool{}
	}
	a.awaits[ask.collection] = true
}

func (a *answers) end(ask ask) { delete(a.awaits, ask.collection) }

func (a *answers) seen(cfg quota.Config, ask ask, units int64) {
	if cfg.Counts == "requests" || units <= a.largest[ask.collection] {
		return
	}
	if a.largest == nil || len(a.largest) >= maxCollections {
		a.largest = map[string]int64{}
	}
	a.largest[ask.collection] = units
}
