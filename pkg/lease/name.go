package lease

import (
	"fmt"
	"strconv"

	"github.com/braidhq/braid/pkg/messages"
)

// Name says whose slots a semaphore hands out: a service's, or those of one of its named capacities, which has a number of its own
// beside the service's. Requests of a load run, say, are counted apart from those of queries.
type Name struct {
	Service  string // fits messages.CheckName
	Capacity string // the same; empty: the service's own
}

// Check refuses what is no name.
func (n Name) Check() error {
	if err := messages.CheckName(n.Service); err != nil {
		return fmt.Errorf("service: %w", err)
	}
	if n.Capacity == "" {
		return nil
	}
	if err := messages.CheckName(n.Capacity); err != nil {
		return fmt.Errorf("capacity: %w", err)
	}
	return nil
}

// String is the beginning of the slots' keys: "rivers", "rivers/load". A slash stands in no name, and a dot would put the slots of
// a capacity among those of its service for whoever watches these.
func (n Name) String() string {
	if n.Capacity == "" {
		return n.Service
	}
	return n.Service + "/" + n.Capacity
}

// Slot is the key of a slot in the store: its entry has a value for as long as somebody holds it.
func (n Name) Slot(index int) string { return slotKeyOf(n.String(), index) }

func slotKeyOf(name string, index int) string { return name + "." + strconv.Itoa(index) }
