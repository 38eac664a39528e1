package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/braidhq/braid/internal/settings"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// newTokenFlags are the flags of braid token new.
type newTokenFlags struct {
	name, team, role, expires string
	permissions               []string
	file, out                 string
}

func (a *app) tokenCommand() *cobra.Command {
	group := &cobra.Command{
		Use: "token", Short: "Make, list and revoke the tokens by which a server knows people",
		Long: `Makes, lists and revokes the tokens by which a server knows people and programs. A coordinator reads them from the file of its
setting --tokens, and again whenever it changes. The file holds digests; a token is shown once, when it is made.`,
		Example: "  braid token new --name ana --role submitter --file tokens.yaml",
	}
	group.AddCommand(a.tokenNewCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
	return group
}

func (a *app) tokenNewCommand() *cobra.Command {
	var f newTokenFlags
	cmd := &cobra.Command{
		Use: "new", Short: "Make a token, and show it once", Args: cobra.NoArgs,
		Long: `Makes a token and prints it on stdout, or writes it into the file of --out: once, as nothing else keeps it. With --file its entry is added to the file, which is made when it
is not there; else the entry is printed on stderr.

Roles: reader sees all; submitter also submits queries and changes its own, and those of its team; operator changes everybody's, and
collects garbage; admin may do everything.`,
		Example: `  braid token new --name ana --team rivers --role submitter --file tokens.yaml
  braid token new --name ana --role submitter --file tokens.yaml --out ana.token
  braid token new --name grafana --role reader --expires 90d --file tokens.yaml`,
		RunE: func(*cobra.Command, []string) error { return a.newToken(f, time.Now()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "who is known by the token: the owner of what it submits")
	flags.StringVar(&f.team, "team", "", "its team, whose members may resume and cancel each other's queries")
	flags.StringVar(&f.role, "role", "", "reader, submitter, operator or admin")
	flags.StringSliceVar(&f.permissions, "permission", nil, "a permission beside those of the role, such as load:run")
	flags.StringVar(&f.expires, "expires", "", "when it ends: an age such as 90d, or a day such as 2027-01-31 (default: never)")
	flags.StringVar(&f.file, "file", "", "file of tokens to which the entry is added")
	flags.StringVar(&f.out, "out", "", "write the token into this new file, which its owner alone can read, and not on stdout")
	settings.OnlyFlags(flags, "name", "team", "role", "permission", "expires", "file", "out")
	return cmd
}

func (a *app) newToken(f newTokenFlags, now time.Time) error {
	entry, err := f.entry(now)
	if err != nil {
		return usage("%w", err)
	}
	token, err := access.NewToken(rand.Reader)
	if err != nil {
		return err
	}
	if entry.SHA256, err = access.ParseToken(token); err != nil {
		return err
	}
	if _, err := access.NewRoster([]access.Entry{entry}); err != nil {
		return usage("%w", err)
	}
	if f.out != "" {
		if err := saveToken(f.out, token); err != nil {
			return err
		}
	}
	if f.file != "" {
		if err := changeRoster(f.file, true, func(entries []access.Entry) ([]access.Entry, error) { return append(entries, entry), nil }); err != nil {
			if f.out != "" {
				_ = os.Remove(f.out) // nobody knows this token
			}
			return err
		}
	}
	told := token
	where := "the token follows, and is shown this once"
	if f.out != "" {
		told, where = "", "the token is in "+f.out
	}
	switch {
	case a.json:
		return a.printJSON(map[string]any{"token": told, "id": entry.SHA256.ID(), "name": entry.Name, "team": entry.Team, "role": entry.Role, "sha256": entry.SHA256.String()})
	case f.file != "":
		fmt.Fprintf(a.stderr, "added    %s (%s) to %s; %s\n", entry.Name, entry.Role, f.file, where)
	default:
		fmt.Fprintf(a.stderr, "entry    add this to the tokens of the server's file; %s\n%s", where, entry.Encode())
	}
	if told != "" {
		fmt.Fprintln(a.stdout, told)
	}
	return nil
}

// saveToken writes a token into a new file for its owner alone.
func saveToken(path, token string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage("--out: %s exists and is not replaced; name another file", path)
	}
	if err != nil {
		return usage("--out: %w", err)
	}
	_, err = file.WriteString(token + "\n")
	return errors.Join(err, file.Close())
}

func (f newTokenFlags) entry(now time.Time) (access.Entry, error) {
	e := access.Entry{Name: f.name, Team: f.team, Created: now.UTC().Truncate(time.Second)}
	if f.name == "" || f.role == "" {
		return e, errors.New("a token needs --name and --role")
	}
	if err := e.Role.UnmarshalText([]byte(f.role)); err != nil {
		return e, fmt.Errorf("--role: %w%s", err, strictyaml.DidYouMean(f.role, words(access.Roles())))
	}
	for _, text := range f.permissions {
		var p access.Permission
		if err := p.UnmarshalText([]byte(text)); err != nil {
			return e, fmt.Errorf("--permission: %w%s", err, strictyaml.DidYouMean(text, words(access.Permissions())))
		}
		e.Permissions = append(e.Permissions, p)
	}
	if f.expires == "" {
		return e, nil
	}
	age, err := strictyaml.ParseDuration(f.expires)
	if err == nil {
		e.Expires = e.Created.Add(age)
	} else if e.Expires, err = access.ParseInstant(f.expires); err != nil {
		return e, fmt.Errorf("--expires: %.40q is neither an age, such as 90d, nor a day, such as 2027-01-31", f.expires)
	}
	if !e.Expires.After(now) {
		return e, errors.New("--expires: that is over already")
	}
	return e, nil
}

func words[T ~string](values []T) []string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

func (a *app) tokenListCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tokens of a file", Args: cobra.NoArgs, Example: "  braid token list --file tokens.yaml",
		RunE: func(*cobra.Command, []string) error { return a.listTokens(file, time.Now()) },
	}
	rosterFlag(cmd, &file)
	return cmd
}

func rosterFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "file", "", "file of tokens")
	settings.OnlyFlags(cmd.Flags(), "file")
}

// listedToken is a token as braid token list --json prints it.
type listedToken struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Team        string              `json:"team"`
	Role        access.Role         `json:"role"`
	Permissions []access.Permission `json:"permissions"` // granted beside those of the role
	Created     *time.Time          `json:"created,omitempty"`
	Expires     *time.Time          `json:"expires,omitempty"`
	Expired     bool                `json:"expired"`
}

func (a *app) listTokens(file string, now time.Time) error {
	if file == "" {
		return usage("which file? give it with --file")
	}
	roster, err := readRoster(file)
	if err != nil {
		return err
	}
	tokens := []listedToken{}
	for _, e := range roster.Entries() {
		one := listedToken{ID: e.SHA256.ID(), Name: e.Name, Team: e.Team, Role: e.Role, Permissions: append([]access.Permission{}, e.Permissions...)}
		if !e.Created.IsZero() {
			one.Created = &e.Created
		}
		if !e.Expires.IsZero() {
			one.Expires, one.Expired = &e.Expires, !now.Before(e.Expires)
		}
		tokens = append(tokens, one)
	}
	if a.json {
		return a.printJSON(map[string]any{"tokens": tokens})
	}
	if len(tokens) == 0 {
		a.line("none", "%s has no token; braid token new makes one", file)
		return nil
	}
	table := a.table()
	fmt.Fprintln(table, "ID\tNAME\tTEAM\tROLE\tALSO\tCREATED\tEXPIRES")
	for _, t := range tokens {
		expires := "never"
		if t.Expires != nil {
			expires = t.Expires.Format(time.RFC3339)
		}
		if t.Expired {
			expires += " (expired)"
		}
		created := "-"
		if t.Created != nil {
			created = t.Created.Format(time.RFC3339)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, orDash(t.Team), t.Role, orDash(joined(t.Permissions)), created, expires)
	}
	return table.Flush()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func joined(permissions []access.Permission) string {
	var text bytes.Buffer
	for i, p := range permissions {
		if i > 0 {
			text.WriteString(",")
		}
		text.WriteString(string(p))
	}
	return text.String()
}

func (a *app) tokenRevokeCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "revoke ID|NAME", Short: "Take tokens out of a file: the one of an id, or all of a name", Args: cobra.ExactArgs(1),
		Long: `Takes tokens out of a file: the one of an id, as braid token list shows it, or all of a name. A server that reads the file knows it within
seconds; sessions and streams that were begun with the token end.`,
		Example: "  braid token revoke 9f86d081884c --file tokens.yaml",
		RunE:    func(_ *cobra.Command, args []string) error { return a.revokeToken(file, args[0]) },
	}
	rosterFlag(cmd, &file)
	return cmd
}

