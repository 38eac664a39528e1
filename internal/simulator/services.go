package simulator

import (
	"net/http"
	"strings"
)

// The fake services, by the names of their definitions.
const (
	serviceWaterData = "usgs-waterdata"
	serviceNGWMN     = "usgs-ngwmn"
	serviceNWDC      = "usgs-nwdc"
	serviceOpenHydro = "open-hydro"
)

// Where each fake service is, for a base URL in a definition or on a command line.
const (
	WaterDataBase = "/ogcapi/v0"
	NGWMNBase     = "/ngwmn/ogcapi"
	NWDCBase      = "/nwaa-data"
	OpenHydroBase = "/open-hydro/api"    // a bearer token may be sent
	BearerBase    = "/open-hydro/bearer" // the same service, a bearer token must be sent
	KeyedBase     = "/open-hydro/keyed"  // the same service, api_key must be sent in the query
)

// Service is a fake service by its name and the path of its base URL.
type Service struct{ Name, Base string }

// Services lists the fake services, each once.
func Services() []Service {
	return []Service{
		{serviceWaterData, WaterDataBase}, {serviceNGWMN, NGWMNBase}, {serviceNWDC, NWDCBase}, {serviceOpenHydro, OpenHydroBase},
	}
}

// admission is the kind of gateway in front of a service.
type admission int

const (
	admitByKey     admission = iota // X-Api-Key, quota with X-RateLimit headers: shared by Water Data, NGWMN and unknown paths
	admitAll                        // no key, no quota: NWDC
	admitByToken                    // open-hydro: a bearer token if there is one, quota with IETF headers
	demandToken                     // the same, without a token 401
	demandKeyInURL                  // the same, with api_key in the query, without it 401
)

// front is what a request meets by its path.
type front struct {
	service   string // "" for paths of no service
	admission admission
}

func frontOf(path string) front {
	for _, f := range []struct {
		base string
		front
	}{
		{WaterDataBase, front{serviceWaterData, admitByKey}},
		{NGWMNBase, front{serviceNGWMN, admitByKey}},
		{NWDCBase, front{serviceNWDC, admitAll}},
		{OpenHydroBase, front{serviceOpenHydro, admitByToken}},
		{BearerBase, front{serviceOpenHydro, demandToken}},
		{KeyedBase, front{serviceOpenHydro, demandKeyInURL}},
	} {
		if path == f.base || strings.HasPrefix(path, f.base+"/") {
			return f.front
		}
	}
	return front{"", admitByKey}
}

// keyParameter is the name of a key in a query.
const keyParameter = "api_key"

// keyOf is the credential by which the gateway tells its clients apart, "" without one.
func (f front) keyOf(r *http.Request) string {
	switch f.admission {
	case admitAll:
		return ""
	case admitByToken, demandToken:
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "bearer") {
			return ""
		}
		return token
	case demandKeyInURL:
		return r.URL.Query().Get(keyParameter)
	default:
		return r.Header.Get("X-Api-Key")
	}
}

// credentialsOf names every place in which a request carries a credential, wanted there or not.
func credentialsOf(r *http.Request) []string {
	var places []string
	if r.Header.Get("X-Api-Key") != "" {
		places = append(places, "header X-Api-Key")
	}
	if scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); scheme != "" {
		places = append(places, "header Authorization: "+strings.ToLower(clip(scheme)))
	}
	if r.Header.Get("Cookie") != "" {
		places = append(places, "header Cookie")
	}
	for _, name := range secretParameters() {
		if r.URL.Query().Get(name) != "" {
			places = append(places, "query "+name)
		}
	}
	return places
}

func secretParameters() []string { return []string{keyParameter, "token", "key"} }

// withoutSecrets is path and query with the values of credentials blotted out, for logs and counters.
func withoutSecrets(uri string) string {
	path, query, found := strings.Cut(uri, "?")
	if !found {
		return uri
	}
	pieces := strings.Split(query, "&")
	for i, piece := range pieces {
		name, _, _ := strings.Cut(piece, "=")
		for _, secret := range secretParameters() {
			if name == secret {
				pieces[i] = name + "=*"
			}
		}
	}
	return path + "?" + strings.Join(pieces, "&")
}
