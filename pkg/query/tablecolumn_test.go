package query

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// column reads a column of a table that comes in parts of some length.
func column(name, table string, part int) ([]string, error) {
	r := NewColumnReader(name)
	for rest := []byte(table); len(rest) > 0; {
		n, err := r.Write(rest[:min(part, len(rest))])
		if err != nil {
			return nil, err
		}
		rest = rest[n:]
	}
	return r.Values()
}

func TestAColumnGivesItsDistinctValuesInOrderAndExactly(t *testing.T) {
	const table = "name,\"the \"\"id\"\"\",n\n" +
		"a,00060,1\n" + // codes stay as they are
		"\"b,\n\",\" 7 \",2\n" + // blanks are part of a value
		"c,,3\n" + // null
		"d,\"\",4\n" + // empty
		"e,00060,5\n" +
		"f,\"x\r\ny,\"\"z\"\"\",6\n" +
		"é,+1.50,7\n"
	for part := 1; part <= len(table); part++ {
		got, err := column(`the "id"`, table, part)
		if diff := cmp.Diff([]string{"00060", " 7 ", "x\r\ny,\"z\"", "+1.50"}, got); err != nil || diff != "" {
			t.Fatalf("in parts of %d: %v %s", part, err, diff)
		}
	}
	if got, err := column("only", "only\n\n\"\"\n", 3); err != nil || len(got) != 0 {
		t.Errorf("a column without a value gives %q, %v", got, err)
	}
}

func TestWhatIsNoTableGivesNoValues(t *testing.T) {
	for name, test := range map[string]struct{ table, want string }{
		"no column":       {"name,idd\nx,y\n", `the table has no column "id"; did you mean "idd"?`},
		"nothing":         {"", "broke off"},
		"header broken":   {"id", "broke off"},
		"row broken":      {"id,n\na,1\nb", "broke off"},
		"in quotes":       {"id\n\"a\n", "broke off"},
		"a quote at last": {"id\n\"a\"", "broke off"},
		"behind a comma":  {"id,n\na,", "broke off"},
		"short row":       {"n,id\n1\n", "a row has 1 fields, and the header 2"},
		"long row":        {"id,n\n1,2,3\n", "a row has 3 fields, and the header 2"},
		"stray quote":     {"id\na\"b\n", "no CSV"},
		"behind a quote":  {"id\n\"a\"b\n", "no CSV"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := column("id", test.table, 2)
			if !errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestAColumnIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		limits columnLimits
		table  string
		want   string // empty: within the bounds
	}{
		"values":           {columnLimits{2, 100, 100}, "id,n\na,1\nb,2\na,3\nb,4\n", ""},
		"more values":      {columnLimits{2, 100, 100}, "id,n\na,1\nb,2\nc,3\n", "more than 2 different values"},
		"bytes":            {columnLimits{9, 4, 100}, "n,id\nlong enough,ab\nx,cd\n", ""},
		"more bytes":       {columnLimits{9, 4, 100}, "n,id\nx,ab\nx,cde\n", "more than 4 bytes together"},
		"one long value":   {columnLimits{9, 4, 100}, "id\nabcde", "more than 4 bytes together"},
		"header":           {columnLimits{9, 9, 5}, "id,n\n", ""},
		"longer header":    {columnLimits{9, 9, 5}, "id,name", "more than 5 bytes"},
		"header of commas": {columnLimits{9, 9, 5}, ",,,,,,,", "more than 5 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewColumnReader("id")
			r.limits = test.limits
			_, err := r.Write([]byte(test.table))
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, ErrColumn) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAColumnIsReadWhateverStandsInTheTable(t *testing.T) {
	cell := rapid.OneOf(rapid.SampledFrom([]string{"", ",", `"`, "\n", "\r", `""`, "a\r\nb", " x ", "00060", "é", "null"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(1, 4).Draw(t, "width")
		wanted := rapid.IntRange(0, width-1).Draw(t, "wanted")
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, width, width), 0, 8).Draw(t, "rows")
		var table bytes.Buffer
		write := func(cells []string) {
			for i, text := range cells {
				if i > 0 {
					table.WriteByte(',')
				}
				if text != "" {
					table.WriteString(`"` + strings.ReplaceAll(text, `"`, `""`) + `"`)
				}
			}
			table.WriteByte('\n')
		}
		header := make([]string, width)
		for i := range header {
			header[i] = fmt.Sprintf("c%d", i)
		}
		write(header)
		var want []string
		for _, row := range rows {
			write(row)
			if text := row[wanted]; text != "" && !slices.Contains(want, text) {
				want = append(want, text)
			}
		}
		got, err := column(header[wanted], table.String(), rapid.IntRange(1, 20).Draw(t, "part"))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q of\n%s", got, err, want, table.String())
		}
	})
}

// What encoding/csv reads otherwise, a table of Braid's does not have: line ends of two bytes, empty lines between rows.
func FuzzColumnReaderAgreesWithEncodingCSV(f *testing.F) {
	for _, table := range []string{"id,n\na,1\n", "n,id\n1,\"a\"\"\"\n2,\n", "id\n\"a\n\"\n", "id\na\"\n", ",id\n\"\",x\n"} {
		f.Add(table)
	}
	f.Fuzz(func(t *testing.T, table string) {
		got, err := column("id", table, 3)
		if err != nil {
			if !errors.Is(err, ErrColumn) {
				t.Fatalf("%v does not wrap ErrColumn", err)
			}
			return
		}
		if strings.Contains(table, "\r") || strings.HasPrefix(table, "\n") || strings.Contains(table, "\n\n") {
			return
		}
		records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
		if err != nil {
			t.Fatalf("read as %q, and encoding/csv says %v", got, err)
		}
		var want []string
		index := slices.Index(records[0], "id")
		for _, record := range records[1:] {
			if text := record[index]; text != "" && !slices.Contains(want, text) {
				want = append(want, text)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
