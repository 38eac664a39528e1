package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// vendored is one line of the manifest that make web writes.
type vendored struct {
	File, Package, Version, License, Integrity, Source, Changed, SHA256 string
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestTheVendoredFilesAreThoseOfTheLock(t *testing.T) {
	const dir = "assets/vendor"
	var manifest []vendored
	readJSON(t, dir+"/manifest.json", &manifest)
	var lock struct {
		Packages map[string]struct{ Version, Integrity, License string }
	}
	readJSON(t, "../../web/package-lock.json", &lock)
	known, licensed := map[string]bool{"manifest.json": true}, map[string]bool{}
	for _, v := range manifest {
		known[v.File] = true
		data, err := os.ReadFile(dir + "/" + v.File)
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(data)
		if hex.EncodeToString(sum[:]) != v.SHA256 {
			t.Errorf("%s was changed by hand; run make web", v.File)
		}
		locked := lock.Packages["node_modules/"+v.Package]
		if locked.Version == "" || locked.Version != v.Version || locked.Integrity != v.Integrity || locked.License != v.License {
			t.Errorf("%s is of %s %s, the lock has %+v; run make web", v.File, v.Package, v.Version, locked)
		}
		if strings.HasPrefix(v.File, "LICENSE.") {
			licensed[v.Package] = true
		}
	}
	for _, v := range manifest {
		if !licensed[v.Package] {
			t.Errorf("%s has no licence beside it", v.Package)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			t.Errorf("%s is of no package; run make web", entry.Name())
		}
	}
}
