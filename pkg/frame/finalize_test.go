package frame

import (
	"strings"
	"testing"
)

func TestFinalizeRunsItsOperationsInOrder(t *testing.T) {
	shape := Shape{Fields: []Field{{Name: "a", Type: Text}, {Name: "b", Type: Decimal}, {Name: "c", Type: Text}}}
	seen := []string{"a", "b", "c"}
	rows := []string{`{"a":"z","b":10,"c":"1"}`, `{"a":"é","b":9,"c":"x"}`, `{"a":"y","b":null,"c":"2.0"}`, `{"a":"Z","b":1.5,"c":null}`}
	cases := map[string]struct {
		finalize []Operation
		choose   []string
		want     []string
	}{
		"nothing": {nil, nil, []string{"a:text b:decimal c:text", "z 10 1", "é 9 x", "y ∅ 2.0", "Z 1.5 ∅"}},
		"names may be swapped": {
			[]Operation{{Rename: map[string]string{"a": "b", "b": "a"}}, {Limit: new(1)}},
			nil,
			[]string{"b:text a:decimal c:text", "z 10 1"},
		},
		"drop, then add of that name": {
			[]Operation{{Drop: []string{"a", "b"}}, {Add: map[string]string{"z": "", "a": "k"}}, {Limit: new(1)}},
			nil,
			[]string{"c:text a:text z:text", "1 k "},
		},
		"select orders, and the query's select comes last": {
			[]Operation{{Select: []string{"c", "a"}}, {Rename: map[string]string{"c": "d"}}},
			[]string{"a", "d"},
			[]string{"a:text d:text", "z 1", "é x", "y 2.0", "Z ∅"},
		},
		"text sorts bytewise": {
			[]Operation{{Sort: []string{"a"}}},
			[]string{"a"},
			[]string{"a:text", "Z", "y", "z", "é"},
		},
		"numbers sort by value, null last": {
			[]Operation{{Sort: []string{"b"}}},
			[]string{"b"},
			[]string{"b:decimal", "1.5", "9", "10", "∅"},
		},
		"a column may sort and then go": {
			[]Operation{{Sort: []string{"b"}}, {Drop: []string{"b", "c"}}},
			nil,
			[]string{"a:text", "Z", "é", "z", "y"},
		},
		"cast makes null what does not fit, and text of it stays null": {
			[]Operation{{Cast: map[string]Type{"c": Int64}}, {Cast: map[string]Type{"c": Text}}},
			[]string{"c"},
			[]string{"c:text", "1", "∅", "2.0", "∅"},
		},
		"filter compares exact texts and refuses null": {
			[]Operation{{Filter: map[string][]string{"c": {"1", "2"}, "b": {"10"}}}},
			nil,
			[]string{"a:text b:decimal c:text", "z 10 1"},
		},
		"limit before sort": {[]Operation{{Limit: new(2)}, {Sort: []string{"b"}}}, []string{"b"}, []string{"b:decimal", "9", "10"}},
		"limit of none":     {[]Operation{{Limit: new(0)}}, []string{"b"}, []string{"b:decimal"}},
		"limit beyond":      {[]Operation{{Limit: new(9)}, {Filter: map[string][]string{"b": {"9"}}}}, []string{"b"}, []string{"b:decimal", "9"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			shape.Finalize, shape.Select = c.finalize, c.choose
			wantTable(t, build(t, shape, seen, rows...), c.want...)
		})
	}
}

func TestACastReportsWhatItMakesNull(t *testing.T) {
	shape := Shape{Finalize: []Operation{
		{Filter: map[string][]string{"k": {"a"}}},
		{Rename: map[string]string{"v": "w"}},
		{Cast: map[string]Type{"w": Int64}},
	}}
	table := build(t, shape, []string{"k", "v"}, `{"k":"a","v":"x"}`, `{"k":"b","v":"y"}`, `{"k":"a","v":7}`, `{"k":"a"}`)
	wantTable(t, table, "k:text w:int64", "a ∅", "a 7", "a ∅")
	bad := table.Report.Bad
	if len(bad) != 1 || bad[0].Name != "w" || bad[0].Type != Int64 || bad[0].Count != 1 || bad[0].Originals[0] != "x" {
		t.Errorf("report %+v", bad)
	}
}

