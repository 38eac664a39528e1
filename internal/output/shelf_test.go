package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braidhq/braid/pkg/frame"
)

// clock stands still unless it is moved.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(c.at.Load(), 0) }

func filled(text string, times *atomic.Int64) func(context.Context, io.Writer) (*frame.Report, error) {
	return func(_ context.Context, w io.Writer) (*frame.Report, error) {
		times.Add(1)
		_, err := io.WriteString(w, text)
		return &frame.Report{Rows: int64(len(text))}, err
	}
}

func readVolume(t *testing.T, v *Volume) string {
	t.Helper()
	data, err := io.ReadAll(v.Reader())
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func TestATableIsWrittenOnceHoweverManyAsk(t *testing.T) {
	shelf := NewShelf(t.TempDir(), new(clock).now)
	defer shelf.Close()
	var times atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			v, err := shelf.Volume(t.Context(), "k", filled("rows", &times))
			if err != nil {
				t.Error(err)
				return
			}
			defer v.Release()
			if got := readVolume(t, v); got != "rows" || v.Size != 4 || v.Report.Rows != 4 || len(v.SHA256) != 64 {
				t.Errorf("%q, %+v", got, v)
			}
		})
	}
	all.Wait()
	if times.Load() != 1 {
		t.Errorf("written %d times", times.Load())
	}
}

func TestATableLeavesTheShelfWhenNobodyAsksForIt(t *testing.T) {
	dir, at := t.TempDir(), new(clock)
	shelf := NewShelf(dir, at.now)
	var times atomic.Int64
	get := func(key string) *Volume {
		v, err := shelf.Volume(t.Context(), key, filled(key, &times))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	read := get("read")
	get("idle").Release()
	at.at.Add(int64(shelfIdle / time.Second))
	get("other").Release()
	if get("idle").Release(); times.Load() != 4 {
		t.Errorf("written %d times: an idle table was kept", times.Load())
	}
	if got := readVolume(t, read); got != "read" {
		t.Errorf("a table that is read was given up: %q", got)
	}
	for i := range 2 * shelfMost {
		get(fmt.Sprint(i)).Release()
	}
	if len(shelf.volumes) > shelfMost {
		t.Errorf("%d tables on the shelf", len(shelf.volumes))
	}
	shelf.Close()
	if got := readVolume(t, read); got != "read" {
		t.Errorf("a table that is read was given up: %q", got)
	}
	read.Release()
	if _, err := shelf.Volume(t.Context(), "k", filled("", &times)); !errors.Is(err, ErrShelfClosed) {
		t.Errorf("error %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAVolumeThatIsDiscardedOrIdleLeavesNoFile(t *testing.T) {
	dir, at := t.TempDir(), new(clock)
	shelf := NewShelf(dir, at.now)
	defer shelf.Close()
	var times atomic.Int64
	for _, leave := range []func(*Volume){(*Volume).Discard, func(v *Volume) {
		v.Release()
		at.at.Add(int64(shelfIdle / time.Second))
		shelf.Sweep()
	}} {
		v, err := shelf.Volume(t.Context(), "k", filled("rows", &times))
		if err != nil {
			t.Fatal(err)
		}
		leave(v)
		if v.file != nil || len(shelf.volumes) > 0 {
			t.Errorf("%d tables are kept", len(shelf.volumes))
		}
	}
}

func TestAWriterThatPanicsLeavesNothing(t *testing.T) {
	shelf := NewShelf(t.TempDir(), new(clock).now)
	defer shelf.Close()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was kept back")
			}
		}()
		_, _ = shelf.Volume(t.Context(), "k", func(context.Context, io.Writer) (*frame.Report, error) { panic("planted") })
	}()
	var times atomic.Int64
	v, err := shelf.Volume(t.Context(), "k", filled("rows", &times))
	if err != nil || v.Size != 4 {
		t.Fatalf("%+v, %v", v, err)
	}
	v.Release()
}

func TestATableThatFailsIsNotKept(t *testing.T) {
	shelf := NewShelf(t.TempDir(), new(clock).now)
	defer shelf.Close()
	planted := errors.New("planted")
	_, err := shelf.Volume(t.Context(), "k", func(context.Context, io.Writer) (*frame.Report, error) { return nil, planted })
	if !errors.Is(err, planted) || len(shelf.volumes) > 0 {
		t.Errorf("error %v, %d kept", err, len(shelf.volumes))
	}
}

func TestWhoWaitsForATableWritesItWhenItsWriterGoesAway(t *testing.T) {
	shelf := NewShelf(t.TempDir(), new(clock).now)
	defer shelf.Close()
	ctx, leave := context.WithCancel(t.Context())
	begun := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		_, err := shelf.Volume(ctx, "k", func(ctx context.Context, _ io.Writer) (*frame.Report, error) {
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
	<-begun
	var times atomic.Int64
	time.AfterFunc(time.Millisecond, leave)
	v, err := shelf.Volume(t.Context(), "k", filled("rows", &times))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	writer.Wait()
	if got := readVolume(t, v); got != "rows" {
		t.Errorf("%q", got)
	}
}
