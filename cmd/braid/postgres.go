package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/braidhq/braid/internal/output"
	"github.com/braidhq/braid/internal/output/postgres"
	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/braid"
	"github.com/braidhq/braid/pkg/frame"
	"github.com/braidhq/braid/pkg/query"
)

// intoPostgres says how a table goes into a database.
type intoPostgres struct {
	ifExists   query.IfExists
	connection string // names the environment variable
}

// postgresFlagsOn adds the flags that belong to -o postgres:TABLE.
func (a *app) postgresFlagsOn(flags *pflag.FlagSet) {
	flags.StringVar((*string)(&a.into.ifExists), "if-exists", "", "with -o postgres:TABLE, what becomes of a table that is there: fail, replace, append, append_new, upsert (default: fail)")
	flags.StringVar(&a.into.connection, "connection", "", "with -o postgres:TABLE, connect as BRAID_POSTGRES_URL_`NAME` says (default: BRAID_POSTGRES_URL, else PGHOST and the like)")
	settings.OnlyFlags(flags, "if-exists", "connection")
}

// flagTarget is a target as -o gives it.
func (a *app) flagTarget(path, format string) target {
	if _, is, _ := query.ParsePostgres(path); !is {
		return target{path: path, format: output.Format(format), replace: true}
	}
	t := target{path: path, into: a.into}
	if t.into.ifExists == "" {
		t.into.ifExists = query.IfExistsFail
	}
	return t
}

// checkOut refuses flags that do not belong together.
func (a *app) checkOut(out []string, format string) error {
	tables := 0
	for _, path := range out {
		if _, is, _ := query.ParsePostgres(path); is {
			tables++
		}
	}
	rules := query.IfExists("").Choices()
	switch {
	case a.into.ifExists != "" && !slices.Contains(rules, string(a.into.ifExists)):
		return usage("--if-exists is %.40q; allowed are %s", a.into.ifExists, strings.Join(rules, ", "))
	case tables == 0 && (a.into.ifExists != "" || a.into.connection != ""):
		return usage("--if-exists and --connection belong to -o postgres:TABLE; a file that is there is replaced by -o FILE")
	case tables > 0 && tables == len(out) && format != "":
		return usage("--format is for files; a table in PostgreSQL has no format")
	}
	return nil
}

// isPostgres tells whether a target is a table of a database.
func (t *target) isPostgres() bool {
	_, is, _ := query.ParsePostgres(t.path)
	return is
}

// outFlag is how -o is shown in messages: what is not a table's name may be a connection with its password.
func outFlag(path string) string {
	if _, is, err := query.ParsePostgres(path); is && err != nil {
		return "-o postgres:…"
	}
	return "-o " + path
}

// checkPostgres refuses what is wrong with a table's name and connection before anything is asked.
func (t *target) checkPostgres() error {
	if _, _, err := query.ParsePostgres(t.path); err != nil {
		return usage("%w", err)
	}
	if err := query.CheckConnection(t.into.connection); err != nil {
		return usage("%w", err)
	}
	return nil
}

// postgres is the target as the writer knows it.
func (a *app) postgres(t target) (postgres.Target, error) {
	table, _, err := query.ParsePostgres(t.path)
	if err != nil {
		return postgres.Target{}, usage("%w", err)
	}
	into := postgres.Target{Schema: table.Schema, Table: table.Table, Mode: postgres.Mode(t.into.ifExists), Named: query.ConnectionVariable(t.into.connection)}
	into.Connection = a.getenv(into.Named)
	if into.Connection == "" {
		if t.into.connection != "" {
			return into, usage("%s: the environment variable %s is not set; it says how to connect: postgres://USER@HOST:PORT/DATABASE", t.path, into.Named)
		}
		into.Named = "BRAID_POSTGRES_URL is not set: PGHOST and the like"
	}
	return into, nil
}

