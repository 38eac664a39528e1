//go:build unix

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"github.com/braidhq/braid/internal/simulator/superset"
)

// The charts of a dashboard are a chunk each, of one page, and asked for by a session that has logged in before.
func TestAnInterruptionAtAnyChartLeavesTheTableAsItIsAndCostsThatRequest(t *testing.T) {
	t.Parallel()
	const charts = 5
	fake := newDashboards(t, superset.Config{Seed: 7, Cache: superset.CacheNull})
	desk := func(t *testing.T) *desk {
		d := newDesk(t, nil)
		d.more = boardSecrets()
		d.write("services/"+boards+".yaml", environmentText{stage: "DEV", pool: 4}.definition(fake.base))
		d.write("q.yaml", fmt.Sprintf("schema: query/v1\nservice: %s\ncollection: chart_data\nwhere: {chart: [101, 102, 103, 104, 105]}\noutput: [t.csv, t.parquet]\n", boards))
		d.args = append(d.args, "--services-dir", d.path("services"))
		return d
	}
	calm := desk(t)
	calm.run(append([]string{"run", "q.yaml"}, inOrder()...)...).mustExit(t, 0)
	if got := fake.data().Requests; got != charts || len(readCSV(t, calm.read("t.csv"))) < 2*charts {
		t.Fatalf("%d requests of %d charts, and a table of\n%s", got, charts, calm.read("t.csv"))
	}
	for at := 1; at <= charts; at++ {
		t.Run(fmt.Sprintf("request %d", at), func(t *testing.T) {
			fake.Reset()
			fake.change(t, func(c *superset.Config) {
				c.Faults = []superset.Fault{{Match: superset.Match{From: at, To: at}, Action: superset.Status, Status: 429, RetryAfter: int(retryAfter.Seconds())}}
			})
			d := desk(t)
			o := d.run(append([]string{"run", "q.yaml"}, inOrder()...)...).mustExit(t, 75)
			for _, name := range []string{"t.csv", "t.parquet"} {
				if _, err := os.Stat(d.path(name)); err == nil {
					t.Errorf("there is a table %s of an interrupted query", name)
				}
			}
			d.run(append([]string{"resume", idIn(o), "--wait"}, inOrder()...)...).mustExit(t, 0)
			for _, name := range []string{"t.csv", "t.parquet"} {
				if !bytes.Equal(calm.read(name), d.read(name)) {
					t.Errorf("%s differs from that of a query without an interruption", name)
				}
			}
			if got := fake.data().Requests; got != charts+1 {
				t.Errorf("%d requests of %d charts with one refused", got, charts)
			}
		})
	}
}
