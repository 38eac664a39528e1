package superset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	simulator "github.com/braidhq/braid/internal/simulator/superset"
	"github.com/braidhq/braid/pkg/load"
)

// places notes in which order they are asked for.
type places struct {
	mu    sync.Mutex
	said  []string
	admit func(repeat bool) error
}

func (p *places) say(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, what)
}

func (p *places) places() load.Places {
	return load.Places{
		Shared: func(context.Context) (func(), error) {
			p.say("shared")
			return func() { p.say("released") }, nil
		},
		Admit: func(_ context.Context, repeat bool) error {
			p.say(fmt.Sprintf("admit repeat=%t", repeat))
			if p.admit != nil {
				return p.admit(repeat)
			}
			return nil
		},
	}
}

func execute(t *testing.T, c *Client, r load.Request) load.Answer {
	t.Helper()
	answer, err := c.Execute(context.Background(), r, load.Places{})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAChartIsExecutedAndMeasured(t *testing.T) {
	for _, profile := range []simulator.Profile{simulator.V4, simulator.V6, simulator.Dev} {
		for _, zipped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, gzip %t", profile, zipped), func(t *testing.T) {
				r := newRig(t, simulator.Config{Profile: profile, Gzip: zipped})
				c, request := r.worker("a"), r.chart(103, "Gamma")
				request.Sample = load.SampleBounds{Rows: 1, Bytes: 1000}
				request.Variation.TimeRange = "2026-01-01 : 2026-06-01" // several rows, whatever day it is
				var p places
				first, err := c.Execute(t.Context(), request, p.places())
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{"shared", "admit repeat=false", "released"}, p.said); diff != "" {
					t.Error(diff)
				}
				if first.Outcome != load.Success || first.Status != 200 || first.Requests != 1 || first.Cache != load.Miss || len(first.Queries) != 2 || first.Rows == 0 || first.Kind != "" {
					t.Errorf("%+v", first)
				}
				if string(first.Queries[0].IsCached) != "null" || string(first.Queries[0].CachedDttm) != "null" || (first.Queries[0].QueriedDttm == nil) != (profile != simulator.Dev) {
					t.Errorf("the fields as received: %s", first.Queries[0].QueriedDttm)
				}
				var rows []json.RawMessage
				if err := json.Unmarshal(first.Sample, &rows); err != nil || len(rows) != 1 || !first.Truncated {
					t.Errorf("sample %s, truncated: %t, %v", first.Sample, first.Truncated, err)
				}
				if first.Upstream <= 0 || first.Finished.Sub(first.Admitted) != first.Upstream || first.ReaderLag < 0 || first.ReaderLag > first.Upstream {
					t.Errorf("upstream %s, lag %s", first.Upstream, first.ReaderLag)
				}
				if (first.WireBytes < first.BodyBytes) != zipped || first.WireBytes == 0 || len(first.BodySHA256) != 64 {
					t.Errorf("%d bytes, %d over the wire", first.BodyBytes, first.WireBytes)
				}
				second := execute(t, c, request)
				if second.Cache != load.Hit || second.DataSHA256 != first.DataSHA256 || len(first.DataSHA256) != 64 || second.BodySHA256 == first.BodySHA256 {
					t.Errorf("the second is a %s with data %s, after %s", second.Cache, second.DataSHA256, first.DataSHA256)
				}
				request.Force = true
				if forced := execute(t, c, request); forced.Cache != load.Bypassed || forced.DataSHA256 != first.DataSHA256 {
					t.Errorf("forced: %s", forced.Cache)
				}
				if r.counted() != 3 {
					t.Errorf("the server counted %d requests", r.counted())
				}
			})
		}
	}
}

