package planner_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/braidhq/braid/pkg/planner"
	"github.com/braidhq/braid/pkg/planner/plantest"
	"github.com/braidhq/braid/pkg/service"
)

// tb is what tests, benchmarks and properties have in common.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// gauges is a collection whose axes are the given ones, slowest first, such as "each: state" and "pack: site".
func gauges(t tb, limits string, axes ...string) *service.Collection {
	t.Helper()
	return gaugesOf(t, gaugesText(limits, axes...))
}

func gaugesText(limits string, axes ...string) string {
	return `schema: service/v1
name: rivers
base_url: https://api.example.org
hosts: [{host: api.example.org}]
limits: {` + limits + `}
collections:
  gauges:
    request: {path: /gauges, query: {f: json}}
    params:
      state: {type: text, send: {location: 'state{len}:{}'}}
      county: {type: text}
      site: {type: text, many: comma}
      tag: {type: text, many: repeat, send: {a-rather-long-name-of-a-tag: '{}'}}
      code: {type: text, many: comma}
      day: {type: interval, of: date}
    estimate: {rows: {per: [state, site], absent: {state: 1, site: 1}, every: 24h}}
    axes: [{` + strings.Join(axes, "}, {") + `}]
    rows: {format: json, at: '$.data[*]'}
    fields: {id: {type: text}}
`
}

