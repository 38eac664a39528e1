package lease

import (
	"fmt"
	"time"
)

// complaintEvery keeps a store that refuses at once, asked by every slot for its renewal, from flooding a log.
const complaintEvery = time.Second

// complain tells OnError of an error, or counts it when the last one was told just now.
func (s *Semaphore) complain(err error) {
	s.mu.Lock()
	now := time.Now()
	if !s.complained.IsZero() && now.Sub(s.complained) < complaintEvery {
		s.unsaid++
		s.mu.Unlock()
		return
	}
	if s.unsaid > 0 {
		err = fmt.Errorf("%w (and %d more errors before)", err, s.unsaid)
	}
	s.complained, s.unsaid = now, 0
	s.mu.Unlock()
	s.cfg.OnError(err)
}
