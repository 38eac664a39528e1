package metrics

import "github.com/prometheus/client_golang/prometheus"

// Ledger is how the ledger of a process stands.
type Ledger struct {
	State  string  // standby, feeding, away, refused or too_new
	Stored uint64  // records, by this process
	Unread uint64  // records that wait
	Behind float64 // age of the oldest of them in seconds
	Missed uint64  // records that were gone before they were read
}

// WatchLedger adds the ledger that this process feeds. look is asked for each scrape and must answer at once. It is called once at most.
func (p *Process) WatchLedger(look func() Ledger) {
	gauge := func(name, help string, of func(Ledger) float64) {
		p.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(look()) }))
	}
	counter := func(name, help string, of func(Ledger) float64) {
		p.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return of(look()) }))
	}
	gauge("braid_ledger_feeding", "1 while this process feeds the ledger, 0 while another one does, -1 while the database does not take records.", func(l Ledger) float64 {
		switch l.State {
		case "feeding":
			return 1
		case "standby":
			return 0
		}
		return -1
	})
	gauge("braid_ledger_unread_records", "Records in the streams that the ledger has not stored yet, as the process that feeds it knows.", func(l Ledger) float64 { return float64(l.Unread) })
	gauge("braid_ledger_lag_seconds", "Age of the oldest record that the ledger has not stored yet.", func(l Ledger) float64 { return l.Behind })
	counter("braid_ledger_stored_records_total", "Records that this process has stored in the ledger.", func(l Ledger) float64 { return float64(l.Stored) })
	counter("braid_ledger_missed_records_total", "Records that were removed from their streams before the ledger read them.", func(l Ledger) float64 { return float64(l.Missed) })
}
