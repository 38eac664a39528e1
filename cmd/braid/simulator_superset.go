package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/simulator/superset"
)

const supersetHelp = `With --superset it serves a fake Apache Superset instead, for load runs: dashboards 12 (slug sales), 13 and 14, users
admin, alpha, ops, gamma (row-level security), sales, embedder and nobody, each with the password NAME-secret. Of the other flags
only --listen, --latency (of a query), --seed and --faults (of requests for data: 500, 503, a reset, a body cut short) count. What it
saw is at /_fake/stats?log=100. Clock, faults, cache and the rest are changed while it runs: /_fake/config tells their names, and a
POST of some of them to it changes them.`

// supersetFlags are those that only the fake Superset has.
type supersetFlags struct {
	on     bool
	config superset.Config
}

func (f *supersetFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.on, "superset", false, "serve a fake Apache Superset instead of the services")
	flags.StringVar((*string)(&f.config.Profile), "superset-profile", string(superset.Dev), "release to behave like: "+names(superset.Profiles()))
	flags.BoolVar(&f.config.Async, "superset-async", false, "switch on asynchronous queries (v4, v6) or tasks (dev)")
	flags.StringVar((*string)(&f.config.Cache), "superset-cache", string(superset.CacheNormal), "cache backend: "+names(superset.CacheModes()))
	flags.IntVar(&f.config.Latency.Slots, "superset-slots", 0, "queries that its database executes at once; 0: no bound")
}

func names[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}

// serveSuperset serves until ctx ends.
func (a *app) serveSuperset(ctx context.Context, listen string, shared simulator.Config, faultRate float64, cfg superset.Config) error {
	if !(faultRate >= 0 && faultRate <= 1) {
		return usage("--faults is %v, must be 0 to 1", faultRate)
	}
	cfg.Seed, cfg.Latency.Base.Low = shared.Seed, shared.Latency
	cfg.Faults = superset.FaultMix(faultRate)
	if err := cfg.Validate(); err != nil {
		return usage("%w", err)
	}
	server := superset.New(cfg)
	defer server.Close()
	base, wait, err := server.Serve(ctx, listen)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(map[string]any{"superset": base, "stats": base + "/_fake/stats"})
	} else {
		_, err = fmt.Fprintln(a.stdout, base)
	}
	if err != nil {
		return err
	}
	a.line("serving", "a Superset of profile %s", cfg.Profile)
	a.line("seen", "%s/_fake/stats?log=100", base)
	return wait()
}
