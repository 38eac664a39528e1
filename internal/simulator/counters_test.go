package simulator

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryRequestIsCountedUnderConcurrency(t *testing.T) {
	t.Parallel()
	s := New(Config{Quota: Quota{Limit: 150}})
	server := listen(t, s)
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for i := range 25 {
				if _, _, err := fetch(t.Context(), server.Client(), server.URL+oneSite+"&properties=time,value&lang="+[]string{"en", "en-US"}[(client+i)%2]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	c := s.Counters()
	if c.Requests != 200 || c.OK != 150 || c.Refused != 50 || c.InFlight != 0 || c.Rows != 150*31 {
		t.Errorf("requests %d, ok %d, refused %d, in flight %d, rows %d", c.Requests, c.OK, c.Refused, c.InFlight, c.Rows)
	}
	if c.MostInFlight < 1 || c.MostInFlight > 8 || c.MostInFlightAfterQuota > 8 {
		t.Errorf("most in flight is %d with 8 clients, %d after quota", c.MostInFlight, c.MostInFlightAfterQuota)
	}
	if c.Repeated != 148 || len(c.RepeatedURLs) != 2 || c.ByStatus[200] != 150 || c.ByStatus[429] != 50 {
		t.Errorf("repeated %d (%q), by status %v", c.Repeated, c.RepeatedURLs, c.ByStatus)
	}
	var sum int64
	for _, n := range c.ByURL {
		sum += n
	}
	if len(c.ByURL) != 2 || sum != 200 {
		t.Errorf("by URL: %v", c.ByURL)
	}
}

func TestAClientThatWaitsForItsAnswersIsOneInFlight(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	server := listen(t, s)
	for range 50 {
		if _, _, err := fetch(t.Context(), server.Client(), server.URL+oneSite); err != nil {
			t.Fatal(err)
		}
	}
	if c := s.Counters(); c.MostInFlight != 1 {
		t.Errorf("most in flight is %d", c.MostInFlight)
	}
}

func TestRequestsInFlightAreSeenAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Latency: time.Minute, MaxInFlight: 3, MaxInFlightStatus: 429})
		var clients sync.WaitGroup
		for range 5 {
			clients.Go(func() { ask(t, s, oneSite) })
		}
		synctest.Wait()
		if c := s.Counters(); c.InFlight != 3 || c.MostInFlight > 5 || c.OverInFlight != 2 || c.ByStatus[429] != 2 || c.Refused != 0 {
			t.Errorf("in flight %d, over %d, by status %v, refused %d", c.InFlight, c.OverInFlight, c.ByStatus, c.Refused)
		}
		s.Reset()
		if c := s.Counters(); c.InFlight != 3 || c.MostInFlight != 3 || c.Requests != 0 {
			t.Errorf("after reset: in flight %d, most %d, requests %d", c.InFlight, c.MostInFlight, c.Requests)
		}
		clients.Wait()
		ask(t, s, "/another")
		if c := s.Counters(); c.InFlight != 0 || c.OK != 3 || c.MostInFlight != 3 {
			t.Errorf("at the end: in flight %d, ok %d, most in flight %d", c.InFlight, c.OK, c.MostInFlight)
		}
	})
}

func TestAClientThatLeavesIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Latency: time.Minute})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.exchange(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, oneSite, nil))
		if c := s.Counters(); c.Gone != 1 || c.OK != 0 || c.ByStatus[499] != 1 || c.InFlight != 0 {
			t.Errorf("gone %d, ok %d, by status %v", c.Gone, c.OK, c.ByStatus)
		}
		if c := s.Counters(); c.Repeated != 0 {
			t.Errorf("repeated %d", c.Repeated)
		}
	})
}

func TestOnlyAnsweredRequestsCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := New(Config{Faults: []Fault{{Kind: FaultWrongCount, Attempts: 2}}})
	for range 3 { // spoiled, spoiled, whole: nothing was done twice
		ask(t, s, oneSite)
	}
	if c := s.Counters(); c.Repeated != 0 || c.OK != 1 {
		t.Errorf("repeated %d, ok %d", c.Repeated, c.OK)
	}
	ask(t, s, oneSite)
	if c := s.Counters(); c.Repeated != 1 || len(c.RepeatedURLs) != 1 || c.RepeatedURLs[0] != "GET "+oneSite {
		t.Errorf("repeated %d, %q", c.Repeated, c.RepeatedURLs)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := New(Config{LogSize: 5, URLBytes: 1 << 20})
	for i := range maxCountedURLs + 10 {
		ask(t, s, "/x?"+strconv.Itoa(i))
	}
	ask(t, s, "/long?"+strings.Repeat("y", maxRememberedURL))
	c := s.Counters()
	if len(c.ByURL) != maxCountedURLs || c.LeftOff != 11 {
		t.Errorf("%d URLs counted, %d left off", len(c.ByURL), c.LeftOff)
	}
	log := s.Requests()
	if len(log) != 5 || log[0].URL != "/x?1006" || log[3].URL != "/x?1009" || len(log[4].URL) != maxRememberedURL {
		t.Errorf("log has %d entries from %.20s", len(log), log[0].URL)
	}
}
