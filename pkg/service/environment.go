package service

import (
	"slices"
	"strings"
	"time"

	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/strictyaml"
)

// AdapterSuperset is the name of the adapter that speaks to Apache Superset. It is compiled into all programs.
const AdapterSuperset = "superset"

// The bounds of an environment. The pool is that of slots, which are keys.
const (
	defaultPool        = 20
	defaultPoolTimeout = 30 * time.Second
	maxRoles           = 100
	maxClauses         = 100
	maxClauseBytes     = 4 << 10
	maxRoleBytes       = 100
)

type environmentRule struct {
	Stage        string                    `yaml:"stage"`                    // DEV, PREPROD or PROD
	IsProduction bool                      `yaml:"is_production"`            // as careful as in PROD, whatever the stage
	Pool         *int                      `yaml:"connection_pool_size"`     // requests in flight of all kinds together; the same as limits.in_flight
	EnvMax       *int                      `yaml:"load_test_max_concurrent"` // load requests in flight, of all runs together
	Reserved     *int                      `yaml:"load_test_reserved_slots"` // places of the pool that load never takes
	PoolTimeout  time.Duration             `yaml:"connection_pool_timeout"`  // longest wait for a place in the pool
	Async        bool                      `yaml:"async"`                    // asynchronous answers are followed and measured
	Roles        strictyaml.Map[*roleRule] `yaml:"roles,required"`           // name → who requests are sent as
}

// roleRule is an identity: of a credential, or of a guest whose tokens a credential orders.
type roleRule struct {
	Credential string     `yaml:"credential"` // id of a declared credential: USER:PASSWORD
	Provider   string     `yaml:"provider"`   // db or ldap
	Guest      *guestRule `yaml:"guest"`      // of an embedded dashboard, instead of credential
}

type guestRule struct {
	Credential string       `yaml:"credential,required"` // that orders the guest's tokens
	Embedded   string       `yaml:"embedded,required"`   // UUID of the embedded dashboard
	Clauses    []clauseRule `yaml:"rls"`                 // row-level-security clauses of the tokens
}

type clauseRule struct {
	Dataset int64  `yaml:"dataset"`         // that it is for; default: all
	Clause  string `yaml:"clause,required"` // SQL
}

// Environment gives the environment for load runs that the definition describes. ok is false when it describes none.
func (d *Definition) Environment() (e load.Environment, ok bool) {
	if d.environment == nil {
		return load.Environment{}, false
	}
	e = *d.environment
	e.Name, e.BaseURL = d.Name, d.BaseURL
	e.Roles = slices.Clone(e.Roles)
	return e, true
}

// setEnvironment reads the block and makes it agree with the slots of the service: both are the requests in flight of all kinds.
func (d *Definition) setEnvironment(rule *environmentRule, root strictyaml.Node) {
	if rule == nil {
		if d.Adapter == AdapterSuperset && root.Has("adapter") {
			root.At("adapter").Fail("needs the block `environment` with at least one role: who requests are sent as")
		}
		return
	}
	n := root.At("environment")
	if d.Adapter != AdapterSuperset {
		n.Fail("is for dashboards alone; write `adapter: %s`, or leave it out", AdapterSuperset)
	}
	e := &load.Environment{
		Stage: strings.ToUpper(strings.TrimSpace(rule.Stage)), IsProduction: rule.IsProduction, Pool: rule.Pool, EnvMax: rule.EnvMax,
		Reserved: rule.Reserved, PoolTimeout: rule.PoolTimeout, Async: rule.Async,
	}
	if e.Stage != "" && !slices.Contains([]string{"DEV", "PREPROD", "PROD"}, e.Stage) {
		n.At("stage").Fail("%.40q is not a stage; write DEV, PREPROD or PROD", rule.Stage)
	}
	if n.Has("connection_pool_size") {
		checkRange(n.At("connection_pool_size"), int64(*rule.Pool), 1, messages.MaxSlots)
	}
	if n.Has("load_test_max_concurrent") {
		checkRange(n.At("load_test_max_concurrent"), int64(*rule.EnvMax), 1, messages.MaxSlots)
	}
	if n.Has("load_test_reserved_slots") {
		checkRange(n.At("load_test_reserved_slots"), int64(*rule.Reserved), 0, messages.MaxSlots)
	}
	if !n.Has("connection_pool_timeout") {
		e.PoolTimeout = defaultPoolTimeout
	} else if e.PoolTimeout < time.Millisecond || e.PoolTimeout > time.Hour {
		n.At("connection_pool_timeout").Fail("%s is out of bounds, want 1ms to 1h", e.PoolTimeout)
	}
	d.agreeOnPool(e, root)
	for name, role := range rule.Roles.All() {
		e.Roles = append(e.Roles, d.newRole(name, role, n.At("roles", name)))
	}
	if n.Has("roles") && (len(e.Roles) == 0 || len(e.Roles) > maxRoles) {
		n.At("roles").Fail("there are %d roles, want 1 to %d", len(e.Roles), maxRoles)
	}
	d.environment = e
}

