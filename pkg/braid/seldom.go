package braid

import (
	"sync"
	"time"
)

// seldom tells whether to say again what would else be said too often. It is safe for concurrent use.
type seldom struct {
	every time.Duration

	mu   sync.Mutex // guards last
	last time.Time
}

func (s *seldom) now() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && time.Since(s.last) < s.every {
		return false
	}
	s.last = time.Now()
	return true
}
