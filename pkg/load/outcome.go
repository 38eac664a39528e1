package load

import "strings"

// Exchange is what was observed of an execution's exchange.
type Exchange struct {
	Abandoned string // why it was given up: intake_closed, drain_over, worker_stopping or resource_timeout; empty: it was not
	Deadline  bool   // our own deadline passed
	Status    int    // of the last answer; 0: there was none
	Whole     bool   // the body was read to its end
	Login     bool   // the answer is the login page, or a redirect to it
	JSON      bool   // the body is JSON
	Entries   int    // of its list result; -1: it has no such list
	Queries   int    // query objects that were asked
	Message   string // of the body, where it is an error
}

// OutcomeOf tells how an execution ended, and the kind of a failure or the reason of what was cancelled. A 401 is judged after the token was renewed
// and the request repeated; a 202 after it was followed, and as a bad body where it was not.
func OutcomeOf(x Exchange) (Outcome, string) {
	switch {
	case x.Abandoned != "":
		return Cancelled, x.Abandoned
	case x.Deadline:
		return Timeout, Deadline
	case x.Status == 0:
		return Error, Transport
	case x.Login && x.Status < 400:
		return Error, Auth
	case !x.Whole && x.Status < 400: // a refusal says enough by its status
		return Error, Transport
	case x.Status == 200 && x.JSON && x.Entries >= 0 && x.Entries == x.Queries:
		return Success, ""
	}
	return Error, kindOf(x.Status, x.Message)
}

func kindOf(status int, message string) string {
	switch {
	case status < 400:
		return BadBody
	case status == 400 && strings.HasPrefix(message, "Error: "):
		return QueryFailed
	case status == 400:
		return BadRequest
	case status == 401:
		return Auth
	case status == 403:
		return Forbidden
	case status == 404:
		return NotFound
	case status == 429:
		return RateLimited
	case status < 500:
		return ClientError
	case status == 502 || status == 503 || status == 504:
		return Gateway
	}
	return ServerError
}
