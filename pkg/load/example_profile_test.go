package load_test

import (
	"os"
	"testing"

	"github.com/braidhq/braid/pkg/load"
)

func TestTheExampleProfileIsRead(t *testing.T) {
	text, err := os.ReadFile("../../examples/load/sales.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := load.ParseProfile("sales.yaml", text)
	if err != nil || p.ID != "sales" || len(p.Thresholds) != 2 {
		t.Errorf("%+v: %v", p, err)
	}
}
