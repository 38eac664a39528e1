package service

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/cql2"
)

// Metered is what one call of an Adapter cost of quotas.
type Metered struct {
	Requests int // sent, redirects included; 0: the adapter does not count, and it was one
	Readings []QuotaReading
}

// QuotaReading is what an answer says of a pool.
type QuotaReading struct {
	Pool      string
	Limit     int64     // units in a window; 0: it says none
	Remaining int64     // units left; negative: it says none
	Reset     time.Time // when units come back; zero: it says none
}

// ReadQuotas reads what an answer says of the service's quotas, where the definition says that it does. What cannot be read
// is not said. The body is that of a JSON answer, or nil.
func (d *Definition) ReadQuotas(header map[string][]string, body []byte, now time.Time) []QuotaReading {
	var readings []QuotaReading
	var doc gjson.Result
	if d.observesBody() && cql2.Depth(body) <= maxJSONDepth && json.Valid(body) {
		doc = gjson.ParseBytes(body)
	}
	for _, q := range d.Quotas {
		reading := QuotaReading{Pool: q.Pool, Remaining: -1}
		if q.Observe.IETF {
			q.readIETF(header, now, &reading)
		} else {
			q.readSources(header, doc, now, &reading)
		}
		if reading.Limit > 0 || reading.Remaining >= 0 || !reading.Reset.IsZero() {
			readings = append(readings, reading)
		}
	}
	return readings
}

func (d *Definition) observesBody() bool {
	for _, q := range d.Quotas {
		for _, s := range []Source{q.Observe.Limit, q.Observe.Remaining, q.Observe.Reset} {
			if !s.Path.IsZero() {
				return true
			}
		}
	}
	return false
}

// mostUnits bounds what a service can say.
const mostUnits = 1 << 50

func (q Quota) readSources(header map[string][]string, doc gjson.Result, now time.Time, reading *QuotaReading) {
	read := func(s Source) string {
		if s.IsZero() {
			return ""
		}
		text, _, err := s.read(header, doc)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	if n, ok := leadingCount(read(q.Observe.Limit)); ok && n > 0 {
		reading.Limit = n
	}
	if n, ok := leadingCount(read(q.Observe.Remaining)); ok {
		reading.Remaining = n
	}
	reading.Reset = q.Observe.ResetAs.instant(read(q.Observe.Reset), now)
}

// leadingCount reads the whole number at the beginning of a text: gateways write policies behind it, such as "100, 100;w=60".
// A negative number is none left.
func leadingCount(text string) (int64, bool) {
	if strings.HasPrefix(text, "-") {
		_, ok := leadingCount(text[1:])
		return 0, ok
	}
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == 0 || end < len(text) && !strings.ContainsRune(",; \t.", rune(text[end])) {
		return 0, false
	}
	n, err := strconv.ParseInt(text[:end], 10, 64)
	if err != nil || n > mostUnits {
		return mostUnits, true
	}
	return n, true
}

// instant reads when a quota is reset. Where a service counts in whole seconds it may have cut off a fraction: one is added, so
// that nobody comes too early. Zero and the past say nothing.
func (f ResetForm) instant(text string, now time.Time) time.Time {
	var at time.Time
	if f == "http_date" {
		t, ok := httpDate(text)
		if !ok {
			return time.Time{}
		}
		at = t.Add(time.Second)
	} else {
		n, err := strconv.ParseFloat(text, 64)
		const most = 1e15 // of seconds and of milliseconds: farther than any reset
		if err != nil || !(n > 0 && n < most) {
			return time.Time{}
		}
		switch f {
		case "delta_s":
			at = now.Add(seconds(n) + roundedOff(n))
		case "delta_ms":
			at = now.Add(seconds(n / 1000))
		case "epoch_s":
			at = time.UnixMilli(int64(min(n, most/1000) * 1000)).Add(roundedOff(n))
		case "epoch_ms":
			at = time.UnixMilli(int64(n))
		default:
			return time.Time{}
		}
	}
	if !at.After(now) {
		return time.Time{}
	}
	return at
}

// httpDate reads the three forms of RFC 9110.
func httpDate(text string) (time.Time, bool) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func roundedOff(n float64) time.Duration {
	if n == float64(int64(n)) {
		return time.Second
	}
	return 0
}

func seconds(n float64) time.Duration {
	const most = 400 * 24 * 60 * 60 // longer than any window
	return time.Duration(min(n, most) * float64(time.Second))
}
