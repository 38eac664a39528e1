package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// thousands writes a count as people read it: 14,611,204.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// count writes a number of things: 1 chunk, 2 chunks.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return thousands(n) + " " + stem + "ries"
	}
	return thousands(n) + " " + noun + "s"
}

// plural is a noun behind a number that is written already.
func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// moment writes a time as the user's clock shows it, with the clock's distance from UTC.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// fileSize writes a number of bytes as people read it.
func fileSize(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/1e9)
}

// span writes a duration as people read it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
