//go:build unix

package e2e

import (
	"testing"

	"github.com/braidhq/braid/pkg/braid"
)

// mustShow asks a server for each view of its newest query, which is complete, and of what it works with.
func mustShow(t *testing.T, api string) {
	t.Helper()
	c, err := braid.NewClient("http://" + api)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	for what, ask := range map[string]func() error{
		"grid":    func() error { _, err := c.Grid(ctx, "", 0, 0, 10); return err },
		"series":  func() error { _, err := c.Series(ctx, "", 10); return err },
		"chunks":  func() error { _, err := c.Chunks(ctx, "", "", "", 10); return err },
		"chunk":   func() error { _, err := c.Chunk(ctx, "", "0"); return err },
		"preview": func() error { _, err := c.Preview(ctx, "", 10); return err },
		"services": func() error {
			list, err := c.Services(ctx)
			if err == nil && len(list.Services) == 0 {
				t.Error("there are no services")
			}
			return err
		},
		"workers": func() error {
			list, err := c.Workers(ctx)
			if err == nil && len(list.Workers) == 0 {
				t.Error("there are no workers")
			}
			return err
		},
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
