// Command braid plans, runs, resumes and exports queries: in one process with nothing beside it, or against a server.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // zones of queries are found on machines without a database of their own
)

func main() {
	log.SetOutput(io.Discard) // net/http writes there what a service says behind its answer, which may be a secret
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal stops in an orderly way; from then on a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
