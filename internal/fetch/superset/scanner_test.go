package superset

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/load"
)

// worked is the answer of the reference's example: the first query was stored, the second was not.
func worked(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/worked.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// scan reads a text in pieces of so many bytes.
func scan(t interface{ Helper() }, text []byte, piece int, bounds load.SampleBounds) (*scanner, *spool, error) {
	t.Helper()
	kept := &spool{}
	s := newScanner(maxQueries, kept, bounds)
	for part := text; len(part) > 0; {
		n := min(piece, len(part))
		if _, err := s.Write(part[:n]); err != nil {
			return s, kept, err
		}
		part = part[n:]
	}
	err := s.close()
	return s, kept, err
}

func TestLR_5_3_TheDataIsDigestedAsItWasReceived(t *testing.T) {
	text := worked(t)
	for _, piece := range []int{1, 2, 3, 7, 64, len(text)} {
		s, kept, err := scan(t, text, piece, load.SampleBounds{})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := dataDigest(kept, s.queries)
		if want := "3ef2857cec20750975d45ac73e5845eff3193bb98827edf2b6a8349880a81af0"; digest != want || err != nil {
			t.Errorf("in pieces of %d: %s, %v; want %s", piece, digest, err, want)
		}
		first, second := s.queries[0], s.queries[1]
		if string(first.fields["cache_key"]) != `"5f0a4c"` || string(second.fields["cached_dttm"]) != "null" || string(second.fields["is_cached"]) != "null" ||
			string(first.fields["cache_timeout"]) != "86400" || first.rows != 2 || second.rows != 1 || string(second.fields["rowcount"]) != "1" {
			t.Errorf("in pieces of %d: %s and %s, rows %d and %d", piece, first.fields, second.fields, first.rows, second.rows)
		}
		sample, truncated := s.sample.Sample()
		want := `[{"order_month": 1785542400000, "region": "EU", "revenue": 1250.5},{"order_month": 1785542400000, "region": "APAC", "revenue": 980.0}]`
		if string(sample) != want || truncated {
			t.Errorf("in pieces of %d the sample is %s, truncated: %t", piece, sample, truncated)
		}
	}
}

func TestLR_5_5_TheSampleIsTheFirstRowsWithinItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		data      string
		bounds    load.SampleBounds
		want      string
		truncated bool
	}{
		"all of them":           {`[1, {"a":[2]} ,"x"]`, load.SampleBounds{Rows: 3, Bytes: 100}, `[1,{"a":[2]},"x"]`, false},
		"so many rows":          {`[1,2,3]`, load.SampleBounds{Rows: 2, Bytes: 100}, `[1,2]`, true},
		"so many bytes":         {`[111,222,333]`, load.SampleBounds{Rows: 9, Bytes: 9}, `[111,222]`, true},
		"one byte less":         {`[111,222,333]`, load.SampleBounds{Rows: 9, Bytes: 8}, `[111]`, true},
		"a first row too long":  {`["` + strings.Repeat("x", 99) + `",1]`, load.SampleBounds{Rows: 9, Bytes: 50}, `[]`, true},
		"no row":                {`[]`, load.SampleBounds{Rows: 9, Bytes: 50}, `[]`, false},
		"none behind a gap":     {`[1,"xxxxxxxxxxxxxxx",2]`, load.SampleBounds{Rows: 9, Bytes: 10}, `[1]`, true},
		"data that is no list":  {`{"a": [1]}`, load.SampleBounds{Rows: 9, Bytes: 10}, `[]`, false},
		"of the first query":    {`[1]}, {"data": [2]`, load.SampleBounds{Rows: 9, Bytes: 10}, `[1]`, false},
		"not of lists in a row": {`[[1,2],[3]]`, load.SampleBounds{Rows: 9, Bytes: 100}, `[[1,2],[3]]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte(`{"result": [{"data": ` + c.data + `}]}`)
			for piece := 1; piece <= len(text); piece++ {
				s, _, err := scan(t, text, piece, c.bounds)
				if err != nil {
					t.Fatal(err)
				}
				if sample, truncated := s.sample.Sample(); string(sample) != c.want || truncated != c.truncated {
					t.Fatalf("in pieces of %d: %s, truncated: %t", piece, sample, truncated)
				}
			}
		})
	}
}

func TestWhatIsNoAnswerIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":               {"", "in the middle"},
		"cut short":             {`{"result": [{"data": [1`, "in the middle"},
		"a page":                {"<html>", "cannot"},
		"no result":             {`{"message": "x"}`, "no list `result`"},
		"a result of its own":   {`{"result": {}}`, "no list `result`"},
		"a null result":         {`{"result": null}`, "no list `result`"},
		"result deeper inside":  {`{"a": {"result": []}}`, "no list `result`"},
		"a list":                {`[{"result": []}]`, "no list `result`"},
		"result twice":          {`{"result": [], "result": []}`, "twice"},
		"data twice":            {`{"result": [{"data": [], "d\u0061ta": []}]}`, "twice"},
		"more behind it":        {`{"result": []} x`, "cannot"},
		"not a number":          {`{"result": [{"data": [NaN]}]}`, "cannot"},
		"a number with a zero":  {`{"result": [{"data": [01]}]}`, "cannot"},
		"a comma too much":      {`{"result": [1,]}`, "cannot"},
		"a comma in an object":  {`{"result": [],}`, "cannot"},
		"the wrong bracket":     {`{"result": [}}`, "cannot"},
		"a raw line feed":       {"{\"result\": [\"\n\"]}", "cannot"},
		"a wrong escape":        {`{"result": ["\x"]}`, "cannot"},
		"too deep":              {`{"result": [` + strings.Repeat("[", maxDepth), "deeper"},
		"a field without bound": {`{"result": [{"cache_key": "` + strings.Repeat("k", maxFieldBytes) + `"}]}`, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, piece := range []int{1, 5, 1 << 20} {
				if _, _, err := scan(t, []byte(c.text), piece, load.SampleBounds{}); !errors.Is(err, errNotJSON) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("in pieces of %d: %v, want %q", piece, err, c.want)
				}
			}
		})
	}
}

// plainly reads an answer with all of it in memory.
func plainly(text []byte) (results []json.RawMessage, ok bool) {
	var top map[string]json.RawMessage
	if json.Unmarshal(text, &top) != nil || len(top["result"]) == 0 || top["result"][0] != '[' {
		return nil, false
	}
	err := json.Unmarshal(top["result"], &results)
	return results, err == nil
}

// reporter is what a test, a fuzz target and a property have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

func checkAgainstPlain(t reporter, text []byte, piece int) {
	t.Helper()
	s, kept, err := scan(t, text, piece, load.SampleBounds{})
	defer kept.close()
	if err != nil {
		if json.Valid(text) && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "deeper") && !strings.Contains(err.Error(), "no list") && !strings.Contains(err.Error(), "more than") {
			t.Errorf("%.200q is JSON: %v", text, err)
		}
		return
	}
	if !json.Valid(text) {
		t.Errorf("%.200q is no JSON", text)
		return
	}
	results, ok := plainly(text)
	if !ok {
		return // two names that differ in case only are one for the other reader
	}
	if len(results) != s.count {
		t.Errorf("%.200q: %d results, want %d", text, s.count, len(results))
		return
	}
	for i, raw := range results[:min(len(results), maxQueries)] {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			continue
		}
		for name, value := range fields {
			if name == "data" {
				held, err := kept.section(s.queries[i].dataAt, s.queries[i].dataLen)
				if err != nil {
					t.Errorf("%v", err)
					continue
				}
				var got bytes.Buffer
				if _, err := got.ReadFrom(held); err != nil || !bytes.Equal(got.Bytes(), value) {
					t.Errorf("%.200q: data %q, want %q", text, got.Bytes(), value)
				}
			} else if wanted(name) && !bytes.Equal(s.queries[i].fields[name], value) {
				t.Errorf("%.200q: %s is %q, want %q", text, name, s.queries[i].fields[name], value)
			}
		}
	}
}

func TestAScannedAnswerIsThatOfAReaderThatHoldsItAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`null`, `true`, `-0.5e+3`, `"a\u00e9\"]}"`, `[]`, `{}`, `[1, [2, {"data": 3}]]`, `{"data": [1], "is_cached": true}`, " 7 "})
		field := rapid.SampledFrom([]string{"is_cached", "cached_dttm", "cache_key", "data", "d\\u0061ta2", "other", "rowcount", "result"})
		object := rapid.Custom(func(t *rapid.T) string {
			var parts []string
			for _, name := range rapid.SliceOfNDistinct(field, 0, 5, rapid.ID[string]).Draw(t, "fields") {
				parts = append(parts, `"`+name+`" : `+value.Draw(t, "value"))
			}
			return "{" + strings.Join(parts, ",") + "}"
		})
		results := rapid.SliceOfN(rapid.OneOf(object, value), 0, 4).Draw(t, "results")
		text := `{"x": ` + value.Draw(t, "before") + `, "result" :[` + strings.Join(results, ",\n") + `] ,"y":` + value.Draw(t, "behind") + "} "
		checkAgainstPlain(t, []byte(text), rapid.IntRange(1, 40).Draw(t, "piece"))
	})
}

func TestMoreResultsThanQueriesAreCountedAlone(t *testing.T) {
	kept := &spool{dir: t.TempDir()}
	s := newScanner(2, kept, load.SampleBounds{})
	text := `{"result": [` + strings.TrimSuffix(strings.Repeat(`{"is_cached": null, "data": [1]},`, 50), ",") + `]}`
	if _, err := s.Write([]byte(text)); err != nil || s.close() != nil {
		t.Fatal(err)
	}
	if s.count != 50 || len(s.queries) != 2 || kept.size != 2*int64(len("[1]")) {
		t.Errorf("counted %d, kept %d and %d bytes of data", s.count, len(s.queries), kept.size)
	}
}

func TestTheDiskThatLongAnswersTakeIsBounded(t *testing.T) {
	var shared atomic.Int64
	shared.Store(maxScratch - 3<<20)
	one, other := &spool{dir: t.TempDir(), shared: &shared}, &spool{dir: t.TempDir(), shared: &shared}
	piece := make([]byte, 1<<20)
	write := func(s *spool, pieces int) (err error) {
		for range pieces {
			if _, err = s.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write(one, 3); err != nil { // one in memory, two on the disk
		t.Fatal(err)
	}
	if err := write(other, 3); !errors.Is(err, errScratch) {
		t.Errorf("beyond the bound: %v", err)
	}
	other.close()
	one.close()
	if have := shared.Load(); have != maxScratch-3<<20 {
		t.Errorf("%d bytes are counted still", have-(maxScratch-3<<20))
	}
	again := &spool{dir: t.TempDir(), shared: &shared}
	defer again.close()
	if err := write(again, 4); err != nil {
		t.Error(err)
	}
}

func FuzzScanner(f *testing.F) {
	text, err := os.ReadFile("testdata/worked.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, uint8(9))
	for _, seed := range []string{`{"result":[]}`, `{"result":[{"data":[[],{}],"is_cached":null}]}`, `{"result":[1,{"rowcount":-0}]}`, `{"re\u0073ult":[{}]}`, `[`, `{"result":[{"data":1,"data":2}]}`} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) { checkAgainstPlain(t, text, int(piece)+1) })
}

func TestALongAnswersDataIsInAFileWithoutAName(t *testing.T) {
	dir := t.TempDir()
	s := &spool{dir: dir}
	var want bytes.Buffer
	for i := range 3 * spoolMemory / 1000 {
		part := bytes.Repeat([]byte{byte(i)}, 1000)
		want.Write(part)
		if _, err := s.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 || s.file == nil || len(s.memory) > spoolMemory {
		t.Errorf("%d names in the folder, %d bytes in memory", len(left), len(s.memory))
	}
	for _, c := range [][2]int64{{0, s.size}, {10, 100}, {spoolMemory - 50, 100}, {spoolMemory + 5, 1000}, {s.size, 0}} {
		part, err := s.section(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(part); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()[c[0]:c[0]+c[1]]) {
			t.Errorf("at %d, %d bytes: %d come, %v", c[0], c[1], got.Len(), err)
		}
	}
	if _, err := s.section(1, s.size); err == nil {
		t.Error("a section behind the end is read")
	}
	s.close()
	if diff := cmp.Diff(int64(0), s.size); diff != "" {
		t.Error(diff)
	}
}
