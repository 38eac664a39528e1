package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	errandKey = "errand."
	claimKey  = "claim."
	answerKey = "answer."

	errandMost  = 10 * time.Minute // an errand and its answer are kept no longer
	claimTTL    = 15 * time.Second // of a worker that died with an errand in hand
	claimRenew  = claimTTL / 3
	errandsMost = 1000 // that one worker remembers
)

// lookUpAnswer is the head of an answer.
type lookUpAnswer struct {
	V      int               `json:"v"`
	Pieces int               `json:"pieces,omitempty"` // of the snapshot
	Failed *load.LookUpError `json:"failed,omitempty"`
}

// LookUp has a worker look a dashboard up, and waits until one has answered or ctx ends. A *load.LookUpError is the worker's or the
// service's word.
func (b *Bus) LookUp(ctx context.Context, l *load.LookUp) (*load.Snapshot, error) {
	data, err := l.Encode()
	if err != nil {
		return nil, err
	}
	left := l.Expires.Sub(b.Now())
	if left <= 0 {
		return nil, fmt.Errorf("look up %s: %w: it has expired", l.Dashboard, messages.ErrInvalid)
	}
	if _, err := b.put(ctx, bucketErrands, errandKey+l.ID, data, 0, wholeSeconds(min(left, errandMost))); err != nil {
		return nil, fmt.Errorf("ask for a look-up: %w", err)
	}
	defer func() { // it expires, should this fail
		taken, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWait)
		defer cancel()
		_ = b.remove(taken, bucketErrands, errandKey+l.ID, 0)
	}()
	for {
		head, err := b.awaitAnswer(ctx, l.ID)
		switch {
		case err == nil && head.Failed != nil:
			return nil, head.Failed
		case err == nil:
			return b.snapshotOf(ctx, l.ID, head.Pieces)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("wait for a worker that looks up %s: %w", l.Dashboard, context.Cause(ctx))
		case !errors.Is(err, messages.ErrUnreachable):
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectWait):
		}
	}
}

// awaitAnswer waits for the head of an answer.
func (b *Bus) awaitAnswer(ctx context.Context, id string) (*lookUpAnswer, error) {
	watching, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var head *lookUpAnswer
	var bad error
	err := b.watch(watching, bucketErrands, answerKey+id+".head", func(c *change) {
		if c == nil || len(c.value) == 0 {
			return
		}
		head = &lookUpAnswer{}
		if err := json.Unmarshal(c.value, head); err != nil {
			bad = fmt.Errorf("read the answer of a look-up: %w: %w", messages.ErrInvalid, err)
		}
		stop(errStopWatch)
	})
	switch {
	case bad != nil:
		return nil, bad
	case head != nil:
		return head, nil
	case err == nil:
		err = context.Cause(watching)
	}
	return nil, err
}

func answerPiece(id string, n int) string { return fmt.Sprintf("%s%s.%d", answerKey, id, n) }

func (b *Bus) snapshotOf(ctx context.Context, id string, pieces int) (*load.Snapshot, error) {
	if pieces < 1 || pieces > filePieces {
		return nil, fmt.Errorf("read the answer of a look-up: %w: %d pieces", messages.ErrInvalid, pieces)
	}
	var packed bytes.Buffer
	for n := range pieces {
		piece, _, err := b.get(ctx, bucketErrands, answerPiece(id, n))
		if err != nil {
			return nil, err
		}
		packed.Write(piece)
	}
	data, err := decompress(packed.Bytes(), load.MaxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read the answer of a look-up: %w: %w", messages.ErrDamaged, err)
	}
	return load.DecodeSnapshot(data)
}

// ServeLookUps has each errand of the environments that serves wants done by do, one at a time, until ctx ends, or with an error when errands
// can no longer be seen. An errand is claimed, so that one worker does it; that of a worker which dies goes to another.
func (b *Bus) ServeLookUps(ctx context.Context, serves func(environment string) bool, do func(context.Context, *load.LookUp) (*load.Snapshot, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &errands{bus: b, open: map[string]*load.LookUp{}, news: make(chan struct{}, 1)}
	var doing sync.WaitGroup
	defer doing.Wait()
	defer cancel()
	doing.Go(func() { e.work(ctx, serves, do) })
	return b.watch(ctx, bucketErrands, errandKey+"*", func(c *change) {
		if c != nil {
			e.hear(strings.TrimPrefix(c.key, errandKey), c.value)
		}
	})
}

// errands are those that one worker knows of.
type errands struct {
	bus  *Bus
	news chan struct{}

	mu   sync.Mutex // guards open
	open map[string]*load.LookUp
}

func (e *errands) hear(id string, value []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(value) == 0 || len(e.open) >= errandsMost {
		delete(e.open, id)
		return
	}
	l, err := load.DecodeLookUp(value)
	if err != nil || l.ID != id {
		e.bus.log.Warn("an errand cannot be read; it is left to others", "errand", id, "error", err)
		return
	}
	e.open[id] = l
	select {
	case e.news <- struct{}{}:
	default:
	}
}

func (e *errands) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.open, id)
}

