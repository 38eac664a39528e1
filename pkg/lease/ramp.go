package lease

import "time"

// rampFor is how long the cap takes to rise to the whole of it, after it was raised or after the service was closed to all. It rises
// from a quarter, which is there at once: whoever comes back to a service that has just refused it, or takes more of it than
// before, is not to send all that is waiting at the same instant. Two seconds are long enough for the first answers to be heard of before the
// cap is used in full, such as a refusal that closes the service again; and short enough that what is lost, three quarters of a second of
// the cap, is nothing beside the pause.
const rampFor = 2 * time.Second

// ramp is a rise of the cap from a number to Semaphore.slots. The zero value is one that is over.
type ramp struct {
	from  int
	since time.Time
}

// rampSame is what two reckonings of one moment may differ by.
const rampSame = 100 * time.Millisecond

// Ramp has the cap rise anew, because the service was closed to all until opened, by this process's clock and not later than now.
// Called with the same moment again, or an earlier one, it does nothing, and so for one that is long past: each process may call it as often as it
// likes, and all come to the same cap.
func (s *Semaphore) Ramp(opened time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); opened.After(now) {
		opened = now
	}
	if opened.Sub(s.rise.since) > rampSame {
		s.rise = ramp{from: quarter(s.slots), since: opened}
	}
}

func quarter(slots int) int { return (slots + 3) / 4 }

// allowed is how many slots may be in use now. The caller holds mu.
func (s *Semaphore) allowed() int {
	passed := max(0, time.Since(s.rise.since))
	if passed >= rampFor || s.rise.from >= s.slots {
		return s.slots
	}
	return s.rise.from + int(int64(s.slots-s.rise.from)*int64(passed)/int64(rampFor))
}

// resize changes the cap; when it goes up, it rises from what is allowed now. The caller holds mu.
func (s *Semaphore) resize(slots int) {
	if slots > s.slots {
		s.rise = ramp{from: max(s.allowed(), quarter(slots)), since: time.Now()}
	}
	s.slots = slots
}

// awaitRise has the waiters looked at when the next slot is allowed, if they wait for that. The caller holds mu.
func (s *Semaphore) awaitRise() {
	now := s.allowed()
	if now == s.slots || s.inUse() < now {
		return
	}
	// The moment when now+1 are allowed, rounded up.
	steps := int64(s.slots - s.rise.from)
	next := s.rise.since.Add(time.Duration((int64(now+1-s.rise.from)*int64(rampFor) + steps - 1) / steps))
	if s.risen == nil {
		s.risen = time.AfterFunc(time.Until(next), s.wake)
		return
	}
	s.risen.Reset(time.Until(next))
}
