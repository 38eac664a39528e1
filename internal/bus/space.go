package bus

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/braidhq/braid/pkg/messages"
)

// storeLimit is how much the streams may take in store, which may hold some already.
func storeLimit(asked int64, dir, store string) (int64, error) {
	free, err := freeBytes(dir)
	if err != nil {
		return 0, fmt.Errorf("%w: free space of %s: %w", ErrDir, dir, err)
	}
	if free < minStore/4 {
		return 0, fmt.Errorf("%w: %d MB are free for %s, at least %d are needed; free some space or choose another with --data-dir",
			messages.ErrStoreFull, free>>20, dir, minStore>>22)
	}
	if asked > 0 {
		return asked, nil
	}
	return max(minStore, usedBytes(store)+free/10*8), nil
}

func usedBytes(store string) int64 {
	var total int64
	// What cannot be read is not counted: the limit is an estimate, and the server reports what it cannot open.
	_ = filepath.WalkDir(store, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // see above
		}
		if info, err := entry.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}