// known gives the errands, in the order of their ids.
func (e *errands) known() []*load.LookUp {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*load.LookUp, 0, len(e.open))
	for _, id := range slices.Sorted(maps.Keys(e.open)) {
		all = append(all, e.open[id])
	}
	return all
}

func (e *errands) work(ctx context.Context, serves func(string) bool, do func(context.Context, *load.LookUp) (*load.Snapshot, error)) {
	tick := time.NewTicker(claimRenew) // one that somebody else has claimed may come back
	defer tick.Stop()
	for {
		for _, l := range e.known() {
			if ctx.Err() != nil {
				return
			}
			if !e.bus.Now().Before(l.Expires) {
				e.forget(l.ID)
				continue
			}
			if serves(l.Environment) {
				e.try(ctx, l, do)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-e.news:
		case <-tick.C:
		}
	}
}

// try claims an errand and does it.
func (e *errands) try(ctx context.Context, l *load.LookUp, do func(context.Context, *load.LookUp) (*load.Snapshot, error)) {
	answered, _, err := e.bus.get(ctx, bucketErrands, answerKey+l.ID+".head")
	if err != nil {
		return
	}
	if len(answered) > 0 {
		e.forget(l.ID)
		return
	}
	claimed, revision, err := e.bus.get(ctx, bucketErrands, claimKey+l.ID)
	if err != nil || len(claimed) > 0 {
		return // somebody else has it, or the store is away
	}
	if revision, err = e.bus.put(ctx, bucketErrands, claimKey+l.ID, []byte(`{"v":1}`), revision, claimTTL); err != nil {
		return // likewise
	}
	ctx, cancel := context.WithDeadline(ctx, time.Now().Add(l.Expires.Sub(e.bus.Now())))
	defer cancel()
	ctx, done := e.hold(ctx, l.ID, revision)
	snapshot, err := do(ctx, l)
	if errors.Is(err, load.ErrElsewhere) {
		done()
		e.forget(l.ID)
		e.release(ctx, l.ID)
		return
	}
	if err == nil || ctx.Err() == nil {
		err = e.answer(ctx, l, snapshot, err)
	}
	done()
	if err != nil {
		e.bus.log.Warn("a look-up was not answered", "dashboard", l.Dashboard, "error", err)
		return
	}
	e.forget(l.ID)
}

// hold renews the claim of an errand until done is called. The context ends when the claim is lost.
func (e *errands) hold(ctx context.Context, id string, revision uint64) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(claimRenew)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			next, err := e.bus.put(ctx, bucketErrands, claimKey+id, []byte(`{"v":1}`), revision, claimTTL)
			switch {
			case err == nil:
				revision = next
			case errors.Is(err, messages.ErrConflict):
				cancel()
			}
		}
	})
	return ctx, func() {
		cancel()
		renewing.Wait()
	}
}

// release gives a claim up, which else expires.
func (e *errands) release(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyWait)
	defer cancel()
	_ = e.bus.remove(ctx, bucketErrands, claimKey+id, 0)
}

// answer stores what came of an errand; the head goes last.
func (e *errands) answer(ctx context.Context, l *load.LookUp, s *load.Snapshot, failed error) error {
	var packed []byte
	if failed == nil {
		packed, failed = packSnapshot(s)
	}
	head := lookUpAnswer{V: load.Version}
	switch word, ok := errors.AsType[*load.LookUpError](failed); {
	case ok:
		head.Failed = &load.LookUpError{Kind: messages.Text(word.Kind), Status: word.Status, Message: messages.Text(word.Message), Hint: messages.Text(word.Hint)}
	case failed != nil:
		head.Failed = &load.LookUpError{Kind: "failed", Message: messages.Text(failed.Error())}
	default:
		for ; head.Pieces == 0 || head.Pieces*filePiece < len(packed); head.Pieces++ {
			piece := packed[head.Pieces*filePiece : min(len(packed), (head.Pieces+1)*filePiece)]
			if err := e.store(ctx, answerPiece(l.ID, head.Pieces), piece); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return e.store(ctx, answerKey+l.ID+".head", text)
}

// packSnapshot's error is the answer then: whoever asked would wait for nothing.
func packSnapshot(s *load.Snapshot) ([]byte, error) {
	if s == nil {
		return nil, fmt.Errorf("the worker's answer: %w: it has no snapshot", messages.ErrInvalid)
	}
	data, err := s.Encode()
	if err != nil {
		return nil, fmt.Errorf("the worker's answer cannot be stored: %w", err)
	}
	packed := compress(data)
	if len(packed) > filePieces*filePiece {
		return nil, fmt.Errorf("the worker's answer cannot be stored: %w: it has %d bytes, at most %d", messages.ErrInvalid, len(packed), filePieces*filePiece)
	}
	return packed, nil
}

// store puts a part of an answer in the place of what a worker that died may have left.
func (e *errands) store(ctx context.Context, key string, value []byte) error {
	for {
		_, revision, err := e.bus.get(ctx, bucketErrands, key)
		if err != nil {
			return err
		}
		_, err = e.bus.put(ctx, bucketErrands, key, value, revision, errandMost)
		if !errors.Is(err, messages.ErrConflict) {
			return err
		}
	}
}
