//go:build unix

package main

import (
	"maps"
	"strings"
	"testing"

	testserver "github.com/braidhq/braid/internal/testkit/postgres"
)

func TestTheLedgersTablesAreMadeAndLookedInto(t *testing.T) {
	server, err := testserver.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := newFolder(t)
	url := server.URL("postgres", server.Database(t))
	for _, step := range []struct {
		args []string
		want string
	}{
		{[]string{"ledger", "status", "--ledger", url}, "version 0 of"},
		{[]string{"ledger", "migrate", "--ledger", url}, "version 1, queries"},
		{[]string{"ledger", "migrate", "--ledger", url}, "nothing to do"},
		{[]string{"ledger", "status", "--ledger", url}, "executions"},
		{[]string{"ledger", "forget", "--older-than", "30d", "--ledger", url}, "0 load runs"},
	} {
		got := c.run(step.args...)
		if got.code != 0 || !strings.Contains(got.stdout+got.stderr, step.want) {
			t.Errorf("%s: %+v", step.args, got)
		}
	}
	for args, paths := range map[string]string{
		"status": "where version steps. steps.version tables. tables.name rejects", "migrate": "steps[]", "forget --samples-older-than 1d": "samples",
	} {
		got := c.run(append(strings.Fields("ledger "+args), "--json", "--ledger", url)...).mustExit(t, 0)
		documentOf(t, jsonStep{"ledger " + args, 0, paths}, got.stdout)
	}
}

// The password of the ledger is a secret of those who start processes.
func TestNothingShowsThePasswordOfTheLedger(t *testing.T) {
	const secret = "s3cr3t/p@ss"
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		code int
		want string
	}{
		"in the flag":       {nil, []string{"ledger", "status", "--ledger", "postgres://braid:" + secret + "@127.0.0.1:1/braid"}, exitUsage, "BRAID_LEDGER_URL"},
		"of key and value":  {nil, []string{"ledger", "status", "--ledger", "host=127.0.0.1 port=1 password=" + secret}, exitUsage, "--ledger-password-file"},
		"in the query":      {nil, []string{"ledger", "status", "--ledger", "postgres://127.0.0.1:1/braid?password=s3cr3t"}, exitUsage, "holds a password"},
		"of braid up":       {nil, []string{"up", "--listen", "127.0.0.1:0", "--ledger", "postgres://braid:" + secret + "@127.0.0.1:1/braid"}, exitUsage, "holds a password"},
		"that is not there": {map[string]string{"BRAID_LEDGER_URL": "postgres://braid:s3cr3t@127.0.0.1:1/braid"}, []string{"ledger", "status"}, exitInternal, "127.0.0.1:1"},
		"that ends early":   {map[string]string{"BRAID_LEDGER_URL": "postgres://braid:" + secret + "@127.0.0.1:1/braid"}, []string{"ledger", "status"}, exitUsage, "BRAID_LEDGER_URL"},
		"among settings":    {map[string]string{"BRAID_LEDGER_URL": "postgres://braid:s3cr3t@h/braid", "BRAID_LEDGER": "host=h password=s3cr3t"}, []string{"config", "show", "--origin"}, 0, "ledger_url"},
		"among them, too":   {map[string]string{"BRAID_LEDGER": "postgres://h/braid?sslpassword=s3cr3t"}, []string{"config", "show", "ledger", "--json"}, 0, "not shown"},
		"of no ledger":      {nil, []string{"ledger", "status"}, exitUsage, "BRAID_LEDGER_URL"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFolder(t)
			maps.Copy(d.env, c.env)
			got := d.run(c.args...).mustExit(t, c.code)
			all := got.stdout + got.stderr
			if strings.Contains(all, "s3cr3t") || strings.Contains(all, "p@ss") || !strings.Contains(all, c.want) {
				t.Errorf("%s", all)
			}
		})
	}
}
