package fetch

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Room bounds the memory that the bodies of answers take together, over all clients that share it. An answer takes from it as
// it grows. When nothing is left, one answer at a time may grow beyond it, and the others wait with the rest of theirs unread.
// So all together take no more than the room and one largest answer, and none waits for one that waits for it. Rows that are
// made of a body, and the copy while a body grows, come on top. Safe for concurrent use.
type Room struct {
	free   *semaphore.Weighted
	beyond chan struct{} // holds a token while an answer grows beyond the room
}

// NewRoom makes room for so many bytes.
func NewRoom(bytes int64) *Room {
	return &Room{free: semaphore.NewWeighted(bytes), beyond: make(chan struct{}, 1)}
}

// share is what one answer has of the room. A nil room is without bounds. Used by one goroutine.
type share struct {
	room   *Room
	taken  int64
	beyond bool
}

// take takes n bytes more, and waits while others have them. The error is the cause of ctx.
func (s *share) take(ctx context.Context, n int64) error {
	switch {
	case s.room == nil, s.beyond:
		return nil
	case s.room.free.TryAcquire(n):
		s.taken += n
		return nil
	}
	select {
	case s.room.beyond <- struct{}{}:
		s.beyond = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// giveBack gives back all that was taken.
func (s *share) giveBack() {
	if s.taken > 0 {
		s.room.free.Release(s.taken)
	}
	if s.beyond {
		<-s.room.beyond
	}
	s.taken, s.beyond = 0, false
}
