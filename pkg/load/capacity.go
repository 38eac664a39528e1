package load

// Terms are the terms of a run's capacity, and which of them bound it (LR-2.1, 2.6).
type Terms struct {
	Class        Class    `json:"class"`
	Requested    int      `json:"requested"`
	EnvMax       int      `json:"env_max"`
	EnvMaxSource string   `json:"env_max_source"` // default or configured
	PoolRoom     int      `json:"pool_room"`
	Ceiling      int      `json:"ceiling"`
	EnvLoadLimit int      `json:"env_load_limit"` // of all runs of the environment together
	Effective    int      `json:"effective"`      // of this run
	Binding      []string `json:"binding"`        // requested, env_max, pool_room, ceiling: those that are equal to Effective
}
