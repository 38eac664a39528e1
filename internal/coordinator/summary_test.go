package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/braidhq/braid/internal/coordinator"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
	"github.com/braidhq/braid/pkg/service"
)

// metered is a service with a quota; edits replace text in it.
const metered = `
schema: service/v1
name: rivers
base_url: https://rivers.example
hosts: [{host: rivers.example, credentials: [key]}]
credentials:
  key: {send: {header: X-Key}, from: 'env:KEY'}
quotas:
  rivers: {limit: 100, window: 1h}
limits: {in_flight: 4, page_rows: 10}
collections:
  daily:
    request: {path: /daily}
    params: {site: {type: text}, time: {type: interval, of: date}}
    axes: [{each: site}]
    paging: {style: link, next: 'header:Link[rel=next]'}
    rows: {format: json, at: '$.data[*]'}
    fields: {site: {type: text}, n: {type: int64}}
    estimate: {rows: {per: [site], every: 1d}}
`

func summaryOf(t *testing.T, text string, sites int, days int, hasKey func(*service.Definition) bool) *messages.PlanSummary {
	t.Helper()
	spec := &query.Spec{V: 1, Name: "q", Service: "rivers", Collection: "daily", Values: service.Values{}}
	for i := range sites {
		spec.Values["site"] = append(spec.Values["site"], fmt.Sprint(i))
	}
	if days > 0 {
		end := time.Date(2024, 1, days, 0, 0, 0, 0, time.UTC)
		spec.Values["time"] = []string{"2024-01-01", end.Format(time.DateOnly)}
	}
	s, err := coordinator.Plan(&definitions{text: text}, spec, coordinator.PlanOptions{Now: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), HasKey: hasKey})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Encode(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAPlanTellsRequestsWindowsAndTime(t *testing.T) {
	found := func(*service.Definition) bool { return true }
	missing := func(*service.Definition) bool { return false }
	type want struct {
		least, expected, most, longest int64
		windows                        int64
		seconds, waited                int64 // with 2 s a request
	}
	for name, test := range map[string]struct {
		oldnew      []string
		sites, days int
		hasKey      func(*service.Definition) bool
		want        want
		fits        messages.Fit
	}{
		"one page a chunk":       {nil, 8, 10, found, want{8, 8, 0, 1, 1, 4, 0}, messages.FitYes},
		"full pages":             {nil, 8, 20, found, want{8, 16, 0, 2, 1, 8, 0}, messages.FitYes},
		"one row more":           {nil, 8, 21, found, want{8, 24, 0, 3, 1, 12, 0}, messages.FitYes},
		"one long walk":          {nil, 1, 300, found, want{1, 30, 0, 30, 1, 60, 0}, messages.FitYes},
		"no time, no estimate":   {nil, 8, 0, found, want{8, 0, 0, 0, 1, 4, 0}, messages.FitUnknown},
		"never a second page":    {[]string{"{style: link, next: 'header:Link[rel=next]'}", "{style: none}"}, 8, 300, found, want{8, 8, 8, 1, 1, 4, 0}, messages.FitYes},
		"an empty page ends":     {[]string{"{style: link, next: 'header:Link[rel=next]'}", "{style: offset, send: {o: '{offset}'}, stop: empty_page}"}, 8, 20, found, want{8, 24, 0, 3, 1, 12, 0}, messages.FitYes},
		"a short page ends":      {[]string{"{style: link, next: 'header:Link[rel=next]'}", "{style: page, send: {p: '{page}', n: '{page_rows}'}, stop: short_page}"}, 8, 25, found, want{8, 32, 0, 4, 1, 16, 0}, messages.FitYes},
		"a total ends":           {[]string{"{style: link, next: 'header:Link[rel=next]'}", "{style: page, send: {p: '{page}'}, stop: {total: '$.total'}}"}, 8, 25, found, want{8, 24, 0, 3, 1, 12, 0}, messages.FitYes},
		"no sites":               {nil, 0, 10, found, want{1, 0, 0, 0, 1, 2, 0}, messages.FitUnknown},
		"no sites, many windows": {[]string{"limit: 100", "limit: 100, counts: rows"}, 0, 10, found, want{1, 0, 0, 0, 0, 2, 0}, messages.FitUnknown},
		"windows by the least":   {nil, 101, 0, found, want{101, 0, 0, 0, 2, 3600 + 26, 3600 - 26}, messages.FitNo},
		"nothing is left":        {[]string{"limit: 100", "limit: 100, hold_back: 20, anonymous_limit: 10"}, 8, 10, missing, want{8, 8, 0, 1, 0, 4, 0}, messages.FitUnknown},
		"a key of the workers":   {[]string{"limit: 100", "limit: 100, anonymous_limit: 10"}, 11, 10, nil, want{11, 11, 0, 1, 1, 6, 0}, messages.FitUnknown},
		"with a key or without":  {[]string{"limit: 100", "limit: 100, anonymous_limit: 10"}, 10, 10, nil, want{10, 10, 0, 1, 1, 6, 0}, messages.FitYes},
		"two windows":            {nil, 101, 10, found, want{101, 101, 0, 1, 2, 3600 + 26, 3600 - 26}, messages.FitNo},
		"an exact window":        {nil, 100, 10, found, want{100, 100, 0, 1, 1, 50, 0}, messages.FitYes},
		"held back":              {[]string{"limit: 100", "limit: 100, hold_back: 50"}, 100, 10, found, want{100, 100, 0, 1, 2, 3600 + 26, 3600 - 24}, messages.FitNo},
		"without a key":          {[]string{"limit: 100", "limit: 100, anonymous_limit: 10"}, 100, 10, missing, want{100, 100, 0, 1, 10, 9*3600 + 6, 9*3600 - 44}, messages.FitNo},
		"limit to be observed":   {[]string{"limit: 100", "limit: 100, anonymous_limit: observe"}, 101, 10, missing, want{101, 101, 0, 1, 0, 52, 0}, messages.FitUnknown},
		"a bucket":               {[]string{"limit: 100", "limit: 100, model: bucket"}, 101, 10, found, want{101, 101, 0, 1, 2, 3600, 3600 - 52}, messages.FitNo},
		"rows are counted":       {[]string{"limit: 100", "limit: 100, counts: rows"}, 8, 20, found, want{8, 16, 0, 2, 2, 3600 + 4, 3600 - 4}, messages.FitNo},
		"bytes cannot be told":   {[]string{"limit: 100", "limit: 100, counts: bytes"}, 101, 10, found, want{101, 101, 0, 1, 0, 52, 0}, messages.FitUnknown},
		"no quota is declared":   {[]string{"quotas:\n  rivers: {limit: 100, window: 1h}\n", ""}, 101, 10, found, want{101, 101, 0, 1, 0, 52, 0}, messages.FitYes},
		"longer than any window": {[]string{"limit: 100, window: 1h", "limit: 1, window: 366d"}, 1000, 10, found, want{1000, 1000, 0, 1, 1000, 3153600000, 3153600000 - 500}, messages.FitNo},
	} {
		t.Run(name, func(t *testing.T) {
			s := summaryOf(t, strings.NewReplacer(test.oldnew...).Replace(metered), test.sites, test.days, test.hasKey)
			got := want{s.LeastRequests, s.ExpectedRequests, s.MostRequests, s.LongestWalk, 0, s.Seconds, s.Waited}
			if len(s.Quotas) > 0 {
				got.windows = s.Quotas[0].Windows
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
			if s.Fits() != test.fits {
				t.Errorf("fits is %d, want %d: %+v", s.Fits(), test.fits, s.Quotas)
			}
			for _, q := range s.Quotas {
				if q.Unknown == "" && test.fits == messages.FitUnknown || q.Unknown != "" && test.fits == messages.FitYes {
					t.Errorf("it is not known because of %q, and fits is %d", q.Unknown, s.Fits())
				}
			}
			if (s.RequestsUnknown == "") != (s.ExpectedRequests > 0) || (s.RowsUnknown == "") != (s.EstimatedRows > 0) {
				t.Errorf("requests %d, %q; rows %d, %q", s.ExpectedRequests, s.RequestsUnknown, s.EstimatedRows, s.RowsUnknown)
			}
		})
	}
}

func TestAPlanOfTheFirstRowsEndsWhereTheyDo(t *testing.T) {
	type want struct {
		least, expected, most, rows int64
		page, inFlight              int
		seconds                     int64
	}
	for name, test := range map[string]struct {
		rows int64
		old  string
		new  string
		want want
	}{
		"one row":               {1, "", "", want{1, 1, 0, 1, 1, 1, 2}},
		"part of a page":        {7, "", "", want{1, 1, 0, 7, 7, 1, 2}},
		"one full page":         {10, "", "", want{1, 1, 0, 10, 10, 1, 2}},
		"two pages of a chunk":  {20, "", "", want{2, 2, 0, 20, 10, 1, 4}},
		"into the second chunk": {31, "", "", want{4, 4, 0, 31, 10, 1, 8}},
		"more than there are":   {1000, "", "", want{5, 15, 0, 150, 10, 1, 30}},
		"never a second page":   {31, "{style: link, next: 'header:Link[rel=next]'}", "{style: none}", want{1, 2, 5, 31, 10, 1, 4}},
		"no estimate":           {31, "    estimate: {rows: {per: [site], every: 1d}}\n", "", want{4, 0, 0, 0, 10, 1, 8}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &query.Spec{V: 1, Name: "q", Service: "rivers", Collection: "daily", MaxRows: test.rows, Values: service.Values{
				"site": {"1", "2", "3", "4", "5"}, "time": {"2024-01-01", "2024-01-30"},
			}}
			s, err := coordinator.Plan(&definitions{text: strings.Replace(metered, test.old, test.new, 1)}, spec, coordinator.PlanOptions{Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			got := want{s.LeastRequests, s.ExpectedRequests, s.MostRequests, s.EstimatedRows, s.PageRows, s.InFlight, s.Seconds}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThePlansQuotaTellsWhoseLimitIsBelieved(t *testing.T) {
	anonymous := strings.Replace(metered, "limit: 100", "limit: 100, anonymous_limit: 10, hold_back: 5", 1)
	quota := messages.PlanQuota{Pool: "rivers", Counts: "requests", Limit: 100, HoldBack: 5, Window: 3600, Model: "rolling"}
	with := func(change func(*messages.PlanQuota)) messages.PlanQuota {
		q := quota
		change(&q)
		return q
	}
	for name, test := range map[string]struct {
		text   string
		hasKey func(*service.Definition) bool
		want   messages.PlanQuota
	}{
		"found":   {anonymous, func(*service.Definition) bool { return true }, with(func(q *messages.PlanQuota) { q.Key = messages.KeyFound })},
		"missing": {anonymous, func(*service.Definition) bool { return false }, with(func(q *messages.PlanQuota) { q.Key, q.Limit, q.Anonymous = messages.KeyMissing, 10, true })},
		"unknown": {anonymous, nil, with(func(q *messages.PlanQuota) { q.Key = messages.KeyUnknown })},
		"one limit for all": {
			strings.Replace(anonymous, "anonymous_limit: 10, ", "", 1),
			func(*service.Definition) bool { return false }, with(func(q *messages.PlanQuota) { q.Key = messages.KeyMissing }),
		},
		"no keys at all": {
			strings.NewReplacer("credentials:\n  key: {send: {header: X-Key}, from: 'env:KEY'}\n", "", ", credentials: [key]", "").Replace(anonymous),
			nil, quota,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := summaryOf(t, test.text, 1, 10, test.hasKey)
			if diff := cmp.Diff([]messages.PlanQuota{test.want}, s.Quotas, cmpopts.IgnoreFields(messages.PlanQuota{}, "Windows")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPlanReckonsWithTheNumberOfRequestsThatWillHold(t *testing.T) {
	for _, c := range []struct {
		operator, query, settings messages.InFlight
		want                      int
	}{
		{0, 0, 0, 4},
		{0, 2, 0, 2},
		{3, 0, 0, 3},
		{3, 2, 0, 3},
		{0, 0, 6, 6},
		{0, 2, 6, 2},
		{3, 2, 6, 3},
		{messages.Unbounded, 2, 6, 9},
		{0, messages.Unbounded, 6, 9},
		{0, 0, messages.Unbounded, 9},
		{2, messages.Unbounded, 0, 2},
	} {
		spec := &query.Spec{V: 1, Name: "q", Service: "rivers", Collection: "daily", Values: service.Values{"site": strings.Split("1,2,3,4,5,6,7,8,9", ",")}, MaxChunks: 9, Run: query.Run{InFlight: c.query}}
		s, err := coordinator.Plan(&definitions{text: metered}, spec, coordinator.PlanOptions{InFlight: c.operator, DefaultInFlight: c.settings, Now: time.Now()})
		if err != nil || s.InFlight != c.want {
			t.Errorf("%+v: %+v, %v", c, s, err)
		}
	}
}

func TestWhatIsNotKnownIsSaidWithItsReason(t *testing.T) {
	s := summaryOf(t, metered, 0, 10, nil)
	if s.EstimatedRows != 0 || s.RowsUnknown != "site is not given" || s.RequestsUnknown != "the rows are not known: site is not given" {
		t.Errorf("rows %d, %q; requests %d, %q", s.EstimatedRows, s.RowsUnknown, s.ExpectedRequests, s.RequestsUnknown)
	}
	if q := s.Quotas[0]; q.Windows != 1 || q.Unknown != "how many requests it takes is not known" {
		t.Errorf("%d windows, %q", q.Windows, q.Unknown)
	}
}

// What a chunk costs is the adapter's own affair, whatever its definition tells of pages and rows.
func TestTheRequestsOfAnAdapterAreItsOwnAffair(t *testing.T) {
	for _, paging := range []string{"{style: none}", "{style: link, next: 'header:Link[rel=next]'}"} {
		for _, most := range []int64{0, 5} {
			text := strings.NewReplacer("name: rivers", "name: rivers\nadapter: soap", "{style: link, next: 'header:Link[rel=next]'}", paging).Replace(metered)
			spec := &query.Spec{V: 1, Name: "q", Service: "rivers", Collection: "daily", MaxRows: most, Values: service.Values{
				"site": {"1", "2", "3"}, "time": {"2024-01-01", "2024-01-30"},
			}}
			s, err := coordinator.Plan(&definitions{text: text}, spec, coordinator.PlanOptions{Now: time.Now(), Adapters: map[string]coordinator.Adapter{"soap": {}}})
			if err != nil {
				t.Fatal(err)
			}
			least := int64(3)
			if most > 0 {
				least = 1
			}
			if s.LeastRequests != least || s.ExpectedRequests != 0 || s.MostRequests != 0 || s.LongestWalk != 0 || s.RequestsUnknown == "" ||
				s.FirstURL != "" || s.LongestURLBytes != 0 || s.Fits() != messages.FitUnknown {
				t.Errorf("%s, %d rows: %+v", paging, most, s)
			}
		}
	}
}

func TestAPlanReckonsWithWhatIsLeft(t *testing.T) {
	now := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	type want struct{ windows, waited int64 }
	for name, test := range map[string]struct {
		left     int64
		holdBack int64
		updated  time.Duration // before now, of the newest spend
		want     want
		reset    time.Duration // from now, when the service says that units come back
	}{
		"all of it":                    {100, 0, time.Hour, want{2, 3500}, 0},
		"enough":                       {150, 0, 0, want{1, 0}, 0},
		"enough, and none of it spare": {150, 1, 0, want{2, 3500}, 0},
		"some":                         {30, 0, 0, want{3, 7000}, 0},
		"none, just spent":             {0, 0, 0, want{3, 7000}, 0},
		"none, spent long ago":         {0, 0, 50 * time.Minute, want{3, 4000}, 0},
		"none, back in two minutes":    {0, 0, 0, want{3, 3720}, 2 * time.Minute},
		"some, more in two minutes":    {60, 0, 0, want{2, 120}, 2 * time.Minute},
		"less than is held back":       {5, 10, 50 * time.Minute, want{3, 4000}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			limit := max(100, test.left)
			var reset time.Time
			if test.reset > 0 {
				reset = now.Add(test.reset)
			}
			spec := &query.Spec{V: 1, Name: "q", Service: "rivers", Collection: "daily", Run: query.Run{HoldBack: test.holdBack}, Values: service.Values{"time": {"2024-01-01", "2024-01-10"}}}
			for i := range 150 {
				spec.Values["site"] = append(spec.Values["site"], fmt.Sprint(i))
			}
			s, err := coordinator.Plan(&definitions{text: metered}, spec, coordinator.PlanOptions{Now: now, Standing: func(*service.Definition, string) (*messages.QuotaStanding, messages.Unknown) {
				return &messages.QuotaStanding{Pool: "rivers", Counts: "requests", Model: "rolling", Limit: limit, Observed: true, Left: new(test.left), Window: 3600, Updated: now.Add(-test.updated), Reset: reset}, ""
			}})
			if err != nil {
				t.Fatal(err)
			}
			q := s.Quotas[0]
			if q.Left == nil || *q.Left != test.left || q.HoldBack != test.holdBack || q.Windows != test.want.windows {
				t.Errorf("%+v", q)
			}
			if diff := s.Waited - test.want.waited; diff < -200 || diff > 200 {
				t.Errorf("it waits for %d s, want about %d", s.Waited, test.want.waited)
			}
		})
	}
}