func TestLR_5_1_TheDigestIsThatOfTheBody(t *testing.T) {
	body := `{"result": [{"data": [], "is_cached": null, "cached_dttm": null, "cache_timeout": 1, "rowcount": 0}]}`
	answer := executeAt(t, odd{body: body})
	sum := sha256.Sum256([]byte(body))
	if answer.BodySHA256 != hex.EncodeToString(sum[:]) || answer.BodyBytes != int64(len(body)) || answer.Outcome != load.Success {
		t.Errorf("%+v", answer)
	}
}

func TestTheOutcomeTable(t *testing.T) {
	type want struct {
		outcome load.Outcome
		kind    string
		message string
	}
	fault := func(f simulator.Fault) []simulator.Fault { return []simulator.Fault{f} }
	for name, c := range map[string]struct {
		faults []simulator.Fault
		want   want
	}{
		"a query that fails":      {fault(simulator.Fault{Action: simulator.QueryFailed}), want{load.Error, load.QueryFailed, "Error:"}},
		"another 400":             {fault(simulator.Fault{Action: simulator.Status, Status: 400, Message: "Request is incorrect: x"}), want{load.Error, load.BadRequest, "HTTP 400"}},
		"403":                     {fault(simulator.Fault{Action: simulator.Status, Status: 403}), want{load.Error, load.Forbidden, "HTTP 403"}},
		"404":                     {fault(simulator.Fault{Action: simulator.Status, Status: 404}), want{load.Error, load.NotFound, "HTTP 404"}},
		"408":                     {fault(simulator.Fault{Action: simulator.Status, Status: 408}), want{load.Error, load.ClientError, "HTTP 408"}},
		"422":                     {fault(simulator.Fault{Action: simulator.Status, Status: 422}), want{load.Error, load.ClientError, "HTTP 422"}},
		"429":                     {fault(simulator.Fault{Action: simulator.Status, Status: 429}), want{load.Error, load.RateLimited, "429"}},
		"500":                     {fault(simulator.Fault{Action: simulator.Status, Status: 500}), want{load.Error, load.ServerError, "HTTP 500"}},
		"502 of a proxy":          {fault(simulator.Fault{Action: simulator.Status, Status: 502, HTML: true}), want{load.Error, load.Gateway, "HTTP 502"}},
		"503":                     {fault(simulator.Fault{Action: simulator.Status, Status: 503}), want{load.Error, load.Gateway, "HTTP 503"}},
		"504 of a proxy":          {fault(simulator.Fault{Action: simulator.Status, Status: 504, HTML: true}), want{load.Error, load.Gateway, "HTTP 504"}},
		"a redirect to the login": {fault(simulator.Fault{Action: simulator.LoginRedirect}), want{load.Error, load.Auth, "login page"}},
		"an HTML page":            {fault(simulator.Fault{Action: simulator.HTMLBody}), want{load.Error, load.BadBody, "not the JSON"}},
		"text behind the JSON":    {fault(simulator.Fault{Action: simulator.WrongJSON, Message: "x"}), want{load.Error, load.BadBody, "not the JSON"}},
		"a result too few":        {fault(simulator.Fault{Action: simulator.ResultLength, Length: 0}), want{load.Error, load.BadBody, "0 results"}},
		"a result too many":       {fault(simulator.Fault{Action: simulator.ResultLength, Length: 2}), want{load.Error, load.BadBody, "2 results"}},
		"refused":                 {fault(simulator.Fault{Action: simulator.Refuse}), want{load.Error, load.Transport, ""}},
		"reset in the body":       {fault(simulator.Fault{Action: simulator.ResetBody, Bytes: 20}), want{load.Error, load.Transport, ""}},
		"cut in the body":         {fault(simulator.Fault{Action: simulator.CutBody, Bytes: 20}), want{load.Error, load.Transport, "cut short"}},
		"nothing":                 {nil, want{load.Success, "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, simulator.Config{})
			request := r.chart(101, "Alpha")
			if err := r.SetFaults(c.faults...); err != nil {
				t.Fatal(err)
			}
			a := execute(t, r.worker("a"), request)
			if a.Outcome != c.want.outcome || a.Kind != c.want.kind || !strings.Contains(a.Message, c.want.message) {
				t.Errorf("%s, %s: %s", a.Outcome, a.Kind, a.Message)
			}
			if a.Outcome != load.Success && (a.Cache != "" || a.Queries != nil || a.DataSHA256 != "") {
				t.Errorf("LR-4.6: a failure tells of the cache: %+v", a)
			}
			if r.counted() != 1 || a.Requests != 1 || a.Upstream <= 0 {
				t.Errorf("the server counted %d requests, the answer %d, upstream %s", r.counted(), a.Requests, a.Upstream)
			}
		})
	}
}

