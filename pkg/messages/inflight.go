package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxSlots bounds the slots of one service, however they are asked for: each is a key of the lease's bucket, and is watched by every worker.
const MaxSlots = 10_000

// InFlight is how many requests may be in flight at a service at a time, over all workers: 1 to MaxSlots, or Unbounded. The
// zero value says nothing: somebody else's number holds.
type InFlight int

// Unbounded is one request for each chunk, as far as there are slots.
const Unbounded InFlight = -1

const unbounded = "unbounded"

// ErrInFlight reports what is no number of requests at a time.
var ErrInFlight = fmt.Errorf("want a whole number from 1 to %d, or %s", MaxSlots, unbounded)

// Slots is the number for a query, or several, of so many chunks.
func (n InFlight) Slots(chunks int) int {
	if n == Unbounded {
		return min(max(chunks, 1), MaxSlots)
	}
	return int(n)
}

// Stricter is the lower of two numbers. One that says nothing gives way to any other, and Unbounded to a number.
func (n InFlight) Stricter(m InFlight) InFlight {
	switch {
	case n == 0 || n == Unbounded && m != 0:
		return m
	case m == 0 || m == Unbounded:
		return n
	}
	return min(n, m)
}

// Check refuses a number out of bounds. Nothing said is in them.
func (n InFlight) Check() error {
	if n != Unbounded && (n < 0 || n > MaxSlots) {
		return fmt.Errorf("%d is out of bounds, %w", int(n), ErrInFlight)
	}
	return nil
}

// String is what ParseInFlight reads; it is empty for nothing said.
func (n InFlight) String() string {
	switch n {
	case 0:
		return ""
	case Unbounded:
		return unbounded
	}
	return strconv.Itoa(int(n))
}

// ParseInFlight reads a number, or the word unbounded in any case. Nothing is trimmed.
func ParseInFlight(text string) (InFlight, error) {
	if strings.EqualFold(text, unbounded) {
		return Unbounded, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is out of bounds, %w", text, ErrInFlight)
	case err != nil:
		return 0, fmt.Errorf("%.40q: %w", text, ErrInFlight)
	case n < 1 || n > MaxSlots:
		return 0, fmt.Errorf("%d is out of bounds, %w", n, ErrInFlight)
	}
	return InFlight(n), nil
}

// UnmarshalText reads what ParseInFlight does.
func (n *InFlight) UnmarshalText(text []byte) (err error) {
	*n, err = ParseInFlight(string(text))
	return err
}

// MarshalJSON writes a number, or the word.
func (n InFlight) MarshalJSON() ([]byte, error) {
	if n == Unbounded {
		return []byte(`"` + unbounded + `"`), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes, the word in any case. A text that holds a number is none.
func (n *InFlight) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		var number int
		if err := json.Unmarshal(data, &number); err != nil || string(data) == "null" {
			return fmt.Errorf("%.40q: %w", data, ErrInFlight)
		}
		*n = InFlight(number)
		if *n == Unbounded {
			return fmt.Errorf("-1 is out of bounds, %w", ErrInFlight)
		}
		return n.Check()
	}
	var word string
	if err := json.Unmarshal(data, &word); err != nil || !strings.EqualFold(word, unbounded) {
		return fmt.Errorf("%.40q: %w", word, ErrInFlight)
	}
	*n = Unbounded
	return nil
}
