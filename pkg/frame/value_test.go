package frame

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATextFitsATypeOnlyWhenNothingIsLost(t *testing.T) {
	cases := []struct {
		of   Type
		good []string
		bad  []string
	}{
		{
			Int64,
			[]string{"0", "-0", "+7", "007", "3.0", "3.", "9223372036854775807", "-9223372036854775808"},
			[]string{"", " 1", "1 ", "3.5", "1e3", "1.0e3", ".0", "9223372036854775808", "1_000", "0x10", "NaN", "--1", "-", "٣"},
		},
		{
			Decimal,
			[]string{"20.2", "-0.0", ".5", "5.", "1e3", "1E-300", "+1.50", "123456789012345678901234567890", "1e-999999"},
			[]string{"", "NaN", "Inf", "-Infinity", "1e400", "1e", "1e+", "e5", ".", "1,5", "1.2.3", "0x1p-2", "1e1000000", strings.Repeat("1", 1025)},
		},
		{Float64, []string{"1.7976931348623157e308", "5e-324"}, []string{"1.8e308", "nan"}},
		{Bool, []string{"true", "False", "TRUE"}, []string{"1", "t", "yes", ""}},
		{
			Date,
			[]string{"1970-01-01", "2024-02-29", "0001-01-01", "9999-12-31"},
			[]string{"2023-02-29", "2024-13-01", "2024-00-10", "2024-1-1", "0000-01-01", "2024-01-01T00:00:00Z", "20240101", "2024-04-31", "+024-01-01"},
		},
		{
			Timestamp,
			[]string{"2020-01-01T00:00:00Z", "2020-01-01t00:00:00z", "2020-01-01 00:00:00+00", "2020-01-01T00:00-0500", "2020-01-01T23:59:59.123456789+14:00"},
			[]string{"2020-01-01T00:00:00", "2020-01-01", "2020-01-01T24:00:00Z", "2020-01-01T00:60:00Z", "2020-01-01T00:00:60Z", "2020-01-01T00:00:00.Z", "2020-01-01T00:00:00.1234567890Z", "2020-01-01T00:00:00+5", "2020-01-01T00:00:00+05:60", "2020-01-01T00:00:00+24:00", "2020-02-30T00:00:00Z", "2020-01-01T00:00:0Z", "2020-01-01T00:00:00ZZ", "2020-01-01T00-00:00Z"},
		},
		{ListText, []string{"[]", `["A", "B"]`, `["A\u00e9"]`}, []string{"A", `"A"`, "[1]", `["A",null]`, `[["A"]]`, `["A"`, `["\ud800"]`, ""}},
		{JSON, []string{"1", `"a"`, `{"a":[1.0]}`, "null"}, []string{"", "{", "{'a':1}", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)}},
		{
			Geometry,
			[]string{`{"type":"Point","coordinates":[-89.60,43.10]}`, `{"type":"GeometryCollection","geometries":[]}`},
			[]string{`{"type":"Circle","coordinates":[1,2]}`, `{"type":"Point"}`, `[1,2]`, "POINT(1 2)"},
		},
		{Text, []string{"", "anything"}, nil},
	}
	for _, c := range cases {
		for _, text := range c.good {
			if !fits(c.of, text) {
				t.Errorf("%q does not fit %s", text, c.of)
			}
		}
		for _, text := range c.bad {
			if fits(c.of, text) {
				t.Errorf("%q fits %s", text, c.of)
			}
		}
	}
}

func TestReadingsGiveWhatTheTextMeans(t *testing.T) {
	value := func(text string) Value { return Value{Text: text} }
	cases := []struct{ got, want any }{
		{value("3.0").Int64(), int64(3)},
		{value("-9223372036854775808").Int64(), int64(math.MinInt64)},
		{value("").Int64(), int64(0)},
		{value("20.2").Float64(), 20.2},
		{value("1e400").Float64(), 0.0},
		{value("TRUE").Bool(), true},
		{value("1970-01-02").Days(), int32(1)},
		{value("1969-12-31").Days(), int32(-1)},
		{value("0001-01-01").Days(), int32(-719162)},
		{value("1970-01-01T00:00:01.5Z").Micros(), int64(1_500_000)},
		{value("1970-01-01T01:00:00+01:00").Micros(), int64(0)},
		{value("1969-12-31T19:00:00-05").Micros(), int64(0)},
		{value("1969-12-31T23:59:59.9999999Z").Micros(), int64(-1)},
		{fmt.Sprint(value(`["a\"b", "\u00e9"]`).List()), `[a"b é]`},
		{len(Value{Null: true}.List()), 0},
	}
	for i, c := range cases {
		if c.got != c.want {
			t.Errorf("case %d: %v, want %v", i, c.got, c.want)
		}
	}
}

func TestNestingIsCountedOutsideOfTexts(t *testing.T) {
	brackets := strings.Repeat("[", maxDepth+10)
	cases := map[string]bool{
		`"` + brackets + `"`:               false,
		`["\"` + brackets + `"]`:           false,
		strings.Repeat("[],", maxDepth+10): false,
		brackets:                           true,
		`["\\",` + brackets:                true,
	}
	for text, want := range cases {
		if got := nestsDeeper(text); got != want {
			t.Errorf("%.20s…: %v, want %v", text, got, want)
		}
	}
}

func TestAClippedTextIsStillUTF8(t *testing.T) {
	if got, want := clip(strings.Repeat("é", 101)+"x"), strings.Repeat("é", 100)+"…"; got != want {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := clip("x"+strings.Repeat("é", 101)), "x"+strings.Repeat("é", 99)+"…"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}
