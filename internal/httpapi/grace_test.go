package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"
)

func TestAStopCutsWhatOutlastsTheGrace(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	listener, err := Address{Addr: "127.0.0.1:0"}.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	causes := make(chan error, 1)
	stuck := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "part")
		_ = http.NewResponseController(w).Flush()
		stop()
		<-r.Context().Done()
		causes <- context.Cause(r.Context())
		panic(http.ErrAbortHandler)
	})
	done := make(chan error, 1)
	go func() {
		done <- serveWithin(ctx, listener, stuck, slog.New(slog.DiscardHandler), bounds{time.Millisecond, maxConnections})
	}()
	client := &http.Client{Transport: &http.Transport{}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%q was read to a proper end", text)
	}
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if cause := <-causes; !errors.Is(cause, errStopping) {
		t.Errorf("the request was cut because of: %v", cause)
	}
}
