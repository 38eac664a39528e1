package messages

// Status is a query as people are shown it.
type Status struct {
	Query    *Query    `json:"query"`
	Progress *Progress `json:"progress"`
}
