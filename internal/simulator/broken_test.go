package simulator

import (
	"fmt"
	"strings"
	"testing"
)

func TestABrokenSiteFailsAlwaysAndTheOthersNever(t *testing.T) {
	t.Parallel()
	s := New(Config{BrokenSites: 0.25, BrokenStatus: 500})
	ask := func(sites string) int {
		return ask(t, s, "http://127.0.0.1"+collectionsPath+"daily/items?monitoring_location_id="+sites+"&time=2024-01-01/2024-01-02").Code
	}
	var well, broken []string
	for i := range 100 {
		site := fmt.Sprintf("USGS-%08d", 1_000_000+i)
		first := ask(site)
		for range 4 {
			if again := ask(site); again != first {
				t.Fatalf("%s answers %d, then %d", site, first, again)
			}
		}
		switch first {
		case 200:
			well = append(well, site)
		case 500:
			broken = append(broken, site)
		default:
			t.Fatalf("%s answers %d", site, first)
		}
	}
	if len(broken) < 10 || len(broken) > 40 {
		t.Errorf("%d of 100 sites are broken", len(broken))
	}
	if code := ask(strings.Join(well[:3], ",")); code != 200 {
		t.Errorf("sites that are well answer %d", code)
	}
	if code := ask(strings.Join(append(well[:3:3], broken[0]), "%2C")); code != 500 {
		t.Errorf("with a broken one they answer %d", code)
	}
}

func TestABrokenSiteIsNamedWithA400(t *testing.T) {
	t.Parallel()
	w := ask(t, New(Config{BrokenSites: 1}), "http://127.0.0.1"+oneSite)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "The site USGS-") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	for _, bad := range []Config{{BrokenSites: -1}, {BrokenSites: 1.5}, {BrokenStatus: 200}, {BrokenStatus: 600}} {
		if bad.Validate() == nil {
			t.Errorf("%v and %d are taken", bad.BrokenSites, bad.BrokenStatus)
		}
	}
}
