package messages

import (
	"errors"
	"fmt"
	"time"
)

// maxPageBytes leaves room for all columns that a result header has room for, whatever else the two carry.
const maxPageBytes = MaxHeaderBytes + 4<<10

// Page is the header of a page of rows that is stored before its chunk is complete, together with the cursor of the next
// page: whoever runs the chunk again goes on behind it. A page is no result; the result that names its walk makes it a part
// of one. The body is the cursor and then the rows, so that a cursor may be of any length and of any bytes.
type Page struct {
	V         int      `json:"v"`
	Query     string   `json:"query"`
	Run       int      `json:"run"`
	Position  Position `json:"position"`
	Walk      string   `json:"walk"` // id of the attempt that began the walk
	Page      int      `json:"page"` // 0-based, within the walk
	Rows      int64    `json:"rows"` // of this page
	Columns   []string `json:"columns,omitempty"`
	NextBytes int64    `json:"next_bytes"`      // length of the cursor of the next page
	Bytes     int64    `json:"bytes"`           // of the rows, before compression
	SHA256    string   `json:"sha256"`          // of the cursor's length, the cursor and the rows, before compression, in hex
	Parts     int      `json:"parts,omitempty"` // messages that hold the beginning of the body; this one holds the rest
	// The largest numbers that the pages of the walk up to this one have given of the whole walk; 0: none.
	ClaimedRows  int64 `json:"claimed_rows,omitempty"`
	ClaimedPages int64 `json:"claimed_pages,omitempty"`
	Requests     int   `json:"requests,omitempty"` // sent upstream for this page, retries included; at least one was
	Ended        bool  `json:"ended,omitempty"`    // instead of a page: the walk came to no end, and nobody goes on with it
	// A walk of this chunk, the one that ended here or one before, has contradicted itself and was begun again for that: it is not
	// a second time.
	Restarted bool      `json:"restarted,omitempty"`
	Attempt   string    `json:"attempt"` // that fetched this page
	Worker    string    `json:"worker"`
	Fetched   time.Time `json:"fetched"`           // when the page was asked for: its cursor is younger
	Request   *Request  `json:"request,omitempty"` // nil in what an earlier Braid has stored
}

// Validate reports the first field that is missing or out of bounds.
func (m *Page) Validate() error {
	return firstError(
		checkVersion(m.V),
		field("query", CheckName(m.Query)),
		checkRun(m.Run),
		field("position", checkPosition(m.Position)),
		field("walk", CheckName(m.Walk)),
		field("page", checkPages(m.Page)),
		checkCount("rows", m.Rows),
		field("columns", checkColumns(m.Columns)),
		checkCount("next_bytes", m.NextBytes),
		checkCount("bytes", m.Bytes),
		field("sha256", checkDigest(m.SHA256)),
		field("parts", checkParts(m.Parts)),
		checkCount("claimed_rows", m.ClaimedRows),
		checkCount("claimed_pages", m.ClaimedPages),
		checkCount("requests", int64(m.Requests)),
		m.Request.validate(),
		field("ended", m.checkEnded()),
		field("attempt", CheckName(m.Attempt)),
		field("worker", CheckName(m.Worker)),
	)
}

func (m *Page) checkEnded() error {
	switch {
	case !m.Ended && m.NextBytes == 0:
		return errors.New("a page without a next one, of a walk that goes on")
	case m.Ended && (m.NextBytes > 0 || m.Rows > 0 || m.Bytes > 0 || m.Parts > 0):
		return errors.New("a walk that has ended, with a page")
	}
	return nil
}

func checkPages(n int) error {
	if n < 0 || n > maxPages {
		return fmt.Errorf("%d, want 0 to %d", n, maxPages)
	}
	return nil
}

// Encode validates m and gives its wire form: one line of JSON, fit for a message header.
func (m *Page) Encode() ([]byte, error) {
	data, err := encode("page", m, maxPageBytes)
	if errors.Is(err, errTooLong) {
		return nil, fmt.Errorf("%w; the page has too many or too long column names", err)
	}
	return data, err
}

// DecodePage reads the header of a page; it refuses what Encode would not have written.
func DecodePage(data []byte) (*Page, error) { return decode[Page]("page", data, maxPageBytes) }
