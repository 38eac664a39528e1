package contract

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/frame"
)

func TestAReportThatFitsComesBackWhole(t *testing.T) {
	r := frame.Report{
		Read: 9, Rows: 7, Duplicates: 2, Unknown: []string{"größe", "温度", "😀", "a\x7fb"},
		Bad: []frame.BadField{{Name: "flow", Type: frame.Float64, Count: 2, Originals: []string{"n/a", "\"\r\n"}}},
	}
	text, err := EncodeReport(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeReport(text)
	if err != nil || !cmp.Equal(*got, r) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEveryReportFitsItsHeaderAndKeepsItsCounts(t *testing.T) {
	texts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringN(0, 3000, -1), rapid.Just(strings.Repeat("\x01", 4000))), 0, 60)
	rapid.Check(t, func(t *rapid.T) {
		r := frame.Report{Read: rapid.Int64().Draw(t, "read"), Rows: rapid.Int64().Draw(t, "rows"), Unknown: texts.Draw(t, "unknown"), Absent: texts.Draw(t, "absent")}
		for _, name := range texts.Draw(t, "moved") {
			r.Moved = append(r.Moved, frame.MovedField{Name: name, As: name + "_source"})
		}
		for _, name := range texts.Draw(t, "bad") {
			r.Bad = append(r.Bad, frame.BadField{Name: name, Count: 1, Originals: texts.Draw(t, "originals")[:0:0]})
		}
		for i := range r.Bad {
			r.Bad[i].Originals = append(r.Bad[i].Originals, r.Unknown[:min(10, len(r.Unknown))]...)
		}
		text, err := EncodeReport(r)
		if err != nil || len(text) > MaxReportBytes || strings.ContainsFunc(text, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
			t.Fatalf("%d bytes, %v: %.200q", len(text), err, text)
		}
		got, err := DecodeReport(text)
		if err != nil || got.Read != r.Read || got.Rows != r.Rows || (len(got.Bad) > 0) != (len(r.Bad) > 0) || (len(got.Unknown) > 0) != (len(r.Unknown) > 0) ||
			(len(got.Moved) > 0) != (len(r.Moved) > 0) || (len(got.Absent) > 0) != (len(r.Absent) > 0) {
			t.Fatalf("%v: %+v of %+v", err, got, r)
		}
	})
}

func TestAReportThatDoesNotFitKeepsWhatDoes(t *testing.T) {
	r := frame.Report{Unknown: make([]string, 2000)}
	for i := range r.Unknown {
		r.Unknown[i] = "column"
	}
	text, err := EncodeReport(r)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeReport(text); err != nil || len(got.Unknown) < 400 {
		t.Errorf("%d of 2000 names are left, %v", len(got.Unknown), err)
	}
}

func TestAHeaderThatIsNoReportIsRefused(t *testing.T) {
	for _, value := range []string{"", "x", "[]", `{"read":"1"}`, strings.Repeat(" ", MaxReportBytes) + "{}"} {
		if r, err := DecodeReport(value); err == nil {
			t.Errorf("%.20q gives %+v", value, r)
		}
	}
}
