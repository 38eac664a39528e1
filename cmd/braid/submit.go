package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

func (a *app) submitCommand() *cobra.Command {
	k := &asked{remote: true}
	var watch bool
	var key string
	cmd := &cobra.Command{
		Use:   "submit [QUERY.yaml]",
		Short: "Give a query to a server, which runs it",
		Long: `Gives a query to a server: that of --server or of the context, else the braid up of the data directory. The id is
printed on stdout. The server keeps the table; braid results writes it to a file, whatever outputs the query names.

With --idempotency-key the same query is submitted once, however often the command is run: a script that does not know
whether its last try arrived simply tries again.

` + givenHelp + `
` + exitHelp,
		Example: `  braid submit daily-flow.yaml
  braid submit daily-flow.yaml --watch
  braid submit daily-flow.yaml --wait --progress quiet \
    --idempotency-key nightly-2026-09-24`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openServer(cmd.Context())
			if err != nil {
				return err
			}
			p, err := a.prepare(cmd, args, k)
			if err != nil {
				return err
			}
			if err := a.checkEmbedded(); err != nil {
				return err
			}
			if err := a.saveGiven(k, p); err != nil {
				return err
			}
			if err := a.askSpec(k, p); err != nil {
				return err
			}
			return a.submit(cmd.Context(), s, p, key, watch || k.wait)
		},
	}
	flags := cmd.Flags()
	k.queryFlags(cmd, "stop after this many requests, resumable (default: any number)")
	a.standingFlagsOn(flags)
	a.emptyFlagOn(flags)
	flags.BoolVar(&watch, "watch", false, "follow the query to its end; Ctrl-C leaves it running")
	flags.BoolVar(&k.wait, "wait", false, "follow it to its end, and let the server wait out quota pauses and interruptions")
	flags.StringVar(&key, "idempotency-key", "", "what is submitted again under this key is the same query: 1 to 255 visible characters")
	settings.OnlyFlags(flags, "watch", "idempotency-key")
	return cmd
}

// askSpec puts what flags and settings ask for into a query.
func (a *app) askSpec(k *asked, p *prepared) error {
	a.askStanding(p.spec)
	if err := k.spend.apply(a, p.spec); err != nil {
		return err
	}
	if err := k.askFull(p.spec); err != nil {
		return err
	}
	if a.waits = k.wait; k.wait {
		p.spec.Run.OnQuota.WaitUpTo = query.Duration(forever)
	}
	return nil
}

// openServer connects to a server: the one that was named, or the braid up of the data directory.
func (a *app) openServer(ctx context.Context) (*session, error) {
	if a.server != "" {
		client, err := a.client()
		if err != nil {
			return nil, err
		}
		return &session{Coordinator: client, app: a}, nil
	}
	client, url := a.serverHere(ctx)
	if client == nil {
		return nil, usage("there is no server to give it to: start one with braid up%s, or name one with --server URL or --context NAME; braid run needs none", a.whereHint())
	}
	a.here = url
	return &session{Coordinator: client, app: a}, nil
}

func (a *app) submit(ctx context.Context, s *session, p *prepared, key string, watch bool) error {
	if err := a.feed(ctx, s, p); err != nil {
		return err
	}
	q, err := s.submitUnder(ctx, p.spec, key)
	if err != nil {
		return p.place(err)
	}
	if !watch && a.json {
		if err := a.printJSON(map[string]any{"query": q}); err != nil {
			return err
		}
	} else if !a.json {
		if _, err := fmt.Fprintln(a.stdout, q.ID); err != nil {
			return err
		}
	}
	a.announce(q)
	if watch {
		return a.watch(ctx, s, q.ID)
	}
	if !a.isQuiet() {
		a.line("watch", "braid watch %s%s", q.ID, a.whereHint())
		a.line("results", "%s", a.exportHint(q.ID))
	}
	return nil
}

var errNoKeys = errors.New("this build cannot submit under a key")

// submitUnder submits under a key that makes it one query however often it is submitted; without a key each is another one.
func (s *session) submitUnder(ctx context.Context, spec *query.Spec, key string) (*messages.Query, error) {
	if key == "" {
		return s.Submit(ctx, spec)
	}
	keyed, ok := s.Coordinator.(interface {
		SubmitWithKey(ctx context.Context, spec *query.Spec, key string) (*messages.Query, error)
	})
	if !ok {
		return nil, errNoKeys
	}
	return keyed.SubmitWithKey(ctx, spec, key)
}

func (a *app) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [ID]",
		Short: "Follow a query to its end; without an ID the newest",
		Long: `Follows a query that runs on a server, or in another process of this machine, until it has settled. Ctrl-C ends the
watching; the query goes on.

` + exitHelp,
		Example: `  braid watch
  braid watch k7f2c3aa --progress json`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeQuery,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.within(cmd.Context(), 0, func(s *session) error {
				status, err := s.Status(cmd.Context(), first(args))
				if err != nil {
					return err
				}
				if !a.isQuiet() {
					a.line("query", "%s (%s)  ·  %s %s  ·  %s", status.Query.ID, status.Query.Name, status.Query.Service, status.Query.Collection, count(int64(status.Query.Chunks), "chunk"))
				}
				return a.watch(cmd.Context(), s, status.Query.ID)
			})
		},
	}
	a.emptyFlagOn(cmd.Flags())
	return cmd
}

// watch follows a query that somebody else runs.
func (a *app) watch(ctx context.Context, s *session, id string) error {
	status, err := s.look(ctx, id)
	if err != nil {
		return err
	}
	q := status.Query
	switch {
	case !settled(q):
		a.line("detached", "query %s goes on without being watched", q.ID)
		a.line("continue", "braid watch %s%s", q.ID, a.whereHint())
		return &exitError{code: exitInterrupted, err: context.Canceled, said: true}
	case q.State == messages.Complete:
		return a.complete(status, nil, nil, q.Updated.Sub(q.Created))
	}
	return a.notComplete(status, false)
}

// look shows a query's progress until it has settled or ctx ends, and gives it as it was last seen.
func (s *session) look(ctx context.Context, id string) (*messages.Status, error) {
	if s.embedded != nil { // nobody runs it: what is there is all that comes
		status, err := s.Status(ctx, id)
		if err != nil {
			return nil, err
		}
		return status, s.survey(ctx, status)
	}
	status, err := s.follow(ctx, id)
	if err != nil {
		return nil, err
	}
	if status == nil {
		return nil, fmt.Errorf("nothing was heard of query %s: %w", id, context.Cause(ctx))
	}
	if status.Progress == nil {
		status.Progress = &messages.Progress{Updated: time.Time{}}
	}
	return status, nil
}
