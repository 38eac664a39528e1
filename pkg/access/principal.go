package access

import (
	"errors"
	"fmt"
	"slices"
)

// ErrForbidden is wrapped when somebody who is known lacks a permission. The error names it.
var ErrForbidden = errors.New("not permitted")

// Principal is somebody whom a token makes known. It is not changed once it is made.
type Principal struct {
	Name        string       // who it is: the owner of the queries that it submits
	Team        string       // empty: none
	Role        Role         //
	Permissions []Permission // all: those of the role and those granted beside it, in the order of the function Permissions
	Token       string       // id of the token, for people; it is no secret
}

// Has tells whether the principal holds a permission.
func (p *Principal) Has(permission Permission) bool {
	return slices.Contains(p.Permissions, permission)
}

// Require wraps ErrForbidden when the principal lacks a permission.
func (p *Principal) Require(permission Permission) error {
	if p.Has(permission) {
		return nil
	}
	return fmt.Errorf("%w: %s has the role %s and not the permission %s; ask who keeps the server's tokens for it", ErrForbidden, p.Name, p.Role, permission)
}

// Ownership is whose a query is.
type Ownership struct {
	Owner string // empty: nobody's, as of a query that was submitted where the server knew nobody
	Team  string // of the owner; empty: none
}

// MayControl tells whether the principal may resume, retry and cancel a query: its own, and one of its own team. The error wraps
// ErrForbidden.
func (p *Principal) MayControl(of Ownership) error {
	own := of.Owner == p.Name || of.Team != "" && of.Team == p.Team
	return p.mayChange(of, own, "yours and those of your team")
}

// MayRemove tells whether the principal may remove a query, which cannot be undone: only its own. The error wraps
// ErrForbidden.
func (p *Principal) MayRemove(of Ownership) error {
	return p.mayChange(of, of.Owner == p.Name, "your own")
}

func (p *Principal) mayChange(of Ownership, own bool, which string) error {
	switch {
	case p.Has(QueriesControl), own && of.Owner != "" && p.Has(QueriesControlOwn):
		return nil
	case !p.Has(QueriesControlOwn):
		return p.Require(QueriesControlOwn)
	case of.Owner == "":
		return fmt.Errorf("%w: the query is nobody's, and %s lacks the permission %s", ErrForbidden, p.Name, QueriesControl)
	}
	return fmt.Errorf("%w: the query is %s's, and %s lacks the permission %s; without it you may change %s", ErrForbidden, of.Owner, p.Name, QueriesControl, which)
}

// Identity is as whom a server knows a caller.
type Identity struct {
	Name        string       `json:"name" doc:"Empty: the server knows no tokens"`
	Team        string       `json:"team"`
	Role        Role         `json:"role" enum:"reader,submitter,operator,admin"`
	Permissions []Permission `json:"permissions" nullable:"false" doc:"All that the caller holds"`
	Auth        bool         `json:"auth" doc:"false: the server knows no tokens, and everybody may do everything"`
}
