package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/access"
)

// braidWith runs the command in a folder of its own.
func braidWith(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	var out, errs bytes.Buffer
	code = run(context.Background(), args, func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}, &out, &errs)
	return code, out.String(), errs.String()
}

func TestATokenThatWasMadeIsKnownByTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	code, stdout, stderr := braidWith(t, "token", "new", "--name", "ana", "--team", "rivers", "--role", "submitter", "--permission", "load:run", "--expires", "90d", "--file", file)
	token := strings.TrimSpace(stdout)
	digest, err := access.ParseToken(token)
	if code != exitOK || err != nil || strings.Contains(stderr, token[6:]) {
		t.Fatalf("%d, %v: %s%s", code, err, stdout, stderr)
	}
	code, stdout, stderr = braidWith(t, "token", "new", "--name", "ben", "--role", "reader", "--file", file, "--json")
	var made struct{ Token, ID, Name string }
	if err := json.Unmarshal([]byte(stdout), &made); code != exitOK || err != nil || made.Name != "ben" {
		t.Fatalf("%d, %v: %s%s", code, err, stdout, stderr)
	}
	data, err := os.ReadFile(file)
	if err != nil || bytes.Contains(data, []byte(token[:20])) || bytes.Contains(data, []byte(made.Token)) {
		t.Fatalf("%v: the file has a token:\n%s", err, data)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	roster, err := access.DecodeRoster(file, data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := roster.Find(digest, time.Now())
	if err != nil || p.Name != "ana" || p.Team != "rivers" || !p.Has(access.LoadRun) || !p.Has(access.QueriesSubmit) {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := roster.Find(digest, time.Now().Add(91*24*time.Hour)); err == nil {
		t.Error("it never expires")
	}
	code, stdout, _ = braidWith(t, "token", "list", "--file", file)
	if code != exitOK || !strings.Contains(stdout, digest.ID()) || !strings.Contains(stdout, "load:run") || !strings.Contains(stdout, "ben") || strings.Contains(stdout, token[6:]) {
		t.Errorf("%d: %s", code, stdout)
	}
	for _, which := range []string{digest.ID(), "ben"} {
		if code, stdout, stderr = braidWith(t, "token", "revoke", which, "--file", file); code != exitOK {
			t.Errorf("%d: %s%s", code, stdout, stderr)
		}
	}
	code, stdout, _ = braidWith(t, "token", "list", "--file", file, "--json")
	if code != exitOK || strings.Join(strings.Fields(stdout), "") != `{"v":1,"tokens":[]}` {
		t.Errorf("%d: %s", code, stdout)
	}
	if code, _, _ = braidWith(t, "token", "revoke", "ben", "--file", file); code != exitUsage {
		t.Errorf("revoking what is not there ends with %d", code)
	}
}

func TestWithoutAFileTheEntryIsShown(t *testing.T) {
	code, stdout, stderr := braidWith(t, "token", "new", "--name", "ana", "--role", "admin")
	_, entry, ok := strings.Cut(stderr, "\n")
	digest, err := access.ParseToken(strings.TrimSpace(stdout))
	if code != exitOK || !ok || err != nil {
		t.Fatalf("%d, %v: %s%s", code, err, stdout, stderr)
	}
	roster, err := access.DecodeRoster("tokens.yaml", []byte("schema: access/v1\ntokens:\n"+entry))
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if p, err := roster.Find(digest, time.Now()); err != nil || p.Role != access.Admin {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWrongTokensAreNotMade(t *testing.T) {
	dir := t.TempDir()
	broken, busy, file := filepath.Join(dir, "broken.yaml"), filepath.Join(dir, "busy.yaml"), filepath.Join(dir, "tokens.yaml")
	for name, text := range map[string]string{broken: "tokens: [", busy + ".new": ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ana := []string{"token", "new", "--name", "ana"}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no role":        {ana, exitUsage, "--role"},
		"no name":        {[]string{"token", "new", "--role", "admin"}, exitUsage, "--name"},
		"a role":         {append(slices.Clone(ana), "--role", "admn"), exitUsage, `did you mean "admin"`},
		"a permission":   {append(slices.Clone(ana), "--role", "reader", "--permission", "sudo"), exitUsage, "load:run"},
		"a name":         {[]string{"token", "new", "--name", "a b", "--role", "admin"}, exitUsage, "name"},
		"a team":         {append(slices.Clone(ana), "--role", "reader", "--team", "a b"), exitUsage, "team"},
		"the past":       {append(slices.Clone(ana), "--role", "reader", "--expires", "2020-01-01"), exitUsage, "over already"},
		"no time":        {append(slices.Clone(ana), "--role", "reader", "--expires", "soon"), exitUsage, "90d"},
		"a broken file":  {append(slices.Clone(ana), "--role", "reader", "--file", broken), exitUsage, "broken.yaml"},
		"a file in use":  {append(slices.Clone(ana), "--role", "reader", "--file", busy), exitInternal, "remove it"},
		"no folder":      {append(slices.Clone(ana), "--role", "reader", "--file", filepath.Join(dir, "none", "x.yaml")), exitInternal, "none"},
		"list of none":   {[]string{"token", "list", "--file", file}, exitInternal, "tokens.yaml"},
		"list without":   {[]string{"token", "list"}, exitUsage, "--file"},
		"revoke without": {[]string{"token", "revoke", "x"}, exitUsage, "--file"},
		"revoke of none": {[]string{"token", "revoke", "x", "--file", file}, exitInternal, "tokens.yaml"},
		"two teams":      {append(slices.Clone(ana), "--role", "reader", "--team", "x", "--file", twoTeams(t)), exitUsage, "same team"},
	} {
		code, stdout, stderr := braidWith(t, c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: %d, %q, %q", name, code, stdout, stderr)
		}
	}
	if data, err := os.ReadFile(broken); err != nil || string(data) != "tokens: [" {
		t.Errorf("the broken file is now %q, %v", data, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func twoTeams(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	if code, _, stderr := braidWith(t, "token", "new", "--name", "ana", "--role", "reader", "--team", "y", "--file", file); code != exitOK {
		t.Fatal(stderr)
	}
	return file
}

func TestALinkToTheFileStaysOne(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "link.yaml")
	if code, _, stderr := braidWith(t, "token", "new", "--name", "ana", "--role", "reader", "--file", file); code != exitOK {
		t.Fatal(stderr)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if code, _, stderr := braidWith(t, "token", "revoke", "ana", "--file", link); code != exitOK {
		t.Fatal(stderr)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info, err)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "tokens: []") {
		t.Errorf("the file is %q, %v", data, err)
	}
}
