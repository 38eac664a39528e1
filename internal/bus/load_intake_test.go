package bus_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/braidhq/braid/internal/bus"
	"github.com/braidhq/braid/internal/testkit"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// admission makes one by a worker, at a time of its own.
func admission(run string, number, attempt int, worker string) *load.Admission {
	return &load.Admission{V: 1, Run: run, Number: number, Attempt: attempt, Worker: worker, At: time.Now()}
}

// loadSequences reads from the stream itself at which sequences admissions and closed places of a run are stored, by place; an admission says
// in the name of its worker which place it was made at.
func loadSequences(t testing.TB, js jetstream.JetStream, run string) (admitted map[int][]uint64, closed map[int]uint64) {
	t.Helper()
	var err error
	testkit.Until(t, "the stream can be read to its end", func() bool { // it may have no leader for a while
		if admitted, closed, err = readSequences(t.Context(), js, run); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	return admitted, closed
}

func readSequences(ctx context.Context, js jetstream.JetStream, run string) (admitted map[int][]uint64, closed map[int]uint64, err error) {
	admitted, closed = map[int][]uint64{}, map[int]uint64{}
	reader, err := js.OrderedConsumer(ctx, "LOAD", jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{"braid.load.admission." + run + ".>", "braid.load.closed." + run + ".>"},
	})
	if err != nil {
		return nil, nil, err
	}
	for left := reader.CachedInfo().NumPending; left > 0; left-- {
		msg, err := reader.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			return nil, nil, err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, nil, err
		}
		if err := note(msg.Subject(), msg.Data(), meta.Sequence.Stream, admitted, closed); err != nil {
			return nil, nil, err
		}
	}
	return admitted, closed, nil
}

func note(subject string, data []byte, sequence uint64, admitted map[int][]uint64, closed map[int]uint64) error {
	tokens := strings.Split(subject, ".")
	if tokens[2] == "closed" {
		place, err := strconv.Atoi(tokens[4])
		closed[place] = sequence
		return err
	}
	a, err := load.DecodeAdmission(data)
	if err != nil {
		return err
	}
	var place int
	if _, err := fmt.Sscanf(a.Worker, "p%d", &place); err != nil {
		return err
	}
	admitted[place] = append(admitted[place], sequence)
	return nil
}

// crowd is many who admit at the places of a run, until each is told that intake is closed.
type crowd struct {
	run      string
	number   atomic.Int64
	admitted atomic.Int64
	people   sync.WaitGroup
}

// begin starts one at each place, and gives the buses to them in turn.
func (c *crowd) begin(t testing.TB, buses []*bus.Bus) {
	for place := range load.MaxPlaces {
		b := buses[place%len(buses)]
		c.people.Go(func() {
			for t.Context().Err() == nil {
				a := admission(c.run, int(c.number.Add(1)), 1, fmt.Sprintf("p%d", place))
				err := b.Admit(t.Context(), a, place)
				switch {
				case err == nil:
					c.admitted.Add(1)
				case errors.Is(err, load.ErrIntakeClosed):
					return
				default:
					t.Errorf("place %d: %v", place, err)
					return
				}
			}
		})
	}
}

// turnedAway waits until each has been told that intake is closed.
func (c *crowd) turnedAway(t testing.TB) {
	t.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		c.people.Wait()
	}()
	select {
	case <-gone:
	case <-time.After(testkit.Patience):
		t.Fatalf("the intake was closed, and somebody is still admitted: %d are", c.admitted.Load())
	}
}

// judge looks at what the stream has: no admission is behind the closed message of its place, and as many are stored as were told so.
func (c *crowd) judge(t testing.TB, admitted map[int][]uint64, closed map[int]uint64) {
	t.Helper()
	total := 0
	for place, seqs := range admitted {
		total += len(seqs)
		for _, seq := range seqs {
			if seq > closed[place] {
				t.Errorf("place %d was closed at %d, and an admission is stored at %d", place, closed[place], seq)
			}
		}
	}
	if len(closed) != load.MaxPlaces {
		t.Errorf("%d places are closed", len(closed))
	}
	if int64(total) != c.admitted.Load() {
		t.Errorf("%d admissions are stored, and %d were told that they are", total, c.admitted.Load())
	}
}

