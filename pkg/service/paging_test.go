package service

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// pagedBy gives a collection of things with the paging and the keys that are put beside the service's.
func pagedBy(t testing.TB, paging string) *Collection {
	t.Helper()
	d, err := Parse("things.yaml", []byte(pagedText(paging)))
	if err != nil {
		t.Fatal(err)
	}
	return d.Collections[0]
}

func pagedText(paging string) string {
	return `schema: service/v1
name: things
base_url: https://api.example.org/v1
hosts: [{host: api.example.org, credentials: [key]}]
credentials: {key: {send: {query: api_key}, from: env:KEY}}
limits: {page_rows: 5}
collections:
  things:
    request: {path: /things, query: {order: id}}
    params: {kind: {type: text}}
    paging: ` + paging + `
    rows: {format: json, at: '$.items[*]'}
    fields: {id: {type: int64}}
`
}

// upstream is a service with rows 0, 1, 2, … that answers as the pages of a walk ask.
type upstream struct {
	rows   int
	most   int              // rows a page, whatever is asked
	extra  func(int) string // further members of the answer on a page of so many rows
	served []string         // queries
}

func (u *upstream) answer(r Request) string {
	parsed, err := url.Parse(r.URL)
	if err != nil {
		return err.Error()
	}
	query := parsed.Query()
	u.served = append(u.served, parsed.RawQuery)
	number := func(name string) int { n, _ := strconv.Atoi(query.Get(name)); return n }
	limit := min(number("limit"), u.most)
	begin := number("offset") + number("cursor")
	if page := query.Get("page"); page != "" {
		begin = (number("page") - 1) * limit
	}
	var items []string
	for i := begin; i < min(begin+limit, u.rows); i++ {
		items = append(items, fmt.Sprintf(`{"id":%d}`, i))
	}
	next := "null"
	if begin+limit < u.rows {
		next = strconv.Itoa(begin + limit)
	}
	members := fmt.Sprintf(`{"items":[%s],"next":%s,"total":%d,"pages":%d`, strings.Join(items, ","), next, u.rows, (u.rows+limit-1)/limit)
	if u.extra != nil {
		members += u.extra(len(items))
	}
	return members + "}"
}

// walk goes from the first page to the last as the worker does, and gives the ids.
func walk(c *Collection, u *upstream) (ids []string, last Page, err error) {
	first, err := c.Request(Values{"kind": {"a b"}})
	if err != nil {
		return nil, Page{}, err
	}
	at, seen := Walk{}, map[string]bool{}
	for {
		request, err := c.PageRequest(first, at)
		if err != nil {
			return ids, last, err
		}
		last, err = c.DecodePage(at, request.URL, nil, []byte(u.answer(request)))
		if err != nil {
			return ids, last, err
		}
		for line := range strings.Lines(string(last.Rows)) {
			ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), `{"id":`), "}"))
		}
		if last.Next == "" {
			return ids, last, nil
		}
		if seen[last.Next] {
			return ids, last, fmt.Errorf("the cursor %s again", last.Next)
		}
		seen[last.Next] = true
		at = Walk{Cursor: last.Next, Pages: at.Pages + 1, Rows: at.Rows + int64(last.Count), Claimed: last.Claimed}
	}
}

const (
	byOffset = "{style: offset, send: {offset: '{offset}', limit: '{page_rows}'}, stop: "
	byPage   = "{style: page, send: {page: '{page}', limit: '{page_rows}'}, stop: "
	byCursor = "{style: cursor, next: '$.next', send: {cursor: '{}', limit: '{page_rows}'}"
)

