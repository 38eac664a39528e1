package access

import (
	"fmt"
	"slices"
	"strings"
)

// Permission allows one kind of operation.
type Permission string

// The permissions.
const (
	QueriesRead       Permission = "queries:read"        // see all queries, their results, services, workers and quotas
	QueriesSubmit     Permission = "queries:submit"      // plan and submit queries
	QueriesControlOwn Permission = "queries:control-own" // resume, retry, cancel and remove one's own; resume, retry and cancel those of one's team
	QueriesControl    Permission = "queries:control"     // the same with everybody's
	Operations        Permission = "operations"          // collect garbage; verify a query and open it again
	LoadRun           Permission = "load:run"            // run load against services; see the rows that a load run kept
	LoadProd          Permission = "load:prod"           // beside load:run, run it in production; approve such runs
	AuditRead         Permission = "audit:read"          // see who changed what
)

// Permissions lists all permissions.
func Permissions() []Permission {
	return []Permission{QueriesRead, QueriesSubmit, QueriesControlOwn, QueriesControl, Operations, LoadRun, LoadProd, AuditRead}
}

// UnmarshalText takes the name of a permission.
func (p *Permission) UnmarshalText(text []byte) error {
	if *p = Permission(text); slices.Contains(Permissions(), *p) {
		return nil
	}
	return fmt.Errorf("there is no permission %.40q; there are %s", text, listed(Permissions()))
}

// Role is a set of permissions. Each role holds all those of the roles before it.
type Role string

// The roles, the weakest first.
const (
	Reader    Role = "reader"
	Submitter Role = "submitter"
	Operator  Role = "operator"
	Admin     Role = "admin"
)

// Roles lists all roles, the weakest first.
func Roles() []Role { return []Role{Reader, Submitter, Operator, Admin} }

// UnmarshalText takes the name of a role.
func (r *Role) UnmarshalText(text []byte) error {
	if *r = Role(text); slices.Contains(Roles(), *r) {
		return nil
	}
	return fmt.Errorf("there is no role %.40q; there are %s", text, listed(Roles()))
}

// Permissions lists what the role may do, in the order of Permissions; nothing for what is no role.
func (r Role) Permissions() []Permission {
	all := Permissions()
	switch r {
	case Reader:
		return all[:1]
	case Submitter:
		return all[:3]
	case Operator:
		return all[:6]
	case Admin:
		return all
	}
	return nil
}

func listed[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
