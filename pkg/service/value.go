package service

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/braidhq/braid/pkg/cql2"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// Bounds of one value.
const (
	maxValueBytes    = 1000
	maxFilterBytes   = 64 << 10  // of a filter in CQL2 text
	maxDocumentBytes = 512 << 10 // of a filter in CQL2-JSON
	floatBits        = 64
)

// mostBytes bounds a value.
func (p *Parameter) mostBytes() int {
	switch p.Type {
	case TypeCQL2Text:
		return maxFilterBytes
	case TypeCQL2JSON:
		return maxDocumentBytes
	default:
		return maxValueBytes
	}
}

// wrongValue is what is wrong with one value.
type wrongValue struct {
	value   string // as a message shows it
	problem string // what is wrong and what to do; values with one problem are reported together
}

// Error shows the value and what is wrong with it.
func (w *wrongValue) Error() string { return w.report(1) }

// report tells of n values with one problem.
func (w *wrongValue) report(n int) string {
	if n == 1 {
		return w.value + " " + w.problem
	}
	return fmt.Sprintf("%s (and %d more like it) %s", w.value, n-1, w.problem)
}

// checkValue tells what is wrong with one value; nil when nothing is.
func (p *Parameter) checkValue(value string) *wrongValue {
	wrong := func(format string, args ...any) *wrongValue {
		return &wrongValue{value: fmt.Sprintf("the value %.80q", value), problem: fmt.Sprintf(format, args...)}
	}
	switch most := p.mostBytes(); {
	case value == "":
		return &wrongValue{value: "a value", problem: "is empty"}
	case len(value) > most:
		return &wrongValue{value: fmt.Sprintf("the value %.40q…", value), problem: fmt.Sprintf("has %d bytes, at most %d", len(value), most)}
	case p.isFilter():
		return p.checkFilter(value)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return wrong("has characters that are not printable")
	case strings.TrimSpace(value) != value:
		return wrong("has white space around it; remove it")
	}
	value = p.canonical(value)
	switch {
	case p.Many == ManyComma && strings.Contains(value, ","):
		return wrong("has a comma, which the service reads as two values; give them as a list")
	case len(p.Values) > 0 && !slices.Contains(p.Values, value):
		return wrong("is not allowed%s", strictyaml.DidYouMean(value, p.Values))
	case p.Pattern != nil && !p.Pattern.MatchString(value) && p.Hint != "":
		return wrong("does not have the form that the service takes: %s", p.Hint)
	case p.Pattern != nil && !p.Pattern.MatchString(value):
		return wrong("does not match %s", p.Pattern)
	}
	if problem := p.checkType(value); problem != "" {
		return wrong("%s", problem)
	}
	return nil
}

// checkType tells what keeps a value from being of the parameter's type; nothing when it is.
func (p *Parameter) checkType(value string) (problem string) {
	switch p.Type {
	case TypeInt64:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return "is no whole number"
		}
	case TypeFloat64:
		// Go's own spellings of numbers, such as 0x1p-2 and Inf, are nobody else's.
		f, err := strconv.ParseFloat(value, floatBits)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || strings.Trim(value, "0123456789+-.eE") != "" {
			return "is no number"
		}
	case TypeBool:
		if value != "true" && value != "false" {
			return "is no truth value; write true or false"
		}
	case TypeDate:
		if _, err := UnitDate.parse(value); err != nil {
			return "is no day of the calendar; write YYYY-MM-DD"
		}
	case TypeTimestamp:
		if _, err := UnitTimestamp.parse(value); err != nil {
			return "is no time; write YYYY-MM-DDThh:mm:ssZ or with an offset such as -06:00"
		}
	case TypeText, TypeInterval, TypeColumns, TypeCQL2Text, TypeCQL2JSON:
	}
	return ""
}

// literal gives a number or a truth value as JSON writes it. What is neither stays a text.
func (p *Parameter) literal(value string) (text string, ok bool) {
	switch p.Type {
	case TypeInt64:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return strconv.FormatInt(n, 10), true
		}
	case TypeFloat64:
		if isJSONNumber(value) {
			return value, true
		}
		if f, err := strconv.ParseFloat(value, floatBits); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return strconv.FormatFloat(f, 'g', -1, floatBits), true
		}
	case TypeBool:
		return value, value == "true" || value == "false"
	default:
	}
	return "", false
}

// isJSONNumber tells whether JSON takes a number as it is written: without a plus, zeros in front, or a bare point.
func isJSONNumber(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, _ := cutDigits(text)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	text = text[len(whole):]
	if fraction, found := strings.CutPrefix(text, "."); found {
		digits, rest := cutDigits(fraction)
		if digits == "" {
			return false
		}
		text = rest
	}
	if exponent, found := cutFold(text, "e"); found {
		if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
			exponent = exponent[1:]
		}
		digits, rest := cutDigits(exponent)
		return digits != "" && rest == ""
	}
	return text == ""
}

func cutDigits(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

func (p *Parameter) isFilter() bool { return p.Type == TypeCQL2Text || p.Type == TypeCQL2JSON }

// checkFilter tells what is wrong with a filter by itself. Which language a text is in depends on another parameter.
func (p *Parameter) checkFilter(filter string) *wrongValue {
	wrong := func(format string, args ...any) *wrongValue {
		return &wrongValue{value: fmt.Sprintf("the filter %.60q", filter), problem: fmt.Sprintf(format, args...)}
	}
	control := func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) && (r < '\x1c' || r > '\x1f') }
	switch {
	case !utf8.ValidString(filter) || strings.ContainsFunc(filter, control):
		return wrong("has characters that are not printable")
	case p.Type == TypeCQL2JSON:
		if err := cql2.CheckDocument(filter); err != nil {
			return wrong("cannot be sent: %s", err)
		}
	case len(cql2.Split(filter)) == 0:
		return wrong("has no condition")
	}
	return nil
}
