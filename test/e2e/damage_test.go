//go:build unix

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/simulator"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	damageSites  = 24
	damageChunks = 12
)

// block is the file that holds the first messages of a stream of the desk's data directory.
func (d *desk) block(stream string) string {
	return filepath.Join(d.data, "jetstream", "jetstream", "$G", "streams", stream, "msgs", "1.blk")
}

// flip changes one bit of a file, at a part of its length, and leaves all files beside it as they are.
func flip(part float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[int(part*float64(len(data)))] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// cut leaves only the first part of a file.
func cut(part float64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(part*float64(info.Size()))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAResumeOverDamagedResultsEndsWithTheSameTable(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]int{"a length": testkit.Record, "a body": 200} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, simulator.Config{})
			file := newDesk(t, up).queryFile("q.yaml", damageSites, damageChunks)
			free := newDesk(t, up)
			free.run("run", file, "-o", "t.csv").mustExit(t, 0)
			const quota = 8
			up.change(t, func(c *simulator.Config) {
				c.Quota = simulator.Quota{Limit: quota, Window: 4 * time.Second, RetryAfter: true}
			})
			up.Reset()
			d := newDesk(t, up)
			id := idIn(d.run("run", file, "-o", "t.csv").mustExit(t, 75))
			up.change(t, func(c *simulator.Config) { c.Quota = simulator.Quota{} })
			testkit.Damage(t, d.data, "RESULTS", "braid.result."+id+".", offset) // the first that was stored
			d.sh("braid resume "+id+" --data-dir "+d.data+" --wait").mustExit(t, 0)
			d.mustEqual("t.csv", free.read("t.csv"))
			d.run("results", id, "-o", "again.csv").mustExit(t, 0)
			d.mustEqual("again.csv", free.read("t.csv"))
		})
	}
}

func TestDamagedResultsAreToldAndFetchedAgainAndNothingElse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		damage func(*testing.T, string)
	}{
		{"a bit near the start", flip(0.02)},
		{"a bit in the middle", flip(0.5)},
		{"a bit near the end", flip(0.9)},
		{"cut in half", cut(0.5)},
		{"emptied", cut(0)},
	}
	if testing.Short() {
		tests = tests[1:2]
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t, simulator.Config{})
			d := newDesk(t, up)
			id := idIn(d.run("run", d.queryFile("q.yaml", damageSites, damageChunks), "-o", "t.csv").mustExit(t, 0))
			want := d.read("t.csv")
			test.damage(t, d.block("RESULTS"))

			d.run("results", id, "-o", "again.csv").mustExit(t, 3).mustSay(t, "pending again", "braid resume "+id)
			s := d.status(id)
			if s.Query.State != messages.Interrupted || s.Query.Stop.Kind != messages.StopDamaged || s.Progress.Completed == damageChunks {
				t.Errorf("the query is %s because of %+v, with %d complete", s.Query.State, s.Query.Stop, s.Progress.Completed)
			}
			complete, before := d.complete(id), len(up.Requests())
			d.sh("braid resume "+id+" --data-dir "+d.data).mustExit(t, 0)
			again := up.Requests()[before:]
			mustNotAskFor(t, again, complete)
			if missing := damageChunks - s.Progress.Completed; len(again) != missing {
				t.Errorf("the resume sent %d requests, want %d: one for each lost chunk", len(again), missing)
			}
			d.run("results", id, "-o", "again.csv").mustExit(t, 0)
			d.mustEqual("again.csv", want)
		})
	}
}
