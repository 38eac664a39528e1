package service

import "sync"

// Library opens pinned definitions, and keeps what it has opened: to read a large one takes as long as a whole small query. It is
// safe for concurrent use. A nil library keeps nothing.
type Library struct {
	mu   sync.Mutex // guards open
	open map[string]*Definition
}

const maxOpen = 64 // definitions at a time; one is some hundred kilobytes

// NewLibrary makes an empty one.
func NewLibrary() *Library { return &Library{open: map[string]*Definition{}} }

// Open reads what Pin or Encode wrote. What it gives is shared, and must not be changed. Errors are those of OpenPinned.
func (l *Library) Open(pinned []byte) (*Definition, error) {
	if l == nil {
		return OpenPinned(pinned)
	}
	digest := Digest(pinned)
	if d := l.find(digest); d != nil {
		return d, nil
	}
	d, err := OpenPinned(pinned)
	if err != nil {
		return nil, err
	}
	l.keep(digest, d)
	return d, nil
}

// Pin is Encode, which opens only what has not been opened before.
func (l *Library) Pin(p Pinned) ([]byte, error) {
	data, err := p.wire()
	if err != nil {
		return nil, err
	}
	if l != nil && l.find(Digest(data)) != nil {
		return data, nil
	}
	d, err := p.open()
	if err != nil {
		return nil, err
	}
	if l != nil {
		l.keep(Digest(data), d)
	}
	return data, nil
}

func (l *Library) find(digest string) *Definition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[digest]
}

func (l *Library) keep(digest string, d *Definition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for other := range l.open {
		if len(l.open) < maxOpen {
			break
		}
		delete(l.open, other)
	}
	l.open[digest] = d
}
