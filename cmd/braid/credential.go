package main

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
	"unicode"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
)

// tokenVariable holds a server's token itself. There is no flag for it: other users of a machine see the flags of processes.
const tokenVariable = "BRAID_TOKEN"

const maxTokenBytes = 4 << 10

// byteOrderMark is what editors of Windows write before a text.
const byteOrderMark = "\ufeff"

// token is what we are known by at the server; empty: nothing. A token is sent only where its owner meant it to go: that of a
// context to the server of the context, that of the settings file to the server of the settings file.
func (a *app) token() (string, error) {
	direct := strings.TrimSpace(a.getenv(tokenVariable))
	from := a.origins["token-file"]
	switch {
	case a.tokenFile != "" && from == settings.FromFile && a.origins["server"] != settings.FromFile:
		return direct, nil
	case direct != "" && from == settings.FromEnv:
		return "", usage("%s and %s are both set; use one of them", tokenVariable, settings.Variable("token-file"))
	case a.tokenFile != "" && (direct == "" || from == settings.FromFlag || a.picked.from == settings.FromFlag):
		return a.readToken(a.tokenFile)
	}
	return direct, nil
}

// readToken reads a token's file, and tells when others can read it too.
func (a *app) readToken(path string) (string, error) {
	path = a.expandHome(path)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", usage("token file: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxTokenBytes:
		return "", usage("token file: %s is no file with one token in it", path)
	}
	if mode, open := openToOthers(path); open {
		a.line("warning", "%s has mode %04o, so others can read the token; run: chmod 600 %s", path, mode, quoteArg(path))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", usage("token file: %w", err)
	}
	token := strings.TrimSpace(strings.TrimPrefix(string(data), byteOrderMark))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= unicode.MaxASCII }) {
		return "", usage("token file: %s holds no token; write it there alone, on one line", path)
	}
	return token, nil
}

// openToOthers tells whether other users of the machine can read a file.
func openToOthers(path string) (fs.FileMode, bool) {
	return modeWith(path, 0o077)
}

// changedByOthers tells whether other users of the machine can write a file.
func changedByOthers(path string) (fs.FileMode, bool) { return modeWith(path, 0o022) }

// modeWith gives a file's mode, and whether it has some of these bits.
func modeWith(path string, bits fs.FileMode) (fs.FileMode, bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" {
		return 0, false
	}
	mode := info.Mode().Perm()
	return mode, mode&bits != 0
}

// clientOptions is how the server is spoken to.
func (a *app) clientOptions() ([]braid.ClientOption, error) {
	token, err := a.token()
	if err != nil {
		return nil, err
	}
	var opts []braid.ClientOption
	if token != "" {
		opts = append(opts, braid.WithToken(token))
	}
	if a.caFile != "" {
		authorities, err := a.authorities()
		if err != nil {
			return nil, err
		}
		opts = append(opts, braid.WithCA(authorities))
	}
	return opts, nil
}

// authorities reads the certificates that the server's is to be signed by, in PEM.
func (a *app) authorities() ([]byte, error) {
	data, err := readFile(a.expandHome(a.caFile))
	if err != nil {
		return nil, usage("--ca-file: %w", err)
	}
	return data, nil
}
