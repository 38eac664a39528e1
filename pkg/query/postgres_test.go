package query

import (
	"strings"
	"testing"
)

func TestATableOfPostgres(t *testing.T) {
	for to, want := range map[string]PostgresTable{
		"postgres:daily": {Table: "daily"}, "postgres:public.daily": {Schema: "public", Table: "daily"}, "postgres:Größe.$1": {Schema: "Größe", Table: "$1"},
		"postgres:" + strings.Repeat("n", 63): {Table: strings.Repeat("n", 63)},
	} {
		got, is, err := ParsePostgres(to)
		if got != want || !is || err != nil {
			t.Errorf("%s: %v, %t, %v", to, got, is, err)
		}
	}
	for _, to := range []string{"", "-", "daily.csv", "./postgres:x", "postgres", "postgresx:y"} {
		if _, is, err := ParsePostgres(to); is || err != nil {
			t.Errorf("%s: %t, %v", to, is, err)
		}
	}
}

func TestAConnectionInAQueryIsRefusedAndNotRepeated(t *testing.T) {
	for _, to := range []string{
		"postgres://me:hunter2@host/db", "postgresql://me:hunter2@host/db", "POSTGRES://me:hunter2@host/db", "Postgres:hunter2", "postgres:host=x password=hunter2",
		"postgres:me:hunter2@host", "postgres:", "postgres:.", "postgres:a.", "postgres:.a", "postgres:a.b.hunter2", "postgres:" + strings.Repeat("n", 64),
		"postgres:a\tb", "postgres:\x00", "postgres:a\xff", "postgres:pg_catalog.pg_class", "postgres:information_schema.tables",
	} {
		_, is, err := ParsePostgres(to)
		if !is || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %t, %v", to, is, err)
		}
		_, err = Parse("q.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere: {}\noutput: {to: "+strings.ToValidUTF8(strings.NewReplacer("\x00", "@", "\t", "@").Replace("'"+to+"'"), "@")+"}\n"))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s in a query: %v", to, err)
		}
	}
}

func TestAnOutputSaysWhatItsKindAllows(t *testing.T) {
	for output, says := range map[string]string{
		"{to: t.csv, if_exists: upsert}":                                  "allowed for files are fail, replace",
		"{to: t.csv, connection: a}":                                      "connection is for tables in PostgreSQL",
		"{to: postgres:t, format: csv}":                                   "has no format",
		"{to: postgres:t, connection: 'postgres://me:hunter2@host'}":      "BRAID_POSTGRES_URL_",
		"{to: postgres:t, connection: UPPER}":                             "small letters",
		"{to: postgres:t, if_exists: merge}":                              "upsert",
		"[{to: postgres:t}, {to: 'postgres://me:hunter2@host/d'}, a.csv]": "output[1]: how to connect",
	} {
		_, err := Parse("q.yaml", []byte("schema: query/v1\nservice: s\ncollection: c\nwhere: {}\noutput: "+output+"\n"))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", output, err, says)
		}
	}
	for name, want := range map[string]string{"": "BRAID_POSTGRES_URL", "ware-house_2": "BRAID_POSTGRES_URL_WARE_HOUSE_2"} {
		if got := ConnectionVariable(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}
