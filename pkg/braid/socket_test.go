package braid_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/braid"
)

// The address of a socket may have some 100 bytes; a data directory may have a longer path.
func TestTheSocketOfADataDirectoryIsReachedHoweverLongItsPathIs(t *testing.T) {
	e, err := braid.OpenEmbedded(t.Context(), braid.EmbeddedConfig{Dir: t.TempDir(), Durability: braid.Fast})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	root, err := os.MkdirTemp("", "s") //nolint:usetesting // a short path: what is added decides
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(root) }()
	for _, length := range []int{20, 90, 91, 92, 95, 98, 99, 100, 108, 200, 600} {
		dir := root
		for len(dir) < length {
			dir = filepath.Join(dir, strings.Repeat("d", min(100, max(1, length-len(dir)-1))))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second finds nothing that the first one left
			ctx, stop := context.WithCancel(t.Context())
			api, err := e.OpenSocket(ctx, dir, braid.APIConfig{})
			if err != nil {
				t.Fatalf("%d bytes: %v", len(dir), err)
			}
			if info, err := os.Stat(filepath.Join(dir, "api.sock")); err != nil || info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("%d bytes: %v, %v", len(dir), info, err)
			}
			ended := make(chan error, 1)
			go func() { ended <- api.Serve(ctx) }()
			client, err := braid.NewSocketClient(dir)
			if err != nil {
				t.Fatalf("%d bytes: %v", len(dir), err)
			}
			if _, err := client.Statuses(ctx); err != nil {
				t.Errorf("%d bytes: %v", len(dir), err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("%d bytes: %v", len(dir), err)
			}
			if _, err := os.Stat(filepath.Join(dir, "api.sock")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d bytes: the socket is left: %v", len(dir), err)
			}
			if _, err := braid.NewSocketClient(dir); !errors.Is(err, braid.ErrServer) {
				t.Errorf("%d bytes: %v", len(dir), err)
			}
		}
	}
}
