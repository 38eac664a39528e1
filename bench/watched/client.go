package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const connected = "connected"

// watch is the clients: it prints a line when all of them have had an event, and at the end how many have seen the last one.
func (c config) watch(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0, MaxIdleConnsPerHost: 16}}
	base := "http://" + c.address + "/v1/queries"
	var first, all sync.WaitGroup
	var ended, refused atomic.Int64
	first.Add(c.clients)
	for range c.clients {
		all.Go(func() {
			begun := sync.OnceFunc(first.Done)
			defer begun()
			if follow(ctx, client, base+"/"+c.query+"/events", begun) {
				ended.Add(1)
			}
		})
	}
	first.Wait()
	fmt.Fprintln(c.stdout, connected)
	asking, stop := context.WithCancel(ctx)
	var asks sync.WaitGroup
	asks.Go(func() { c.ask(asking, client, base, &refused) })
	all.Wait()
	stop()
	asks.Wait()
	if n := refused.Load(); n > 0 && ctx.Err() == nil {
		return fmt.Errorf("%d requests were not answered as they should be", n)
	}
	fmt.Fprintln(c.stdout, ended.Load())
	return nil
}

// follow reads events to the last one.
func follow(ctx context.Context, client *http.Client, address string, begun func()) (ended bool) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch lines.Text() {
		case "event: status":
			begun()
		case "event: end":
			ended = true
		}
	}
	return ended
}

// ask sends requests at the rate, in turn for the list and for the query.
func (c config) ask(ctx context.Context, client *http.Client, base string, refused *atomic.Int64) {
	tick := time.NewTicker(time.Second / time.Duration(max(c.rate, 1)))
	defer tick.Stop()
	var asked sync.WaitGroup
	defer asked.Wait()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		address := base
		if n%2 == 1 {
			address += "/" + c.query
		}
		asked.Go(func() {
			if !answered(ctx, client, address) && ctx.Err() == nil {
				refused.Add(1)
			}
		})
	}
}

func answered(ctx context.Context, client *http.Client, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}
