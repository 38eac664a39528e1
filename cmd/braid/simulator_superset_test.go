package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestSimulatorServesTheFakeSuperset(t *testing.T) {
	d := newFolder(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := []string{"simulator", "--superset", "--superset-profile", "v4", "--superset-cache", "null", "--listen", "127.0.0.1:0", "--latency", "0", "--seed", "9", "--json"}
		code := run(ctx, args, func(name string) string { return d.env[name] }, in, io.Discard)
		in.Close()
		ended <- code
	}()
	var told struct{ Superset, Stats string }
	reader := bufio.NewReader(out)
	if err := json.NewDecoder(reader).Decode(&told); err != nil || told.Stats != told.Superset+"/_fake/stats" {
		t.Fatalf("%v: %+v", err, told)
	}
	resp, err := http.Get(told.Superset + "/_fake/config")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var config struct {
		Profile, Cache string
		Seed           int
	}
	if err := json.NewDecoder(resp.Body).Decode(&config); err != nil || config.Profile != "v4" || config.Cache != "null" || config.Seed != 9 {
		t.Errorf("%v: %+v", err, config)
	}
	stop()
	_, _ = io.Copy(io.Discard, reader)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestSimulatorRefusesASupersetThatIsNone(t *testing.T) {
	d := newFolder(t)
	for _, test := range []struct{ args, want string }{
		{"simulator --superset --superset-profile v5", "profile is"},
		{"simulator --superset --superset-cache full", "cache is"},
		{"simulator --superset --faults 2", "--faults is 2"},
		{"simulator --superset --listen 0.0.0.0:0", "loopback"},
	} {
		got := d.run(strings.Fields(test.args)...)
		if got.code == 0 || !strings.Contains(got.stderr, test.want) {
			t.Errorf("%s: exit code %d: %s", test.args, got.code, got.stderr)
		}
	}
}
