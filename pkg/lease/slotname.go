package lease

import (
	"strconv"
	"strings"
)

// SlotName is one slot of a store.
type SlotName struct {
	Name
	Index int // 0-based
}

// ParseSlotName reads the key of a slot, as a Semaphore writes it.
func ParseSlotName(key string) (SlotName, bool) {
	whole, number, dotted := strings.Cut(key, ".")
	index, err := strconv.Atoi(number)
	if !dotted || err != nil || index < 0 || index >= MaxSlots || strconv.Itoa(index) != number {
		return SlotName{}, false
	}
	name := Name{Service: whole}
	if service, capacity, divided := strings.Cut(whole, "/"); divided {
		name = Name{Service: service, Capacity: capacity}
		if capacity == "" {
			return SlotName{}, false
		}
	}
	return SlotName{Name: name, Index: index}, name.Check() == nil
}
