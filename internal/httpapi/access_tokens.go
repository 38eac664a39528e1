package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braidhq/braid/pkg/access"
)

// refreshEvery is how long a change of the files of tokens and certificates may go unnoticed.
const refreshEvery = 2 * time.Second

// AccessConfig configures OpenAccess.
type AccessConfig struct {
	Tokens      string           // file of the tokens, see access.DecodeRoster
	MetricsOpen bool             // let everybody read /metrics
	Log         *slog.Logger     // nil: nothing is logged
	Now         func() time.Time // nil: time.Now
}

// Access knows who may do what: by the file of tokens, which it reads again when it changes, and by the sessions that were begun
// with one. It is safe for concurrent use.
type Access struct {
	file        string
	metricsOpen bool
	log         *slog.Logger
	now         func() time.Time
	current     atomic.Pointer[access.Roster]
	sessions    *sessions
	logins      *loginLimit

	mu       sync.Mutex
	read     [sha256.Size]byte // digest of what was read last, good or not
	loose    bool              // that the file is readable by others was told
	attended map[*attendance]struct{}
}

// OpenAccess reads the file of tokens. Refresh, which Watch calls, reads it again.
func OpenAccess(cfg AccessConfig) (*Access, error) {
	a := &Access{file: cfg.Tokens, metricsOpen: cfg.MetricsOpen, log: cfg.Log, now: cfg.Now, attended: map[*attendance]struct{}{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	a.sessions, a.logins = newSessions(), newLoginLimit()
	data, err := a.readFile()
	if err != nil {
		return nil, err
	}
	roster, err := access.DecodeRoster(a.file, data)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	a.read = sha256.Sum256(data)
	a.current.Store(roster)
	if len(roster.Entries()) == 0 {
		a.log.Warn("the file of tokens has none: nobody can use the API; braid token new makes one", "file", a.file)
	}
	return a, nil
}

func (a *Access) roster() *access.Roster { return a.current.Load() }

// readFile reads the file of tokens. One that others may write is refused: whoever does could let anybody in.
func (a *Access) readFile() ([]byte, error) {
	file, err := os.Open(a.file)
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	if err := a.checkMode(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, access.MaxRosterBytes+1))
	if err != nil {
		return nil, fmt.Errorf("tokens: read %s: %w", a.file, err)
	}
	return data, nil
}

func (a *Access) checkMode(info fs.FileInfo) error {
	mode := info.Mode().Perm()
	switch {
	case info.IsDir():
		return fmt.Errorf("tokens: %s is a folder", a.file)
	case hasModes() && mode&0o022 != 0:
		return fmt.Errorf("tokens: others may write %s (mode %04o), and so let anybody in; chmod 600 it", a.file, mode)
	case readByOthers(info) && !a.loose:
		a.loose = true
		a.log.Warn("others may read the file of tokens; it holds digests alone, but who is known and what they may do is nobody's business; chmod 600 it, or 640 where it is root's and its group this server's", "file", a.file, "mode", fmt.Sprintf("%04o", mode))
	}
	return nil
}

// Refresh reads the file of tokens again, and ends what was begun with tokens that are no longer valid: sessions, and streams
// that are being read. Of a file that cannot be read, or is wrong, the log is told, and what was known holds on.
func (a *Access) Refresh() {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, err := a.readFile()
	seen := sha256.Sum256(data)
	if err != nil {
		seen = sha256.Sum256([]byte(err.Error()))
	}
	if seen != a.read {
		a.read = seen
		a.replace(data, err)
	}
	a.dismiss()
}

func (a *Access) replace(data []byte, err error) {
	var roster *access.Roster
	if err == nil {
		roster, err = access.DecodeRoster(a.file, data)
	}
	if err != nil {
		a.log.Error("the file of tokens cannot be used; the tokens that were known stay valid", "file", a.file, "error", err)
		return
	}
	a.current.Store(roster)
	a.log.Info("the file of tokens was read again", "file", a.file, "tokens", len(roster.Entries()))
}

var errDismissed = errors.New("the token or session is no longer valid")

// attendance is a request that reads, and may do so for long.
type attendance struct {
	caller    caller
	cancel    context.CancelCauseFunc
	dismissed func()
}

// attend ends a request's context, and calls dismissed, once whoever sent it is no longer known. done is called when the request is over.
func (a *Access) attend(ctx context.Context, from caller, dismissed func()) (attended context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	entry := &attendance{from, cancel, dismissed}
	a.mu.Lock()
	a.attended[entry] = struct{}{}
	a.mu.Unlock()
	return ctx, func() {
		a.mu.Lock()
		delete(a.attended, entry)
		a.mu.Unlock()
		cancel(nil)
	}
}

// dismiss ends the requests of those who are no longer known. mu is held.
func (a *Access) dismiss() {
	now := a.now()
	valid := map[access.Digest]bool{}
	for entry := range a.attended {
		token := entry.caller.token
		ok, asked := valid[token]
		if !asked {
			_, err := a.roster().Find(token, now)
			ok = err == nil
			valid[token] = ok
		}
		if ok && entry.caller.session != "" {
			_, ok = a.sessions.find(entry.caller.session, now)
		}
		if !ok {
			entry.dismissed()
			entry.cancel(errDismissed)
		}
	}
}

// Watch reads the files again every few seconds until ctx ends. Each may be nil.
func Watch(ctx context.Context, who *Access, certificates *TLS) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if who != nil {
				who.Refresh()
			}
			if certificates != nil {
				certificates.Refresh()
			}
		case <-ctx.Done():
			return
		}
	}
}
