package service

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type adapterCase struct {
	ID, Kind string
	In       json.RawMessage
	Expect   struct {
		Value      json.RawMessage
		Error      string
		Args       [][2]any
		Properties []string
	}
}

// adapterCases reads the vectors of a kind, which were recorded from the client that most people use.
func adapterCases(t *testing.T, kind string, least int) []adapterCase {
	t.Helper()
	var file struct{ Cases []adapterCase }
	data, err := os.ReadFile("testdata/adapters.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	cases := slices.DeleteFunc(file.Cases, func(c adapterCase) bool { return c.Kind != kind })
	if len(cases) < least {
		t.Fatalf("only %d cases of kind %s", len(cases), kind)
	}
	return cases
}

func decodeCase(t *testing.T, data json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

// texts reads a value or a list of them as the query file gives them: a number is its digits, nothing is a blank.
func texts(t *testing.T, data json.RawMessage) []string {
	t.Helper()
	var value any
	decodeCase(t, data, &value)
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	values := make([]string, len(list))
	for i, v := range list {
		if v != nil {
			values[i] = fmt.Sprint(v)
		}
	}
	return values
}

func usgs(t *testing.T, collection string, oldnew ...string) *Collection {
	t.Helper()
	data, err := os.ReadFile("testdata/usgs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse("usgs.yaml", []byte(strings.NewReplacer(oldnew...).Replace(string(data))))
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection(collection)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// shipped gives a collection of a definition that is shipped.
func shipped(t testing.TB, name, collection string) *Collection {
	t.Helper()
	data, ok := Builtin(name)
	if !ok {
		t.Fatalf("%s is not shipped", name)
	}
	d, err := Parse(name+".yaml", data)
	if err != nil {
		t.Fatal(err)
	}
	c, err := d.Collection(collection)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sentQuery gives the decoded query of the request for the values, or why they are refused. Both doors must agree.
func sentQuery(t *testing.T, c *Collection, v Values) (url.Values, error) {
	t.Helper()
	if err := c.CheckValues(v); err != nil {
		return nil, err
	}
	request, err := c.Request(v)
	if err != nil {
		t.Errorf("%v passes the check and gives no request: %v", v, err)
		return nil, err
	}
	u, err := url.Parse(request.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query(), nil
}

// localTime is a time that the recorded client reads in the zone of its machine, which was UTC.
var (
	localTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?)?$`)
	isoTime   = regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:?\d\d)?)?$`)
)

// inZone puts the offset to times without one, as a query with `zone: UTC` does before the service sees them. A text from/to
// is not touched there: it is written for the service.
func inZone(values []string) []string {
	zoned := slices.Clone(values)
	for i, text := range zoned {
		switch {
		case !localTime.MatchString(text):
		case len(text) == len(time.DateOnly):
			zoned[i] = text + "T00:00:00Z"
		default:
			zoned[i] = text + "Z"
		}
	}
	return zoned
}

func TestTimesAreSentAsTheRecordedClientSendsThem(t *testing.T) {
	byDay := []*Collection{shipped(t, "usgs-waterdata", "daily")}
	var byInstant []*Collection
	for _, name := range []string{"continuous", "latest-daily", "latest-continuous", "field-measurements", "channel-measurements", "peaks"} {
		byInstant = append(byInstant, shipped(t, "usgs-waterdata", name))
	}
	for _, test := range adapterCases(t, "time_arg", 50) {
		t.Run(test.ID, func(t *testing.T) {
			var in struct {
				Value    json.RawMessage
				DateOnly bool `json:"date_only"`
			}
			decodeCase(t, test.In, &in)
			var want string
			if test.Expect.Value != nil {
				decodeCase(t, test.Expect.Value, &want)
			}
			values, collections := texts(t, in.Value), byDay
			if !in.DateOnly {
				values, collections = inZone(values), byInstant
			}
			for _, c := range collections {
				query, err := sentQuery(t, c, Values{"time": values})
				checkTime(t, values, in.DateOnly, want, query, err)
			}
		})
	}
}

// checkTime compares with what the client sent, "" for nothing at all. Where the client sends what it cannot read, or an empty
// `time=`, we refuse instead: these are its defects.
func checkTime(t *testing.T, values []string, dateOnly bool, want string, query url.Values, err error) {
	t.Helper()
	got := query.Get("time")
	switch {
	case want == "" && err == nil && !slices.ContainsFunc(values, func(v string) bool { return !readable(v) && !isOpen(v) }):
		// The client sends nothing for an open end written .. in a pair, and for more than six digits of a second.
		ends := make([]string, len(values))
		for i, value := range values {
			if ends[i] = rendered(value, dateOnly); isOpen(value) {
				ends[i] = OpenEnd
			}
		}
		if got != strings.Join(ends, "/") {
			t.Errorf("%q is sent as %q", values, got)
		}
	case want == "" && err == nil:
		t.Errorf("%q is sent as %q and ought to be refused", values, got)
	case want == "":
	case len(values) == 1 && strings.Contains(want, "/"):
		// One text from/to passes the client unread. We read it and send what a pair with these ends would send.
		ends := strings.Split(want, "/")
		switch {
		case slices.ContainsFunc(ends, func(end string) bool { return !readable(end) && end != ".." && !isDuration(end) }) || len(ends) != 2:
			if err == nil {
				t.Errorf("%q is no interval and is sent as %q", values, got)
			}
		case err != nil || got != rendered(ends[0], dateOnly)+"/"+rendered(ends[1], dateOnly):
			t.Errorf("%q is sent as %q, %v", values, got, err)
		}
	case len(values) == 1 && want == values[0] && !isoTime.MatchString(want) && !isDuration(want):
		// What begins like a duration passes the client unread.
		if err == nil {
			t.Errorf("%q is no duration and is sent as %q", values, got)
		}
	case err != nil && slices.ContainsFunc(values, func(v string) bool { return !isOpen(v) && !isoTime.MatchString(v) && !isDuration(v) }):
		t.Logf("%q is not in ISO 8601 and is refused: %v", values, err)
	case err != nil || got != want:
		t.Errorf("%q is sent as %q, %v, want %q", values, got, err, want)
	}
}

func readable(text string) bool {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return true
	}
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// rendered is one end as it is sent: the day that is written, or the instant in UTC. A bare day stays one.
func rendered(end string, dateOnly bool) string {
	if t, err := time.Parse(time.RFC3339, end); err == nil {
		if dateOnly {
			return end[:len(time.DateOnly)]
		}
		return t.UTC().Format("2006-01-02T15:04:05Z")
	}
	return end
}

func TestPlacesOfWaterUseAreSentAsTheRecordedClientSendsThem(t *testing.T) {
	c := shipped(t, "usgs-nwdc", "water-use")
	asked := Values{"model": {"wu-irrigation-wd"}, "variable": {"irwdtot"}, "resolution": {"annualcy"}}
	for _, test := range adapterCases(t, "nwdc_locations", 10) {
		t.Run(test.ID, func(t *testing.T) {
			var in map[string]json.RawMessage
			decodeCase(t, test.In, &in)
			whole := maps.Clone(asked)
			for name, value := range in {
				whole[name] = texts(t, value)
			}
			err := c.CheckValues(whole)
			if test.Expect.Error != "" || err != nil {
				padded := strings.ContainsAny(string(test.In), " \t") && err != nil && strings.Contains(err.Error(), "white space around it")
				if (test.Expect.Error == "") != (err == nil) && !padded { // the client strips a value, we say what is wrong with it
					t.Errorf("got %v, want %s", err, test.Expect.Error)
				}
				return
			}
			var got []string
			for name := range in {
				for _, value := range whole[name] {
					one := maps.Clone(asked)
					one[name] = []string{value}
					query, err := sentQuery(t, c, one)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, query["location"]...)
				}
			}
			if diff := cmp.Diff(texts(t, test.Expect.Value), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIdsOfLocationsAreCheckedAsTheRecordedClientChecksThem(t *testing.T) {
	c := shipped(t, "usgs-waterdata", "daily")
	for _, test := range adapterCases(t, "location_id", 4) {
		var in struct{ Value json.RawMessage }
		decodeCase(t, test.In, &in)
		if string(in.Value) == "null" || string(in.Value) == "[]" {
			continue // nothing is asked, and our query leaves the parameter out
		}
		values := texts(t, in.Value)
		query, err := sentQuery(t, c, Values{"monitoring_location_id": values})
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, ",") }) {
			// The client sends two values for one; we refuse.
			if err == nil {
				t.Errorf("%s: %q is sent as %q", test.ID, values, query)
			}
			continue
		}
		if (test.Expect.Error == "") != (err == nil) {
			t.Errorf("%s: %q gives %v, want %q", test.ID, values, err, test.Expect.Error)
		}
		if err == nil && query.Get("monitoring_location_id") != strings.Join(texts(t, test.Expect.Value), ",") {
			t.Errorf("%s: %q is sent as %v", test.ID, values, query)
		}
	}
}

// idCase is a collection with the names of its id, as the vectors give them.
type idCase struct {
	Collection string
	OutputID   string `json:"output_id"`
	Args       [][2]any
	Properties []string
}

func (c idCase) aliases() string {
	names := []string{c.OutputID}
	if own := strings.ReplaceAll(c.Collection, "-", "_") + "_id"; own != c.OutputID {
		names = append(names, own)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "id" })
	return strings.Join(names, ", ")
}

func TestNamesOfTheIdAreOneParameter(t *testing.T) {
	for _, test := range adapterCases(t, "id_argument", 5) {
		t.Run(test.ID, func(t *testing.T) {
			var in idCase
			decodeCase(t, test.In, &in)
			values, others, ids := Values{}, []string{}, 0
			known := append(strings.Split(in.aliases(), ", "), "id")
			for _, arg := range in.Args {
				name := arg[0].(string)
				data, err := json.Marshal(arg[1])
				if err != nil {
					t.Fatal(err)
				}
				values[name] = texts(t, data)
				if slices.Contains(known, name) {
					ids++
				} else {
					others = append(others, name)
				}
			}
			declared := "OTHER: {type: text, many: comma}"
			lines := make([]string, len(others))
			for i, name := range others {
				lines[i] = name + ": {type: text, many: comma}"
			}
			c := usgs(t, "COLLECTION", declared, strings.Join(lines, "\n      "), "ALIASES", in.aliases())
			// The client drops all names but one without a word. The check refuses, the request is the client's.
			if err := c.CheckValues(values); (err != nil) != (ids > 1) {
				t.Errorf("%d names of the id: %v", ids, err)
			}
			request, err := c.Request(values)
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(request.URL)
			if err != nil {
				t.Fatal(err)
			}
			want := url.Values{}
			for _, arg := range test.Expect.Args {
				data, err := json.Marshal(arg[1])
				if err != nil {
					t.Fatal(err)
				}
				want.Set(arg[0].(string), strings.Join(texts(t, data), ","))
			}
			if diff := cmp.Diff(want, u.Query()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPropertiesAreSentWithoutTheId(t *testing.T) {
	for _, test := range adapterCases(t, "wire_properties", 5) {
		t.Run(test.ID, func(t *testing.T) {
			var in idCase
			decodeCase(t, test.In, &in)
			values := Values{}
			if len(in.Properties) > 0 { // none is all, and our query leaves the parameter out
				values["properties"] = in.Properties
			}
			query, err := sentQuery(t, usgs(t, "COLLECTION", "ALIASES", in.aliases()), values)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if query.Has("properties") {
				got = strings.Split(query.Get("properties"), ",")
			}
			if !slices.Equal(test.Expect.Properties, got) {
				t.Errorf("got %q, want %q", got, test.Expect.Properties)
			}
		})
	}
}
