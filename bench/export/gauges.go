package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// gauges makes the rows of a chunk up, the same ones each time: daily values of one site, newest first, so that sorting has
// something to do, with one row in a thousand twice.
type gauges struct{ rows int }

func columns() []string {
	return []string{"daily_id", "time_series_id", "site", "parameter_code", "time", "value", "unit", "approval", "qualifier", "last_modified"}
}

func (g gauges) FetchPage(_ context.Context, task json.RawMessage, _ service.Walk) (service.Page, error) {
	t, err := service.DecodeTask(task)
	if err != nil {
		return service.Page{}, fmt.Errorf("read task: %w", err)
	}
	site := t.Values["site"][0]
	seed, err := strconv.ParseUint(site[len(site)-8:], 10, 64)
	if err != nil {
		return service.Page{}, fmt.Errorf("seed of %s: %w", site, err)
	}
	random := rand.New(rand.NewPCG(seed, 1))
	series := fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())
	start := time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC)
	approvals := []string{"Approved", "Approved", "Approved", "Provisional"}
	var rows []byte
	for i := range g.rows {
		day := start.AddDate(0, 0, -i)
		if i%1000 == 999 {
			day = day.AddDate(0, 0, 1)
		}
		rows = fmt.Appendf(rows, `{"daily_id":"%016x","time_series_id":"%s","site":"%s","parameter_code":"00060","time":"%s","value":"%d.%d",`+
			`"unit":"ft^3/s","approval":"%s","qualifier":["%c"],"last_modified":"%sT10:%02d:00.123456+00:00"}`+"\n",
			random.Uint64(), series, site, day.Format(time.DateOnly), random.IntN(4000), random.IntN(10),
			approvals[random.IntN(len(approvals))], 'A'+rune(random.IntN(3)), day.Format(time.DateOnly), random.IntN(60))
	}
	return service.Page{Rows: rows, Count: g.rows, Columns: columns(), Status: 200, Bytes: int64(len(rows))}, nil
}
