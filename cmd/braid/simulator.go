package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/internal/simulator"
)

func (a *app) simulatorCommand() *cobra.Command {
	var listen string
	var cfg simulator.Config
	var faultRate float64
	var fake supersetFlags
	cmd := &cobra.Command{
		Use:     "simulator",
		Example: "  braid simulator --quota 20 --window 1m",
		Short:   "Serve fakes of the built-in services on loopback, to try queries",
		Long: `Serves fakes of USGS Water Data, NGWMN, NWDC and a generic open-data service until it is interrupted, with quota, latency
and faults as asked. What it saw is at /_simulator/counters. Run a query on it with --service-url NAME=URL.

Faults of --faults pass: the same request fails twice at most, and a query gets all its rows in spite of them. A site of
--broken-sites fails for ever, and with it each chunk that asks for it: with a status of 4xx the chunk fails, with 5xx
the query is interrupted. The same seed breaks the same sites.

` + supersetHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if fake.on {
				return a.serveSuperset(cmd.Context(), listen, cfg, faultRate, fake.config)
			}
			if faultRate > 0 {
				cfg.Faults = simulator.FaultMix(faultRate, simulator.Fault503, simulator.Fault500, simulator.FaultResetAfter, simulator.FaultTruncated)
			}
			if err := cfg.Validate(); err != nil {
				return usage("%w", err)
			}
			base, wait, err := simulator.New(cfg).Serve(cmd.Context(), listen)
			if err != nil {
				return err
			}
			if err := a.printServing(base); err != nil {
				return err
			}
			for _, service := range simulator.Services() {
				a.line("serving", "braid run QUERY.yaml --service-url %s=%s%s", service.Name, base, service.Base)
			}
			a.line("seen", "%s/_simulator/counters", base)
			return wait()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:8089", "loopback address to serve on; port 0 takes a free one")
	settings.Named(flags, "listen", "simulator-listen") // listen is the port for workers of braid run
	flags.DurationVar(&cfg.Latency, "latency", 100*time.Millisecond, "wait before each answer")
	flags.IntVar(&cfg.PageRows, "page-rows", 0, "largest page; 0: 50,000 rows")
	flags.Int64Var(&cfg.MaxQueryRows, "max-query-rows", 0, "rows above which a request is refused as exceeding server limits; 0: no bound")
	flags.IntVar(&cfg.Quota.Limit, "quota", 0, "requests per window; 0: no quota")
	flags.DurationVar(&cfg.Quota.Window, "window", time.Hour, "the quota's window")
	flags.BoolVar(&cfg.Quota.RetryAfter, "retry-after", true, "name the time to wait in refusals")
	flags.DurationVar(&cfg.Values.Step, "step", 6*time.Hour, "time between two continuous values; the real service has 15m")
	flags.BoolVar(&cfg.NameAlias, "name-alias", false, "let links of NWDC name water.usgs.gov, as the real service does")
	flags.Uint64Var(&cfg.Seed, "seed", 1, "decides which requests and which sites go wrong")
	flags.Float64Var(&faultRate, "faults", 0, "share of requests that go wrong, each twice at most: 5xx, cut connections, truncated answers")
	flags.Float64Var(&cfg.BrokenSites, "broken-sites", 0, "share of sites, by --seed, whose requests always fail")
	flags.IntVar(&cfg.BrokenStatus, "broken-status", 400, "status with which they fail: 400 to 599")
	fake.add(flags)
	return cmd
}

// printServing tells scripts where the services are.
func (a *app) printServing(base string) error {
	if !a.json {
		_, err := fmt.Fprintf(a.stdout, "%s%s\n", base, simulator.WaterDataBase)
		return err
	}
	var services []map[string]string
	for _, service := range simulator.Services() {
		services = append(services, map[string]string{"name": service.Name, "url": base + service.Base})
	}
	return a.printJSON(map[string]any{"services": services, "counters": base + "/_simulator/counters"})
}
