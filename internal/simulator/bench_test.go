package simulator

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

const manyRows = DailyPath + "?monitoring_location_id=USGS-01,USGS-02,USGS-03,USGS-04&limit=50000&skipGeometry=true&time=1980-01-01/.."

// BenchmarkPage makes full pages without a network; rows/s is what one core can serve at most.
func BenchmarkPage(b *testing.B) {
	s := New(Config{Values: Values{GapShare: 0.02}})
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, manyRows, nil)
	for b.Loop() {
		s.exchange(discard{http.Header{}}, r)
	}
	b.ReportMetric(float64(s.Counters().Rows)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkServe reads full pages over loopback.
func BenchmarkServe(b *testing.B) {
	s := New(Config{Values: Values{GapShare: 0.02}})
	server := httptest.NewServer(s)
	defer server.Close()
	for b.Loop() {
		if _, err := fetchTo(b.Context(), server.Client(), server.URL+manyRows, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(s.Counters().Rows)/b.Elapsed().Seconds(), "rows/s")
}
