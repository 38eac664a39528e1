package messages

import (
	"fmt"
	"time"
)

// WorkerList is the workers that are there, in the order of their names.
type WorkerList struct {
	V       int       `json:"v"`
	Now     time.Time `json:"now"` // by the clock that Seen is told by
	Workers []*Worker `json:"workers"`
}

// ServiceList is the services that this coordinator has definitions of, and those that queries have used, in the order of their names.
type ServiceList struct {
	V        int            `json:"v"`
	Services []*ServiceView `json:"services"`
}

// ServiceView is how a service stands.
type ServiceView struct {
	V           int             `json:"v"`
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	URL         string          `json:"url,omitempty"`          // where its requests go
	Docs        string          `json:"docs,omitempty"`         // its own documentation
	Collections []string        `json:"collections,omitempty"`  // what can be asked of it
	Unknown     bool            `json:"unknown,omitempty"`      // this coordinator has no definition of it
	Slots       int             `json:"slots,omitempty"`        // requests in flight at most; 0: no query has used it yet
	Explicit    bool            `json:"explicit,omitempty"`     // somebody set Slots
	LeaseTTL    time.Duration   `json:"lease_ttl_ns,omitempty"` // a slot of a dead worker is free again after this
	Holders     []SlotHolder    `json:"holders"`                // of slots, in their order
	Gate        *Gate           `json:"gate,omitempty"`         // closed until its time
	Pools       []QuotaStanding `json:"pools"`
	Queries     []ServiceQuery  `json:"queries"` // active and waiting ones, and those that a breaker has stopped
}

// SlotHolder is who holds a slot of a service.
type SlotHolder struct {
	Slot     int       `json:"slot"`
	Capacity string    `json:"capacity,omitempty"` // of several that a service has; empty: the only one
	Worker   string    `json:"worker"`
	Since    time.Time `json:"since"`
}

// ServiceQuery is a query as the page of its service shows it.
type ServiceQuery struct {
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	State   QueryState `json:"state"`
	Tripped *Tripped   `json:"tripped,omitempty"` // the breaker that stopped it
}

// Validate reports the first field that is missing or out of bounds.
func (m *WorkerList) Validate() error {
	for i, w := range m.Workers {
		if w == nil {
			return fmt.Errorf("workers[%d]: %w: it is null", i, ErrInvalid)
		}
		if err := w.Validate(); err != nil {
			return fmt.Errorf("workers[%d]: %w", i, err)
		}
	}
	return checkVersion(m.V)
}

// DecodeWorkerList reads what a coordinator answers.
func DecodeWorkerList(data []byte) (*WorkerList, error) {
	return decodeView[WorkerList]("workers", data)
}

// Validate reports the first field that is missing or out of bounds.
func (m *ServiceList) Validate() error {
	for i, s := range m.Services {
		if s == nil {
			return fmt.Errorf("services[%d]: %w: it is null", i, ErrInvalid)
		}
		if err := s.Validate(); err != nil {
			return fmt.Errorf("services[%d]: %w", i, err)
		}
	}
	return checkVersion(m.V)
}

// DecodeServiceList reads what a coordinator answers.
func DecodeServiceList(data []byte) (*ServiceList, error) {
	return decodeView[ServiceList]("services", data)
}

// Validate reports the first field that is missing or out of bounds.
func (m *ServiceView) Validate() error {
	for _, q := range m.Queries {
		if err := firstError(field("queries", CheckName(q.ID)), field("queries", q.State.check())); err != nil {
			return err
		}
	}
	return firstError(checkVersion(m.V), field("name", CheckName(m.Name)), checkCount("slots", int64(m.Slots)))
}

// DecodeServiceView reads what a coordinator answers.
func DecodeServiceView(data []byte) (*ServiceView, error) {
	return decodeView[ServiceView]("service", data)
}
