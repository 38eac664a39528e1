package load_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/load"
)

func TestOthersAreNeitherTheDashboardNorItsCharts(t *testing.T) {
	s := &load.Snapshot{
		Dashboard: 12, Charts: []load.Chart{{ID: 101}}, Excluded: []load.Excluded{{Chart: 131}},
		Dependents: load.Dependents{Items: []load.Dependent{
			{Kind: "chart", ID: 101}, {Kind: "chart", ID: 131}, {Kind: "chart", ID: 12}, {Kind: "dashboard", ID: 12}, {Kind: "dashboard", ID: 101},
		}},
	}
	if diff := cmp.Diff([]load.Dependent{{Kind: "chart", ID: 12}, {Kind: "dashboard", ID: 101}}, s.Others()); diff != "" {
		t.Error(diff)
	}
	if len(s.Dependents.Items) != 5 {
		t.Error("what the fingerprint is of has changed")
	}
}
