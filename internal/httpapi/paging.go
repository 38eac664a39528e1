package httpapi

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/messages"
)

type listInput struct {
	Limit int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many queries"`
	After string   `query:"after" maxLength:"200" doc:"What next of the page before says: the queries behind it"`
	State []string `query:"state" maxItems:"6" enum:"running,stopping,interrupted,failed,cancelled,complete" doc:"Only queries in this state, or in one of several, with commas between them"`
	Owner string   `query:"owner" maxLength:"64" doc:"Only queries that this person submitted"`
}

// selection reads what is asked for. An error is a problem.
func (in *listInput) selection() (messages.Selection, error) {
	s := messages.Selection{Owner: in.Owner, Limit: in.Limit}
	for _, text := range in.State {
		state, err := messages.ParseState(text)
		if err != nil {
			return s, parameterProblem("state", err)
		}
		s.States = append(s.States, state)
	}
	if in.Owner != "" {
		if err := messages.CheckName(in.Owner); err != nil {
			return s, parameterProblem("owner", err)
		}
	}
	if in.After != "" {
		after, err := messages.ParsePlace(in.After)
		if err != nil {
			return s, parameterProblem("after", err)
		}
		s.After = after
	}
	return s, nil
}

func parameterProblem(name string, err error) *contract.Problem {
	return contract.NewProblem(contract.KindNamed(contract.RequestInvalid), name+": "+err.Error(),
		contract.FieldError{Location: "query." + name, Message: err.Error()})
}

// link is the header that leads to the next page (RFC 8288). It is relative to the request, so that it holds behind a proxy that serves
// the API below another path.
func (in *listInput) link(next string) string {
	values := url.Values{"limit": {strconv.Itoa(in.Limit)}, "after": {next}}
	if len(in.State) > 0 {
		values.Set("state", strings.Join(in.State, ","))
	}
	if in.Owner != "" {
		values.Set("owner", in.Owner)
	}
	return "<?" + values.Encode() + `>; rel="next"`
}

// QueryList is the answer that lists queries.
type QueryList struct {
	Queries []*messages.Status `json:"queries" nullable:"false" doc:"Queries, the newest first"`
	Next    string             `json:"next,omitempty" doc:"What after takes for the next page; left out: there are no more"`
}

type listOutput struct {
	Link string `header:"Link" doc:"With rel=next, where the next page is"`
	Body QueryList
}

func (a *api) list(ctx context.Context, in *listInput) (*listOutput, error) {
	selection, err := in.selection()
	if err != nil {
		return nil, err
	}
	statuses, more, err := a.ports.Views.Select(ctx, selection)
	if err != nil {
		return nil, a.failure("list queries", err)
	}
	if statuses == nil {
		statuses = []*messages.Status{}
	}
	out := &listOutput{Body: QueryList{Queries: statuses}}
	if more && len(statuses) > 0 {
		out.Body.Next = statuses[len(statuses)-1].Query.Place().String()
		out.Link = in.link(out.Body.Next)
	}
	return out, nil
}