func TestABadShapeIsRefusedBeforeAnyRowIsRead(t *testing.T) {
	fields := []Field{{Name: "a", Type: Text}, {Name: "n", Type: Int64}}
	op := func(o ...Operation) Shape { return Shape{Fields: fields, Unknown: UnknownDrop, Finalize: o} }
	cases := []struct {
		shape Shape
		part  string
	}{
		{Shape{Fields: []Field{{Type: Text}}}, "without a name"},
		{Shape{Fields: []Field{{Name: "a", Type: "int"}}}, `"int" is none of text, int64`},
		{Shape{Fields: []Field{{Name: "a", Type: Text}, {Name: "a", Type: Text}}}, "declared twice"},
		{Shape{Fields: []Field{{Name: "a*b", Type: Text}}}, "one star"},
		{Shape{Fields: []Field{{Name: "*b*", Type: Text}}}, "one star"},
		{Shape{Unknown: "keep"}, "unknown_fields"},
		{Shape{OnDuplicate: "last"}, "on_duplicate"},
		{Shape{Key: []string{"a", "a"}}, `key: "a" twice`},
		{Shape{Key: []string{""}}, "key: an empty name"},
		{Shape{Fields: fields, OnDuplicate: KeepNewest, NewestBy: "n"}, "needs a key"},
		{Shape{Fields: fields, Key: []string{"a"}, OnDuplicate: KeepNewest, NewestBy: "m"}, `"m", which no field declares`},
		{op(Operation{}), "finalize[0]: 0 of rename"},
		{op(Operation{Drop: []string{"a"}, Sort: []string{"n"}}), "finalize[0]: 2 of rename"},
		{op(Operation{Limit: new(-1)}), "limit: -1"},
		{op(Operation{Cast: map[string]Type{"a": "number"}}), `cast: "a"`},
		{op(Operation{Cast: map[string]Type{"b": Int64}}), `cast: no column "b"`},
		{op(Operation{Rename: map[string]string{"b": "c"}}), `rename: no column "b"`},
		{op(Operation{Rename: map[string]string{"a": "n"}}), `two columns would be "n"`},
		{op(Operation{Rename: map[string]string{"a": ""}}), "empty name"},
		{op(Operation{Add: map[string]string{"a": ""}}), `a column "a" already`},
		{op(Operation{Filter: map[string][]string{"b": nil}}), `filter: no column "b"`},
		{op(Operation{Drop: []string{"a"}}, Operation{Sort: []string{"a"}}), `finalize[1]: sort: no column "a" here; the columns are n`},
		{Shape{Fields: fields, Unknown: UnknownDrop, Select: []string{"b"}}, `select: no column "b"`},
		{Shape{Fields: make([]Field, maxFields+1)}, "at most"},
	}
	unread := func(func([]byte, error) bool) { t.Error("rows were read") }
	for _, c := range cases {
		_, err := Build(t.Context(), c.shape, nil, unread, nil)
		wantError(t, err, ErrShape, c.part)
	}
}

func TestAColumnThatTheServiceNeverSentDoesNotMakeTheTableImpossible(t *testing.T) {
	fields := []Field{{Name: "a", Type: Text}, {Name: "*_mgd", Type: Decimal}}
	cases := map[string]struct {
		finalize []Operation
		choose   []string
		want     []string
		absent   string
	}{
		"select of a family":               {nil, []string{"x_mgd", "a"}, []string{"x_mgd:decimal a:text", "∅ 1", "∅ 2"}, "x_mgd"},
		"select of an unknown":             {nil, []string{"a", "u"}, []string{"a:text u:text", "1 ∅", "2 ∅"}, "u"},
		"sort":                             {[]Operation{{Sort: []string{"u", "a"}}}, nil, []string{"a:text", "1", "2"}, "u"},
		"drop":                             {[]Operation{{Drop: []string{"u"}}}, nil, []string{"a:text", "1", "2"}, "u"},
		"rename":                           {[]Operation{{Rename: map[string]string{"u": "w"}}}, nil, []string{"a:text w:text", "1 ∅", "2 ∅"}, "u"},
		"rename to a column that is there": {[]Operation{{Rename: map[string]string{"u": "a"}}}, nil, []string{"a:text", "1", "2"}, "u"},
		"cast":                             {[]Operation{{Cast: map[string]Type{"u": Int64}}}, []string{"u"}, []string{"u:int64", "∅", "∅"}, "u"},
		"filter":                           {[]Operation{{Filter: map[string][]string{"u": {"1"}}}}, nil, []string{"a:text"}, "u"},
		"select in finalize":               {[]Operation{{Select: []string{"u"}}}, []string{"u"}, []string{"u:text", "∅", "∅"}, "u"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			table := build(t, Shape{Fields: fields, Finalize: c.finalize, Select: c.choose}, []string{"a"}, `{"a":"1"}`, `{"a":"2"}`)
			wantTable(t, table, c.want...)
			if got := strings.Join(table.Report.Absent, ","); got != c.absent {
				t.Errorf("never sent %q, want %q", got, c.absent)
			}
		})
	}
	for _, finalize := range [][]Operation{
		{{Drop: []string{"u"}}, {Sort: []string{"u"}}},
		{{Rename: map[string]string{"u": "w"}}, {Drop: []string{"u"}}},
		{{Select: []string{"a"}}, {Sort: []string{"x_mgd"}}},
	} {
		_, err := Build(t.Context(), Shape{Fields: fields, Finalize: finalize}, nil, func(func([]byte, error) bool) {}, nil)
		wantError(t, err, ErrShape, "no column")
	}
}

func TestACastDoesNotCountDuplicates(t *testing.T) {
	shape := Shape{
		Fields: []Field{{Name: "k", Type: Text}, {Name: "t", Type: Date}}, Key: []string{"k"}, OnDuplicate: KeepNewest, NewestBy: "t",
		Finalize: []Operation{{Cast: map[string]Type{"v": Int64}}},
	}
	table := build(t, shape, []string{"k", "t", "v"}, `{"k":"a","t":"2024-01-01","v":"x"}`, `{"k":"a","t":"2024-01-02","v":"5"}`)
	if r := table.Report; r.Duplicates != 1 || len(r.Bad) != 0 || r.Rows != 1 {
		t.Errorf("report %+v", r)
	}
	wantTable(t, table, "k:text t:date v:int64", "a 2024-01-02 5")
}

func TestRowsThatMustNotDifferAreExplainedThoughAFilterDropsThem(t *testing.T) {
	shape := Shape{
		Fields: []Field{{Name: "k", Type: Text}}, Key: []string{"k"}, OnDuplicate: FailIfDifferent,
		Finalize: []Operation{{Filter: map[string][]string{"v": {"1"}}}},
	}
	_, err := Build(t.Context(), shape, []string{"k", "v"}, chunksOf(`{"k":"a","v":1}`, `{"k":"a","v":2}`), nil)
	wantError(t, err, ErrDifferentDuplicates, `k="a", column "v" is "1" and "2"`)
}
