package frame

import (
	"bytes"
	"cmp"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// checkOrder draws pairs of texts of a type and compares the order of their keys with that of what they mean.
func checkOrder(t *testing.T, of Type, text *rapid.Generator[string], order func(a, b string) int) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if !fits(of, a) || !fits(of, b) {
			t.Fatalf("%q or %q does not fit %s", a, b, of)
		}
		keyA, keyB := appendKey(nil, of, Value{Text: a}), appendKey(nil, of, Value{Text: b})
		if got, want := bytes.Compare(keyA, keyB), order(a, b); got != want {
			t.Errorf("%q and %q compare %d, want %d", a, b, got, want)
		}
		if keyA[0] >= appendKey(nil, of, Value{Null: true})[0] {
			t.Errorf("%q does not sort before null", a)
		}
		if len(keyA) < len(keyB) && bytes.HasPrefix(keyB, keyA) {
			t.Errorf("the key of %q begins that of %q", a, b)
		}
	})
}

func TestKeysOfNumbersSortAsTheNumbers(t *testing.T) {
	decimal := rapid.StringMatching(`[+-]?[0-2]{1,3}(\.[0-2]{0,3})?([eE][+-]?[0-3])?`)
	exact := func(text string) *big.Rat {
		r, _ := new(big.Rat).SetString(strings.TrimPrefix(text, "+"))
		return r
	}
	checkOrder(t, Decimal, decimal, func(a, b string) int { return exact(a).Cmp(exact(b)) })
	checkOrder(t, Float64, decimal, func(a, b string) int {
		return cmp.Compare(Value{Text: a}.Float64(), Value{Text: b}.Float64())
	})
	whole := rapid.StringMatching(`[+-]?[0-9]{1,18}(\.0{0,2})?`)
	checkOrder(t, Int64, whole, func(a, b string) int { return exact(a).Cmp(exact(b)) })
}

func TestKeysOfTimesSortAsTheInstants(t *testing.T) {
	text := rapid.StringMatching(`(1969|1970|2024)-(01|02|12)-(01|28)T(00|01|23):00:(00|59)(\.[0-9]{1,9})?(Z|[+-]0[0-5]:[03]0)`)
	checkOrder(t, Timestamp, text, func(a, b string) int {
		timeA, errA := time.Parse(time.RFC3339Nano, a)
		timeB, errB := time.Parse(time.RFC3339Nano, b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		return timeA.Compare(timeB)
	})
	date := rapid.StringMatching(`(0001|1969|1970|9999)-(0[1-9]|1[012])-[012][1-8]`)
	checkOrder(t, Date, date, strings.Compare)
}

func TestKeysOfTextsSortBytewise(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune{0, 1, 'a', 'b', 0xff, 'é'}), 0, 4, -1)
	checkOrder(t, Text, text, strings.Compare)
	checkOrder(t, Bool, rapid.SampledFrom([]string{"false", "true"}), strings.Compare)
}

func TestARecordGivesItsRowBack(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) Value {
		if rapid.Bool().Draw(t, "null") {
			return Value{Null: true}
		}
		return Value{Text: strings.Repeat(rapid.String().Draw(t, "text"), rapid.SampledFrom([]int{1, 50, 3000}).Draw(t, "times"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		row := Row(rapid.SliceOf(value).Draw(t, "row"))
		stored := record(appendRecord(nil, row))
		got := make(Row, len(row))
		stored.read(got)
		for i := range row {
			if got[i] != row[i] {
				t.Fatalf("column %d: %v, want %v", i, got[i], row[i])
			}
		}
	})
}
