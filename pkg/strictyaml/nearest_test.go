package strictyaml

import "testing"

func TestTheNearestNameIsOffered(t *testing.T) {
	candidates := []string{"parameter_code", "statistic_id", "time", "monitoring_location_id"}
	for name, want := range map[string]string{
		"paremeter_code": "parameter_code",
		"Statistic_ID":   "statistic_id",
		"tmie":           "time",
		"times":          "time",
		"xyz":            "",
		"":               "",
		"monitoring_loc": "",
	} {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
