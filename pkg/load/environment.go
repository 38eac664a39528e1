package load

import "time"

// Class says how careful one must be with an environment.
type Class string

// The classes of environments (LR-2.3).
const (
	Prod    Class = "PROD"
	NonProd Class = "NON_PROD"
)

// Environment is where load runs go, as the block "environment" of a service definition says. A nil number is its default (LR-2.2).
type Environment struct {
	Name         string // the service
	BaseURL      string
	Stage        string // DEV, PREPROD or PROD, without regard to case and outer blanks; empty: none is said
	IsProduction bool
	Pool         *int // connection_pool_size: requests in flight of all kinds together; 20
	EnvMax       *int // load_test_max_concurrent; 5 in PROD, else 10
	Reserved     *int // load_test_reserved_slots: of the pool, never given to load; 5
	// PoolTimeout is how long an execution waits for a place among all requests before it is given up as cancelled (LR-2.10).
	PoolTimeout time.Duration
	Roles       []Role
	Async       bool // asynchronous answers are followed and measured, rather than refused
}

// Role is an identity that executions are sent as. It names credentials and holds none.
type Role struct {
	Name       string
	Credential string // id in the definition: USER:PASSWORD
	Provider   string // db or ldap
	// Embedded is the UUID of an embedded dashboard: the credential then only orders guest tokens for it.
	Embedded string
	Clauses  []GuestClause
}

// GuestClause is a row-level-security clause of a guest token.
type GuestClause struct {
	Dataset int64  `json:"dataset,omitempty" yaml:"dataset"` // 0: of all
	Clause  string `json:"clause" yaml:"clause"`
}
