package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/braidhq/braid/internal/httpapi/contract"
	"github.com/braidhq/braid/internal/httpapi/feed"
	"github.com/braidhq/braid/pkg/load"
	"github.com/braidhq/braid/pkg/messages"
)

// RunBehind is the input of a route that tells events of a load run.
type RunBehind struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"64" doc:"Id of the last event that was seen: the stream goes on with how the run stands by now, when that is something else"`
	LastID      string `query:"last_event_id" maxLength:"64" doc:"The same, for clients that cannot set the header"`
}

type watchRunInput struct {
	OneRun
	RunBehind
}

// endMark ends the id of the event end.
const endMark = "-end"

func (a *api) routeLoadEvents() {
	op := a.operation("watch-load-run", http.MethodGet, loadRunEventsPath, "Follow a load run by server-sent events")
	op.Description = "Each event `status` has the run with its progress: at once, and then when that has changed, at most four a second; how it stands at last is always told. " +
		"`end` is the last event of a run that has ended; the stream then ends, and who asks again with its id gets 204. `removed` says that the run is gone."
	a.describeEvents(&op)
	op.Responses["204"] = &huma.Response{Description: "The run has ended, and the last event was seen"}
	huma.Register(a.huma, op, a.watchRun)
}

func (a *api) watchRun(ctx context.Context, in *watchRunInput) (*huma.StreamResponse, error) {
	id, err := in.id()
	if err != nil {
		return nil, a.failure("watch load run", err)
	}
	status, err := a.ports.Loads.Run(ctx, id)
	if err != nil {
		return nil, a.failure("watch load run", err)
	}
	last := in.LastEventID
	if last == "" {
		last = in.LastID
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		if !status.Run.State.Active() && last == statusMark(status)+endMark {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", eventStreamType)
		w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects answers would hold events back
		if r.Method == http.MethodHead {
			return
		}
		defer a.subscribed()()
		s := &runStream{desk: a.ports.Loads, w: w, control: http.NewResponseController(w), last: last, stopping: a.ports.Stopping}
		if err := s.follow(r.Context(), status); err != nil && r.Context().Err() == nil {
			a.log.Warn("a stream of a load run's events is broken off", "run", status.Run.ID, "error", err)
		}
	}}, nil
}

// statusMark is the id of the event of a status: it changes with what the status says.
func statusMark(s *load.RunStatus) string {
	mark := strconv.FormatInt(s.Run.Updated.UnixNano(), 36)
	if s.Progress != nil {
		mark += "-" + strconv.FormatInt(s.Progress.Updated.UnixNano(), 36)
	}
	return mark
}

// runStream sends how one run goes to one reader.
type runStream struct {
	desk     LoadDesk
	w        http.ResponseWriter
	control  *http.ResponseController
	last     string // id of the last event that the reader has
	stopping <-chan struct{}
}

// follow sends until the run has ended or is gone, the reader is gone, or the server stops.
func (s *runStream) follow(ctx context.Context, status *load.RunStatus) error {
	if err := s.send(retryLine); err != nil {
		return err
	}
	look := time.NewTicker(feed.Gap)
	defer look.Stop()
	keepAlive := time.NewTicker(keepAliveEvery)
	defer keepAlive.Stop()
	for {
		told, err := s.tell(status)
		if err != nil || !status.Run.State.Active() {
			return err
		}
		if told {
			keepAlive.Reset(keepAliveEvery)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return s.send(stoppingLine)
		case <-keepAlive.C:
			if err := s.send(keepAliveLine); err != nil {
				return err
			}
		case <-look.C:
		}
		next, err := s.desk.Run(ctx, status.Run.ID)
		switch {
		case errors.Is(err, messages.ErrNotFound):
			return s.event("removed", statusMark(status)+"-removed", struct {
				ID string `json:"id"`
			}{status.Run.ID})
		case err != nil:
			return err // the client asks again, from where it is
		}
		status = next
	}
}

// tell sends a status that the reader does not have, and the end behind the last one.
func (s *runStream) tell(status *load.RunStatus) (bool, error) {
	mark, told := statusMark(status), false
	if mark != s.last && mark+endMark != s.last {
		if err := s.event("status", mark, status); err != nil {
			return false, err
		}
		s.last, told = mark, true
	}
	if status.Run.State.Active() {
		return told, nil
	}
	return true, s.event("end", mark+endMark, contract.LoadRunEnd{ID: status.Run.ID, Ending: status.Run.Ending, Verdict: status.Run.Verdict})
}

func (s *runStream) event(kind, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	var lines bytes.Buffer
	fmt.Fprintf(&lines, "id: %s\nevent: %s\ndata: %s\n\n", id, kind, text)
	return s.send(lines.String())
}

func (s *runStream) send(lines string) error {
	if _, err := io.WriteString(s.w, lines); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
