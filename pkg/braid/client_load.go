package braid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
	"github.com/braidhq/braid/pkg/query"
)

const (
	loadPath         = apiPath + "load/"
	loadProfilesPath = loadPath + "profiles"
	loadRunsPath     = loadPath + "runs"
	maxLoadRecord    = 2 << 20 // bytes of one record, with an execution's rows
	loadPage         = "1000"  // runs in each answer
)

func repeatedStart(err error) bool { return errors.Is(err, load.ErrRepeated) }

// LoadRuns is what can be done about load runs at the server.
func (c *Client) LoadRuns() LoadRuns { return &clientLoads{c} }

type clientLoads struct{ client *Client }

func decodeJSON[T any](data []byte) (*T, error) {
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	return value, nil
}

func nothing([]byte) (*struct{}, error) { return nil, nil } //nolint:nilnil // there is nothing to read

// loadProfilePath refuses what cannot be an id, so that no id leads to another path.
func loadProfilePath(id, rest string) (string, error) {
	if err := messages.CheckName(id); err != nil {
		return "", fmt.Errorf("load profile %.40q: %w", id, messages.ErrNotFound)
	}
	return loadProfilesPath + "/" + id + rest, nil
}

func loadRunPath(id, rest string) (string, error) {
	if id == "" {
		id = contract.Latest
	}
	if err := messages.CheckName(id); err != nil {
		return "", fmt.Errorf("load run %.40q: %w", id, messages.ErrNotFound)
	}
	return loadRunsPath + "/" + id + rest, nil
}

// ask reads one thing of a profile or run, whose path may be an error.
func ask[T any](ctx context.Context, c *Client, method string, body any, limit int64, decode func([]byte) (*T, error), path string, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("%w: encode: %w", load.ErrInvalid, err)
		}
	}
	return call(ctx, c, method, path, text, limit, decode)
}

// Environments is LoadRuns'.
func (l *clientLoads) Environments(ctx context.Context) ([]load.EnvironmentView, error) {
	list, err := call(ctx, l.client, http.MethodGet, loadPath+"environments", nil, maxListBytes, decodeJSON[contract.LoadEnvironmentList])
	if err != nil {
		return nil, err
	}
	return list.Environments, nil
}

// Profiles is LoadRuns'.
func (l *clientLoads) Profiles(ctx context.Context) ([]*load.Profile, error) {
	list, err := call(ctx, l.client, http.MethodGet, loadProfilesPath, nil, maxListBytes, decodeJSON[contract.LoadProfileList])
	if err != nil {
		return nil, err
	}
	return list.Profiles, nil
}

// Profile is LoadRuns'.
func (l *clientLoads) Profile(ctx context.Context, id string) (*load.Profile, error) {
	path, err := loadProfilePath(id, "")
	return ask(ctx, l.client, http.MethodGet, nil, maxLoadRecord, load.DecodeProfile, path, err)
}

// SaveProfile is LoadRuns'.
func (l *clientLoads) SaveProfile(ctx context.Context, p *load.Profile, revision int) (*load.Profile, error) {
	path, err := loadProfilePath(p.ID, "?revision="+strconv.Itoa(revision))
	return ask(ctx, l.client, http.MethodPut, p, maxLoadRecord, load.DecodeProfile, path, err)
}

// RemoveProfile is LoadRuns'.
func (l *clientLoads) RemoveProfile(ctx context.Context, id string) error {
	path, err := loadProfilePath(id, "")
	_, err = ask(ctx, l.client, http.MethodDelete, nil, maxAnswerBytes, nothing, path, err)
	return err
}

// LookUp is LoadRuns'.
func (l *clientLoads) LookUp(ctx context.Context, profile string) (*load.Snapshot, error) {
	path, err := loadProfilePath(profile, "/look-up")
	return ask(ctx, l.client, http.MethodPost, nil, maxListBytes, load.DecodeSnapshot, path, err)
}

