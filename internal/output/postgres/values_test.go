//go:build unix

package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/pkg/frame"
)

func one(of frame.Type) frame.Shape {
	return frame.Shape{Fields: []frame.Field{{Name: "v", Type: of}}}
}

func TestEveryTypeKeepsItsValues(t *testing.T) {
	r := newRig(t)
	quoted := func(text string) string { data, _ := json.Marshal(text); return string(data) }
	for i, test := range []struct {
		of     frame.Type
		column string
		values [][2]string // as it came, as PostgreSQL prints it
	}{
		{frame.Text, "text", [][2]string{
			{`null`, "∅"},
			{`""`, ""},
			{`"NaN"`, "NaN"},
			{quoted(`\N`), `\N`},
			{quoted(`\.`), `\.`},
			{quoted("a\tb\nc\rd\\e\"f'g"), "a\tb\nc\rd\\e\"f'g"},
			{`"NULL"`, "NULL"},
			{`"😀é"`, "😀é"},
			{quoted("\x01\x7f\b\f\v"), "\x01\x7f\b\f\v"},
			{`" blank "`, " blank "},
			{`20.20`, "20.20"},
			{quoted("{\"a\",NULL}"), "{\"a\",NULL}"},
		}},
		{frame.Int64, "bigint", [][2]string{{`-9223372036854775808`, "-9223372036854775808"}, {`9223372036854775807`, "9223372036854775807"}, {`"007"`, "7"}, {`3.0`, "3"}, {`"+5"`, "5"}}},
		{frame.Float64, "double precision", [][2]string{
			{`1e-400`, "0"}, {`1.7976931348623157e308`, "1.7976931348623157e+308"}, {`5e-324`, "5e-324"}, {`"+.5"`, "0.5"}, {`"5."`, "5"}, {`0.1`, "0.1"}, {`-0.0`, "-0"}, {`123456789012345678`, "1.2345678901234568e+17"},
		}},
		{frame.Decimal, "numeric", [][2]string{
			{`20.20`, "20.20"}, {`123456789012345678901234567890.10`, "123456789012345678901234567890.10"}, {`"-007."`, "-7"}, {`"+.50"`, "0.50"}, {`1E+05`, "100000"}, {`1.5e-3`, "0.0015"}, {`0e999999`, "0"},
		}},
		{frame.Bool, "boolean", [][2]string{{`true`, "t"}, {`"FALSE"`, "f"}, {`null`, "∅"}}},
		{frame.Date, "date", [][2]string{{`"0001-01-01"`, "0001-01-01"}, {`"9999-12-31"`, "9999-12-31"}, {`"2020-02-29"`, "2020-02-29"}}},
		{frame.Timestamp, "timestamp with time zone", [][2]string{
			{`"2020-01-01T00:00:36.529563+00:00"`, "2020-01-01 00:00:36.529563+00"},
			{`"1969-12-31 23:59:59.9999999-05"`, "1970-01-01 04:59:59.999999+00"},
			{`"0001-01-01T00:00:00+14:00"`, "0001-12-31 10:00:00+00 BC"},
			{`"9999-12-31T23:59:59-12:00"`, "10000-01-01 11:59:59+00"},
			{`"0099-03-04T05:06Z"`, "0099-03-04 05:06:00+00"},
			{`"1883-11-18T12:00:00Z"`, "1883-11-18 12:00:00+00"},
		}},
		{frame.ListText, "text[]", [][2]string{
			{`[]`, "{}"}, {`["A", "e"]`, "{A,e}"}, {`["", "NULL", "a,b"]`, `{"","NULL","a,b"}`}, {`["a\\b\"c{}\n\t"]`, "{\"a\\\\b\\\"c{}\n\t\"}"}, {`null`, "∅"}, {`["\\N"]`, `{"\\N"}`},
		}},
		{frame.JSON, "json", [][2]string{{`{"b": 1.0,  "a":1, "a":2}`, `{"b": 1.0,  "a":1, "a":2}`}, {`"a\u0000\n\\\""`, `"a\u0000\n\\\""`}, {`[1,null]`, `[1,null]`}, {`"\ud83d"`, `"\ud83d"`}}},
		{frame.Geometry, "json", [][2]string{{`{"type":"Point","coordinates":[-89.60,43.10]}`, `{"type":"Point","coordinates":[-89.60,43.10]}`}}},
	} {
		t.Run(string(test.of), func(t *testing.T) {
			r := &rig{t, r.name, r.conn}
			var rows, want []string
			for _, v := range test.values {
				rows, want = append(rows, `{"v":`+v[0]+`}`), append(want, v[1])
			}
			table := tableOf(t, one(test.of), rows...)
			if len(table.Report.Bad) > 0 {
				t.Fatalf("no values of the type: %v", table.Report.Bad)
			}
			name := fmt.Sprint("t", i)
			r.exec("SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'")
			// What the database's owner has set must not play a part.
			r.exec("ALTER ROLE postgres SET DateStyle = 'German'; ALTER ROLE postgres SET TimeZone = 'Asia/Kathmandu'; ALTER ROLE postgres SET IntervalStyle = 'sql_standard'")
			r.write(r.target(name, Fail), table)
			r.exec("ALTER ROLE postgres RESET ALL")
			r.mustHold("SELECT v FROM "+name, want...)
			r.mustHold("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'v' AND attrelid = '"+name+"'::regclass", test.column)
		})
	}
}