func TestAWalkTakesTheRequestsThatItsStyleNeeds(t *testing.T) {
	const fixed = "kind=a+b&order=id"
	tests := []struct {
		name, paging string
		rows, most   int
		want         []string
	}{
		{"offset, empty", byOffset + "empty_page}", 7, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5", "&offset=7&limit=5"}},
		{"offset, short", byOffset + "short_page}", 7, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5", "&offset=7&limit=5"}},
		{"offset, short, exactly full", byOffset + "short_page}", 5, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5"}},
		{"offset, short, total agrees", byOffset + "short_page, count: {matched: '$.total'}}", 7, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5"}},
		{"offset, short, clamped", byOffset + "short_page}", 5, 2, []string{"&offset=0&limit=5", "&offset=2&limit=5", "&offset=4&limit=5", "&offset=5&limit=5"}},
		{"offset, total", byOffset + "{total: '$.total'}}", 10, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5"}},
		{"offset, total, clamped", byOffset + "{total: '$.total'}}", 5, 3, []string{"&offset=0&limit=5", "&offset=3&limit=5"}},
		{"offset, nothing there", byOffset + "{total: '$.total'}}", 0, 5, []string{"&offset=0&limit=5"}},
		{"offset from one", byOffset + "empty_page, first: 100}", 0, 5, []string{"&offset=100&limit=5"}},
		{"offset, pages", byOffset + "{pages: '$.pages'}}", 7, 5, []string{"&offset=0&limit=5", "&offset=5&limit=5"}},
		{"page, empty", byPage + "empty_page}", 5, 5, []string{"&page=1&limit=5", "&page=2&limit=5"}},
		{"page, short", byPage + "short_page}", 7, 5, []string{"&page=1&limit=5", "&page=2&limit=5", "&page=3&limit=5"}},
		{"page, short, clamped", byPage + "short_page}", 4, 2, []string{"&page=1&limit=5", "&page=2&limit=5", "&page=3&limit=5"}},
		{"page, pages", byPage + "{pages: '$.pages'}}", 7, 5, []string{"&page=1&limit=5", "&page=2&limit=5"}},
		{"page, no pages", byPage + "{pages: '$.pages'}}", 0, 5, []string{"&page=1&limit=5"}},
		{"page, total", byPage + "{total: '$.total'}}", 7, 5, []string{"&page=1&limit=5", "&page=2&limit=5"}},
		{"cursor", byCursor + "}", 7, 5, []string{"&limit=5", "&limit=5&cursor=5"}},
		{"cursor, begun by the fixed query", "{style: cursor, next: '$.next', send: {order: '{}', limit: '{page_rows}'}}", 0, 5, []string{"&limit=5"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			u := &upstream{rows: test.rows, most: test.most}
			ids, last, err := walk(pagedBy(t, test.paging), u)
			if err != nil || len(ids) != test.rows || last.Doubted {
				t.Errorf("%d rows, doubted %t, %v, want %d", len(ids), last.Doubted, err, test.rows)
			}
			for i := range u.served {
				u.served[i] = strings.TrimPrefix(u.served[i], fixed)
			}
			if diff := cmp.Diff(test.want, u.served); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAWalkHasEachRowOnceInOrderWhateverTheServiceGivesAPage(t *testing.T) {
	styles := []string{
		byOffset + "empty_page}", byOffset + "short_page}", byOffset + "short_page, count: {matched: '$.total'}}",
		byOffset + "{total: '$.total'}}", byOffset + "{pages: '$.pages'}}", byPage + "empty_page}", byPage + "short_page}", byPage + "{total: '$.total'}}",
		byPage + "{pages: '$.pages'}, count: {matched: '$.total'}}", byCursor + "}", byCursor + ", count: {matched: '$.total'}}",
	}
	collections := make([]*Collection, len(styles))
	for i, style := range styles {
		collections[i] = pagedBy(t, style)
	}
	rapid.Check(t, func(t *rapid.T) {
		u := &upstream{rows: rapid.IntRange(0, 23).Draw(t, "rows"), most: rapid.IntRange(1, 7).Draw(t, "most")}
		ids, _, err := walk(rapid.SampledFrom(collections).Draw(t, "style"), u)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			if id != strconv.Itoa(i) {
				t.Fatalf("row %d is %s", i, id)
			}
		}
		if len(ids) != u.rows {
			t.Fatalf("%d rows, want %d", len(ids), u.rows)
		}
	})
}

func TestAWalkThatContradictsItselfIsNoTable(t *testing.T) {
	total := func(total string) func(int) string {
		return func(int) string { return `,"total":` + total }
	}
	tests := []struct {
		name, paging string
		extra        func(rows int) string
		class        Class
		want         string
	}{
		{"fewer than the total, empty page", byOffset + "{total: '$.total'}}", total("9"), ClassBadPage, "says that 9 rows match, and the pages end after 7"},
		{"fewer than matched", byOffset + "empty_page, count: {matched: '$.total'}}", total("9"), ClassBadPage, "the pages end after 7"},
		{"more than the total", byPage + "{total: '$.total'}}", total("6"), ClassBadPage, "says that 6 rows match, and 7 have come"},
		{"no total", byOffset + "{total: '$.all'}}", nil, ClassBadPage, "does not say at $.all how many rows there are"},
		{"negative total", byOffset + "{total: '$.total'}}", total("-1"), ClassBadPage, `not a number of rows or pages: "-1"`},
		{"half a row", byOffset + "{total: '$.total'}}", total("7.5"), ClassBadPage, "not a number"},
		{"absurd total", byOffset + "{total: '$.total'}}", total("1e300"), ClassBadPage, "not a number"},
		{"infinite total", byOffset + "{total: '$.total'}}", total(`"inf"`), ClassBadPage, "not a number"},
		{"grouped total", byOffset + "{total: '$.total'}}", total(`"1,007"`), ClassBadPage, "not a number"},
		{"total is a list", byOffset + "{total: '$.total'}}", total(`[]`), ClassBadPage, "not a number"},
		{"total as text", byOffset + "{total: '$.total'}}", total(`" 7 "`), "", ""},
		{"total as float", byOffset + "{total: '$.total'}}", total(`7.0e0`), "", ""},
		{"total unknown", byOffset + "empty_page, count: {matched: '$.total'}}", total(`"unknown"`), "", ""},
		{"pages and no pages", byPage + "{pages: '$.pages'}}", func(int) string { return `,"pages":0` }, ClassBadPage, "there are 0 pages, and page 1 has 5 rows"},
		{"rows fall away", byOffset + "empty_page, count: {matched: '$.total'}}", func(rows int) string { return `,"total":` + strconv.Itoa(10-(5-rows)) }, ClassBadPage, "have become fewer"},
		{"total and matched differ", byOffset + "{total: '$.total'}, count: {matched: '$.n'}}", func(int) string { return `,"n":8` }, ClassBadPage, "says 8 rows at $.n and 7 at $.total"},
		{"cursor, fewer than matched", byCursor + ", count: {matched: '$.total'}}", total("8"), ClassBadPage, "the pages end after 7"},
		{"cursor, more without cursor", byCursor + ", more: '$.more'}", func(int) string { return `,"more":true` }, ClassBadPage, "says at $.more that there is more, and names no cursor"},
		{"cursor, more is odd", byCursor + ", more: '$.more'}", func(int) string { return `,"more":"perhaps"` }, ClassBadPage, `neither true nor false: "perhaps"`},
		{"cursor is an object", byCursor + "}", func(int) string { return `,"next":{}` }, ClassBadPage, "not a text"},
		{"cursor is true", byCursor + "}", func(int) string { return `,"next":true` }, ClassBadPage, "is true"},
		{"cursor without end", byCursor + "}", func(int) string { return `,"next":"` + strings.Repeat("x", maxCursorBytes+1) + `"` }, ClassBadPage, "16385 bytes, at most 16384"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := walk(pagedBy(t, test.paging), &upstream{rows: 7, most: 5, extra: test.extra})
			if classOf(err) != test.class || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s: %s", err, test.class, test.want)
			}
		})
	}
}

func TestACursorEndsAsItsServiceSays(t *testing.T) {
	tests := []struct {
		name, paging, body, want string
	}{
		{"text", byCursor + "}", `"next":"a&b=\"<é"`, `{"cursor":"a&b=\"<é"}`},
		{"number", byCursor + "}", `"next":9007199254740993`, `{"cursor":"9007199254740993"}`},
		{"null", byCursor + "}", `"next":null`, ""},
		{"absent", byCursor + "}", `"x":1`, ""},
		{"empty", byCursor + "}", `"next":""`, ""},
		{"false", byCursor + "}", `"next":false`, ""},
		{"no more", byCursor + ", more: '$.more'}", `"next":"a","more":false`, ""},
		{"no more, as number", byCursor + ", more: '$.more'}", `"next":"a","more":0`, ""},
		{"more", byCursor + ", more: '$.more'}", `"next":"a","more":"True"`, `{"cursor":"a"}`},
		{"more is null", byCursor + ", more: '$.more'}", `"next":"a","more":null`, `{"cursor":"a"}`},
		{"more is null, no cursor", byCursor + ", more: '$.more'}", `"more":null`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := pagedBy(t, test.paging).DecodePage(Walk{}, "", nil, []byte(`{"items":[{"id":1}],`+test.body+`}`))
			if err != nil || page.Next != test.want {
				t.Errorf("next %q, %v, want %q", page.Next, err, test.want)
			}
		})
	}
}

func TestAnImmediateRepeatIsTheEndWhereTheServiceMarksItSo(t *testing.T) {
	body := []byte(`{"items":[{"id":1}],"next":"a"}`)
	at := Walk{Cursor: `{"cursor":"a"}`, Pages: 1, Rows: 5}
	for rule, want := range map[string]string{"fail": `{"cursor":"a"}`, "end": "", "end_if_empty": `{"cursor":"a"}`} {
		page, err := pagedBy(t, byCursor+", repeat: "+rule+"}").DecodePage(at, "", nil, body)
		if err != nil || page.Next != want {
			t.Errorf("%s: next %q, %v, want %q", rule, page.Next, err, want)
		}
	}
	const itself = "https://api.example.org/v1/things"
	page, err := pagedBy(t, "{style: link, next: '$.next', repeat: end}").DecodePage(Walk{}, itself, nil, []byte(`{"items":[{"id":1}],"next":"/v1/things"}`))
	if err != nil || page.Next != "" {
		t.Errorf("a first page that names itself: next %q, %v", page.Next, err)
	}
	page, err = pagedBy(t, byCursor+", repeat: end_if_empty}").DecodePage(at, "", nil, []byte(`{"items":[],"next":"a"}`))
	if err != nil || page.Next != "" {
		t.Errorf("an empty page that names itself: next %q, %v", page.Next, err)
	}
}

func TestAFullLastPageThatNothingConfirmsIsDoubted(t *testing.T) {
	full := `"items":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]`
	tests := []struct {
		paging, body string
		want         bool
	}{
		{"{style: none}", full, true},
		{"{style: none}", `"items":[{"id":1}]`, false},
		{"{style: none, count: {matched: '$.n'}}", full + `,"n":5`, false},
		{"{style: none, count: {matched: '$.n'}}", full, true},
		{"{style: link, next: '$.next'}", full, true},
		{"{style: link, next: '$.next'}", full + `,"next":"?p=2"`, false},
		{byCursor + "}", full, true},
		{byCursor + ", more: '$.more'}", full + `,"more":false`, false},
		{byOffset + "{total: '$.n'}}", full + `,"n":5`, false},
		{byPage + "{pages: '$.n'}}", full + `,"n":1`, false},
	}
	for _, test := range tests {
		page, err := pagedBy(t, test.paging).DecodePage(Walk{}, "https://api.example.org/v1/things", nil, []byte("{"+test.body+"}"))
		if err != nil || page.Doubted != test.want {
			t.Errorf("%s with %s: doubted %t, %v", test.paging, test.body, page.Doubted, err)
		}
	}
}

func TestNoDataEndsOnlyAWalkThatLooksForItsEnd(t *testing.T) {
	const link = "{style: link, next: '$.next'}"
	offset, page := Walk{Cursor: `{"offset":5}`, Pages: 1, Rows: 5}, Walk{Cursor: `{"page":2}`, Pages: 1, Rows: 5}
	claimed := func(at Walk, rows, pages int64) Walk {
		at.Claimed = Claims{Rows: rows, Pages: pages}
		return at
	}
	tests := []struct {
		paging string
		at     Walk
		want   Class
	}{
		{"{style: none}", Walk{}, ""},
		{link, Walk{}, ""},
		{link, Walk{Cursor: "https://api.example.org/v1/things?p=2", Pages: 1, Rows: 5}, ClassBadPage},
		{"{style: link, next: '$.next', empty_page: stop}", Walk{Cursor: "https://api.example.org/v1/things?p=2", Pages: 1}, ClassBadPage},
		{byCursor + "}", Walk{}, ""},
		{byCursor + "}", Walk{Cursor: `{"cursor":"a"}`, Pages: 1, Rows: 5}, ClassBadPage},
		{byOffset + "empty_page}", Walk{}, ""},
		{byOffset + "empty_page}", offset, ""},
		{byOffset + "empty_page}", claimed(offset, 5, 0), ""},
		{byOffset + "empty_page}", claimed(offset, 6, 0), ClassBadPage},
		{byOffset + "empty_page}", Walk{Cursor: `{"offset":6}`, Pages: 1, Rows: 5}, ClassCursorGone},
		{byOffset + "{total: '$.total'}}", claimed(offset, 9, 0), ClassBadPage},
		{byOffset + "{total: '$.total'}}", offset, ClassBadPage},
		{byOffset + "{pages: '$.pages'}}", claimed(offset, 0, 2), ClassBadPage},
		{byPage + "empty_page}", page, ""},
		{byPage + "short_page}", page, ""},
		{byPage + "short_page, count: {matched: '$.total'}}", claimed(page, 9, 0), ClassBadPage},
		{byPage + "{pages: '$.pages'}}", claimed(page, 0, 2), ClassBadPage},
	}
	for _, test := range tests {
		if err := pagedBy(t, test.paging).EndsUnserved(test.at); classOf(err) != test.want {
			t.Errorf("%s at %+v: %v, want class %q", test.paging, test.at, err, test.want)
		}
	}
}

func TestWhatAPageClaimsOfTheWalkHoldsForAllPagesBehindIt(t *testing.T) {
	const (
		link    = "{style: link, next: '$.next', count: {matched: '$.m'}}"
		cursor  = byCursor + ", count: {matched: '$.m'}}"
		row     = `"items":[{"id":1}]`
		more    = row + `,"next":"/v1/things?p=2"`
		further = row + `,"next":"/v1/things?p=3"`
	)
	tests := []struct {
		name, paging string
		pages        []string
		want         string // of the last page's error
	}{
		{"link, a total that falls to the rows", link, []string{more + `,"m":100`, row + `,"m":2`}, "fewer while their pages were read: 2, and 100 before"},
		{"link, a total that falls before the end", link, []string{more + `,"m":100`, further + `,"m":99`}, "99, and 100 before"},
		{"link, a total that is not told again", link, []string{more + `,"m":100`, row}, "says that 100 rows match, and the pages end after 2"},
		{"link, a total two pages before", link, []string{more + `,"m":4`, further, row}, "says that 4 rows match, and the pages end after 3"},
		{"link, the largest counts", link, []string{more + `,"m":3`, further + `,"m":4`, row}, "4 rows match, and the pages end after 3"},
		{"link, the last total agrees", link, []string{more + `,"m":3`, further, row}, ""},
		{"link, a total that grows", link, []string{more + `,"m":2`, further + `,"m":3`, row}, ""},
		{"link, rows beyond a total of before", link, []string{more + `,"m":2`, further, row}, ""},
		{"cursor, a total that falls", cursor, []string{more + `,"m":100`, row + `,"m":2`}, "2, and 100 before"},
		{"cursor, a total that is not told again", cursor, []string{more + `,"m":100`, row}, "100 rows match, and the pages end after 2"},
		{"cursor, empty_page: stop", byCursor + ", empty_page: stop, count: {matched: '$.m'}}", []string{more + `,"m":100`, `"items":[],"next":"x"`}, "the pages end after 1"},
		{"page, pages that fall", byPage + "{pages: '$.n'}}", []string{row + `,"n":5`, row + `,"n":2`}, "the pages have become fewer while they were read: 2, and 5 before"},
		{"page, pages that grow", byPage + "{pages: '$.n'}}", []string{row + `,"n":2`, row + `,"n":3`, row + `,"n":3`}, ""},
		{"offset, pages that fall", byOffset + "{pages: '$.n'}}", []string{row + `,"n":3`, row + `,"n":2`}, "2, and 3 before"},
		{"offset, a total that falls", byOffset + "{total: '$.n'}}", []string{row + `,"n":3`, row + `,"n":2`}, "2, and 3 before"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, at := pagedBy(t, test.paging), Walk{}
			for i, body := range test.pages {
				page, err := c.DecodePage(at, "https://api.example.org/v1/things", nil, []byte("{"+body+"}"))
				last := i == len(test.pages)-1
				switch {
				case last && test.want != "":
					if classOf(err) != ClassBadPage || !strings.Contains(err.Error(), test.want) {
						t.Errorf("got next %q, %v\nwant %s", page.Next, err, test.want)
					}
				case err != nil || last != (page.Next == ""):
					t.Fatalf("page %d: next %q, %v", i+1, page.Next, err)
				}
				at = Walk{Cursor: page.Next, Pages: at.Pages + 1, Rows: at.Rows + int64(page.Count), Claimed: page.Claimed}
			}
		})
	}
}

func TestATotalThatOnlyAnEarlierPageSaysStillHolds(t *testing.T) {
	onFirst := func(rows int) string {
		if rows == 5 {
			return `,"total":8`
		}
		return `,"total":null`
	}
	const paging = byOffset + "short_page, count: {matched: '$.total'}}"
	u := &upstream{rows: 7, most: 5, extra: onFirst}
	if _, _, err := walk(pagedBy(t, paging), u); classOf(err) != ClassBadPage || !strings.Contains(err.Error(), "8 rows match, and the pages end after 7") {
		t.Errorf("one row is missing: got %v", err)
	}
	u = &upstream{rows: 8, most: 5, extra: onFirst}
	if ids, _, err := walk(pagedBy(t, paging), u); err != nil || len(ids) != 8 || len(u.served) != 2 {
		t.Errorf("%d rows by %d requests, %v, want 8 by 2: the total agrees", len(ids), len(u.served), err)
	}
	u = &upstream{rows: 9, most: 5, extra: onFirst}
	if ids, last, err := walk(pagedBy(t, paging), u); err != nil || len(ids) != 9 || last.Count != 0 {
		t.Errorf("%d rows, %v, want 9: rows may be added while they are read", len(ids), err)
	}
}

func TestPagingThatMakesNoSenseIsRefused(t *testing.T) {
	tests := []struct{ paging, want string }{
		{"{style: pages}", `unknown value "pages"; allowed are none, link, cursor, offset, page`},
		{"{style: link}", "style link needs next"},
		{"{style: cursor, send: {cursor: '{}'}}", "style cursor needs next"},
		{"{style: cursor, next: '$.next'}", "needs send with exactly one parameter that has {} in it"},
		{"{style: cursor, next: '$.next', send: {cursor: '{}', after: '{}'}}", "exactly one parameter"},
		{"{style: cursor, next: '$.next', send: {cursor: '{offset}'}}", "{offset} has no meaning here; allowed are {}, {page_rows}"},
		{"{style: cursor, next: '$.next', send: {cursor: '{}'}, stop: empty_page}", "things.yaml:11: collections.things.paging.stop: is not used with style cursor"},
		{"{style: offset, send: {offset: '{offset}'}}", "style offset needs stop, which says what ends the walk"},
		{"{style: page, send: {page: '{page}'}}", "style page needs stop"},
		{"{style: page, stop: empty_page}", "needs send with exactly one parameter that has {page} in it"},
		{byOffset + "never}", `unknown value "never"; allowed are empty_page, short_page, {total: SOURCE}, {pages: SOURCE}`},
		{byOffset + "{total: '$.a', pages: '$.b'}}", "exactly one of total, pages"},
		{byOffset + "{rows: '$.a'}}", "unknown key"},
		{byOffset + "{total: x}}", "is not a path"},
		{byOffset + "empty_page, next: '$.next'}", "next: is not used with style offset"},
		{byOffset + "empty_page, empty_page: stop}", "empty_page: is not used with style offset"},
		{byOffset + "empty_page, repeat: end}", "repeat: is not used with style offset"},
		{byOffset + "empty_page, cursor_ttl: 5m}", "cursor_ttl: is not used with style offset"},
		{byOffset + "empty_page, first: -1}", "-1 is out of bounds"},
		{"{style: link, next: '$.next', more: '$.more'}", "more: is not used with style link"},
		{"{style: link, next: '$.next', cursor_ttl: 1ms}", "1ms is out of bounds"},
		{"{style: none, max_pages: 3}", "max_pages: is not used with style none"},
		{"{style: none, keep: [a]}", "keep: is not used with style none"},
		{"{style: page, send: {kind: '{page}'}, stop: empty_page}", "is sent by the parameter kind too"},
		{"{style: page, send: {order: '{page}'}, stop: empty_page}", "is sent by request.query too"},
		{"{style: page, send: {API_KEY: '{page}'}, stop: empty_page}", "is the parameter of the credential key"},
	}
	for _, test := range tests {
		_, err := Parse("things.yaml", []byte(pagedText(test.paging)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant %s", test.paging, err, test.want)
		}
	}
	for _, paging := range []string{byOffset + "short_page}", byPage + "empty_page}"} {
		_, err := Parse("things.yaml", []byte(strings.Replace(pagedText(paging), "limits: {page_rows: 5}", "limits: {}", 1)))
		if err == nil || !strings.Contains(err.Error(), "needs limits.page_rows") {
			t.Errorf("%s without page_rows: got %v", paging, err)
		}
	}
	text := strings.NewReplacer("{format: json, at: '$.items[*]'}", "{format: csv}").Replace(pagedText(byOffset + "{total: '$.n'}, count: {matched: '$.n'}}"))
	if _, err := Parse("things.yaml", []byte(text)); err == nil || strings.Count(err.Error(), "a path needs a JSON body") != 2 {
		t.Errorf("paths into a table: got %v", err)
	}
}

func TestACursorThatWasDamagedIsGone(t *testing.T) {
	damaged := []string{
		"x", "{}", `{"offset":0}`, `{"offset":-5}`, `{"offset":05}`, `{"offset":5.0}`, `{"offset": 5}`, `{"offset":5}{}`, `{"offset":5,"page":1}`,
		`{"offset":5,"x":1}`, `{"Offset":5}`, `{"page":2}`, `{"cursor":"a"}`, `{"offset":6}`, `{"offset":9223372036854775807}`,
		`{"offset":5,"total":7}`, `"` + strings.Repeat("x", 100_000) + `"`,
		"https://evil.example/",
	}
	c := pagedBy(t, byOffset+"empty_page}")
	first, err := c.Request(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range damaged {
		at := Walk{Cursor: cursor, Pages: 1, Rows: 5}
		if _, err := c.PageRequest(first, at); classOf(err) != ClassCursorGone || len(err.Error()) > 200 {
			t.Errorf("request of %.40q: got %v", cursor, err)
		}
		if _, err := c.DecodePage(at, first.URL, nil, []byte(`{"items":[{"id":1}]}`)); classOf(err) != ClassCursorGone {
			t.Errorf("page of %.40q: got %v", cursor, err)
		}
	}
	for _, at := range []Walk{{Rows: -1}, {Pages: -1}, {Rows: 1 << 60}} {
		if _, err := c.PageRequest(first, at); classOf(err) != ClassCursorGone {
			t.Errorf("%+v: got %v", at, err)
		}
	}
	for style, cursor := range map[string]string{byPage + "empty_page}": `{"page":1}`, byCursor + "}": `{"offset":5}`, "{style: none}": "x"} {
		if _, err := pagedBy(t, style).PageRequest(first, Walk{Cursor: cursor}); classOf(err) != ClassCursorGone {
			t.Errorf("%s with %s: got %v", style, cursor, err)
		}
	}
}

func TestThePagesParametersTravelWhereTheOthersDo(t *testing.T) {
	at := Walk{Cursor: `{"offset":5}`, Pages: 1, Rows: 5}
	post := func(contentType, body string) Request {
		return Request{Method: "POST", URL: "https://api.example.org/v1/things?a=1&offset=0&b=%20&&offset=9", Header: map[string]string{"content-type": contentType}, Body: []byte(body)}
	}
	tests := []struct {
		name      string
		as        bodyStyle
		first     Request
		url, body string
	}{
		{"query", "", Request{Method: "GET", URL: "https://api.example.org/v1/things"}, "?offset=5&limit=5", ""},
		{"in its place", "", Request{Method: "GET", URL: "https://api.example.org/v1/things?limit=9&%6Fffset=1&z=a,b"}, "?limit=9&offset=5&z=a,b", ""},
		{"CQL2 body", "", post("application/query-cql-json", `{"op":"and"}`), "?a=1&offset=5&b=%20&limit=5", `{"op":"and"}`},
		{"form", asForm, post("application/x-www-form-urlencoded; charset=utf-8", "q=a+b&offset=0"), "?a=1&offset=0&b=%20&&offset=9", "q=a+b&offset=5&limit=5"},
		{"JSON", asJSON, post("application/json", `{"offset":0,"q":[1, 2.0],"x":{"offset":1}}`), "?a=1&offset=0&b=%20&&offset=9", `{"offset":5,"q":[1, 2.0],"x":{"offset":1},"limit":5}`},
		{"empty JSON", asJSON, post("application/json", ""), "?a=1&offset=0&b=%20&&offset=9", `{"offset":5,"limit":5}`},
	}
	c := pagedBy(t, byOffset+"empty_page}")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c.request.Body.As = test.as
			got, err := c.PageRequest(test.first, at)
			if err != nil || got.URL != "https://api.example.org/v1/things"+test.url || string(got.Body) != test.body {
				t.Errorf("got %s with %s, %v", got.URL, got.Body, err)
			}
			again, err := c.PageRequest(got, at)
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("a second time: %v, %s", err, diff)
			}
		})
	}
	c.request.Body.As = asJSON
	if _, err := c.PageRequest(post("application/json", "[1]"), at); classOf(err) != ClassBadRequest {
		t.Errorf("a body that is a list: got %v", err)
	}
	cursor := pagedBy(t, "{style: cursor, next: '$.next', send: {after: 'c-{}'}}")
	cursor.request.Body.As = asJSON
	got, err := cursor.PageRequest(post("application/json", `{}`), Walk{Cursor: pageCursor{Cursor: `a"<`}.encode()})
	if err != nil || string(got.Body) != `{"after":"c-a\"<"}` {
		t.Errorf("got %s, %v", got.Body, err)
	}
}

func FuzzACursorIsReadAsItWasWrittenOrRefused(f *testing.F) {
	for _, text := range []string{`{"cursor":"a\u0000\u2028<"}`, `{"offset":5}`, `{"page":2}`, `{"page":2,"page":3}`, "", "null", `{"cursor":"` + "\xff" + `"}`} {
		f.Add(text)
	}
	styles := []PagingStyle{PagingCursor, PagingOffset, PagingPage}
	f.Fuzz(func(t *testing.T, text string) {
		read := slices.DeleteFunc(slices.Clone(styles), func(style PagingStyle) bool {
			p, err := decodePageCursor(style, text)
			if err == nil && p.encode() != text {
				t.Errorf("%q is read as %q", text, p.encode())
			}
			return err != nil
		})
		if len(read) > 1 {
			t.Errorf("%q is of the styles %v", text, read)
		}
	})
}