func gaugesOf(t tb, text string) *service.Collection {
	t.Helper()
	d, err := service.Parse("rivers.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("gauges")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// limited is the collection with other limits.
func limited(c *service.Collection, urlBytes int, chunkRows int64) *service.Collection {
	other := *c
	other.Limits.URLBytes, other.Limits.ChunkRows = urlBytes, chunkRows
	return &other
}

func numbered(prefix string, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = prefix + fmt.Sprintf("%05d", i)
	}
	return values
}

// value draws values that are longer on the wire than they look, and some that are not.
func value() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z0-9]{1,12}`),
		rapid.StringOfN(rapid.SampledFrom([]rune("é%/ :")), 1, 8, -1).Filter(func(s string) bool { return strings.TrimSpace(s) == s }),
	)
}

func distinct(least, most int) *rapid.Generator[[]string] {
	return rapid.SliceOfNDistinct(value(), least, most, rapid.ID)
}

func divided(t *rapid.T, c *service.Collection, values service.Values, opts planner.Options) []planner.Chunk {
	t.Helper()
	plan, err := planner.Divide(c, values, opts)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(plan.All())
}

func size(t tb, c *service.Collection, values service.Values) int {
	t.Helper()
	request, err := c.Request(values)
	if err != nil {
		t.Fatal(err)
	}
	return len(request.URL)
}

// product is what a plan over the pieces of the axes has to be, the last axis fastest.
func product(whole service.Values, axes []string, pieces map[string][][]string) []planner.Chunk {
	chunks := []planner.Chunk{{Values: whole}}
	for _, axis := range axes {
		var next []planner.Chunk
		for _, chunk := range chunks {
			for _, piece := range pieces[axis] {
				values := maps.Clone(chunk.Values)
				values[axis] = piece
				next = append(next, planner.Chunk{Values: values})
			}
		}
		chunks = next
	}
	return chunks
}

// checkComplete says what a division owes whatever its limits: each value once and in order, and the whole product.
func checkComplete(t tb, whole service.Values, axes []string, chunks []planner.Chunk) {
	t.Helper()
	pieces := map[string][][]string{}
	stride := 1
	for _, axis := range slices.Backward(axes) {
		var values []string
		for i := 0; i < len(chunks) && len(values) < len(whole[axis]); i += stride {
			pieces[axis] = append(pieces[axis], chunks[i].Values[axis])
			values = append(values, chunks[i].Values[axis]...)
		}
		if diff := cmp.Diff(whole[axis], values); diff != "" {
			t.Fatalf("the pieces of %s are not its values, once and in order:\n%s", axis, diff)
		}
		stride *= len(pieces[axis])
	}
	if diff := cmp.Diff(product(whole, axes, pieces), chunks); diff != "" {
		t.Fatalf("the chunks are not the product of the pieces:\n%s", diff)
	}
}

// singles is the longest request that holds one value of each axis.
func singles(t *rapid.T, c *service.Collection, whole service.Values, axes []string) int {
	t.Helper()
	pieces := map[string][][]string{}
	for _, axis := range axes {
		for _, value := range whole[axis] {
			pieces[axis] = append(pieces[axis], []string{value})
		}
	}
	longest := 0
	for _, chunk := range product(whole, axes, pieces) {
		longest = max(longest, size(t, c, chunk.Values))
	}
	return longest
}

func TestEveryValueIsAskedOnceInRequestsThatTheServiceTakes(t *testing.T) {
	for _, axes := range [][]string{
		{"pack: site"},
		{"pack: tag"},
		{"each: state"},
		{"each: state", "pack: site"},
		{"pack: site", "pack: tag"},
		{"pack: tag", "each: state", "pack: site"},
		{"each: state", "each: county", "pack: tag"},
	} {
		t.Run(strings.Join(axes, ","), func(t *testing.T) {
			parsed := gauges(t, "", axes...)
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.IntRange(64, 300).Draw(t, "limit")
				c := limited(parsed, limit, 0)
				whole := service.Values{}
				var params []string
				for _, axis := range axes {
					_, param, _ := strings.Cut(axis, ": ")
					params = append(params, param)
					whole[param] = distinct(1, 9).Draw(t, param)
				}
				if rapid.Bool().Draw(t, "a day") {
					whole["day"] = []string{"2025-01-01", "2025-01-31"}
				}
				opts := planner.Options{MaxChunks: rapid.SampledFrom([]int{0, 1, 2, 5, 17, 1000}).Draw(t, "max_chunks")}
				plan, err := planner.Divide(c, whole, opts)
				if err != nil {
					if longest := singles(t, c, whole, params); !errors.Is(err, planner.ErrUnsplittable) || longest <= limit {
						t.Fatalf("the longest request of single values has %d bytes, the service takes %d, and yet: %v", longest, limit, err)
					}
					return
				}
				plantest.Check(t, plan)
				chunks := slices.Collect(plan.All())
				checkComplete(t, whole, params, chunks)
				for i, chunk := range chunks {
					if n := size(t, c, chunk.Values); n > limit {
						t.Fatalf("the request of chunk %d has %d bytes, the service takes %d: %v", i, n, limit, chunk.Values)
					}
				}
			})
		})
	}
}

// fewest is the least number of pieces of any contiguous division of one axis, by trying all.
func fewest(values []string, fits func(piece []string) bool) int {
	least := make([]int, len(values)+1) // least[i]: of the first i values
	for end := 1; end <= len(values); end++ {
		least[end] = len(values) + 1
		for start := range end {
			if fits(values[start:end]) {
				least[end] = min(least[end], least[start]+1)
			}
		}
	}
	return least[len(values)]
}

func TestNoDivisionOfOneAxisHasFewerRequests(t *testing.T) {
	for _, param := range []string{"site", "tag"} {
		t.Run(param, func(t *testing.T) {
			parsed := gauges(t, "", "pack: "+param)
			rapid.Check(t, func(t *rapid.T) {
				limit := rapid.IntRange(100, 300).Draw(t, "limit")
				rows := rapid.SampledFrom([]int64{0, 0, 1, 2, 3, 5}).Draw(t, "chunk_rows")
				c := limited(parsed, limit, rows)
				whole := service.Values{param: distinct(2, 14).Draw(t, "values"), "day": {"2025-01-01", "2025-01-01"}}
				plan, err := planner.Divide(c, whole, planner.Options{})
				if errors.Is(err, planner.ErrUnsplittable) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := fewest(whole[param], func(piece []string) bool {
					with := service.Values{param: piece, "day": whole["day"]}
					estimate, _ := c.EstimateRows(with, time.Time{})
					return size(t, c, with) <= limit && (rows == 0 || estimate <= rows)
				})
				if plan.Len() != want {
					t.Fatalf("%d requests, and %d would do", plan.Len(), want)
				}
			})
		})
	}
}

func TestRowsStayWithinTheirTargetAsFarAsValuesDivide(t *testing.T) {
	parsed := gauges(t, "", "pack: code", "pack: site")
	rapid.Check(t, func(t *rapid.T) {
		target := rapid.Int64Range(1, 400).Draw(t, "chunk_rows")
		days := rapid.IntRange(1, 28).Draw(t, "days")
		c := limited(parsed, 2000, target)
		whole := service.Values{
			"site": numbered("s", rapid.IntRange(1, 40).Draw(t, "sites")), "code": numbered("c", rapid.IntRange(1, 5).Draw(t, "codes")),
			"day": {"2025-01-01", fmt.Sprintf("2025-01-%02d", days)},
		}
		chunks := divided(t, c, whole, planner.Options{MaxChunks: rapid.SampledFrom([]int{0, 7, 100}).Draw(t, "max_chunks")})
		for _, chunk := range chunks {
			rows, err := c.EstimateRows(chunk.Values, time.Time{})
			if err != nil || rows > target && len(chunk.Values["site"]) > 1 {
				t.Fatalf("%d sites with %d rows in one request, the target is %d", len(chunk.Values["site"]), rows, target)
			}
		}
	})
}

// A parameter that the rows do not depend on would cost requests and bring nothing.
func TestAnAxisIsNotDividedForRowsThatItDoesNotLessen(t *testing.T) {
	c := gauges(t, "chunk_rows: 10", "pack: code")
	plan, err := planner.Divide(c, service.Values{"code": numbered("c", 9), "day": {"2025-01-01", "2025-01-31"}}, planner.Options{})
	if err != nil || plan.Len() != 1 {
		t.Errorf("%v, %v", plan, err)
	}
	c = gauges(t, "chunk_rows: 10", "pack: code", "pack: site")
	whole := service.Values{"code": numbered("c", 9), "site": numbered("s", 5), "day": {"2025-01-01", "2025-01-31"}}
	plan, err = planner.Divide(c, whole, planner.Options{})
	if err != nil || plan.Len() != 5 {
		t.Errorf("%v, %v", plan, err)
	}
}

// Rows that cannot be guessed are no reason to divide: they are not taken for those of one value.
func TestRowsThatAreNotKnownDivideNothing(t *testing.T) {
	days := []string{"2025-01-01", "2025-01-31"}
	for _, test := range []struct {
		absent string
		chunks int
	}{{"absent: {state: 1}, ", 1}, {"absent: {state: 1, site: 1}, ", 9}} {
		text := strings.NewReplacer("absent: {state: 1, site: 1}, ", test.absent, "per: [state, site]", "per: [state, site, code]").
			Replace(gaugesText("chunk_rows: 10", "pack: code"))
		plan, err := planner.Divide(gaugesOf(t, text), service.Values{"code": numbered("c", 9), "day": days}, planner.Options{})
		if err != nil || plan.Len() != test.chunks {
			t.Errorf("%s: %v, %v, want %d chunks", test.absent, plan, err, test.chunks)
		}
	}
}

func TestMaxChunksDividesFinerAndNeverFurther(t *testing.T) {
	parsed := gauges(t, "", "each: state", "pack: site", "pack: code")
	rapid.Check(t, func(t *rapid.T) {
		c := limited(parsed, rapid.IntRange(150, 1000).Draw(t, "limit"), 0)
		whole := service.Values{
			"state": numbered("", rapid.IntRange(1, 4).Draw(t, "states")), "site": numbered("s", rapid.IntRange(1, 60).Draw(t, "sites")),
			"code": numbered("c", rapid.IntRange(1, 4).Draw(t, "codes")),
		}
		base := len(divided(t, c, whole, planner.Options{}))
		most := rapid.IntRange(1, 300).Draw(t, "max_chunks")
		got := len(divided(t, c, whole, planner.Options{MaxChunks: most}))
		if got < base || got > max(base, most) {
			t.Fatalf("%d chunks, %d without max_chunks, which is %d", got, base, most)
		}
	})
}

func TestMaxChunksIsReachedWhereOneAxisAllowsIt(t *testing.T) {
	c := gauges(t, "url_bytes: 2000", "each: state", "pack: site")
	for _, test := range []struct{ sites, states, most, want int }{
		{100, 1, 0, 1},
		{100, 1, 1, 1},
		{100, 1, 7, 7},
		{100, 1, 100, 100},
		{100, 1, 1000, 100},
		{100, 3, 2, 3},
		{100, 3, 10, 9},
		{100, 3, 300, 300},
		{1, 3, 50, 3},
		{1, 1, 50, 1},
		{1000, 1, 2, 4},
		{1000, 1, 5, 5},
	} {
		whole := service.Values{"site": numbered("s", test.sites), "state": numbered("", test.states)}
		plan, err := planner.Divide(c, whole, planner.Options{MaxChunks: test.most})
		if err != nil || plan.Len() != test.want {
			t.Errorf("%+v: %d chunks, %v", test, plan.Len(), err)
		}
	}
}

// Even pieces of long values would be over the limit, where packed ones of fewer values are not.
func TestMaxChunksNeverMakesARequestTooLong(t *testing.T) {
	const limit = 600
	c := gauges(t, "url_bytes: 600", "pack: site")
	whole := service.Values{"site": slices.Concat(numbered(strings.Repeat("long", 10), 40), numbered("s", 200))}
	fewest, err := planner.Divide(c, whole, planner.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{fewest.Len() + 1, 240} {
		plan, err := planner.Divide(c, whole, planner.Options{MaxChunks: most})
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range plan.All() {
			if n := size(t, c, chunk.Values); n > limit {
				t.Fatalf("max_chunks %d: a request has %d bytes, the service takes %d", most, n, limit)
			}
		}
	}
}

func TestAQueryThatNeedsNoDivisionIsOneChunk(t *testing.T) {
	c := gauges(t, "url_bytes: 2000", "each: state", "pack: site")
	for _, whole := range []service.Values{{}, {"site": {"a"}}, {"site": {"a", "b"}, "state": {"WI"}, "day": {"2025-01-01", ".."}}} {
		plan, err := planner.Divide(c, whole, planner.Options{})
		if err != nil {
			t.Fatal(err)
		}
		plantest.Check(t, plan)
		if diff := cmp.Diff([]planner.Chunk{{Values: whole}}, slices.Collect(plan.All())); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnUnsplittableRequestNamesWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, test := range map[string]struct {
		axes  []string
		whole service.Values
		param string
		value string
	}{
		"a packed value":          {[]string{"pack: site"}, service.Values{"site": {"a", long, "b"}}, "site", long},
		"a value of each":         {[]string{"each: state"}, service.Values{"state": {"a", long}}, "state", long},
		"a value beside another":  {[]string{"each: state", "pack: site"}, service.Values{"state": {"a", long[:60]}, "site": {"b", long[:60]}}, "site", long[:60]},
		"nothing to divide":       {[]string{"pack: site"}, service.Values{"site": {long}}, "", ""},
		"two that do not fit":     {[]string{"pack: site", "pack: tag"}, service.Values{"site": {"a", long[:50]}, "tag": {"b", long[:50]}}, "", ""},
		"what is not on any axis": {[]string{"pack: site"}, service.Values{"site": {"a", "b"}, "county": {long}}, "county", long},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := planner.Divide(gauges(t, "url_bytes: 150", test.axes...), test.whole, planner.Options{})
			var unsplittable *planner.UnsplittableError
			if !errors.As(err, &unsplittable) || !errors.Is(err, planner.ErrUnsplittable) {
				t.Fatalf("the error is %v", err)
			}
			if test.value != "" && (unsplittable.Parameter != test.param || unsplittable.Value != test.value) {
				t.Errorf("it names %.80q of %q", unsplittable.Value, unsplittable.Parameter)
			}
			if unsplittable.Limit != 150 || unsplittable.Bytes <= 150 || !strings.Contains(err.Error(), "150") ||
				!strings.Contains(err.Error(), strconv.Itoa(unsplittable.Bytes)) {
				t.Errorf("it says %v", err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("it has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestMaxChunksOutOfBoundsIsRefused(t *testing.T) {
	c := gauges(t, "url_bytes: 2000", "pack: site")
	for _, n := range []int{-1, planner.MaxChunks + 1} {
		if _, err := planner.Divide(c, service.Values{"site": {"a"}}, planner.Options{MaxChunks: n}); !errors.Is(err, planner.ErrMaxChunks) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// The sizes of the last case are such that their product, cut to 64 bits, is 6464.
func TestAPlanOfTooManyChunksIsRefusedHoweverMany(t *testing.T) {
	params := []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6"}
	c := product7(t, params)
	for _, sizes := range [][]int{{3163, 3163}, {65536, 65536, 65536, 65536}, {859, 859, 761, 409, 835, 501, 384}} {
		whole := service.Values{}
		for i, n := range sizes {
			whole[params[i]] = numbered("", n)
		}
		if _, err := planner.Divide(c, whole, planner.Options{MaxChunks: 5}); !errors.Is(err, planner.ErrTooMany) {
			t.Errorf("%v: %v", sizes, err)
		}
	}
	whole := service.Values{"p0": numbered("", 3162), "p1": numbered("", 3162)}
	if plan, err := planner.Divide(c, whole, planner.Options{}); err != nil || plan.Len() != 3162*3162 {
		t.Errorf("%v", err)
	}
}

// product7 is a collection with an axis for each value of each parameter.
func product7(t *testing.T, params []string) *service.Collection {
	t.Helper()
	text := "schema: service/v1\nname: rivers\nbase_url: https://api.example.org\nhosts: [{host: api.example.org}]\n" +
		"collections:\n  gauges:\n    request: {path: /g}\n    rows: {format: json, at: '$.data[*]'}\n    fields: {id: {type: text}}\n    params:\n"
	axes := "    axes:\n"
	for _, param := range params {
		text += "      " + param + ": {type: text}\n"
		axes += "      - each: " + param + "\n"
	}
	d, err := service.Parse("rivers.yaml", []byte(text+axes))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection("gauges")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func BenchmarkDivideAHundredThousandIDs(b *testing.B) {
	c := gauges(b, "url_bytes: 2000", "pack: site")
	whole := service.Values{"site": numbered("USGS-", 100_000)}
	for b.Loop() {
		if _, err := planner.Divide(c, whole, planner.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDivideTwoLongAxes(b *testing.B) {
	c := gauges(b, "url_bytes: 2000", "pack: site", "pack: code")
	whole := service.Values{"site": numbered("USGS-", 5000), "code": numbered("", 5000)}
	for b.Loop() {
		if _, err := planner.Divide(c, whole, planner.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFingerprintOfAHundredThousandChunks(b *testing.B) {
	c := gauges(b, "url_bytes: 2000", "pack: site")
	plan, err := planner.Divide(c, service.Values{"site": numbered("USGS-", 100_000)}, planner.Options{MaxChunks: 100_000})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := planner.Fingerprint(plan); err != nil {
			b.Fatal(err)
		}
	}
}