func TestLR_1_5_NothingIsAdmittedOnceIntakeIsClosed(t *testing.T) {
	server := testkit.Server(t)
	buses := []*bus.Bus{testkit.Join(t, server), testkit.Join(t, server), testkit.Join(t, server)}
	for round := range 8 {
		c := &crowd{run: fmt.Sprintf("run-%d", round)}
		before := rand.Int64N(200) // at any moment
		c.begin(t, buses)
		testkit.Until(t, "so many are admitted", func() bool { return c.admitted.Load() >= before })
		if err := buses[0].CloseIntake(t.Context(), c.run); err != nil {
			t.Fatal(err)
		}
		stored, _ := loadSequences(t, buses[0].JetStream(), c.run)
		c.turnedAway(t)
		after, _ := loadSequences(t, buses[0].JetStream(), c.run)
		for place := range load.MaxPlaces {
			if len(after[place]) != len(stored[place]) {
				t.Errorf("place %d: an admission was stored after CloseIntake had returned", place)
			}
		}
		_, closed := loadSequences(t, buses[0].JetStream(), c.run)
		c.judge(t, after, closed)
		if closed, err := buses[1].IntakeClosed(t.Context(), c.run); err != nil || !closed {
			t.Errorf("closed: %v, %v", closed, err)
		}
	}
}

func TestAnAdmissionIsToldTheTruthWhenAskedAgain(t *testing.T) {
	b := testkit.Bus(t)
	a := admission("run1", 3, 1, "w1")
	for range 2 {
		if err := b.Admit(t.Context(), a, 4); err != nil {
			t.Fatal(err)
		}
	}
	if closed, err := b.IntakeClosed(t.Context(), "run1"); err != nil || closed {
		t.Errorf("closed: %v, %v", closed, err)
	}
	// Two workers may have the same delivery in hand, of a server that was killed.
	if err := b.Admit(t.Context(), admission("run1", 3, 1, "w2"), 5); !errors.Is(err, messages.ErrExists) {
		t.Errorf("somebody else: %v", err)
	}
	for range 2 {
		if err := b.CloseIntake(t.Context(), "run1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Admit(t.Context(), a, 4); err != nil {
		t.Errorf("it was admitted before: %v", err)
	}
	for _, a := range []*load.Admission{admission("run1", 3, 2, "w1"), {V: 1, Run: "run1", Number: 3, Attempt: 1, Repeat: true, Worker: "w1", At: time.Now()}} {
		if err := b.Admit(t.Context(), a, 4); !errors.Is(err, load.ErrIntakeClosed) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if err := b.Admit(t.Context(), admission("run2", 3, 2, "w1"), 4); err != nil {
		t.Errorf("another run: %v", err)
	}
	for _, place := range []int{-1, load.MaxPlaces} {
		if err := b.Admit(t.Context(), admission("run2", 4, 1, "w1"), place); !errors.Is(err, messages.ErrInvalid) {
			t.Errorf("place %d: %v", place, err)
		}
	}
}

func TestAnAdmissionThatIsHeardOfTooLateIsNotToBeUsed(t *testing.T) {
	b := testkit.Bus(t)
	a := admission("run1", 3, 1, "w1")
	if err := b.Admit(t.Context(), a, 4); err != nil {
		t.Fatal(err)
	}
	b.Mistake(3 * time.Second)
	if err := b.Admit(t.Context(), a, 4); err != nil {
		t.Errorf("three seconds later: %v", err)
	}
	b.Mistake(2 * time.Second)
	if err := b.Admit(t.Context(), a, 4); !errors.Is(err, load.ErrAdmittedLate) {
		t.Errorf("five seconds later: %v", err)
	}
	if err := b.Admit(t.Context(), admission("run1", 4, 1, "w1"), 4); err != nil {
		t.Errorf("one that is stored now: %v", err)
	}
}

func TestAnIntakeStaysClosedWhenItsRunIsRemoved(t *testing.T) {
	b := testkit.Bus(t)
	if err := b.CloseIntake(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	if err := b.RemoveRun(t.Context(), "run1"); err != nil {
		t.Fatal(err)
	}
	if err := b.Admit(t.Context(), admission("run1", 0, 1, "w1"), 0); !errors.Is(err, load.ErrIntakeClosed) {
		t.Errorf("got %v", err)
	}
}

func TestAdmissionsWaitWhileTheStoreIsAway(t *testing.T) {
	dir := t.TempDir()
	server, err := bus.StartServer(t.Context(), bus.ServerConfig{Dir: dir, Listen: "127.0.0.1:0", Durability: bus.Fast})
	if err != nil {
		t.Fatal(err)
	}
	url := server.ClientURL()
	b := testkit.Connect(t, bus.Config{URL: url})
	if err := b.Admit(t.Context(), admission("run1", 0, 1, "w1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 1)
	go func() { told <- b.Admit(t.Context(), admission("run1", 1, 1, "w1"), 0) }()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := b.Admit(ctx, admission("run1", 2, 1, "w1"), 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who has no time: %v", err)
	}
	testkit.ServerOn(t, bus.ServerConfig{Dir: dir, Listen: strings.TrimPrefix(url, "nats://")})
	if err := testkit.Receive(t, "word of the admission", told); err != nil {
		t.Error(err)
	}
}
