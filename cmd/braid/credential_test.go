package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATokenIsReadFromWhateverAnEditorMadeOfItsFile(t *testing.T) {
	const token = "braid_0123456789abcdef"
	for name, c := range map[string]struct {
		content string
		want    string // empty: it is refused
	}{
		"bare":              {token, token},
		"a line":            {token + "\n", token},
		"a line of Windows": {token + "\r\n", token},
		"empty lines":       {"\n\n  " + token + "\t\n\n", token},
		"a mark before it":  {"\ufeff" + token + "\r\n", token},
		"nothing":           {"", ""},
		"a mark alone":      {"\ufeff\r\n", ""},
		"white space":       {" \n\t\r\n", ""},
		"two":               {token + "\n" + token + "\n", ""},
		"two on a line":     {token + " " + token, ""},
		"a large file":      {strings.Repeat("a", maxTokenBytes+1), ""},
		"UTF-16":            {"\xff\xfeb\x00r\x00a\x00i\x00d\x00", ""},
		"a NUL":             {token + "\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			a := &app{stderr: io.Discard, getenv: func(string) string { return "" }}
			got, err := a.readToken(path)
			if got != c.want || (err == nil) == (c.want == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (exitCode(t.Context(), err) != exitUsage || strings.Contains(err.Error(), "0123456789")) {
				t.Errorf("exit code %d, %v", exitCode(t.Context(), err), err)
			}
		})
	}
}
