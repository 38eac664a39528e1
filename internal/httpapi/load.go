package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/access"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	loadPath          = "/v1/load"
	environmentsPath  = loadPath + "/environments"
	profilesPath      = loadPath + "/profiles"
	profilePath       = profilesPath + "/{id}"
	profileFilePath   = loadPath + "/profile-file"
	lookUpPath        = profilePath + "/look-up"
	snapshotPath      = profilePath + "/snapshot"
	loadPreviewPath   = profilePath + "/preview"
	approvePath       = profilePath + "/approvals"
	approvalsPath     = loadPath + "/approvals"
	loadRunsPath      = loadPath + "/runs"
	loadRunPath       = loadRunsPath + "/{id}"
	stopPath          = loadRunPath + "/stop"
	loadReportPath    = loadRunPath + "/report"
	loadSeriesPath    = loadRunPath + "/series"
	executionsPath    = loadRunPath + "/executions"
	executionPath     = executionsPath + "/{number}"
	loadRunEventsPath = loadRunPath + "/events"
	comparePath       = loadPath + "/compare"
)

// loadRules is what the routes of load runs ask for. Who may read may read reports; the rows that executions kept are told to those alone who may run load.
func loadRules(table map[string]rule) {
	for _, path := range []string{
		environmentsPath, profilesPath, profilePath, snapshotPath, loadPreviewPath, approvalsPath, loadRunsPath, loadRunPath, loadReportPath, loadSeriesPath,
		executionsPath, executionPath, loadRunEventsPath, comparePath,
	} {
		table["GET "+path] = rule{access.QueriesRead, false}
	}
	table["POST "+profileFilePath] = rule{access.LoadRun, false}
	for _, pattern := range []string{
		"POST " + profilesPath, "PUT " + profilePath, "DELETE " + profilePath, "POST " + lookUpPath, "POST " + loadRunsPath, "POST " + stopPath, "DELETE " + loadRunPath,
	} {
		table[pattern] = rule{access.LoadRun, true}
	}
	table["POST "+approvePath] = rule{access.LoadProd, true}
}

func isOfLoad(pattern string) bool { return strings.Contains(pattern, " "+loadPath+"/") }

func (a *api) routeLoad() {
	if a.ports.Loads == nil {
		return
	}
	a.routeLoadProfiles()
	a.routeLoadRuns()
	a.routeLoadReports()
	a.routeLoadEvents()
}

// actor is who sent a request, as the desk judges it once more. Where no tokens are known everybody may do everything.
func actor(ctx context.Context) load.Actor {
	p := visitOf(ctx).principal
	if p == nil {
		return load.Actor{Run: true, Prod: true}
	}
	return load.Actor{Name: p.Name, Team: p.Team, Run: p.Has(access.LoadRun), Prod: p.Has(access.LoadProd)}
}

// LoadName is the input of a route that names a profile.
type LoadName struct {
	ID string `path:"id" doc:"Id of the load profile"`
}

func (n LoadName) id() (string, error) {
	if messages.CheckName(n.ID) != nil {
		return "", fmt.Errorf("load profile %.40q: %w", n.ID, messages.ErrNotFound)
	}
	return n.ID, nil
}

// OneRun is the input of a route that names a load run.
type OneRun struct {
	ID string `path:"id" doc:"Id of the load run, or its first letters; latest is the newest run"`
}

func (r OneRun) id() (string, error) { return runID(r.ID) }

func runID(id string) (string, error) {
	if messages.CheckName(id) != nil {
		return "", fmt.Errorf("load run %.40q: %w", id, messages.ErrNotFound)
	}
	return id, nil
}

type environmentsOutput struct{ Body contract.LoadEnvironmentList }

func (a *api) routeEnvironments() {
	huma.Register(a.huma, a.operation("list-load-environments", http.MethodGet, environmentsPath,
		"List the environments that load can be run in, with what they would let a run have"), a.environments)
}

func (a *api) environments(ctx context.Context, _ *struct{}) (*environmentsOutput, error) {
	all, err := a.ports.Loads.Environments(ctx)
	if err != nil {
		return nil, a.failure("list environments", err)
	}
	if all == nil {
		all = []load.EnvironmentView{}
	}
	return &environmentsOutput{contract.LoadEnvironmentList{Environments: all}}, nil
}

// loadBody reads the body of a request of load runs. An error is a problem.
func loadBody[T any](ctx context.Context, a *api, p *Payload, what string, limit int64) (*T, error) {
	data, err := p.read(ctx, a, limit)
	if err != nil {
		return nil, a.failure(what, err)
	}
	if err := screened[T](data, contract.RequestInvalid); err != nil {
		return nil, err
	}
	value, err := contract.DecodeLoad[T](what, data)
	if err != nil {
		return nil, contract.NewProblem(contract.KindNamed(contract.RequestInvalid), err.Error(), fieldErrors(err)...)
	}
	return value, nil
}