// Snapshot is LoadRuns'.
func (l *clientLoads) Snapshot(ctx context.Context, profile string) (*load.Snapshot, error) {
	path, err := loadProfilePath(profile, "/snapshot")
	return ask(ctx, l.client, http.MethodGet, nil, maxListBytes, load.DecodeSnapshot, path, err)
}

// Preview is LoadRuns'.
func (l *clientLoads) Preview(ctx context.Context, profile string) (*load.Preview, error) {
	path, err := loadProfilePath(profile, "/preview")
	return ask(ctx, l.client, http.MethodGet, nil, maxListBytes, decodeJSON[load.Preview], path, err)
}

// Approve is LoadRuns'.
func (l *clientLoads) Approve(ctx context.Context, profile string, req load.ApprovalRequest) (*load.Approval, error) {
	path, err := loadProfilePath(profile, "/approvals")
	body := contract.LoadApprove{GateHash: req.Hash, Reason: req.Reason}
	if req.ValidFor != 0 {
		valid := query.Duration(req.ValidFor)
		body.ValidFor = &valid
	}
	return ask(ctx, l.client, http.MethodPost, body, maxLoadRecord, load.DecodeApproval, path, err)
}

// Approvals is LoadRuns'.
func (l *clientLoads) Approvals(ctx context.Context) ([]*load.Approval, error) {
	list, err := call(ctx, l.client, http.MethodGet, loadPath+"approvals", nil, maxListBytes, decodeJSON[contract.LoadApprovalList])
	if err != nil {
		return nil, err
	}
	return list.Approvals, nil
}

// Start is LoadRuns'. With a key it is sent once more when the connection breaks: it is one run all the same.
func (l *clientLoads) Start(ctx context.Context, req load.StartRequest) (*load.Run, error) {
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("%w: encode start: %w", load.ErrInvalid, err)
	}
	start := func() (*load.Run, error) {
		return callWithin(ctx, l.client, callTimeout, http.MethodPost, loadRunsPath, body, maxLoadRecord, load.DecodeRun, func(h http.Header) {
			if req.Key != "" {
				h.Set("Idempotency-Key", req.Key)
			}
		})
	}
	run, err := start()
	var said *ServerError
	if req.Key == "" || err == nil || ctx.Err() != nil || errors.As(err, &said) || !errors.Is(err, ErrServer) {
		return run, err
	}
	return start()
}

// Stop is LoadRuns'.
func (l *clientLoads) Stop(ctx context.Context, run string) (*load.Run, error) {
	path, err := loadRunPath(run, "/stop")
	return ask(ctx, l.client, http.MethodPost, nil, maxLoadRecord, load.DecodeRun, path, err)
}

// RemoveRun is LoadRuns'.
func (l *clientLoads) RemoveRun(ctx context.Context, run string) error {
	path, err := loadRunPath(run, "")
	_, err = ask(ctx, l.client, http.MethodDelete, nil, maxAnswerBytes, nothing, path, err)
	return err
}

// Runs is LoadRuns'.
func (l *clientLoads) Runs(ctx context.Context) ([]*load.RunStatus, error) {
	var all []*load.RunStatus
	values := url.Values{"limit": {loadPage}}
	for len(all) < maxListed {
		page, err := call(ctx, l.client, http.MethodGet, loadRunsPath+"?"+values.Encode(), nil, maxListBytes, decodeJSON[contract.LoadRunList])
		if err != nil {
			return nil, err
		}
		for _, s := range page.Runs {
			if s == nil || s.Run == nil {
				return nil, fmt.Errorf("%w at %s: a run in its list has no record", ErrServer, l.client.base)
			}
		}
		all = append(all, page.Runs...)
		if page.Next == "" || len(page.Runs) == 0 {
			break
		}
		values.Set("after", page.Next)
	}
	return all, nil
}

// Run is LoadRuns'.
func (l *clientLoads) Run(ctx context.Context, id string) (*load.RunStatus, error) {
	path, err := loadRunPath(id, "")
	return ask(ctx, l.client, http.MethodGet, nil, maxLoadRecord, decodeRunStatus, path, err)
}

