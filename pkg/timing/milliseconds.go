package timing

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Milliseconds is a duration as people and reports see it: in JSON a decimal number of milliseconds, rounded to the microsecond, such
// as 12.345. Records keep nanoseconds.
type Milliseconds time.Duration

// ErrMilliseconds reports a text that is no number of milliseconds.
var ErrMilliseconds = errors.New("invalid milliseconds")

// String gives the number without its unit, such as 12.345.
func (m Milliseconds) String() string {
	sign, ns := "", uint64(m)
	if m < 0 {
		sign, ns = "-", -uint64(m)
	}
	us := (ns + 500) / 1000
	if us == 0 {
		return "0"
	}
	text := sign + strconv.FormatUint(us/1000, 10)
	if rest := us % 1000; rest > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%03d", rest), "0")
	}
	return text
}

// MarshalJSON gives a number.
func (m Milliseconds) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }

var number = regexp.MustCompile(`^-?[0-9]{1,16}(?:\.[0-9]{1,18})?$`)

// UnmarshalJSON reads a decimal number without an exponent. The error wraps ErrMilliseconds.
func (m *Milliseconds) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if number.Match(text) {
		if ms, ok := new(big.Rat).SetString(string(text)); ok {
			ns, _ := ms.Mul(ms, big.NewRat(int64(time.Millisecond), 1)).Float64()
			if math.Abs(ns) < math.MaxInt64 {
				*m = Milliseconds(new(big.Int).Quo(ms.Num(), ms.Denom()).Int64())
				return nil
			}
		}
	}
	return fmt.Errorf("%w: %.40q", ErrMilliseconds, text)
}