func TestAnyTextComesBack(t *testing.T) {
	r := newRig(t)
	r.exec("CREATE TABLE texts (t text, l text[])")
	shape := frame.Shape{Fields: []frame.Field{{Name: "t", Type: frame.Text}, {Name: "l", Type: frame.ListText}}}
	rapid.Check(t, func(rt *rapid.T) {
		draw := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("\\N\t\n\r\"{},. '\x00a")))).Filter(utf8.ValidString)
		text := draw.Draw(rt, "text")
		list := rapid.SliceOfN(draw, 0, 4).Draw(rt, "list")
		row, err := json.Marshal(map[string]any{"t": text, "l": append([]string{}, list...)})
		if err != nil {
			rt.Fatal(err)
		}
		_, err = r.target("texts", Replace).Write(t.Context(), filled(tableOf(t, shape, string(row))))
		if strings.ContainsRune(text+strings.Join(list, ""), 0) {
			if !errors.Is(err, output.ErrUnstorable) {
				rt.Fatalf("a zero byte: %v", err)
			}
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		var gotText string
		var gotList []string
		if err := r.conn.QueryRow(t.Context(), "SELECT t, l FROM texts").Scan(&gotText, &gotList); err != nil {
			rt.Fatal(err)
		}
		if gotText != text || !slices.Equal(gotList, list) {
			rt.Fatalf("got %q %q, want %q %q", gotText, gotList, text, list)
		}
	})
}

func TestAnyMomentComesBack(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-62135596800_000_000, 253402300799_999_999).Draw(rt, "micros")).UTC()
		table := tableOf(t, one(frame.Timestamp), `{"v":"`+at.Format("2006-01-02T15:04:05.000000")+`Z"}`)
		if _, err := r.target("moments", Replace).Write(t.Context(), filled(table)); err != nil {
			rt.Fatal(err)
		}
		var got time.Time
		if err := r.conn.QueryRow(t.Context(), "SELECT v FROM moments").Scan(&got); err != nil || !got.Equal(at) {
			rt.Fatalf("got %v, %v, want %v", got, err, at)
		}
	})
}

func TestWhatPostgresCannotKeepIsNamedWithItsRow(t *testing.T) {
	r := newRig(t)
	for _, test := range []struct {
		of    frame.Type
		bad   string
		words []string
	}{
		{frame.Text, `"a\u0000b"`, []string{"row 2, column v", "zero byte"}},
		{frame.ListText, `["ok","\u0000"]`, []string{"row 2, column v", "zero byte"}},
		{frame.Decimal, `1e-99999`, []string{"row 2, column v", "99999 digits"}},
	} {
		_, err := r.target("t", Fail).Write(t.Context(), filled(tableOf(t, one(test.of), `{"v":null}`, `{"v":`+test.bad+`}`)))
		mustFail(t, err, output.ErrUnstorable, test.words...)
		r.mustBeClean()
	}
	r.write(r.target("t", Fail), tableOf(t, one(frame.Decimal), `{"v":1e-16383}`))
}

func TestAHundredThousandRows(t *testing.T) {
	r := newRig(t)
	const n = 100_000
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"site":"USGS-%07d","at":"2024-01-01T00:00:00Z","value":%d.50,"more":{"i":%d}}`, i, i, i)
	}
	table := tableOf(t, gauges(), strings.Join(rows, "\n"))
	for _, mode := range []Mode{AppendNew, Upsert, Replace} {
		if w := r.write(r.target("gauges", mode), table); w.Rows != n {
			t.Errorf("%+v", w)
		}
		r.mustHold("SELECT count(*), count(DISTINCT site), sum(value) FROM gauges", fmt.Sprintf("%d|%d|%d.00", n, n, n*(n-1)/2+n/2))
	}
}

func TestAZeroByteHasNoPlaceInJSONB(t *testing.T) {
	r := newRig(t)
	r.exec("CREATE TABLE t (v jsonb)")
	_, err := r.target("t", Append).Write(t.Context(), filled(tableOf(t, one(frame.JSON), `{"v":"a\u0000"}`)))
	mustFail(t, err, ErrRefused, "make the column json")
}
