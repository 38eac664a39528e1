package load

import (
	"context"
	"time"
)

// Request is one chart's request in one variation.
type Request struct {
	Dashboard int64
	Chart     Chart
	Filters   []NativeFilter // of the dashboard: what is out of a filter's scope is not sent (LR-8.9)
	Variation Variation
	Force     bool
	Async     bool          // follow an asynchronous answer; else it is a failure
	Deadline  time.Duration // of the whole exchange from its admission
	Sample    SampleBounds
}

// Places are asked for inside the client's call, in this order, right before a request is sent.
type Places struct {
	// Shared gives a place among all requests to the environment, the ordinary ones included; release gives it back. Its error ends the
	// execution. Nil: the caller holds one.
	Shared func(ctx context.Context) (release func(), err error)
	// Admit stores that the request will be sent now. Its error means that nothing is sent. repeat tells that it is the same request again,
	// after the token was renewed. Nil: nothing is to be stored.
	Admit func(ctx context.Context, repeat bool) error
}

// Answer is what came of a request, whatever it was: an exchange has no other errors than those of Places and of a context that ended.
type Answer struct {
	Outcome    Outcome
	Kind       string
	Status     int
	Message    string
	Requests   int
	Polls      int
	Async      bool
	Cache      CacheState
	Queries    []QueryOutcome
	BodySHA256 string
	DataSHA256 string
	BodyBytes  int64
	WireBytes  int64
	Rows       int64
	Sample     []byte
	Truncated  bool
	Rejected   []string
	Admitted   time.Time     // with a monotonic reading
	Finished   time.Time     // likewise
	Upstream   time.Duration // of the requests, from their admission to the last byte; a repeat's begins anew
	ReaderLag  time.Duration
}
