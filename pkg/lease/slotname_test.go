package lease_test

import (
	"testing"

	"github.com/braidhq/braid/pkg/lease"
)

func TestSlotNamesAreReadAsTheyAreWritten(t *testing.T) {
	for key, want := range map[string]lease.SlotName{
		"rivers.0":      {Name: lease.Name{Service: "rivers"}},
		"rivers.17":     {Name: lease.Name{Service: "rivers"}, Index: 17},
		"rivers/load.3": {Name: lease.Name{Service: "rivers", Capacity: "load"}, Index: 3},
	} {
		if got, ok := lease.ParseSlotName(key); !ok || got != want {
			t.Errorf("%q is %+v, %v; want %+v", key, got, ok, want)
		}
	}
	for _, key := range []string{"", ".", "rivers", "rivers.", "rivers.01", "rivers.-1", "rivers.+1", "rivers.x", "rivers.99999999", "rivers/.1", "/load.1", "rivers/a/b.1", "ri vers.1", "rivers.1.2", ".1"} {
		if got, ok := lease.ParseSlotName(key); ok {
			t.Errorf("%q is %+v, want none", key, got)
		}
	}
}
