package leasetest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

func TestAHistoryWithTwoHoldersOfASlotIsRefused(t *testing.T) {
	op := func(input any, call, ret int64) porcupine.Operation {
		return porcupine.Operation{Input: input, Call: call, Return: ret}
	}
	for name, c := range map[string]struct {
		ops []porcupine.Operation
		ok  bool
	}{
		"one after the other": {[]porcupine.Operation{op(taken{0}, 1, 2), op(ended{0}, 3, 4), op(taken{0}, 5, 6), op(ended{0}, 7, 8)}, true},
		"taken while it ends": {[]porcupine.Operation{op(taken{0}, 1, 2), op(ended{0}, 3, 8), op(taken{0}, 4, 5), op(ended{0}, 6, 7)}, true},
		"two slots":           {[]porcupine.Operation{op(taken{0}, 1, 2), op(taken{1}, 3, 4), op(ended{0}, 5, 6), op(ended{1}, 7, 8)}, true},
		"two holders":         {[]porcupine.Operation{op(taken{0}, 1, 2), op(taken{0}, 3, 4), op(ended{0}, 5, 6), op(ended{0}, 7, 8)}, false},
		"beyond the cap":      {[]porcupine.Operation{op(taken{2}, 1, 2), op(ended{2}, 3, 4)}, false},
	} {
		if porcupine.CheckOperations(slotModel(2), c.ops) != c.ok {
			t.Errorf("%s: want %v", name, c.ok)
		}
	}
}
