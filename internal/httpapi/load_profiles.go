package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/load"
)

type profilesOutput struct{ Body contract.LoadProfileList }

type profileOutput struct{ Body *load.Profile }

type savedProfileOutput struct {
	Location string `header:"Location" doc:"Where the profile is"`
	Body     *load.Profile
}

type saveProfileInput struct {
	LoadName
	Revision int `query:"revision" minimum:"-1" maximum:"2147483647" default:"-1" doc:"Revision that was seen: the profile is stored only when it is still at it; 0: only when there is none; -1: whichever there is"`
	Payload
}

type snapshotOutput struct{ Body *load.Snapshot }

type loadPreviewOutput struct{ Body *load.Preview }

type approvalsOutput struct{ Body contract.LoadApprovalList }

type approvalOutput struct{ Body *load.Approval }

type approveInput struct {
	LoadName
	Payload
}

func (a *api) routeLoadProfiles() {
	a.routeEnvironments()
	huma.Register(a.huma, a.operation("list-load-profiles", http.MethodGet, profilesPath, "List load profiles by their ids"), a.profiles)
	create := a.operation("create-load-profile", http.MethodPost, profilesPath, "Store a new load profile")
	create.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, create, a.createProfile)
	describeBody[load.Profile](a, profilesPath, true)
	a.huma.OpenAPI().Paths[profilesPath].Post.RequestBody.Content["application/json"].Schema = a.asGiven("LoadProfile", "id", "environment", "dashboard", "concurrency")
	huma.Register(a.huma, a.operation("show-load-profile", http.MethodGet, profilePath, "Show a load profile"), a.profile)
	save := a.operation("save-load-profile", http.MethodPut, profilePath, "Store a load profile as its next revision")
	save.Description = "The revision, the owner and the times of the body are passed over. What says the same as is stored makes no new revision."
	huma.Register(a.huma, save, a.saveProfile)
	a.huma.OpenAPI().Paths[profilePath].Put.RequestBody = a.huma.OpenAPI().Paths[profilesPath].Post.RequestBody
	huma.Register(a.huma, a.operation("remove-load-profile", http.MethodDelete, profilePath, "Remove a load profile; its runs stay"), a.removeProfile)
	huma.Register(a.huma, a.operation("read-load-profile-file", http.MethodPost, profileFilePath,
		"Read a profile file as the profile that is stored; nothing is stored or sent"), a.readProfileFile)
	describeBody[contract.LoadProfileFile](a, profileFilePath, true)

	look := a.operation("look-up-load-profile", http.MethodPost, lookUpPath, "Look up what the profile's dashboard consists of, and what else depends on its data")
	look.Description = "A worker asks the environment, and what it finds is pinned for the profile's present revision. In PROD it needs load:prod too."
	huma.Register(a.huma, look, a.lookUp)
	huma.Register(a.huma, a.operation("show-load-snapshot", http.MethodGet, snapshotPath, "Show what was found when the dashboard was looked up for the present revision"), a.snapshot)
	huma.Register(a.huma, a.operation("preview-load-profile", http.MethodGet, loadPreviewPath, "Tell what a run of the profile would send, and what it needs for that; nothing is sent"), a.loadPreview)
	approve := a.operation("approve-load-profile", http.MethodPost, approvePath, "Let one run of the profile start in PROD, as the gate stands that was seen")
	approve.DefaultStatus = http.StatusCreated
	huma.Register(a.huma, approve, a.approve)
	describeBody[contract.LoadApprove](a, approvePath, true)
	huma.Register(a.huma, a.operation("list-load-approvals", http.MethodGet, approvalsPath, "List approvals, the newest first"), a.approvals)
}

func (a *api) profiles(ctx context.Context, _ *struct{}) (*profilesOutput, error) {
	all, err := a.ports.Loads.Profiles(ctx)
	if err != nil {
		return nil, a.failure("list load profiles", err)
	}
	if all == nil {
		all = []*load.Profile{}
	}
	return &profilesOutput{contract.LoadProfileList{Profiles: all}}, nil
}

func (a *api) profile(ctx context.Context, in *LoadName) (*profileOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("show load profile", err)
	}
	p, err := a.ports.Loads.Profile(ctx, id)
	if err != nil {
		return nil, a.failure("show load profile", err)
	}
	return &profileOutput{p}, nil
}

