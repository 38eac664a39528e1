package planner

import (
	"time"

	"github.com/braidhq/braid/pkg/service"
)

// Windows are cut on the calendar of UTC, which has no daylight saving time.

// stepped is the instant n steps of a unit behind t, which begins one. A step is a day, a month, a year, or a second.
func stepped(unit service.Unit, t time.Time, n int) time.Time {
	switch unit {
	case service.UnitMonth:
		return t.AddDate(0, n, 0)
	case service.UnitYear:
		return t.AddDate(n, 0, 0)
	case service.UnitTimestamp:
		return time.Unix(t.Unix()+int64(n), 0).UTC()
	case service.UnitDate, service.UnitDuration: // windows have no durations
	}
	return t.AddDate(0, 0, n)
}

// floored is the last instant not after t that begins a step.
func floored(unit service.Unit, t time.Time) time.Time {
	switch unit {
	case service.UnitMonth:
		return aligned(service.AlignMonth, t)
	case service.UnitYear:
		return aligned(service.AlignCalendarYear, t)
	case service.UnitTimestamp:
		return t.Truncate(time.Second)
	case service.UnitDate, service.UnitDuration: // windows have no durations
	}
	return aligned(service.AlignDay, t)
}

// steps is how many steps there are from one that begins with from to one that begins with behind.
func steps(unit service.Unit, from, behind time.Time) int {
	const secondsOfDay, months = 24 * 60 * 60, 12
	switch unit {
	case service.UnitMonth:
		return (behind.Year()-from.Year())*months + int(behind.Month()-from.Month())
	case service.UnitYear:
		return behind.Year() - from.Year()
	case service.UnitTimestamp:
		return int(behind.Unix() - from.Unix())
	case service.UnitDate, service.UnitDuration: // windows have no durations
	}
	return int((behind.Unix() - from.Unix()) / secondsOfDay)
}

// aligned is the last instant not after t at which windows of an alignment may begin.
func aligned(align service.Align, t time.Time) time.Time {
	year, month, day := t.Date()
	switch align {
	case service.AlignDay:
	case service.AlignMonth:
		day = 1
	case service.AlignCalendarYear:
		month, day = time.January, 1
	case service.AlignWaterYear:
		if month < time.October {
			year--
		}
		month, day = time.October, 1
	default: // AlignNone
		return t
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// following is the aligned instant behind the one that is not after t.
func following(align service.Align, t time.Time) time.Time {
	before := aligned(align, t)
	switch align {
	case service.AlignDay:
		return before.AddDate(0, 0, 1)
	case service.AlignMonth:
		return before.AddDate(0, 1, 0)
	case service.AlignCalendarYear, service.AlignWaterYear:
		return before.AddDate(1, 0, 0)
	case service.AlignNone:
	}
	return t
}

// spanned is the instant one span behind t. A month that is too short ends it sooner: a month behind January 31 is the last
// day of February.
func spanned(span service.Span, t time.Time) time.Time {
	const months = 12
	year, month, day := t.Date()
	total := year*months + int(month) - 1 + span.Years*months + span.Months
	year, month = total/months, time.Month(total%months+1)
	day = min(day, time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day())
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, 0, time.UTC).AddDate(0, 0, span.Days)
}
