package messages

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Selection says which queries are wanted of all, the newest first. The zero value wants all of them.
type Selection struct {
	States []QueryState // in one of these; none: in any
	Owner  string       // of whoever submitted them; empty: of anybody
	After  Place        // only those behind it; the zero Place: from the newest on
	Limit  int          // at most so many; 0: all
}

// Wants tells whether a query is one that is asked for, whatever the limit.
func (s Selection) Wants(q *Query) bool {
	return (len(s.States) == 0 || slices.Contains(s.States, q.State)) && (s.Owner == "" || s.Owner == q.Owner) &&
		(s.After == Place{} || s.After.Compare(q.Place()) < 0)
}

// Place is where a query stands among all, the newest first and then by id. It stays one when queries come and go.
type Place struct {
	Created time.Time
	ID      string
}

// Place is where the query stands among all.
func (m *Query) Place() Place { return Place{m.Created, m.ID} }

// Compare is negative when p is in front of other.
func (p Place) Compare(other Place) int {
	if n := other.Created.Compare(p.Created); n != 0 {
		return n
	}
	return strings.Compare(p.ID, other.ID)
}

// String writes the place as a text that is opaque to readers, and may stand in a URL.
func (p Place) String() string {
	text := strconv.FormatInt(p.Created.Unix(), 36) + "." + strconv.Itoa(p.Created.Nanosecond()) + "." + p.ID
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

const maxPlaceBytes = 160

var errPlace = errors.New("it is no place in a list; take it from next of the page before")

// ParsePlace reads what String wrote.
func ParsePlace(text string) (Place, error) {
	if len(text) > maxPlaceBytes {
		return Place{}, errPlace
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Place{}, errPlace
	}
	parts := strings.SplitN(string(data), ".", 3)
	if len(parts) != 3 {
		return Place{}, errPlace
	}
	seconds, err := strconv.ParseInt(parts[0], 36, 64)
	nanos, nanoErr := strconv.Atoi(parts[1])
	if err := errors.Join(err, nanoErr, CheckName(parts[2])); err != nil || nanos < 0 || nanos >= 1e9 {
		return Place{}, errPlace
	}
	p := Place{time.Unix(seconds, int64(nanos)).UTC(), parts[2]}
	if p.String() != text {
		return Place{}, errPlace
	}
	return p, nil
}

// ParseState reads a query's state.
func ParseState(text string) (QueryState, error) {
	state := QueryState(text)
	if err := state.check(); err != nil {
		return "", fmt.Errorf("%w; there are running, stopping, interrupted, failed, cancelled and complete", err)
	}
	return state, nil
}
