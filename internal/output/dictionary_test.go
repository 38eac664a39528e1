package output

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/braidhq/braid/pkg/frame"
)

// The metadata of a column chunk lists its encodings in the order of a map, so that two of one kind make two files of one table.
func TestAColumnHasOneEncodingWhateverItsValues(t *testing.T) {
	shape := frame.Shape{Fields: []frame.Field{
		{Name: "few", Type: frame.Text},
		{Name: "many", Type: frame.Text},
		{Name: "numbers", Type: frame.Decimal},
		{Name: "few.lists", Type: frame.ListText},
		{Name: "lists", Type: frame.ListText},
	}}
	var rows strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&rows, `{"few":"%d","many":"%030d","numbers":%d.5,"few.lists":["%d"],"lists":["%040d","x"]}`+"\n", i%10, i, i, i%3, i)
	}
	table := tableOf(t, shape, []string{"few", "many", "numbers", "few.lists", "lists"}, rows.String())
	var first []byte
	for range 5 {
		var data bytes.Buffer
		if err := encodeParquet(t.Context(), &data, table, nil); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = slices.Clone(data.Bytes())
		}
		if !bytes.Equal(first, data.Bytes()) {
			t.Fatal("one table, two files")
		}
	}
	reader := openParquet(t, first)
	want := []bool{true, false, false, true, false}
	for g := range reader.NumRowGroups() {
		group := reader.MetaData().RowGroup(g)
		for i := range group.NumColumns() {
			chunk, err := group.ColumnChunk(i)
			if err != nil {
				t.Fatal(err)
			}
			if chunk.HasDictionaryPage() != want[i] {
				t.Errorf("row group %d, %s: dictionary %t, want %t", g, chunk.PathInSchema(), chunk.HasDictionaryPage(), want[i])
			}
			pages := map[string]int{}
			for _, s := range chunk.EncodingStats() {
				pages[fmt.Sprint(s.PageType)]++
			}
			for kind, n := range pages {
				if n > 1 {
					t.Errorf("row group %d, %s: %d encodings of pages of kind %s", g, chunk.PathInSchema(), n, kind)
				}
			}
		}
	}
}
