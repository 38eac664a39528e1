package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

type startInput struct {
	Payload
	Key string `header:"Idempotency-Key" maxLength:"514" doc:"1 to 255 visible ASCII characters, such as a UUID, in quotes or without: what is sent again under the same key is the same run, and not another one"`
}

type startOutput struct {
	Status   int
	Location string `header:"Location" doc:"Where the run is"`
	Body     *load.Run
}

type loadRunOutput struct{ Body *load.Run }

type runStatusOutput struct{ Body *load.RunStatus }

type runsInput struct {
	Limit       int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many runs"`
	After       string `query:"after" maxLength:"100" doc:"Id of a run: the runs behind it"`
	Profile     string `query:"profile" maxLength:"100" doc:"Only runs of this profile"`
	Environment string `query:"environment" maxLength:"100" doc:"Only runs in this environment"`
	Active      bool   `query:"active" doc:"true: only runs that have not ended"`
}

type runsOutput struct {
	Link string `header:"Link" doc:"With rel=next, where the next page is"`
	Body contract.LoadRunList
}

func (a *api) routeLoadRuns() {
	start := a.operation("start-load-run", http.MethodPost, loadRunsPath, "Start a run of a load profile")
	start.Description = "All that lets it start is computed anew. It names the fingerprint of what depends on the data as the preview showed it; in PROD it uses an approval up. " +
		"What is refused has sent nothing: the problem's member gate tells why, what stands now, and what was added and removed."
	start.DefaultStatus = http.StatusCreated
	start.Responses["200"] = &huma.Response{Description: "The run that was started before under the same Idempotency-Key", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[load.Run](a)},
	}}
	huma.Register(a.huma, start, a.startRun)
	describeBody[load.StartRequest](a, loadRunsPath, true)
	huma.Register(a.huma, a.operation("list-load-runs", http.MethodGet, loadRunsPath, "List load runs, the newest first"), a.loadRuns)
	huma.Register(a.huma, a.operation("show-load-run", http.MethodGet, loadRunPath, "Show where a load run stands"), a.loadRun)
	stop := a.operation("stop-load-run", http.MethodPost, stopPath, "Stop a load run: once this is answered no further request is admitted, and what is in flight drains")
	huma.Register(a.huma, stop, a.stopRun)
	huma.Register(a.huma, a.operation("remove-load-run", http.MethodDelete, loadRunPath, "Remove a load run that has ended, with all that is stored of it"), a.removeRun)
}

func (a *api) startRun(ctx context.Context, in *startInput) (*startOutput, error) {
	key, err := idempotencyKey(in.request.Header)
	if err != nil {
		return nil, err
	}
	asked, err := loadBody[load.StartRequest](ctx, a, &in.Payload, "start", contract.MaxLoadStartBytes)
	if err != nil {
		return nil, err
	}
	visitOf(ctx).query = asked.Profile // until it has an id
	asked.Key = key
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	run, err := a.ports.Loads.Start(ctx, actor(ctx), *asked)
	out := &startOutput{Status: http.StatusCreated}
	if run != nil && errors.Is(err, load.ErrRepeated) {
		out.Status, err = http.StatusOK, nil
	}
	if err != nil {
		return nil, a.failure("start", err)
	}
	visitOf(ctx).query = run.ID
	out.Location, out.Body = loadRunsPath+"/"+run.ID, run
	return out, nil
}

func (a *api) stopRun(ctx context.Context, in *OneRun) (*loadRunOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("stop", err)
	}
	run, err := a.ports.Loads.Stop(ctx, actor(ctx), id)
	if err != nil {
		return nil, a.failure("stop", err)
	}
	visitOf(ctx).query = run.ID
	return &loadRunOutput{run}, nil
}

func (a *api) removeRun(ctx context.Context, in *OneRun) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("remove load run", err)
	}
	if err := a.ports.Loads.RemoveRun(ctx, actor(ctx), id); err != nil {
		return nil, a.failure("remove load run", err)
	}
	return nil, nil
}

func (a *api) loadRun(ctx context.Context, in *OneRun) (*runStatusOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("show load run", err)
	}
	status, err := a.ports.Loads.Run(ctx, id)
	if err != nil {
		return nil, a.failure("show load run", err)
	}
	return &runStatusOutput{status}, nil
}

func (a *api) loadRuns(ctx context.Context, in *runsInput) (*runsOutput, error) {
	if in.After != "" {
		if err := messages.CheckName(in.After); err != nil {
			return nil, parameterProblem("after", err)
		}
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := a.ports.Loads.Runs(ctx)
	if err != nil {
		return nil, a.failure("list load runs", err)
	}
	if in.After != "" {
		at := slices.IndexFunc(all, func(s *load.RunStatus) bool { return s.Run.ID == in.After })
		if at < 0 {
			return nil, parameterProblem("after", errors.New("there is no such run any more; begin again without it"))
		}
		all = all[at+1:]
	}
	out := &runsOutput{Body: contract.LoadRunList{Runs: []*load.RunStatus{}}}
	for _, s := range all {
		if !in.wants(s.Run) {
			continue
		}
		if len(out.Body.Runs) == in.Limit {
			out.Body.Next = out.Body.Runs[in.Limit-1].Run.ID
			out.Link = in.link(out.Body.Next)
			break
		}
		out.Body.Runs = append(out.Body.Runs, s)
	}
	return out, nil
}

func (in *runsInput) wants(r *load.Run) bool {
	return (in.Profile == "" || in.Profile == r.Profile.ID) && (in.Environment == "" || in.Environment == r.Environment) && (!in.Active || r.State.Active())
}

// link is listInput's.
func (in *runsInput) link(next string) string {
	values := url.Values{"limit": {strconv.Itoa(in.Limit)}, "after": {next}}
	for name, value := range map[string]string{"profile": in.Profile, "environment": in.Environment} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if in.Active {
		values.Set("active", "true")
	}
	return "<?" + values.Encode() + `>; rel="next"`
}
