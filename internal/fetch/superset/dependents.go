package superset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/braidhq/braid/pkg/jcs"
	"github.com/braidhq/braid/pkg/load"
)

const maxDependents = 20_000

// dependents asks what else reads the datasets of the charts. Not to know it is not to have none: any failure is one of the look-up (LR-9.5).
func (s *survey) dependents(ctx context.Context) (load.Dependents, error) {
	items := []load.Dependent{}
	slices.Sort(s.datasets)
	for _, dataset := range s.datasets {
		path := fmt.Sprintf("/api/v1/dataset/%d/related_objects", dataset)
		answer, err := s.who.ask(ctx, call{method: http.MethodGet, path: path})
		if err != nil {
			return load.Dependents{}, hinted(err, fmt.Sprintf("what depends on the dataset %d must be known; let a role look that may read datasets", dataset))
		}
		found, ok := dependentsOf(answer, dataset)
		if !ok {
			return load.Dependents{}, &failure{Kind: load.BadBody, Status: http.StatusOK, Message: "GET " + path + ": the answer does not list charts and dashboards"}
		}
		if items = append(items, found...); len(items) > maxDependents {
			return load.Dependents{}, &failure{Kind: load.BadBody, Message: fmt.Sprintf("more than %d charts and dashboards depend on the datasets", maxDependents)}
		}
	}
	slices.SortFunc(items, func(a, b load.Dependent) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Dataset, b.Dataset), cmp.Compare(a.Name, b.Name))
	})
	items = slices.Compact(items)
	fingerprint, err := fingerprintOf(items)
	return load.Dependents{Fingerprint: fingerprint, Items: items}, err
}

// dependentsUnknown is what a failure to read them is to whoever asked: they are told apart from a dashboard that cannot be read, as the gate
// is. The failure may be shared, as that of a login, and is left as it is; so is the end of ctx.
func dependentsUnknown(err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	unknown := *f
	unknown.Kind, unknown.Message = load.GateDependentsUnknown, f.Kind+": "+f.Message
	return &unknown
}

// dependentsOf reads an answer of related_objects. A list that says of itself that it has more than it shows is not whole.
func dependentsOf(answer []byte, dataset int64) (items []load.Dependent, ok bool) {
	if !json.Valid(answer) {
		return nil, false
	}
	for _, list := range []struct{ path, kind, name string }{{"charts", "chart", "slice_name"}, {"dashboards", "dashboard", "title"}} {
		result := gjson.GetBytes(answer, list.path+".result")
		if !result.IsArray() {
			return nil, false
		}
		entries := result.Array()
		if count := gjson.GetBytes(answer, list.path+".count"); count.Exists() && count.Int() != int64(len(entries)) {
			return nil, false
		}
		for _, entry := range entries {
			id := entry.Get("id").Int()
			if id <= 0 {
				return nil, false
			}
			name := entry.Get(list.name).String()
			if name == "" {
				name = entry.Get("dashboard_title").String()
			}
			items = append(items, load.Dependent{Kind: list.kind, ID: id, Name: cut(name), Dataset: dataset})
		}
	}
	return items, true
}

func fingerprintOf(items []load.Dependent) (string, error) {
	text, err := json.Marshal(items)
	if err != nil {
		return "", &failure{Kind: load.BadBody, Message: "the dependents cannot be written: " + err.Error()}
	}
	digest, err := jcs.Hash(text)
	if err != nil {
		return "", &failure{Kind: load.BadBody, Message: "the dependents cannot be written: " + err.Error()}
	}
	return "sha256:" + digest, nil
}
