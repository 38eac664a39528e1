package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/access"
)

// What a variable says of a server is not meant for commands that bring their own; of others, errors name the variable.
func TestAVariablesServerIsNamedByTheVariable(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string {
		return map[string]string{"HOME": home, "BRAID_SERVER": "http://127.0.0.1:1"}[name]
	}
	for _, test := range []struct {
		args []string
		want string
		not  string
	}{
		{[]string{"up", "--service-url", "usgs-waterdata=http://127.0.0.1:1", "--workers", "0"}, "--workers is 0", "server"},
		{[]string{"simulator", "--context", "lab"}, "leave --context out", ""},
		{[]string{"demo", "--server", "http://127.0.0.1:1"}, "leave --server out", ""},
		{[]string{"run", "x.yaml", "--service-url", "usgs-waterdata=http://127.0.0.1:1"}, "no effect on the server of BRAID_SERVER", "--server"},
		{[]string{"list"}, "the server is that of BRAID_SERVER", ""},
	} {
		var out, errs bytes.Buffer
		run(t.Context(), test.args, env, &out, &errs)
		if !strings.Contains(errs.String(), test.want) || test.not != "" && strings.Contains(errs.String(), test.not) {
			t.Errorf("%v: %s", test.args, errs.String())
		}
	}
}

func TestWhatAServerRefusesIsToldWithTheFlagThatHelps(t *testing.T) {
	home := t.TempDir()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	secret := httptest.NewTLSServer(http.NotFoundHandler())
	defer secret.Close()
	var out, errs bytes.Buffer
	run(t.Context(), []string{"list", "--server", secret.URL}, env, &out, &errs)
	for _, want := range []string{"--ca-file", "braid context add"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in %s", want, errs.String())
		}
	}
	if strings.Contains(errs.String(), "x509") {
		t.Errorf("what is inside is told: %s", errs.String())
	}
	a := &app{server: "http://x.example"}
	err := a.advised(fmt.Errorf("list: %w", access.ErrUnauthenticated))
	if !errors.Is(err, access.ErrUnauthenticated) || !strings.Contains(err.Error(), "--token-file") || !strings.Contains(err.Error(), "BRAID_TOKEN") {
		t.Error(err)
	}
}
