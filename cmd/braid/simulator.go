package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/simulator"
)

func (a *app) simulatorCommand() *cobra.Command {
	var listen string
	var cfg simulator.Config
	var faultRate float64
	cmd := &cobra.Command{
		Use:   "simulator",
		Short: "Serve a fake USGS Water Data API on loopback, to try queries without the real service",
		Long: `Serves a fake of the USGS Water Data API until it is interrupted, with quota, latency and faults as asked. What it saw is
at /_simulator/counters. Run a query on it with --service-url usgs-waterdata=URL.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
			fmt.Fprintf(a.stdout, "%s/ogcapi/v0\n", base)
			a.line("serving", "braid run QUERY.yaml --service-url usgs-waterdata=%s/ogcapi/v0", base)
			a.line("seen", "%s/_simulator/counters", base)
			return wait()
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:8089", "loopback address to serve on; port 0 takes a free one")
	flags.DurationVar(&cfg.Latency, "latency", 100*time.Millisecond, "wait before each answer")
	flags.IntVar(&cfg.PageRows, "page-rows", 0, "largest page; 0: 50,000 rows")
	flags.IntVar(&cfg.Quota.Limit, "quota", 0, "requests per window; 0: no quota")
	flags.DurationVar(&cfg.Quota.Window, "window", time.Hour, "the quota's window")
	flags.BoolVar(&cfg.Quota.RetryAfter, "retry-after", true, "name the time to wait in refusals")
	flags.Uint64Var(&cfg.Seed, "seed", 1, "decides which requests go wrong")
	flags.Float64Var(&faultRate, "faults", 0, "share of requests that go wrong: 5xx, cut connections, truncated answers")
	return cmd
}