func decodeRunStatus(data []byte) (*load.RunStatus, error) {
	status, err := decodeJSON[load.RunStatus](data)
	if err == nil && status.Run == nil {
		err = errors.New("decode answer: there is no run in it")
	}
	return status, err
}

// FollowRun is LoadRuns'. A stream that breaks off is taken up again, for some minutes.
func (l *clientLoads) FollowRun(ctx context.Context, id string, on func(*load.RunStatus) error) error {
	path, err := loadRunPath(id, "")
	if err != nil {
		return err
	}
	var failed error
	w := &watch{client: l.client, path: path, retry: eventRetry}
	w.yield = func(_ *Event, err error) bool {
		failed = err
		return false
	}
	w.take = func(kind EventKind, data string) error {
		switch kind {
		case EventStatus:
			status, err := decodeRunStatus([]byte(data))
			if err != nil {
				return fmt.Errorf("%w at %s: event: %w", ErrServer, l.client.base, err)
			}
			w.path = loadRunsPath + "/" + url.PathEscape(status.Run.ID) // a newer run is not the latest one that was asked for
			if failed = on(status); failed != nil {
				w.done = true
			}
		case EventEnd:
			w.done = true
		case EventRemoved:
			failed, w.done = fmt.Errorf("load run %s: %w: it was removed", strings.TrimPrefix(w.path, loadRunsPath+"/"), messages.ErrNotFound), true
		}
		return nil
	}
	for over := false; !over; {
		over = w.follow(ctx)
	}
	return failed
}

// reportWait bounds what reads all executions of a run.
const reportWait = 10 * time.Minute

// Report is LoadRuns'.
func (l *clientLoads) Report(ctx context.Context, id string) (*load.Report, error) {
	path, err := loadRunPath(id, "/report")
	if err != nil {
		return nil, err
	}
	return callWithin(ctx, l.client, reportWait, http.MethodGet, path, nil, maxListBytes, decodeJSON[load.Report])
}

// Series is LoadRuns'.
func (l *clientLoads) Series(ctx context.Context, id string) (*load.Series, error) {
	path, err := loadRunPath(id, "/series")
	return ask(ctx, l.client, http.MethodGet, nil, maxListBytes, decodeJSON[load.Series], path, err)
}

// Compare is LoadRuns'.
func (l *clientLoads) Compare(ctx context.Context, base, run string) (*load.Comparison, error) {
	values := url.Values{"base": {base}, "run": {run}}
	return callWithin(ctx, l.client, reportWait, http.MethodGet, loadPath+"compare?"+values.Encode(), nil, maxListBytes, decodeJSON[load.Comparison])
}

// Executions is LoadRuns'.
func (l *clientLoads) Executions(ctx context.Context, id string, f load.ExecutionFilter) (page []*load.Execution, next int, err error) {
	values := url.Values{"after": {strconv.Itoa(f.After)}}
	for name, value := range map[string]string{"role": f.Role, "outcome": string(f.Outcome)} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if f.Limit != 0 {
		values.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.Chart != 0 {
		values.Set("chart", strconv.FormatInt(f.Chart, 10))
	}
	path, err := loadRunPath(id, "/executions?"+values.Encode())
	list, err := ask(ctx, l.client, http.MethodGet, nil, maxListBytes, decodeJSON[contract.LoadExecutionList], path, err)
	if err != nil {
		return nil, 0, err
	}
	next = -1
	if list.Next != nil && *list.Next > f.After {
		next = *list.Next
	}
	return list.Executions, next, nil
}

// Execution is LoadRuns'.
func (l *clientLoads) Execution(ctx context.Context, id string, number int) (*load.Execution, error) {
	path, err := loadRunPath(id, "/executions/"+strconv.Itoa(number))
	return ask(ctx, l.client, http.MethodGet, nil, maxLoadRecord, load.DecodeExecution, path, err)
}
