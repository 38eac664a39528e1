package cql2

import "strings"

// Unquoted is a comparison of a field with a number that has no quotes. Where every field is text, a service answers it with
// an error, or compares characters.
type Unquoted struct {
	Field      string
	Comparison string // as a message shows it: value >= 10, value IN (…), value NOT BETWEEN …
}

// FindUnquoted looks for a comparison of a field with a number without quotes: first the operators, then IN, then BETWEEN, and
// of each kind the leftmost. A comparison with the number in front is told with the field in front and its operator as
// it stands. Text in single quotes is passed over; what stands in double quotes is not, and may be found by mistake.
func FindUnquoted(filter string) (found Unquoted, ok bool) {
	s := &scan{text: blankQuoted(filter)}
	if found, ok = s.operator(); ok {
		return found, true
	}
	if found, ok = s.list(); ok {
		return found, true
	}
	return s.between()
}

// blankQuoted empties the literals in single quotes. A quote that nothing closes stays.
func blankQuoted(filter string) string {
	var out strings.Builder
	for {
		before, behind, opened := strings.Cut(filter, "'")
		_, rest, closed := strings.Cut(behind, "'")
		if !opened || !closed {
			break
		}
		out.WriteString(before)
		out.WriteString("''")
		filter = rest
	}
	out.WriteString(filter)
	return out.String()
}

// operator finds a field, an operator and a number, or these turned round.
func (s *scan) operator() (Unquoted, bool) {
	for i := range s.text {
		if !s.boundary(i) {
			continue
		}
		if end := s.field(i); end > i {
			op := s.skip(end)
			number := s.skip(op + s.operatorAt(op))
			if s.operatorAt(op) > 0 && s.boundedNumber(number) > number {
				return s.comparison(i, end, op, number, s.boundedNumber(number)), true
			}
		}
		if end := s.number(i).longest(); end > i {
			op := s.skip(end)
			field := s.skip(op + s.operatorAt(op))
			if s.operatorAt(op) > 0 && s.field(field) > field {
				return s.comparison(field, s.field(field), op, i, end), true
			}
		}
	}
	return Unquoted{}, false
}

func (s *scan) comparison(field, fieldEnd, op, number, numberEnd int) Unquoted {
	name := s.text[field:fieldEnd]
	return Unquoted{Field: name, Comparison: name + " " + s.text[op:op+s.operatorAt(op)] + " " + s.text[number:numberEnd]}
}

// list finds a field that is IN a list with a number. The list goes to the first parenthesis that closes.
func (s *scan) list() (Unquoted, bool) {
	closing := s.finder(func(i int) bool { return s.text[i] == ')' })
	number := s.finder(func(i int) bool { return s.isDigit(i) && s.boundary(i) && s.boundedNumber(i) > i })
	for i := range s.text {
		p, ok := s.predicate(i, "IN")
		if !ok {
			continue
		}
		if open := s.skip(p.end); open < len(s.text) && s.text[open] == '(' {
			if end := closing.from(open + 1); end < len(s.text) && number.from(open+1) < end {
				return p.unquoted(" (…)"), true
			}
		}
	}
	return Unquoted{}, false
}

// between finds a field BETWEEN a number and something, or something and a number, as long as nothing in between closes a
// parenthesis.
func (s *scan) between() (Unquoted, bool) {
	closing := s.finder(func(i int) bool { return s.text[i] == ')' })
	and := s.finder(func(i int) bool { return s.keyword(i, "AND") > i })
	andNumber := s.finder(func(i int) bool {
		end := s.keyword(i, "AND")
		number := s.skip(end)
		return end > i && number > end && s.boundedNumber(number) > number
	})
	for i := range s.text {
		p, ok := s.predicate(i, "BETWEEN")
		if !ok {
			continue
		}
		low := s.skip(p.end)
		if low == p.end {
			continue
		}
		end := closing.from(low)
		if s.boundedNumber(low) > low && and.from(low) < end || andNumber.from(low) < end {
			return p.unquoted(" …"), true
		}
	}
	return Unquoted{}, false
}

// predicate is a field and the keyword behind it, with a NOT between them or without.
type predicate struct {
	field, keyword string
	end            int
}

func (p predicate) unquoted(rest string) Unquoted {
	return Unquoted{Field: p.field, Comparison: p.field + " " + p.keyword + rest}
}

func (s *scan) predicate(i int, keyword string) (p predicate, ok bool) {
	if !s.boundary(i) {
		return p, false
	}
	end := s.field(i)
	if end == i || strings.EqualFold(s.text[i:end], "NOT") {
		return p, false
	}
	p = predicate{field: s.text[i:end], keyword: keyword}
	next := s.skip(end)
	if next == end {
		return p, false
	}
	if not := s.keyword(next, "NOT"); not > next && s.skip(not) > not {
		p.keyword = "NOT " + keyword
		next = s.skip(not)
	}
	p.end = s.keyword(next, keyword)
	return p, p.end > next
}