// askPostgres connects to the databases that tables are to go to, before anything is sent, and finds out whether they can.
func (a *app) askPostgres(ctx context.Context, targets []target, expected postgres.Expected) error {
	for _, t := range targets {
		if !t.isPostgres() {
			continue
		}
		into, err := a.postgres(t)
		if err != nil {
			return err
		}
		err = into.Check(ctx, expected)
		switch {
		case err == nil:
		case is(err, postgres.ErrRefused):
			return usage("%w; nothing was sent", err)
		case is(err, postgres.ErrUnreachable, postgres.ErrFailed):
			return &exitError{code: exitInternal, err: fmt.Errorf("%w; nothing was sent", err)}
		default:
			return fmt.Errorf("%w; nothing was sent", err)
		}
	}
	return nil
}

// expected is what is known of the query's table before its rows are: the columns of one without rows.
func (p *prepared) expected(ctx context.Context) postgres.Expected {
	if p.collection == nil || p.collection.Definition().Adapter != "" { // the server's definition, or an adapter, may make other ones
		return postgres.Expected{}
	}
	shape := p.collection.Shape()
	shape.Select = p.query.Select
	table, err := frame.Build(ctx, shape, nil, func(func([]byte, error) bool) {}, nil)
	if err != nil { // told when the query is planned
		return postgres.Expected{}
	}
	defer func() { _ = table.Close() }() // it is in memory
	e := postgres.Expected{Columns: table.Columns, Key: table.Key, KeyIsKnown: true}
	for _, part := range shape.Key {
		exact := false
		for _, f := range shape.Fields {
			exact = exact || f.Name == part
		}
		e.KeyIsKnown = e.KeyIsKnown && exact
	}
	return e
}

// postgresFailure is a table that did not get into its database, with the command that tries again.
type postgresFailure struct {
	err   error
	again string
}

func (f *postgresFailure) Error() string { return f.err.Error() }
func (f *postgresFailure) Unwrap() error { return f.err }

// writePostgres brings a query's table into a database.
func (a *app) writePostgres(ctx context.Context, s braid.Coordinator, id string, t target, partial bool) (written, error) {
	o := written{Path: t.path, Format: "postgres"}
	into, err := a.postgres(t)
	if err != nil {
		return o, err
	}
	done, err := into.Write(ctx, func(ctx context.Context, w io.Writer) (int64, error) {
		report, err := s.Table(ctx, id, string(output.PGCopy), partial, w)
		if err != nil {
			return 0, err
		}
		o.Report = report
		return report.Rows, nil
	})
	if err != nil {
		return o, &postgresFailure{err, a.againInto(id, t)}
	}
	o.Postgres = &done
	return o, nil
}

// againInto is the command that brings a complete query's table into a database again.
func (a *app) againInto(id string, t target) string {
	command := "braid results " + id + " -o " + quoteArg(t.path) + intoWords(t.into)
	return command + a.whereHint()
}

func intoWords(into intoPostgres) string {
	words := ""
	if into.ifExists != "" && into.ifExists != query.IfExistsFail {
		words += " --if-exists " + string(into.ifExists)
	}
	if into.connection != "" {
		words += " --connection " + into.connection
	}
	return words
}

// writeHint is the command that writes a complete query's table after err.
func (a *app) writeHint(id string, err error) string {
	if failed, ok := errors.AsType[*postgresFailure](err); ok {
		return failed.again
	}
	return a.exportHint(id)
}

// size says how large what was written is.
func (o written) size() string {
	if o.Postgres == nil {
		return fileSize(o.Bytes)
	}
	switch p := o.Postgres; {
	case p.Created:
		return "new"
	case p.Mode == postgres.AppendNew:
		return thousands(p.Changed) + " added"
	case p.Mode == postgres.Upsert:
		return thousands(p.Changed) + " added or replaced"
	case p.Mode == postgres.Replace:
		return "replaced by " + count(p.Changed, "row")
	}
	return count(o.Postgres.Changed, "row") + " added"
}
