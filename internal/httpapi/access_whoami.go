package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/braidhq/braid/pkg/access"
)

const whoamiPath = "/v1/whoami"

type whoamiOutput struct{ Body *access.Identity }

func (a *api) routeWhoami() {
	huma.Register(a.huma, a.operation("whoami", http.MethodGet, whoamiPath, "Tell as whom the server knows the caller, and what that permits"), a.whoami)
}

func (a *api) whoami(ctx context.Context, _ *struct{}) (*whoamiOutput, error) {
	return &whoamiOutput{a.identity(visitOf(ctx).principal)}, nil
}

func (a *api) identity(p *access.Principal) *access.Identity {
	if p == nil {
		return &access.Identity{Role: access.Admin, Permissions: access.Permissions()}
	}
	return &access.Identity{Name: p.Name, Team: p.Team, Role: p.Role, Permissions: p.Permissions, Auth: true}
}
