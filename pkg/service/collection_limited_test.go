package service

import (
	"strings"
	"testing"
)

func TestACollectionWithSmallerPagesAsksForThem(t *testing.T) {
	d, err := Parse("rivers.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	c := d.Collections[0]
	ask := func(c *Collection) string {
		r, err := c.Request(Values{"state": {"WI"}})
		if err != nil {
			t.Fatal(err)
		}
		return r.URL
	}
	whole := ask(c)
	for rows, want := range map[int64]string{0: "limit=500", 7: "limit=7", 500: "limit=500", 501: "limit=500"} {
		if got := ask(c.WithPageRows(rows)); got != strings.Replace(whole, "limit=500", want, 1) {
			t.Errorf("%d rows: %s", rows, got)
		}
	}
	if now := ask(c); now != whole || !strings.HasSuffix(whole, "limit=500") {
		t.Errorf("the collection itself asks %s, before %s", now, whole)
	}
}
