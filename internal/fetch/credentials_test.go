package fetch_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

func TestTheFirstSourceThatHasASecretWins(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "things.key", "from the file\n", 0o600)
	environment := map[string]string{"FULL": " from the environment ", "EMPTY": ""}
	sources := fetch.CredentialSources{Getenv: func(name string) string { return environment[name] }, Dir: dir}
	for name, c := range map[string]struct {
		from []service.CredentialSource
		want string
	}{
		"environment first": {[]service.CredentialSource{{Kind: "env", Name: "FULL"}, {Kind: "file", Name: "things.key"}}, "from the environment"},
		"file first":        {[]service.CredentialSource{{Kind: "file", Name: "things.key"}, {Kind: "env", Name: "FULL"}}, "from the file"},
		"empty variable":    {[]service.CredentialSource{{Kind: "env", Name: "EMPTY"}, {Kind: "file", Name: "things.key"}}, "from the file"},
		"missing file":      {[]service.CredentialSource{{Kind: "file", Name: "sub/none.key"}, {Kind: "env", Name: "FULL"}}, "from the environment"},
		"keyring":           {[]service.CredentialSource{{Kind: "keyring", Name: "things"}}, ""},
		"nothing":           {[]service.CredentialSource{{Kind: "env", Name: "NONE"}}, ""},
		"no source at all":  {nil, ""},
	} {
		secret, found, err := sources.Resolve(service.Credential{From: c.from})
		if err != nil || secret != c.want || found != (c.want != "") {
			t.Errorf("%s: got %q, %t, error %v; want %q", name, secret, found, err, c.want)
		}
	}
	if _, found, err := (fetch.CredentialSources{}).Resolve(service.Credential{From: []service.CredentialSource{{Kind: "env", Name: "FULL"}, {Kind: "file", Name: "things.key"}}}); found || err != nil {
		t.Errorf("sources without environment and folder: found %t, error %v", found, err)
	}
}

func TestASecretFileThatIsNotSafeIsRefusedWithTheWayToMendIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no mode here")
	}
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, "outside.key", topSecret, 0o600)
	write(t, dir, "readable.key", topSecret, 0o640)
	write(t, dir, "empty.key", "\n", 0o600)
	write(t, dir, "long.key", topSecret+strings.Repeat("x", 16<<10), 0o600)
	if err := os.Mkdir(filepath.Join(dir, "folder.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "outside.key"), filepath.Join(dir, "link.key")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"readable.key": "chmod 600 " + filepath.Join(dir, "readable.key"),
		"empty.key":    "is empty",
		"long.key":     "more than",
		"folder.key":   "not a plain file",
		"link.key":     "link.key",
		"../" + filepath.Base(outside) + "/outside.key": "outside.key",
	} {
		secret, found, err := fetch.CredentialSources{Dir: dir}.Resolve(service.Credential{From: []service.CredentialSource{{Kind: "file", Name: name}}})
		if err == nil || found || secret != "" {
			t.Errorf("%s: got %q, %t and no error", name, secret, found)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "file:"+name) {
			t.Errorf("%s: error %q does not say %q", name, err, want)
		}
		noSecretIn(t, err.Error())
	}
}

func write(t *testing.T, dir, name, text string, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask says
		t.Fatal(err)
	}
}
