package simulator

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

func cursorEncoding() *base64.Encoding { return base64.RawURLEncoding }

// position is a place in the rows of a query.
type position struct {
	series      int    // number of the series or unit
	day         int    // number of the row in it; for daily values days since 1970-01-01
	behindEmpty bool   // the page before this place was empty by a fault
	body        uint32 // a mark of the request's body, 0 without one
	issued      int64  // Unix seconds, when cursors age; else 0
}

// String is the position as an opaque cursor.
func (p position) String() string {
	text := "s" + strconv.Itoa(p.series) + "d" + strconv.Itoa(p.day)
	if p.behindEmpty {
		text += "e"
	}
	if p.body != 0 {
		text += "b" + strconv.FormatUint(uint64(p.body), 10)
	}
	if p.issued != 0 {
		text += "t" + strconv.FormatInt(p.issued, 10)
	}
	return cursorEncoding().EncodeToString([]byte(text))
}

func parsePosition(cursor string) (position, error) {
	bad := fmt.Errorf("%q was not made by this service", clip(cursor))
	text, err := cursorEncoding().DecodeString(cursor)
	if err != nil {
		return position{}, bad
	}
	var p position
	rest, issued, _ := strings.Cut(string(text), "t")
	rest, body, _ := strings.Cut(rest, "b")
	rest, p.behindEmpty = strings.CutSuffix(rest, "e")
	series, day, _ := strings.Cut(strings.TrimPrefix(rest, "s"), "d")
	mark, _ := strconv.ParseUint(body, 10, 32) // what cannot be read is found by the comparison below
	p.body = uint32(mark)
	p.issued, _ = strconv.ParseInt(issued, 10, 64)
	p.series, _ = strconv.Atoi(series)
	p.day, _ = strconv.Atoi(day)
	if p.series < 0 || p.String() != cursor {
		return position{}, bad
	}
	return p, nil
}

// stamp completes a position that is about to be handed out.
func (c *call) stamp(p position) position {
	p.body = c.bodyMark()
	if c.config.CursorTTL > 0 {
		p.issued = c.entry.Time.Unix()
	}
	return p
}

// bodyMark tells bodies of POST requests apart.
func (c *call) bodyMark() uint32 {
	if len(c.body) == 0 {
		return 0
	}
	return uint32(hashText(0, string(c.body)))
}

// expired tells whether a cursor is too old.
func (c *call) expired(issued int64) bool {
	return c.config.CursorTTL > 0 && issued != 0 && c.entry.Time.Sub(time.Unix(issued, 0)) > c.config.CursorTTL
}