func (a *api) createProfile(ctx context.Context, in *struct{ Payload }) (*savedProfileOutput, error) {
	p, err := loadBody[load.Profile](ctx, a, &in.Payload, "store load profile", contract.MaxLoadProfileBytes)
	if err != nil {
		return nil, err
	}
	return a.storeProfile(ctx, p, 0)
}

func (a *api) saveProfile(ctx context.Context, in *saveProfileInput) (*savedProfileOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("store load profile", err)
	}
	p, err := loadBody[load.Profile](ctx, a, &in.Payload, "store load profile", contract.MaxLoadProfileBytes)
	if err != nil {
		return nil, err
	}
	if p.ID == "" {
		p.ID = id
	}
	if p.ID != id {
		message := fmt.Sprintf("it is %.40q, and the path names %s; leave it out, or make them equal", p.ID, id)
		return nil, contract.NewProblem(contract.KindNamed(contract.RequestInvalid), "id: "+message, contract.FieldError{Location: "id", Message: message})
	}
	return a.storeProfile(ctx, p, in.Revision)
}

func (a *api) storeProfile(ctx context.Context, p *load.Profile, revision int) (*savedProfileOutput, error) {
	visitOf(ctx).query = p.ID
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	saved, err := a.ports.Loads.SaveProfile(ctx, actor(ctx), p, revision)
	if err != nil {
		return nil, a.failure("store load profile", err)
	}
	return &savedProfileOutput{Location: profilesPath + "/" + saved.ID, Body: saved}, nil
}

func (a *api) removeProfile(ctx context.Context, in *LoadName) (*struct{}, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("remove load profile", err)
	}
	if err := a.ports.Loads.RemoveProfile(ctx, actor(ctx), id); err != nil {
		return nil, a.failure("remove load profile", err)
	}
	return nil, nil
}

func (a *api) readProfileFile(ctx context.Context, in *struct{ Payload }) (*profileOutput, error) {
	file, err := loadBody[contract.LoadProfileFile](ctx, a, &in.Payload, "read profile file", contract.MaxLoadFileBytes)
	if err != nil {
		return nil, err
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if file.Name == "" {
		file.Name = "profile.yaml"
	}
	p, err := load.ParseProfile(file.Name, []byte(file.Text))
	if err != nil {
		return nil, a.failure("read profile file", fmt.Errorf("%w: %w", load.ErrInvalid, err))
	}
	return &profileOutput{p}, nil
}

func (a *api) lookUp(ctx context.Context, in *LoadName) (*snapshotOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("look up", err)
	}
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := a.ports.Loads.LookUp(ctx, actor(ctx), id)
	if err != nil {
		return nil, a.failure("look up", err)
	}
	return &snapshotOutput{s}, nil
}

func (a *api) snapshot(ctx context.Context, in *LoadName) (*snapshotOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("show snapshot", err)
	}
	s, err := a.ports.Loads.Snapshot(ctx, id)
	if err != nil {
		return nil, a.failure("show snapshot", err)
	}
	return &snapshotOutput{s}, nil
}

func (a *api) loadPreview(ctx context.Context, in *LoadName) (*loadPreviewOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("preview", err)
	}
	done, err := a.readTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := a.ports.Loads.Preview(ctx, id)
	if err != nil {
		return nil, a.failure("preview", err)
	}
	return &loadPreviewOutput{p}, nil
}

func (a *api) approve(ctx context.Context, in *approveInput) (*approvalOutput, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("approve", err)
	}
	asked, err := loadBody[contract.LoadApprove](ctx, a, &in.Payload, "approve", contract.MaxLoadStartBytes)
	if err != nil {
		return nil, err
	}
	done, err := a.commandTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	approval, err := a.ports.Loads.Approve(ctx, actor(ctx), id, asked.Request())
	if err != nil {
		return nil, a.failure("approve", err)
	}
	return &approvalOutput{approval}, nil
}

func (a *api) approvals(ctx context.Context, _ *struct{}) (*approvalsOutput, error) {
	all, err := a.ports.Loads.Approvals(ctx)
	if err != nil {
		return nil, a.failure("list approvals", err)
	}
	if all == nil {
		all = []*load.Approval{}
	}
	return &approvalsOutput{contract.LoadApprovalList{Approvals: all}}, nil
}
