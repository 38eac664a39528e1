package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// What a roster is bounded by.
const (
	MaxRosterBytes = 1 << 20
	MaxTokens      = 2000
)

// Schema names the format of a roster's file.
const Schema = "access/v1"

var (
	// ErrUnauthenticated is wrapped when nobody is known by what was given.
	ErrUnauthenticated = errors.New("not authenticated")
	// ErrUnknown is a token that is not in the roster. It wraps ErrUnauthenticated.
	ErrUnknown = fmt.Errorf("%w: the token is unknown, or was revoked", ErrUnauthenticated)
	// ErrExpired is a token whose time is over. It wraps ErrUnauthenticated.
	ErrExpired = fmt.Errorf("%w: the token has expired", ErrUnauthenticated)
)

// Entry is one token of a roster. A name may have several, so that one can be replaced while the old one still works.
type Entry struct {
	Name        string
	Team        string // empty: none. All tokens of a name have the same
	Role        Role
	Permissions []Permission // granted beside those of the role
	SHA256      Digest
	Expires     time.Time // zero: never
	Created     time.Time // zero: not known; for people alone
}

// Roster is who is known by which token. It is not changed once it is made, and safe for concurrent use.
type Roster struct {
	entries    []Entry
	principals []*Principal // of the entries
}

// NewRoster makes a roster of entries. The error names the entry that is wrong.
func NewRoster(entries []Entry) (*Roster, error) {
	if len(entries) > MaxTokens {
		return nil, fmt.Errorf("there are %d tokens, at most %d are known", len(entries), MaxTokens)
	}
	r := &Roster{entries: slices.Clone(entries)}
	for i, e := range r.entries {
		if err := e.check(r.entries[:i]); err != nil {
			return nil, fmt.Errorf("tokens[%d]: %w", i, err)
		}
		r.principals = append(r.principals, e.principal())
	}
	return r, nil
}

func (e Entry) check(before []Entry) error {
	if err := messages.CheckName(e.Name); err != nil {
		return fmt.Errorf("name: %w", err)
	}
	if Redact(e.Name) != e.Name {
		return errors.New("name: it looks like a token; a name is shown to everybody")
	}
	if e.Team != "" {
		if err := messages.CheckName(e.Team); err != nil {
			return fmt.Errorf("team: %w", err)
		}
	}
	if e.Role.Permissions() == nil {
		return fmt.Errorf("role: there is no role %.40q; there are %s", e.Role, listed(Roles()))
	}
	for _, p := range e.Permissions {
		if !slices.Contains(Permissions(), p) {
			return fmt.Errorf("permissions: there is no permission %.40q; there are %s", p, listed(Permissions()))
		}
	}
	if e.SHA256 == (Digest{}) {
		return errors.New("sha256: it is missing")
	}
	for _, other := range before {
		if other.SHA256 == e.SHA256 {
			return fmt.Errorf("sha256: the token is there already, as %s's", other.Name)
		}
		if other.Name == e.Name && other.Team != e.Team {
			return fmt.Errorf("team: %s is in the team %q by another token; all tokens of a name have the same team", e.Name, other.Team)
		}
	}
	return nil
}

func (e Entry) principal() *Principal {
	p := &Principal{Name: e.Name, Team: e.Team, Role: e.Role, Token: e.SHA256.ID()}
	for _, permission := range Permissions() {
		if slices.Contains(e.Role.Permissions(), permission) || slices.Contains(e.Permissions, permission) {
			p.Permissions = append(p.Permissions, permission)
		}
	}
	return p
}

// Entries gives the entries, in their order.
func (r *Roster) Entries() []Entry { return slices.Clone(r.entries) }

// Find gives whom a token makes known at a moment. Every entry is compared, whichever fits, so that the time tells nothing.
// The error is ErrUnknown or wraps ErrExpired.
func (r *Roster) Find(token Digest, now time.Time) (*Principal, error) {
	found := -1
	for i := range r.entries {
		same := subtle.ConstantTimeCompare(r.entries[i].SHA256[:], token[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return nil, ErrUnknown
	}
	if e := r.entries[found]; !e.Expires.IsZero() && !now.Before(e.Expires) {
		return nil, fmt.Errorf("%w on %s", ErrExpired, e.Expires.UTC().Format(time.RFC3339))
	}
	return r.principals[found], nil
}

// DecodeRoster reads the file of a roster. The file's name is only for messages; the error is strictyaml.Errors and names lines.
func DecodeRoster(file string, data []byte) (*Roster, error) {
	doc, err := strictyaml.Parse(file, data, strictyaml.Bounds{Bytes: MaxRosterBytes, Depth: 8})
	if err != nil {
		return nil, err
	}
	var written rosterFile
	doc.Root().Decode(&written)
	if doc.Root().Has("schema") && written.Schema != Schema {
		doc.Root().At("schema").Fail("it is %.40q; this version reads %s", written.Schema, Schema)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	entries := make([]Entry, len(written.Tokens))
	for i, t := range written.Tokens {
		entries[i] = Entry{t.Name, t.Team, t.Role, t.Permissions, t.SHA256, time.Time(t.Expires), time.Time(t.Created)}
		if i < MaxTokens {
			if err := entries[i].check(entries[:i]); err != nil {
				doc.Root().At("tokens", i).Fail("%s", err)
			}
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	roster, err := NewRoster(entries)
	if err != nil {
		doc.Root().Fail("%s", err)
		return nil, doc.Err()
	}
	return roster, nil
}
