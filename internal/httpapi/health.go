package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
)

// Health is the answer of a process that is well.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

type healthOutput struct{ Body Health }

// Readiness is the answer of a server that can carry out commands.
type Readiness struct {
	Status  string  `json:"status" enum:"ok"`
	NATS    string  `json:"nats" enum:"ok" doc:"Something was stored just now"`
	Streams string  `json:"streams" enum:"ok" doc:"All streams are there"`
	Leader  *Leader `json:"leader,omitempty" doc:"The coordinator that runs the queries; left out: this server cannot tell"`
	Version string  `json:"version" doc:"Of this server"`
}

// leaderWait is how long it may take to learn who leads: who asks for our health does not wait long.
const leaderWait = 500 * time.Millisecond

// Leader is the coordinator that leads.
type Leader struct {
	Name string `json:"name"`
}

type readyOutput struct{ Body Readiness }

func (a *api) routeHealth() {
	huma.Register(a.huma, a.operation("health", http.MethodGet, "/healthz", "Tell that the process answers"), a.health)
	ready := a.operation("ready", http.MethodGet, "/readyz", "Tell whether commands can be carried out")
	ready.Description = "503 when NATS is not reachable, a stream is missing, or no coordinator leads: then queries are accepted, and run as soon as one does."
	huma.Register(a.huma, ready, a.ready)
}

func (*api) health(context.Context, *struct{}) (*healthOutput, error) {
	return &healthOutput{Health{Status: "ok"}}, nil
}

func (a *api) ready(ctx context.Context, _ *struct{}) (*readyOutput, error) {
	if err := a.ports.Views.Ready(ctx); err != nil {
		return nil, a.notReady(err)
	}
	out := &readyOutput{Readiness{Status: "ok", NATS: "ok", Streams: "ok", Version: a.version}}
	if a.ports.Leader == nil {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, leaderWait)
	defer cancel()
	name, err := a.ports.Leader(ctx)
	switch {
	case err != nil:
		return nil, a.notReady(err)
	case name == "":
		return nil, problem(contract.NotReady, "not ready: no coordinator leads: queries wait until one does; see that a coordinator runs, or wait some seconds where one takes over")
	}
	out.Body.Leader = &Leader{Name: name}
	return out, nil
}

func (a *api) notReady(err error) *contract.Problem {
	failure := a.failure("tell readiness", err)
	if failure.Status != http.StatusServiceUnavailable {
		failure = problem(contract.NotReady, "not ready: %s", failure.Detail)
	}
	return failure
}
