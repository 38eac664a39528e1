package simulator

import (
	"strconv"
	"time"
)

// series is one time series of the record. It is remade in place for the next one, so that a page of many short series
// makes no garbage.
type series struct {
	record *record
	hash   uint64
	base   uint64 // the middle of its values, in thousandths

	block    int // the block that gap and modified belong to
	gap      bool
	modified []byte
}

// become turns s into the series of a site, parameter and statistic.
func (s *series) become(site, parameter, statistic string) {
	s.hash = hashText(s.record.values.Seed, site, parameter, statistic)
	s.base = (200 + mix(s.hash)%400) << (mix(s.hash+1) % 12)
	s.block = -1
}

// missing tells whether the series has no row on a day.
func (s *series) missing(day int) bool {
	if block := blockOf(day); block != s.block {
		s.enter(block)
	}
	return s.gap
}

func (s *series) enter(block int) {
	s.block = block
	chance := mix(s.hash ^ mix(uint64(block)))
	values := &s.record.values
	s.gap = unit(chance) < values.GapShare
	if s.gap {
		return
	}
	// Any version is modified within 90 days of being made, and versions are 100 days apart, so a later one is newer.
	second := int64(s.record.last+1+100*values.Version)*secondsPerDay + int64(mix(chance)%(90*secondsPerDay))
	micros := int64(mix(chance+1) % 1_000_000)
	layout := "2006-01-02T15:04:05.000000-07:00"
	if chance%8 == 0 {
		layout = "2006-01-02T15:04:05-07:00"
	}
	s.modified = time.Unix(second, micros*1000).UTC().AppendFormat(s.modified[:0], layout)
}

// row is one day of a series.
type row struct {
	day  int
	hash uint64 // of series and day
}

func (s *series) row(day int) row {
	return row{day: day, hash: mix(s.hash + uint64(day)*0x9e3779b97f4a7c15)}
}

// appendID writes the UUID of this version of the row.
func (s *series) appendID(b []byte, r row) []byte {
	high := mix(r.hash ^ uint64(s.record.values.Version)<<32)
	low := mix(high)
	high = high&^0xf000 | 0x4000
	low = low&^(3<<62) | 2<<62
	b = appendHex(b, high>>32, 8)
	b = append(b, '-')
	b = appendHex(b, high>>16, 4)
	b = append(b, '-')
	b = appendHex(b, high, 4)
	b = append(b, '-')
	b = appendHex(b, low>>48, 4)
	b = append(b, '-')
	return appendHex(b, low, 12)
}

// appendValue writes the value with as many decimals as its size deserves: 0.04, 5.10, 20.0, 1240.
func (s *series) appendValue(b []byte, r row) []byte {
	season := uint64(s.record.season[r.day-s.record.first])
	noise := 896 + r.hash%256
	v := s.base * season >> 10 * noise >> 10 // thousandths
	switch {
	case v < 10_000:
		return appendDecimal(b, v/10, 2)
	case v < 100_000:
		return appendDecimal(b, v/100, 1)
	}
	return strconv.AppendUint(b, v/1000, 10)
}

func (s *series) appendApproval(b []byte, r row) []byte {
	if r.day > s.record.approved {
		return append(b, "Provisional"...)
	}
	return append(b, "Approved"...)
}

func (s *series) appendQualifier(b []byte, r row) []byte {
	if r.hash>>8%16 == 0 {
		return append(b, `["e"]`...)
	}
	return append(b, "null"...)
}

// appendDecimal writes n as a number with one or two decimals, trailing zeros kept.
func appendDecimal(b []byte, n uint64, decimals int) []byte {
	if decimals == 1 {
		b = strconv.AppendUint(b, n/10, 10)
		return append(b, '.', byte('0'+n%10))
	}
	b = strconv.AppendUint(b, n/100, 10)
	return append(b, '.', byte('0'+n/10%10), byte('0'+n%10))
}

// appendHex writes the lowest digits of n.
func appendHex(b []byte, n uint64, digits int) []byte {
	const alphabet = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, alphabet[n>>shift&15])
	}
	return b
}
