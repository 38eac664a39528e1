package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tides is the service, for trying the example and for its test: reports of one basin and at most three stations, two rows a page.
type tides struct {
	key []byte

	mu       sync.Mutex // guards all below
	asked    []string   // requests that were answered as they should be, or refused on purpose
	reports  [][]string // stations, by the report's number
	refuseAt int        // the request that is answered with 503, counted from 1; 0: none
}

func (s *tides) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "the order breaks off", http.StatusBadRequest)
		return
	}
	want := signature(s.key, r.Method, r.URL.RequestURI(), r.Header.Get("X-Time"), body)
	if r.Header.Get("X-Signature") != want {
		http.Error(w, "wrong signature", http.StatusForbidden)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	if len(s.asked) == s.refuseAt {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodPost {
		s.order(w, body)
		return
	}
	s.page(w, r)
}

func (s *tides) order(w http.ResponseWriter, body []byte) {
	var asked struct {
		Stations []string `json:"stations"`
		From, To string
	}
	if err := json.Unmarshal(body, &asked); err != nil || len(asked.Stations) == 0 || asked.From == "" || asked.To == "" {
		http.Error(w, "not an order", http.StatusBadRequest)
		return
	}
	if len(asked.Stations) > 3 {
		http.Error(w, "at most three stations", http.StatusRequestEntityTooLarge)
		return
	}
	basin, _, _ := strings.Cut(asked.Stations[0], "-")
	for _, station := range asked.Stations {
		if !strings.HasPrefix(station, basin+"-") {
			http.Error(w, "stations of two basins", http.StatusBadRequest)
			return
		}
	}
	s.reports = append(s.reports, asked.Stations)
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"report":%d}`, len(s.reports)-1)
}

func (s *tides) page(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/reports/"))
	page, pageErr := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil || pageErr != nil || number >= len(s.reports) {
		http.Error(w, "no such report", http.StatusGone)
		return
	}
	stations := s.reports[number]
	some := stations[min(2*(page-1), len(stations)):min(2*page, len(stations))]
	rows := make([]string, len(some))
	for i, station := range some {
		rows[i] = fmt.Sprintf(`{"station":%q,"time":"2024-01-0%cT00:00:00Z","h":1.%c0}`, station, station[len(station)-1], station[len(station)-1])
	}
	fmt.Fprintf(w, `{"rows":[%s],"last":%t}`, strings.Join(rows, ","), 2*page >= len(stations))
}

// serveTides serves the service on loopback until ctx ends.
func serveTides(ctx context.Context, getenv func(string) string, log *slog.Logger) error {
	key := getenv("TIDES_KEY")
	if key == "" {
		return errors.New("TIDES_KEY is not set; give the service and the workers the same one")
	}
	const address = "127.0.0.1:8090"
	server := &http.Server{Addr: address, Handler: &tides{key: []byte(key)}, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	log.Info("serving", "url", "http://"+address)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the tides: %w", err)
	}
	return nil
}
