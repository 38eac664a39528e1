//go:build unix

package postgres

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/braidhq/braid/pkg/frame"
)

func (r *rig) write(target Target, table *frame.Table) Written {
	r.t.Helper()
	if err := target.Check(r.t.Context(), Expected{Columns: table.Columns, Key: table.Key, KeyIsKnown: true}); err != nil {
		r.t.Fatalf("check: %v", err)
	}
	w, err := target.Write(r.t.Context(), filled(table))
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

func TestEachModeDoesWhatItSays(t *testing.T) {
	const a, b = "a|2024-01-01 00:00:00|1.50|{\"a\": 1}", "b|2024-01-01 00:00:00|2|{\"a\": 1}"
	first := []string{gauge(`"a"`, monday, `1.50`), gauge(`"b"`, monday, `2`), gauge(`null`, monday, `3`)}
	second := []string{gauge(`"a"`, monday, `9`), gauge(`"c"`, tuesday, `4`), gauge(`"b"`, monday, `2`), gauge(`null`, monday, `3`)}
	const a9, c, none = "a|2024-01-01 00:00:00|9|{\"a\": 1}", "c|2024-01-02 00:00:00|4|{\"a\": 1}", "∅|2024-01-01 00:00:00|3|{\"a\": 1}"
	for _, test := range []struct {
		mode    Mode
		changed int64
		want    []string
	}{
		{Replace, 4, []string{a9, b, c, none}},
		{Append, 4, []string{a, a9, b, b, c, none, none}},
		{AppendNew, 2, []string{a, b, c, none, none}},
		{Upsert, 3, []string{a9, b, c, none, none}}, // b is there and equal: not written again
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			r := newRig(t)
			target := r.target("gauges", test.mode)
			want := Written{Table: "public.gauges", Mode: test.mode, Created: true, Rows: 3, Changed: 3}
			if diff := cmp.Diff(want, r.write(target, tableOf(t, gauges(), first...))); diff != "" {
				t.Error(diff)
			}
			r.mustHold(allRows, a, b, none) // in the order of the rows
			want = Written{Table: "public.gauges", Mode: test.mode, Rows: 4, Changed: test.changed}
			if diff := cmp.Diff(want, r.write(target, tableOf(t, gauges(), second...))); diff != "" {
				t.Error(diff)
			}
			r.mustHold(allRows+" ORDER BY site, at, value", test.want...)
			r.mustBeClean("gauges")
			r.mustHold("SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relname = 'gauges' AND indisunique", fmt.Sprint(map[bool]int{true: 1}[test.mode.keyed()]))
		})
	}
}

func TestAModeThatFailsOnATableDoesSoTwice(t *testing.T) {
	r := newRig(t)
	table := tableOf(t, gauges(), gauge(`"a"`, monday, `1`))
	r.write(r.target("gauges", Fail), table)
	_, err := r.target("gauges", Fail).Write(t.Context(), filled(table))
	mustFail(t, err, ErrRefused, `"public"."gauges" is there already`, "if_exists")
	mustFail(t, r.target("gauges", Fail).Check(t.Context(), Expected{}), ErrRefused, "is there already")
	r.mustHold("SELECT count(*) FROM gauges", "1")
}

func TestWritingTheSameAgainChangesNothing(t *testing.T) {
	rows := []string{gauge(`"a"`, monday, `1.50`), gauge(`"b"`, monday, `2`)}
	for _, mode := range []Mode{Replace, AppendNew, Upsert} {
		r := newRig(t)
		for range 3 {
			r.write(r.target("gauges", mode), tableOf(t, gauges(), rows...))
			r.mustHold(allRows, `a|2024-01-01 00:00:00|1.50|{"a": 1}`, `b|2024-01-01 00:00:00|2|{"a": 1}`)
		}
	}
}

func TestReplacingKeepsTheTableItsIndexesGrantsAndViews(t *testing.T) {
	r := newRig(t)
	target := r.target("gauges", Replace)
	r.write(target, tableOf(t, gauges(), gauge(`"a"`, monday, `1`)))
	r.exec(`CREATE INDEX by_value ON gauges (value); CREATE VIEW high AS SELECT * FROM gauges WHERE value > 1; GRANT SELECT ON gauges TO guarded; ALTER TABLE gauges ADD loaded date DEFAULT '2020-02-02'`)
	before := r.rows("SELECT oid, relacl FROM pg_class WHERE relname IN ('gauges', 'by_value', 'high') ORDER BY relname")
	// A reader whose transaction began before sees the old rows whole, also afterwards, and does not wait.
	reader := &rig{t, r.name, server.Connect(t, r.name)}
	reader.exec("BEGIN ISOLATION LEVEL REPEATABLE READ")
	reader.mustHold("SELECT site FROM gauges", "a")
	r.write(target, tableOf(t, gauges(), gauge(`"b"`, monday, `2`)))
	reader.mustHold("SELECT site FROM gauges", "a")
	reader.exec("COMMIT")
	r.mustHold("SELECT site, loaded FROM high JOIN gauges USING (site)", "b|2020-02-02")
	r.mustHold("SELECT oid, relacl FROM pg_class WHERE relname IN ('gauges', 'by_value', 'high') ORDER BY relname", before...)
	// Of no rows too.
	r.write(target, tableOf(t, gauges()))
	r.mustHold("SELECT count(*) FROM gauges", "0")
}

func TestAnUpsertOfAnotherKeyOrderAndTypesOfTheOwner(t *testing.T) {
	r := newRig(t)
	r.exec(`CREATE TABLE gauges (id serial PRIMARY KEY, value numeric, at timestamptz NOT NULL, site varchar(10), more jsonb, UNIQUE (at, site))`)
	r.write(r.target("gauges", Upsert), tableOf(t, gauges(), gauge(`"a"`, monday, `1`), gauge(`"b"`, monday, `2`)))
	r.write(r.target("gauges", Upsert), tableOf(t, gauges(), gauge(`"b"`, monday, `2.0`)))
	r.mustHold("SELECT id, site, value, more->'a' FROM gauges ORDER BY site", "1|a|1|1", "2|b|2.0|1")
	_, err := r.target("gauges", Upsert).Write(t.Context(), filled(tableOf(t, gauges(), gauge(`"12345678901"`, monday, `1`))))
	mustFail(t, err, ErrRefused, "too long")
	r.mustHold("SELECT count(*) FROM gauges", "2")
}

func TestOnlyTheKeyIsThereToInsert(t *testing.T) {
	r := newRig(t)
	shape := frame.Shape{Fields: []frame.Field{{Name: "site", Type: frame.Text}}, Key: []string{"site"}}
	for range 2 {
		r.write(r.target("sites", Upsert), tableOf(t, shape, `{"site":"a"}`, `{"site":"b"}`))
	}
	r.mustHold("SELECT site FROM sites", "a", "b")
}

func TestNamesAreTakenAsTheyStand(t *testing.T) {
	r := newRig(t)
	r.exec(`CREATE SCHEMA "My ""own"" é"`)
	shape := frame.Shape{Fields: []frame.Field{{Name: `Site "x"; DROP TABLE a; --`, Type: frame.Text}, {Name: "select", Type: frame.Int64}}, Key: []string{`Site "x"; DROP TABLE a; --`}}
	target := r.target(`Ta"ble`, Upsert)
	target.Schema = `My "own" é`
	for range 2 {
		r.write(target, tableOf(t, shape, "{\"Site \\\"x\\\"; DROP TABLE a; --\":\"a\",\"select\":1}"))
	}
	r.mustHold(`SELECT * FROM "My ""own"" é"."Ta""ble"`, "a|1")
}
