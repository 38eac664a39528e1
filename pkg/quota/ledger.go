package quota

import (
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
)

// The models: how spent units come back.
const (
	Rolling = "rolling" // each a window after it was spent
	Fixed   = "fixed"   // all at once, when a window ends
	Bucket  = "bucket"  // one after the other, the limit in a window
)

// Config is what a definition declares of a pool.
type Config struct {
	Pool     string
	Owner    string
	Counts   string // requests, bytes or rows
	Model    string
	Limit    int64 // believed until the service says another one; 0: not known, and then nothing is refused
	Window   time.Duration
	HoldBack int64 // never spent
	Observes bool  // answers are expected to say how the pool stands
	// Foreign says that the numbers were declared for another address, such as the service that a mirror stands for. Limit and
	// Window are then no reason to wait: the service's own words are.
	Foreign bool
}

const (
	buckets = 256     // of time, in a window
	most    = 1 << 53 // units are counted to here
)

// Ledger is a pool's account with the rules by which it is read. Not for concurrent use.
type Ledger struct {
	cfg  Config
	s    *messages.QuotaLedger
	need int64 // units that one request takes, where it may be more than one; 0: one
}

// Open reads a stored account by the rules of cfg; nil begins one. The account is changed in place.
func Open(cfg Config, stored *messages.QuotaLedger) *Ledger {
	if stored == nil {
		stored = &messages.QuotaLedger{V: messages.Version, Pool: cfg.Pool, Owner: cfg.Owner}
	}
	cfg.Limit, cfg.HoldBack = counted(cfg.Limit), counted(cfg.HoldBack)
	switch {
	case stored.Observed:
	case cfg.Foreign:
		stored.Limit = 0
	default:
		stored.Limit = cfg.Limit
	}
	stored.Counts, stored.Model, stored.HoldBack = cfg.Counts, cfg.Model, cfg.HoldBack
	stored.Window = max(stored.Window, cfg.Window) // of two definitions the longer one: it forgets nothing that the other needs
	return &Ledger{cfg: cfg, s: stored}
}

// State is the account as it is stored.
func (l *Ledger) State() *messages.QuotaLedger { return l.s }

// counted is n within what an account can count.
func counted(n int64) int64 { return min(max(n, 0), most) }

// advance lets go of what is over.
func (l *Ledger) advance() {
	now := l.now()
	l.lapse()
	over := now.Add(-2 * l.s.Window).UnixNano() // a reading of up to a window ago looks a window back
	l.s.Spent = slices.DeleteFunc(l.s.Spent, func(s messages.QuotaSpend) bool { return s.To < over })
	if r := l.s.Reading; r != nil && l.readingOver(now) {
		l.s.Reading = nil
	}
}

// now is the ledger's clock.
func (l *Ledger) now() time.Time { return time.Unix(0, l.s.Latest) }

// width is the length of a bucket of time.
func (l *Ledger) width() int64 { return max(1, (int64(l.s.Window)+buckets-1)/buckets) }

// spend writes down units that the service counted between two instants.
func (l *Ledger) spend(from, to int64, units int64) { l.enter(from, to, units, 0) }

// enter writes down units of which some are unsure. drained is how many of them a bucket lost: it cannot be emptier than empty.
func (l *Ledger) enter(from, to, units, unsure int64) (drained int64) {
	units = counted(units)
	if units == 0 {
		return 0
	}
	l.s.Total = counted(l.s.Total + units)
	width := l.width()
	at := (to + width - 1) / width * width // later than it was: never early
	l.merge(messages.QuotaSpend{From: min(from, at), To: at, Units: units, Unsure: min(unsure, units)})
	if l.s.Model != Bucket || l.interval() == 0 {
		return 0
	}
	before := max(l.s.Full, to)
	l.s.Full = max(before, l.empty(to, before, units))
	return (l.s.Full - before) / l.interval()
}

// empty is when a bucket is full again that was to be full at an instant, and loses units now.
func (l *Ledger) empty(now, full, units int64) int64 {
	return min(full+min(units, l.limit())*l.interval(), now+min(l.limit()*l.interval(), 2*int64(l.s.Window)))
}

func (l *Ledger) merge(s messages.QuotaSpend) {
	i, same := slices.BinarySearchFunc(l.s.Spent, s.To, func(have messages.QuotaSpend, to int64) int {
		switch {
		case have.To < to:
			return -1
		case have.To > to:
			return 1
		}
		return 0
	})
	if same {
		l.s.Spent[i] = joined(l.s.Spent[i], s)
		return
	}
	l.s.Spent = slices.Insert(l.s.Spent, i, s)
	for len(l.s.Spent) > messages.MaxQuotaSpends { // a clock that jumps to and fro, or a window that became longer
		first, second := l.s.Spent[0], l.s.Spent[1]
		l.s.Spent[1] = joined(first, second)
		l.s.Spent = l.s.Spent[1:]
	}
}

// joined is two spends as one, which has the time of the second.
func joined(first, second messages.QuotaSpend) messages.QuotaSpend {
	return messages.QuotaSpend{
		From: min(first.From, second.From), To: second.To,
		Units: counted(first.Units + second.Units), Unsure: counted(first.Unsure + second.Unsure),
	}
}

// limit is how many units a window has; 0: not known. Whoever holds units back at another address than the declared one means the
// declared limit, until the service says its own.
func (l *Ledger) limit() int64 {
	if l.s.Limit == 0 && l.cfg.Foreign && l.s.HoldBack > 0 {
		return l.cfg.Limit
	}
	return l.s.Limit
}

// interval is the time in which a bucket gets a unit back.
func (l *Ledger) interval() int64 {
	limit := l.limit()
	if limit == 0 {
		return 0
	}
	return (int64(l.s.Window) + limit - 1) / limit
}
