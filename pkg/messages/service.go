package messages

import (
	"fmt"
	"time"
)

const (
	maxServiceBytes = 4 << 10
	maxGateBytes    = 16 << 10
	maxWorkerBytes  = 32 << 10
)

// Service is what workers need to know to serve a service: it tells them that its queue exists and how many requests may
// be in flight over all of them.
type Service struct {
	V        int           `json:"v"`
	Name     string        `json:"name"`
	Slots    int           `json:"slots"`
	Explicit bool          `json:"explicit"`          // somebody set Slots; a definition's default never outranks it
	LeaseTTL time.Duration `json:"lease_ttl_ns"`      // a slot of a dead worker is free again after this
	Adapter  string        `json:"adapter,omitempty"` // that speaks to the service: workers without it do not take its items
}

// Validate reports the first field that is missing or out of bounds.
func (m *Service) Validate() error {
	var slots, ttl error
	if m.Slots < 1 || m.Slots > MaxSlots {
		slots = fmt.Errorf("%d, want 1 to %d", m.Slots, MaxSlots)
	}
	if m.LeaseTTL < time.Second || m.LeaseTTL > time.Hour || m.LeaseTTL%time.Second != 0 {
		ttl = fmt.Errorf("%s, want whole seconds from 1s to 1h", m.LeaseTTL)
	}
	var adapter error
	if m.Adapter != "" {
		adapter = CheckName(m.Adapter)
	}
	return firstError(
		checkVersion(m.V), field("name", CheckName(m.Name)), field("slots", slots), field("lease_ttl_ns", ttl), field("adapter", adapter))
}

// AckWait is how long the service's queue waits for a sign of life of an item before it gives it to another worker: longer
// than a lease, so that a dead worker's slot is free before its items come again.
func (m *Service) AckWait() time.Duration { return m.LeaseTTL + m.LeaseTTL/2 }

// Encode validates m and gives its wire form.
func (m *Service) Encode() ([]byte, error) { return encode("service", m, maxServiceBytes) }

// DecodeService reads a service record; it refuses what Encode would not have written.
func DecodeService(data []byte) (*Service, error) {
	return decode[Service]("service", data, maxServiceBytes)
}

// Gate is the open or closed state of a service at one address, shared by all workers: no request starts before Until.
type Gate struct {
	V       int       `json:"v"`
	Service string    `json:"service"`
	Until   time.Time `json:"until"`
	Status  int       `json:"status,omitempty"` // HTTP status of the refusal
	Reason  string    `json:"reason"`
	Worker  string    `json:"worker"` // who met the refusal
	At      time.Time `json:"at"`
}

// Validate reports the first field that is missing or out of bounds.
func (m *Gate) Validate() error {
	return firstError(checkVersion(m.V), field("service", CheckName(m.Service)), field("status", checkStatus(m.Status)), checkText("reason", m.Reason), field("worker", CheckName(m.Worker)))
}

// Encode validates m and gives its wire form.
func (m *Gate) Encode() ([]byte, error) { return encode("gate", m, maxGateBytes) }

// DecodeGate reads a gate; it refuses what Encode would not have written.
func DecodeGate(data []byte) (*Gate, error) { return decode[Gate]("gate", data, maxGateBytes) }

// Worker says that a worker is there. It is renewed while the worker lives and expires with it.
type Worker struct {
	V           int       `json:"v"`
	ID          string    `json:"id"`
	Host        string    `json:"host"`
	Version     string    `json:"version"`
	Concurrency int       `json:"concurrency"`
	Running     int       `json:"running"`
	Started     time.Time `json:"started"`
	Seen        time.Time `json:"seen"`
	Instance    string    `json:"instance,omitempty"` // tells two processes apart that call themselves the same
}

// Validate reports the first field that is missing or out of bounds.
func (m *Worker) Validate() error {
	return firstError(
		checkVersion(m.V), field("id", CheckName(m.ID)), checkText("host", m.Host), checkText("version", m.Version),
		checkCount("concurrency", int64(m.Concurrency)), checkCount("running", int64(m.Running)), field("instance", m.checkInstance()))
}

func (m *Worker) checkInstance() error {
	if m.Instance == "" {
		return nil
	}
	return CheckName(m.Instance)
}

// Encode validates m and gives its wire form.
func (m *Worker) Encode() ([]byte, error) { return encode("worker", m, maxWorkerBytes) }

// DecodeWorker reads a worker's presence; it refuses what Encode would not have written.
func DecodeWorker(data []byte) (*Worker, error) {
	return decode[Worker]("worker", data, maxWorkerBytes)
}
