// A worker with an adapter of its own, for a service whose requests no definition describes. The service still has a
// definition, which says how its queries divide and what its rows are; the adapter replaces the request.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/service"
)

// rivers answers from memory instead of the network.
type rivers struct{}

func (rivers) FetchPage(_ context.Context, task json.RawMessage, _ service.Walk) (service.Page, error) {
	var request service.Request
	if err := json.Unmarshal(task, &request); err != nil {
		return service.Page{}, &service.ResponseError{Class: service.ClassBadRequest, Message: err.Error()}
	}
	row := fmt.Sprintf("{\"asked\":%q}\n", request.URL)
	return service.Page{Rows: []byte(row), Count: 1, Columns: []string{"asked"}, Status: 200}, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	worker, err := braid.OpenWorker(ctx, braid.WorkerConfig{
		NATS:     braid.NATS{URL: "nats://127.0.0.1:4222", Wait: 10 * time.Second},
		Adapters: map[string]service.Adapter{"rivers": rivers{}},
		Log:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer worker.Close()
	if err := worker.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
