package executor_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/internal/fetch/superset"
	"github.com/braidhq/braid/internal/loadrun/executor"
	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/service"
)

// dashboards describes the fake.
func dashboards(t *testing.T, base string) *service.Definition {
	t.Helper()
	text := "schema: service/v1\nname: " + environment + "\nadapter: superset\nbase_url: " + base + "\n" +
		"hosts: [{host: '" + strings.TrimPrefix(base, "http://") + "', insecure: true, credentials: [admin, gamma]}]\n" +
		"credentials:\n  admin: {send: {basic: true}, from: env:admin}\n  gamma: {send: {basic: true}, from: env:gamma}\n" +
		"environment:\n  stage: DEV\n  roles:\n    Admin: {credential: admin}\n    Gamma: {credential: gamma}\n" +
		"collections:\n  chart_data:\n    params:\n      chart: {type: int64, many: comma, required: true}\n    axes: [{each: chart}]\n    fields: {chart_id: {type: int64}}\n"
	d, err := service.Parse("dashboards.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Three workers with clients of their own drive each execution to the fake Superset, whose own count tells what was sent. Tokens expire on
// the way, and a worker dies with requests in flight.
func TestLR_11_1_WhatARunSaysThatItSentIsWhatTheTargetHasCounted(t *testing.T) {
	fake := simulator.New(simulator.Config{Seed: 7, AccessTTL: time.Minute})
	server := httptest.NewServer(fake)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		fake.Close()
	})
	definition := dashboards(t, server.URL)
	r := newRig(t, &upstream{})
	r.service(20)
	client := func(own *rig, name string) *superset.Client {
		c, err := superset.New(definition, superset.Config{
			Worker: name, Tokens: own.bus.Tokens(), ScratchDir: t.TempDir(), Transport: superset.NewTransport(fetch.TransportConfig{Connect: 5 * time.Second, InFlight: 30}),
			Credentials: func(c service.Credential) (string, bool, error) { return c.ID + ":" + c.ID + "-secret", true, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	snapshot, err := client(r, "w0").LookUp(t.Context(), &load.LookUp{Environment: environment, Dashboard: "12", Role: "Admin"})
	if err != nil {
		t.Fatal(err)
	}
	var variations []load.Variation
	for n := range 40 {
		role := []string{"Admin", "Gamma"}[n%2]
		variations = append(variations, load.Variation{
			ID: strings.Repeat(fmt.Sprintf("%02x", n), 32), FiltersHash: strings.Repeat("0", 64), Role: role,
			Coordinate: json.RawMessage(`{"filters":[],"role":"` + role + `","time_range":null,"viewport":null}`),
		})
	}
	run := r.startWith("run1", snapshot, variations, func(run *load.Run) { run.Profile.Deadline = 2 * time.Second })

	own := r.apart()
	d := &doomed{point: "answered", bus: own.bus, dead: make(chan struct{})}
	dying := own.work("w1", func(s *setup) {
		s.Grace = time.Millisecond
		s.Intake, s.Executions, s.Clients = doomedIntake{d}, doomedExecutions{d}, clients{client(own, "w1"), &r.where}
	})
	<-d.dead
	dying.Cancel()
	for _, id := range []string{"w2", "w3"} {
		own := r.apart()
		own.work(id, func(s *setup) { s.Clients = clients{client(own, id), &r.where} })
	}
	r.recorded("run1", run.Total/8) // most are to come
	fake.Advance(2 * time.Minute)   // all tokens have expired
	k := r.recorded("run1", run.Total)
	stats := fake.Stats()
	unsent := 0 // of the worker that died: its other hands may just have been admitted
	for _, a := range k.admissions {
		if a.Worker == "w1" {
			unsent = min(unsent+1, 4)
		}
	}
	if counted := stats.Routes[simulator.ChartData].Requests; counted > len(k.admissions) || counted < len(k.admissions)-unsent || counted < run.Total {
		t.Errorf("%d admissions are stored, and the target has counted %d requests", len(k.admissions), counted)
	}
	if most := stats.Routes[simulator.ChartData].MaxInFlight; most > 5 {
		t.Errorf("%d were in flight at once, of 5 places", most)
	}
	repeats := 0
	for _, a := range k.admissions {
		if a.Repeat {
			repeats++
		}
	}
	if repeats == 0 {
		t.Error("no request was sent again with a new token")
	}
	for n, e := range k.first {
		if e.Role == "Gamma" && e.Chart == 134 { // which it may not see
			if e.Outcome != load.Error || e.Kind != load.Forbidden || e.Cache != "" {
				t.Errorf("%d: %+v", n, e)
			}
			continue
		}
		if e.Outcome != load.Success || e.Cache == "" || e.DataSHA256 == "" || e.Waits.Upstream <= 0 || e.Chart != snapshot.Charts[n%len(snapshot.Charts)].ID {
			t.Errorf("%d: %+v", n, e)
		}
	}
}

var _ executor.Client = (*superset.Client)(nil)
