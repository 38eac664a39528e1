package bus_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/messages"
)

// daily is n rows as services send them.
func daily(n int) []byte {
	var rows bytes.Buffer
	for i := range n {
		fmt.Fprintf(&rows, `{"monitoring_location_id":"USGS-%08d","time":"2024-01-%02d","value":"%d.%d","unit_of_measure":"ft^3/s"}`+"\n",
			i/31, i%31+1, rand.IntN(1000), rand.IntN(100))
	}
	return rows.Bytes()
}

// What it costs that a page is stored by itself: against pages that are only written, as the last of a walk is.
func BenchmarkPages(b *testing.B) {
	for _, rows := range []int{100, 2000, 20_000} {
		page := daily(rows)
		for name, sync := range map[string]bool{"stored": false, "stored, flushed to disk": true, "written": false} {
			b.Run(fmt.Sprintf("%d kB/%s", len(page)>>10, name), func(b *testing.B) {
				bench(b, name != "written", sync, page)
			})
		}
	}
}

func bench(b *testing.B, store, sync bool, page []byte) {
	b.Helper()
	durability := bus.Fast
	if sync {
		durability = bus.Safe
	}
	server, err := bus.StartServer(b.Context(), bus.ServerConfig{Dir: b.TempDir(), Durability: durability})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	w := testkit.Join(b, server).NewResult("q", "walk")
	b.SetBytes(int64(len(page)))
	b.ResetTimer()
	for n := range b.N {
		if store {
			_, _, err = w.Store(b.Context(), &messages.Page{V: 1, Run: 1, Position: "0", Worker: "w1"}, fmt.Sprint("https://example.org/items?page=", n), page)
		} else {
			err = w.Write(b.Context(), page)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
