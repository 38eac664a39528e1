//go:build unix

package postgres

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// What PostgreSQL would leave out, cut or keep without a word is an error, and nothing is changed.
func TestNothingIsLeftOutOrCutInSilence(t *testing.T) {
	const fine = "CREATE TABLE gauges (site text, at timestamptz, value numeric, more json, UNIQUE (site, at));"
	const quiet = "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
	const old = "INSERT INTO gauges VALUES ('old', '2020-01-01Z', 1, NULL);"
	near := []string{gauge(`"a"`, `"2024-01-01T00:00:00.0000001Z"`, `1`), gauge(`"a"`, `"2024-01-01T00:00:00.0000002Z"`, `2`)}
	for name, test := range map[string]struct {
		setup string
		mode  Mode
		rows  []string
		says  string
	}{
		"a trigger that takes rows away": {fine + quiet + "CREATE TRIGGER q BEFORE INSERT ON gauges FOR EACH ROW EXECUTE FUNCTION quiet();", Append, nil, "of 1 rows 0 were added"},
		"a trigger that keeps rows":      {fine + quiet + old + "CREATE TRIGGER q BEFORE DELETE ON gauges FOR EACH ROW EXECUTE FUNCTION quiet();", Replace, nil, "old rows cannot be deleted"},
		"blanks beyond a short column":   {"CREATE TABLE gauges (site varchar(1), at timestamptz, value numeric, more json);", Append, []string{gauge(`"x   "`, monday, `1`)}, "too long for the 1 characters"},
		"keys that are one to add":       {fine, AppendNew, near, "the same key (site, at)"},
		"keys that are one to renew":     {fine, Upsert, near, "the same key (site, at)"},
		"keys that are one in a new one": {"", Upsert, near, "the same key (site, at)"},
		"a type of the table's name":     {"CREATE DOMAIN gauges AS text;", Append, nil, "a type of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if test.setup != "" {
				r.exec(test.setup)
			}
			if test.rows == nil {
				test.rows = []string{gauge(`"a"`, monday, `1`)}
			}
			var before []string
			if strings.Contains(test.setup, "CREATE TABLE") {
				before = r.rows("SELECT site FROM gauges")
			}
			_, err := r.target("gauges", test.mode).Write(t.Context(), filled(tableOf(t, gauges(), test.rows...)))
			mustFail(t, err, ErrRefused, test.says)
			if strings.Contains(test.setup, "CREATE TABLE") {
				r.mustHold("SELECT site FROM gauges", before...)
			}
		})
	}
}

func TestReplaceTakesAwayWhatOthersCommitMeanwhileWhateverTheirIsolation(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} {
		r := newRig(t)
		r.exec("CREATE TABLE gauges (site text, at timestamptz, value numeric, more json)")
		target := r.target("gauges", Replace)
		separator := "?"
		if strings.Contains(target.Connection, "?") {
			separator = "&"
		}
		target.Connection += separator + "default_transaction_isolation=" + strings.ReplaceAll(level, " ", "%20")
		var rows bytes.Buffer
		if _, err := filled(tableOf(t, gauges(), gauge(`"a"`, monday, `1`)))(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		header, err := rows.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, err = target.Write(t.Context(), func(ctx context.Context, w io.Writer) (int64, error) {
			if _, err := w.Write(header); err != nil {
				return 0, err
			}
			// The writer has begun its transaction once it has taken the header and waits for rows.
			for len(r.rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'braid' AND query LIKE 'COPY%' AND datname = current_database()")) == 0 {
				if err := ctx.Err(); err != nil {
					return 0, err
				}
			}
			r.exec("INSERT INTO gauges VALUES ('late', NULL, 1, NULL)")
			_, err := rows.WriteTo(w)
			return 1, err
		})
		if err != nil {
			t.Fatal(err)
		}
		r.mustHold("SELECT site FROM gauges", "a")
	}
}

func TestAPieceOfAPasswordIsNeverShown(t *testing.T) {
	for _, connection := range []string{
		"postgres://bob:1234/s3cret@127.0.0.1/db", "postgres://bob:12@s3cret@127.0.0.1/db", "postgres://bob@127.0.0.1:1/db?optoins=s3cret",
		"postgres://127.0.0.1:1/a:s3cret", "postgres://bob:p/s3cret@127.0.0.1:5432/db",
	} {
		err := Target{Table: "t", Mode: Fail, Connection: connection, Named: "BRAID_POSTGRES_URL"}.Check(t.Context(), Expected{})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", connection, err)
		}
	}
}
