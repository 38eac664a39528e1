package fetch_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/braidhq/braid/internal/fetch"
	"github.com/braidhq/braid/pkg/service"
)

// roomy is a client whose answers share a room, of a definition that allows 100,000 bytes each.
func roomy(t *testing.T, room int64, handler http.HandlerFunc) (*fetch.Client, []byte) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	d := definition(t, "open")
	if err := d.Rebase(server.URL); err != nil {
		t.Fatal(err)
	}
	return newClient(t, d.Collections[0], fetch.Config{InFlight: 8, Room: fetch.NewRoom(room)}), task(t, d.Collections[0])
}

func TestAnswersThatDoNotFitTogetherAreReadOneByOne(t *testing.T) {
	t.Parallel()
	const answers = 8
	page := onePage + strings.Repeat(" ", 90_000)
	var begun sync.WaitGroup
	begun.Add(answers)
	client, task := roomy(t, 100_000, func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(out, page[:1000])
		out.(http.Flusher).Flush()
		begun.Done()
		begun.Wait() // all are under way before any of them grows
		fmt.Fprint(out, page[1000:])
	})
	var read sync.WaitGroup
	for range answers {
		read.Go(func() {
			if got, err := client.FetchPage(t.Context(), task, service.Walk{}); err != nil || got.Count != 2 {
				t.Errorf("got %d rows, error %v; want 2", got.Count, err)
			}
		})
	}
	read.Wait()
}

func TestARoomIsGivenBackWhateverBecomesOfTheAnswer(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	client, task := roomy(t, 1000, func(out http.ResponseWriter, _ *http.Request) {
		switch sent.Add(1) % 4 {
		case 0:
			_, _ = io.Copy(out, spaces{})
		case 1:
			out.Header().Set("Content-Length", "90000")
			fmt.Fprint(out, strings.Repeat(" ", 50_000))
			panic(http.ErrAbortHandler)
		case 2:
			fmt.Fprint(out, strings.Repeat("<html>", 10_000))
		default:
			fmt.Fprint(out, onePage+strings.Repeat(" ", 90_000))
		}
	})
	for range 12 {
		_, _ = client.FetchPage(t.Context(), task, service.Walk{}) // how each ends is tested elsewhere
	}
	for sent.Load()%4 != 2 {
		_, _ = client.FetchPage(t.Context(), task, service.Walk{})
	}
	if _, err := client.FetchPage(t.Context(), task, service.Walk{}); err != nil {
		t.Error(err)
	}
}