func (a *app) revokeToken(file, which string) error {
	if file == "" {
		return usage("which file? give it with --file")
	}
	revoked := []string{}
	err := changeRoster(file, false, func(entries []access.Entry) ([]access.Entry, error) {
		kept := slices.DeleteFunc(entries, func(e access.Entry) bool {
			meant := e.Name == which || e.SHA256.ID() == which
			if meant {
				revoked = append(revoked, e.SHA256.ID())
			}
			return meant
		})
		if len(revoked) == 0 {
			return nil, fmt.Errorf("token %.40q: %w; braid token list shows those of %s", access.Redact(which), messages.ErrNotFound, file)
		}
		return kept, nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"revoked": revoked})
	}
	a.line("revoked", "%s of %s", count(int64(len(revoked)), "token"), file)
	return nil
}

func readRoster(file string) (*access.Roster, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("file of tokens: %w", err)
	}
	return access.DecodeRoster(file, data)
}

// changeRoster replaces the file by one with other entries. Its successor is written beside it first: whoever reads it, or whatever
// ends this process, finds the old one or the new one. The successor's name also keeps a second process from changing it meanwhile.
func changeRoster(file string, mayMake bool, change func([]access.Entry) ([]access.Entry, error)) (err error) {
	if target, linkErr := filepath.EvalSymlinks(file); linkErr == nil {
		file = target
	}
	successor := file + ".new"
	out, err := os.OpenFile(successor, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("file of tokens: %s is there: another braid token is at work; when none is, one was ended before it was done: remove it", successor)
	}
	if err != nil {
		return fmt.Errorf("file of tokens: %w", err)
	}
	defer func() {
		if err != nil {
			_, _ = out.Close(), os.Remove(successor) // why it was given up says more
		}
	}()
	var entries []access.Entry
	roster, err := readRoster(file)
	switch {
	case err == nil:
		entries = roster.Entries()
	case !mayMake || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if entries, err = change(entries); err != nil {
		return err
	}
	if roster, err = access.NewRoster(entries); err != nil {
		return usage("%w", err)
	}
	if err = readableAsBefore(out, file); err != nil {
		return fmt.Errorf("file of tokens: %w; run braid token as root, or as whose file it is", err)
	}
	if _, err = out.Write(roster.Encode()); err != nil {
		return fmt.Errorf("file of tokens: %w", err)
	}
	if err = out.Sync(); err != nil {
		return fmt.Errorf("file of tokens: %w", err)
	}
	if err = out.Close(); err != nil {
		return fmt.Errorf("file of tokens: %w", err)
	}
	if err = os.Rename(successor, file); err != nil {
		return fmt.Errorf("file of tokens: %w", err)
	}
	return nil
}

// readableAsBefore gives the successor of a file the file's owner and group, and lets the group read it where it could: the server that reads
// it again is often not who changes it, and one that cannot read it goes on with tokens that were revoked.
func readableAsBefore(successor *os.File, file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ownLike(successor, info); err != nil {
		return err
	}
	return successor.Chmod(info.Mode().Perm()&0o040 | 0o600)
}
