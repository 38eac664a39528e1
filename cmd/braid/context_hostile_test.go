package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

const wellContext = "server: http://127.0.0.1:1\n"

// contextFolder is a home with the context lab, as somebody left it.
func contextFolder(t *testing.T, text string) (d *folder, path string) {
	t.Helper()
	d = newFolder(t)
	path = filepath.Join(d.env["HOME"], ".config", "braid", "contexts", "lab.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write(path, text)
	return d, path
}

// A context that somebody spoilt is refused with its file and the reason by the command that would use it, and listed as unusable; others
// go on working.
func TestAHostileContextIsRefusedAndHindersNoOther(t *testing.T) {
	for name, test := range map[string]struct{ text, told string }{
		"deep lists":       {"server: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "nest"},
		"deep mappings":    {strings.Repeat("{server: ", 5000) + strings.Repeat("}", 5000) + "\n", "nest"},
		"two servers":      {wellContext + "server: http://127.0.0.1:2\n", "server"},
		"a key unknown":    {wellContext + "token: braid_s3cr3t\n", "token_file"},
		"a list of keys":   {"- server\n", "list"},
		"a server in two":  {"server: [http://127.0.0.1:1, http://127.0.0.1:2]\n", ""},
		"an alias":         {"server: &a http://127.0.0.1:1\ntoken_file: *a\n", "alias"},
		"a tag":            {"server: !!binary aHR0cA==\n", ""},
		"two documents":    {wellContext + "---\n" + wellContext, ""},
		"not UTF-8":        {"server: http://127.0.0.1:1/\xff\xfe\n", "UTF-8"},
		"UTF-16":           {"\xff\xfes\x00e\x00r\x00v\x00e\x00r\x00", ""},
		"a NUL":            {"server: http://127.0.0.1:1\x00\n", ""},
		"too large":        {wellContext + strings.Repeat("# so it goes on\n", 1<<17), "bytes"},
		"a control":        {"server: \"http://127.0.0.1:1\\e[31m\"\n", ""},
		"a password in it": {"server: http://ana:s3cr3t@127.0.0.1:1\n", ""},
		"no server":        {"# nothing\n", "server"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := contextFolder(t, test.text)
			got := d.run("list", "--context", "lab")
			if got.code == 0 || !strings.Contains(got.stderr, test.told) || len(got.stderr) > 2000 {
				t.Errorf("exit code %d: %s", got.code, got.stderr)
			}
			listed := d.run("context", "list")
			if listed.code != 0 || !strings.Contains(listed.stdout, "local") || !strings.Contains(listed.stdout, "lab") {
				t.Errorf("list: exit code %d: %s%s", listed.code, listed.stdout, listed.stderr)
			}
			d.run("context", "rm", "lab").mustExit(t, 0)
			for _, s := range []screen{got, listed} {
				if all := s.stdout + s.stderr; strings.Contains(all, "s3cr3t") || strings.ContainsAny(all, "\x1b\x00") || !utf8.ValidString(all) {
					t.Errorf("it shows %q", all)
				}
			}
		})
	}
}

// A context may be a link, as of those who keep their settings elsewhere; what is no file is refused before it is read.
func TestAContextMayBeALinkToAFileAndToNothingElse(t *testing.T) {
	d, path := contextFolder(t, "")
	d.write("elsewhere.yaml", wellContext)
	elsewhere, err := filepath.Abs("elsewhere.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for target, told := range map[string]string{
		elsewhere:          "127.0.0.1:1",
		"/dev/zero":        "is no file",
		"/dev/null":        "is no file",
		filepath.Dir(path): "is no file",
		path:               "lab", // a circle
		"nowhere":          "there is no context",
	} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Skipf("links: %v", err)
		}
		if got := d.run("list", "--context", "lab"); got.code == 0 || !strings.Contains(got.stderr, told) {
			t.Errorf("%s: exit code %d: %s", target, got.code, got.stderr)
		}
		d.run("context", "list").mustExit(t, 0)
	}
	// Who replaces it is told that it is a link, and what it leads to stays as it is.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if got := d.run("context", "add", "lab", "--replace", "--server", "http://127.0.0.1:3").mustExit(t, exitUsage); !strings.Contains(got.stderr, "is a link") {
		t.Error(got.stderr)
	}
	if text, err := os.ReadFile(elsewhere); err != nil || string(text) != wellContext {
		t.Errorf("the file that it led to has %q, %v", text, err)
	}
	d.run("context", "rm", "lab").mustExit(t, 0)
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}

// Others may read where a server is: no secret stands there. Who can change it can have the token.
func TestAContextThatOthersCanChangeIsWarnedOf(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode")
	}
	d, path := contextFolder(t, wellContext)
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o644: false, 0o664: true, 0o622: true, 0o666: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		got := d.run("list", "--context", "lab").mustExit(t, exitInternal)
		if strings.Contains(got.stderr, "chmod 600") != warned {
			t.Errorf("mode %04o: %s", mode, got.stderr)
		}
		if doctor := d.run("doctor").stdout; strings.Contains(doctor, "others can change") != warned {
			t.Errorf("mode %04o: doctor: %s", mode, doctor)
		}
	}
	d.run("context", "add", "lab", "--replace", "--server", "http://127.0.0.1:3").mustExit(t, 0)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("written anew: %v, %v", info.Mode(), err)
	}
}

// A settings file has no bound of its own where it is a device.
func TestASettingsFileIsReadWithinBounds(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no such device")
	}
	d := newFolder(t)
	if got := d.run("list", "--config", "/dev/zero"); got.code == 0 || !strings.Contains(got.stderr, "more than") {
		t.Errorf("exit code %d: %.300s", got.code, got.stderr)
	}
}
