package load

// Actor is who asks for something.
type Actor struct {
	Name string
	Team string
	Prod bool // may start runs in PROD
}

// RunStatus is a run and how it goes.
type RunStatus struct {
	Run      *Run      `json:"run"`
	Progress *Progress `json:"progress,omitempty"` // nil: none is known yet
}

// ExecutionFilter says which executions of a run are wanted. A member without a value leaves all.
type ExecutionFilter struct {
	After   int     // numbers above; -1: from the first
	Limit   int     // at most
	Chart   int64   //
	Role    string  //
	Outcome Outcome //
}

// Matches tells whether an execution is one of those, After and Limit left aside.
func (f ExecutionFilter) Matches(e *Execution) bool {
	return (f.Chart == 0 || f.Chart == e.Chart) && (f.Role == "" || f.Role == e.Role) && (f.Outcome == "" || f.Outcome == e.Outcome)
}

// EnvironmentView is an environment as people see it.
type EnvironmentView struct {
	Name    string   `json:"name"`
	BaseURL string   `json:"base_url"`
	Stage   string   `json:"stage,omitempty"`
	Class   Class    `json:"class"`
	Roles   []string `json:"roles"`
	Async   bool     `json:"async"`
	// Capacity is that of a run that asks for as much as there is.
	Capacity Terms `json:"capacity"`
}
