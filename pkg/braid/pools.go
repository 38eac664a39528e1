package braid

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/braidhq/braid/pkg/quota"
	"github.com/braidhq/braid/pkg/service"
)

// pools says to which accounts a request of a service is charged. An account belongs to the credential that is sent, by its
// name, or to the address that a worker's host has. A credential's name stands for its secret: whatever was made of the secret
// itself would let who reads the store try guesses. So workers that give one name different secrets share one account, which
// costs them units and never a refusal.
type pools struct {
	secret func(service.Credential) (secret string, found bool, err error)
	host   string
}

// of gives the pools of a definition for a request that is sent now, or nil when it has none.
func (p pools) of(d *service.Definition) func() ([]quota.Config, error) {
	if len(d.Quotas) == 0 {
		return nil
	}
	return func() ([]quota.Config, error) {
		key, err := p.key(d)
		if err != nil {
			return nil, err
		}
		all := make([]quota.Config, len(d.Quotas))
		for i, declared := range d.Quotas {
			all[i] = p.config(d, declared, key)
		}
		return all, nil
	}
}

// key names the credential that a request carries; empty: none.
func (p pools) key(d *service.Definition) (string, error) {
	for _, credential := range d.CredentialsFor(d.BaseURL) {
		_, found, err := p.secret(credential)
		if err != nil {
			return "", &service.ResponseError{Class: service.ClassAuth, Message: fmt.Sprintf("the credential %s cannot be read: %s", credential.ID, err), Err: err}
		}
		if found {
			return credential.ID, nil
		}
	}
	return "", nil
}

func (p pools) config(d *service.Definition, declared service.Quota, key string) quota.Config {
	cfg := quota.Config{
		Pool: declared.Pool, Counts: string(declared.Counts), Model: string(declared.Model), Limit: declared.Limit,
		Window: declared.Window, HoldBack: declared.HoldBack, Foreign: d.Rebased,
		Observes: declared.Observe.IETF || !declared.Observe.Remaining.IsZero() || !declared.Observe.Limit.IsZero(),
	}
	if key == "" && (declared.AnonymousLimit.Limit > 0 || declared.AnonymousLimit.Observe) && len(d.Credentials) > 0 {
		cfg.Limit = declared.AnonymousLimit.Limit
	}
	cfg.Owner = "host-" + p.host
	if key != "" && declared.Per == "credential" {
		cfg.Owner = "key-" + key
		if len(cfg.Owner) > 64 {
			cfg.Owner = cfg.Owner[:48] + "-" + service.Digest([]byte(key))[:8]
		}
	}
	if d.Rebased { // the mirror's counter is not the service's
		if u, err := url.Parse(d.BaseURL); err == nil {
			cfg.Owner = cfg.Owner[:min(len(cfg.Owner), 48)] + "-at-" + service.Digest([]byte(strings.ToLower(u.Host)))[:8]
		}
	}
	return cfg
}