func TestTheDeadlineIsATimeoutAndACancelIsAnError(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Alpha")
	c := r.worker("a")
	execute(t, c, request)
	if err := r.SetFaults(simulator.Fault{Action: simulator.Hang}); err != nil {
		t.Fatal(err)
	}
	request.Deadline = 50 * time.Millisecond
	if a := execute(t, c, request); a.Outcome != load.Timeout || a.Kind != load.Deadline || a.Upstream < request.Deadline {
		t.Errorf("%+v", a)
	}
	request.Deadline = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the drain is over")
	var p places
	p.admit = func(bool) error {
		time.AfterFunc(20*time.Millisecond, func() { cancel(over) })
		return nil
	}
	if a, err := c.Execute(ctx, request, p.places()); !errors.Is(err, over) || a.Requests != 1 || a.Finished.IsZero() {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestNothingIsSentWithoutAnAdmission(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request, c := r.chart(101, "Alpha"), r.worker("a")
	var p places
	p.admit = func(bool) error { return load.ErrIntakeClosed }
	a, err := c.Execute(t.Context(), request, p.places())
	if !errors.Is(err, load.ErrIntakeClosed) || a.Requests != 0 || !a.Admitted.IsZero() || r.counted() != 0 {
		t.Errorf("%v, %+v, the server counted %d", err, a, r.counted())
	}
	if diff := cmp.Diff([]string{"shared", "admit repeat=false", "released"}, p.said); diff != "" {
		t.Error(diff)
	}
	none := errors.New("no place in time")
	_, err = c.Execute(t.Context(), request, load.Places{Shared: func(context.Context) (func(), error) { return nil, none }})
	if !errors.Is(err, none) || r.counted() != 0 {
		t.Errorf("LR-2.10: %v, the server counted %d", err, r.counted())
	}
}

func TestA401IsRenewedOnceAndRepeatedUnderAnAdmissionOfItsOwn(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request, c := r.chart(101, "Alpha"), r.worker("a")
	execute(t, c, request)
	r.RevokeTokens("alpha")
	r.Mark("revoked")
	var p places
	a, err := c.Execute(t.Context(), request, p.places())
	if err != nil || a.Outcome != load.Success || a.Requests != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if diff := cmp.Diff([]string{"shared", "admit repeat=false", "admit repeat=true", "released"}, p.said); diff != "" {
		t.Error(diff)
	}
	if sent := r.Stats().Since("revoked").Routes[simulator.ChartData]; sent != 2 {
		t.Errorf("the server counted %d", sent)
	}
	// The repeat is refused a place: what was sent is told, and nothing more is sent.
	r.RevokeTokens("alpha")
	r.Mark("closed")
	p.admit = func(repeat bool) error {
		if repeat {
			return load.ErrIntakeClosed
		}
		return nil
	}
	a, err = c.Execute(t.Context(), request, p.places())
	if !errors.Is(err, load.ErrIntakeClosed) || a.Requests != 1 || r.Stats().Since("closed").Routes[simulator.ChartData] != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestASecond401IsAuth(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request, c := r.chart(101, "Alpha"), r.worker("a")
	if err := r.SetFaults(simulator.Fault{Action: simulator.Status, Status: 401}); err != nil {
		t.Fatal(err)
	}
	a := execute(t, c, request)
	if a.Outcome != load.Error || a.Kind != load.Auth || a.Requests != 2 || r.counted() != 2 {
		t.Errorf("%+v, the server counted %d", a, r.counted())
	}
}

func TestAServerThatDoesNotTakeItsOwnTokensIsNamed(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request, c := r.chart(101, "Alpha"), r.worker("a")
	if err := r.Update(func(c *simulator.Config) { c.SubjectMustBeString = true }); err != nil {
		t.Fatal(err)
	}
	a := execute(t, c, request)
	if a.Kind != load.ClientError || !strings.Contains(a.Message, "JWT library") || !strings.Contains(a.Message, "JWT_VERIFY_SUB") || a.Requests != 1 {
		t.Errorf("%+v", a)
	}
	_, err := c.LookUp(t.Context(), &load.LookUp{Environment: "boards", Dashboard: "12"})
	if f, ok := errors.AsType[*load.LookUpError](err); !ok || !strings.Contains(f.Hint, "JWT_VERIFY_SUB") || f.Status != 422 {
		t.Errorf("%v", err)
	}
}

func TestLR_5_8_ColumnsThatTheServerDidNotApplyAreTold(t *testing.T) {
	r := newRig(t, simulator.Config{})
	request := r.chart(101, "Alpha")
	request.Filters = []load.NativeFilter{{ID: "f", Columns: []string{"region", "planet"}, Charts: []int64{101}}}
	request.Variation.Coordinate = json.RawMessage(`{"filters":[{"col":"planet","op":"==","val":"Mars"},{"col":"region","op":"==","val":"EU"}],"role":null,"time_range":null,"viewport":null}`)
	a := execute(t, r.worker("a"), request)
	if diff := cmp.Diff([]string{"planet"}, a.Rejected); diff != "" || a.Outcome != load.Success {
		t.Errorf("%s, %s %s", diff, a.Outcome, a.Message)
	}
}

func TestTheOneQueryObjectThatIsNoneIsUnknown(t *testing.T) {
	answer := executeAt(t, odd{body: `{"result": [null]}`})
	if answer.Outcome != load.Success || answer.Cache != load.Unknown || answer.Queries[0].Reason != "no_query_object" {
		t.Errorf("%+v", answer)
	}
}

func TestLR_4_8_TheFieldsArePassedOnUntouched(t *testing.T) {
	answer := executeAt(t, odd{body: `{"result": [{"cache_timeout": 8.64e4, "is_cached":  "maybe", "cached_dttm": [1,  2]}]}`})
	q := answer.Queries[0]
	if string(q.IsCached) != `"maybe"` || string(q.CachedDttm) != "[1,  2]" || string(q.CacheTimeout) != "8.64e4" || q.CacheKey != nil || q.QueriedDttm != nil || q.State != load.Unknown {
		t.Errorf("%s", q.CachedDttm)
	}
}

func TestLR_5_6_DigestsAreOfTheDecodedBody(t *testing.T) {
	body := `{"result": [{"data": [` + strings.Repeat(`{"n": 1}, `, 100) + `{"n": 1}], "is_cached": null, "cached_dttm": null, "cache_timeout": 1, "rowcount": 101}]}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(body))
	_ = z.Close()
	plain := executeAt(t, odd{body: body})
	packed := executeAt(t, odd{header: http.Header{"Content-Encoding": {"gzip"}}, body: zipped.String()})
	if plain.Outcome != load.Success || packed.BodySHA256 != plain.BodySHA256 || packed.DataSHA256 != plain.DataSHA256 || packed.BodyBytes != int64(len(body)) {
		t.Errorf("plain %+v, packed %+v", plain, packed)
	}
	if plain.WireBytes != int64(len(body)) || packed.WireBytes != int64(zipped.Len()) {
		t.Errorf("over the wire came %d and %d bytes, of %d and %d", plain.WireBytes, packed.WireBytes, len(body), zipped.Len())
	}
}
