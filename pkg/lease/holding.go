package lease

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	maxNameLen  = 128  // bytes of a lease's id or a worker's name
	maxValueLen = 4096 // bytes of a value worth decoding
)

// Holding is the value of a held slot, for people and for telling one's own writes.
type Holding struct {
	Lease  string    `json:"lease"`  // unique to one acquisition
	Worker string    `json:"worker"` // Config.Holder
	Since  time.Time `json:"since"`  // by the worker's clock; for display alone
}

// DecodeHolding reads the value of a held slot.
func DecodeHolding(value []byte) (Holding, error) {
	if len(value) > maxValueLen {
		return Holding{}, fmt.Errorf("decode holding: it is %d bytes long, at most %d", len(value), maxValueLen)
	}
	var h Holding
	if err := json.Unmarshal(value, &h); err != nil {
		return Holding{}, fmt.Errorf("decode holding: %w", err)
	}
	return h, nil
}

func (h Holding) encode() ([]byte, error) {
	if h.Lease == "" || len(h.Lease) > maxNameLen {
		return nil, fmt.Errorf("encode holding: lease id is %d bytes long; NewID must give 1 to %d", len(h.Lease), maxNameLen)
	}
	value, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode holding: %w", err)
	}
	return value, nil
}

// stands tells whether this very holding is what e shows. A value that cannot be read is somebody else's.
func (h Holding) stands(e Entry) bool {
	if len(e.Value) == 0 {
		return false
	}
	other, err := DecodeHolding(e.Value)
	return err == nil && other.Lease == h.Lease && other.Worker == h.Worker
}
