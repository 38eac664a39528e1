package messages

// Failure is a deterministic error of a chunk: asking again would fail the same way.
type Failure struct {
	Class   string `json:"class"`            // response class or reason, such as bad_request, auth, bad_link
	Status  int    `json:"status,omitempty"` // HTTP status, 0 when it was not the service that refused
	Message string `json:"message"`          // what the service or the check said, without secrets
	Hint    string `json:"hint,omitempty"`   // what a person can do
}

// ClassPoison is the class of a chunk that is given up because it ended every worker that ran it.
const ClassPoison = "poison"

// Validate reports the first field that is missing or out of bounds.
func (m *Failure) Validate() error {
	return firstError(
		field("failure.class", CheckName(m.Class)),
		field("failure.status", checkStatus(m.Status)),
		checkText("failure.message", m.Message),
		checkText("failure.hint", m.Hint),
	)
}