// agreeOnPool has the pool and the service's slots be one number, whichever is given.
func (d *Definition) agreeOnPool(e *load.Environment, root strictyaml.Node) {
	slots, given := root.At("limits", "in_flight"), root.At("limits").Has("in_flight")
	switch {
	case given && d.Limits.InFlight < 1:
		slots.Fail("%s leaves the environment without a pool; write a number, or leave it out", d.Limits.InFlight)
	case given && e.Pool != nil && *e.Pool != int(d.Limits.InFlight):
		slots.Fail("is %s, and environment.connection_pool_size is %d: both are the requests in flight of all kinds; leave one of them out", d.Limits.InFlight, *e.Pool)
	case given:
		pool := int(d.Limits.InFlight)
		e.Pool = &pool
	case e.Pool != nil:
		d.Limits.InFlight = messages.InFlight(*e.Pool)
	default:
		d.Limits.InFlight = defaultPool
	}
}

func (d *Definition) newRole(name string, rule *roleRule, n strictyaml.Node) load.Role {
	role := load.Role{Name: name, Provider: "db"}
	if name == "" || len(name) > maxRoleBytes || strings.TrimSpace(name) != name {
		n.Fail("%.40q is not a name of a role; want 1 to %d bytes without blanks around them", name, maxRoleBytes)
	}
	if rule == nil {
		n.Fail("has neither `credential` nor `guest`")
		return role
	}
	if rule.Provider != "" {
		role.Provider = rule.Provider
	}
	if role.Provider != "db" && role.Provider != "ldap" {
		n.At("provider").Fail("%.40q does not log in by the API; write db or ldap", role.Provider)
	}
	at := n.At("credential")
	switch guest := rule.Guest; {
	case guest == nil && rule.Credential == "":
		n.Fail("has neither `credential` nor `guest`; name the credential of an identity that has this role")
		return role
	case guest != nil && rule.Credential != "":
		n.Fail("has both `credential` and `guest`; the guest has a credential of its own")
		return role
	case guest != nil:
		role.Credential, role.Embedded = guest.Credential, guest.Embedded
		for _, clause := range guest.Clauses {
			role.Clauses = append(role.Clauses, load.GuestClause(clause))
		}
		at = n.At("guest", "credential")
		checkGuest(guest, n.At("guest"))
	default:
		role.Credential = rule.Credential
	}
	d.checkLogin(role.Credential, at)
	return role
}

// checkLogin refuses a credential that one cannot log in with.
func (d *Definition) checkLogin(id string, n strictyaml.Node) {
	at := slices.IndexFunc(d.Credentials, func(c Credential) bool { return c.ID == id })
	switch {
	case id == "" || n.Kind() == strictyaml.Absent: // told already
	case at < 0:
		n.Fail("the credential %.80q is not declared%s", id, strictyaml.DidYouMean(id, d.credentialIDs()))
	case !d.Credentials[at].Send.Basic:
		n.Fail("the credential %s is not one to log in with; declare it with `send: {basic: true}`, its secret being USER:PASSWORD", id)
	}
}

func checkGuest(guest *guestRule, n strictyaml.Node) {
	if n.Has("embedded") && !isUUID(guest.Embedded) {
		n.At("embedded").Fail("%.80q is not a UUID; copy it from the dashboard's dialog of embedding", guest.Embedded)
	}
	if len(guest.Clauses) > maxClauses {
		n.At("rls").Fail("has %d clauses, at most %d", len(guest.Clauses), maxClauses)
	}
	for i, clause := range guest.Clauses {
		if clause.Clause == "" || len(clause.Clause) > maxClauseBytes {
			n.At("rls", i, "clause").Fail("has %d bytes, want 1 to %d of SQL", len(clause.Clause), maxClauseBytes)
		}
		if clause.Dataset < 0 {
			n.At("rls", i, "dataset").Fail("%d is not a dataset; leave it out for all", clause.Dataset)
		}
	}
}

func isUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'):
			return false
		}
	}
	return true
}
