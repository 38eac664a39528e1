package fetch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/braidhq/braid/pkg/service"
)

// CredentialSources finds secrets where definitions say that they are kept. It is safe for concurrent use when Getenv is.
type CredentialSources struct {
	Getenv func(name string) string // nil: no environment
	Dir    string                   // the configuration folder that file: is below; empty: no files
}

const maxSecretBytes = 16 << 10

// Resolve gives the secret of a credential from the first of its sources that has one. An empty variable and a missing
// file have none; this version looks into no keyring. A file that others may read, that is empty or not a secret's size
// is an error, which tells the file and how to mend it and never what is in it.
func (s CredentialSources) Resolve(credential service.Credential) (secret string, found bool, err error) {
	for _, source := range credential.From {
		switch source.Kind {
		case "env":
			if s.Getenv != nil {
				secret = strings.TrimSpace(s.Getenv(source.Name))
			}
		case "file":
			if s.Dir != "" {
				secret, err = readSecret(s.Dir, source.Name)
			}
		case "keyring": // the list of sources says where a secret may be, not where it is
		}
		if err != nil {
			return "", false, fmt.Errorf("read %s: %w", source, err)
		}
		if secret != "" {
			return secret, true, nil
		}
	}
	return "", false, nil
}

// readSecret reads a file below the folder; links do not lead out of it. A file that is not there is an empty secret.
func readSecret(dir, name string) (string, error) {
	file, err := os.OpenInRoot(dir, filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	mode := info.Mode()
	switch {
	case !mode.IsRegular():
		return "", fmt.Errorf("%s is not a plain file", path)
	case runtime.GOOS != "windows" && mode.Perm()&0o077 != 0:
		return "", fmt.Errorf("%s has mode %04o, so others can read the secret; run: chmod 600 %s", path, mode.Perm(), path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(data))
	switch {
	case len(data) > maxSecretBytes:
		return "", fmt.Errorf("%s has more than %d bytes; it must hold the secret and nothing else", path, maxSecretBytes)
	case secret == "":
		return "", fmt.Errorf("%s is empty; put the secret into it, or remove it", path)
	}
	return secret, nil
}
