package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/braidhq/braid/pkg/journal"
	"github.com/braidhq/braid/pkg/messages"
)

const (
	// MostRecords and mostWait bound a batch: it is stored when it has so many records, or when its first one has waited so long (LR-6.2).
	MostRecords = 50
	mostWait    = time.Second
	margin      = 250 * time.Millisecond // of mostWait, for the transaction

	firstRetry  = 200 * time.Millisecond
	mostRetry   = 15 * time.Second
	batchWait   = time.Minute // of one transaction, all its statements together
	lookEvery   = 10 * time.Second
	leadEvery   = 2 * time.Second
	partingTime = 5 * time.Second // for the last batch when the process ends
)

// Config is what a Ledger needs.
type Config struct {
	Database Database
	Source   journal.Source
	// Leads tells whether this process feeds the ledger now. One does at a time, so that the database sees one writer: more would do no harm. Nil:
	// it does.
	Leads func(ctx context.Context) bool
	Log   *slog.Logger
}

// Ledger feeds the database from the streams. Safe for concurrent use.
type Ledger struct {
	cfg Config

	writing sync.Mutex // one transaction at a time
	conn    *pgx.Conn  // nil: there is none

	mu     sync.Mutex
	status Status
	danger map[journal.Feed]string // as it was told last
	missed map[journal.Feed]uint64
}

// New makes a ledger; Run sets it to work. The error wraps ErrRefused when the connection cannot be read.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.Database.Check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Leads == nil {
		cfg.Leads = func(context.Context) bool { return true }
	}
	return &Ledger{
		cfg: cfg, danger: map[journal.Feed]string{}, missed: map[journal.Feed]uint64{},
		status: Status{Where: cfg.Database.Where(), State: Standby},
	}, nil
}

// Run feeds the database until ctx ends. It never fails: a database that is away is told of in the log and in Standing, and is tried again.
// What it has in its hands when ctx ends is stored first, if that goes quickly.
func (l *Ledger) Run(ctx context.Context) {
	defer l.hangUp(ctx)
	for ctx.Err() == nil {
		if !l.cfg.Leads(ctx) {
			l.became(Standby, nil)
			l.hangUp(ctx)
			pause(ctx, leadEvery)
			continue
		}
		l.feed(ctx)
	}
}

// feed reads all feeds while this process leads.
func (l *Ledger) feed(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, feed := range journal.Feeds() {
		running.Go(func() { l.read(ctx, feed) })
	}
	running.Go(func() { l.look(ctx) })
	for pause(ctx, leadEvery) {
		if !l.cfg.Leads(ctx) {
			return
		}
	}
}

// pause waits, and tells whether ctx goes on.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// read reads one feed, and opens it again when its reading ends.
func (l *Ledger) read(ctx context.Context, feed journal.Feed) {
	for retry := firstRetry; ctx.Err() == nil; retry = min(2*retry, mostRetry) {
		// The database first: there is no use in taking records that cannot be stored, and its tables may be a newer Braid's.
		if !l.ready(ctx) {
			return
		}
		reader, err := l.cfg.Source.Open(ctx, feed)
		if err == nil {
			var some bool
			some, err = l.batches(ctx, reader)
			reader.Close()
			if some {
				retry = firstRetry
			}
		}
		if ctx.Err() != nil {
			return
		}
		level := slog.LevelWarn
		if errors.Is(err, messages.ErrUnreachable) {
			level = slog.LevelDebug // whoever looks after the connection has told it
		}
		l.cfg.Log.Log(ctx, level, "the ledger's feed has ended; it is opened again", "feed", feed, "error", err)
		pause(ctx, retry)
	}
}

// batches stores what a reader gives until it ends; some tells whether anything was.
func (l *Ledger) batches(ctx context.Context, reader journal.Reader) (some bool, err error) {
	for {
		records, err := gather(ctx, reader)
		if len(records) > 0 {
			some = true
			l.settle(ctx, records)
		}
		if err != nil {
			return some, err
		}
	}
}

// gather waits for a record, and takes those that follow until there are enough, or the first one has waited long enough. What it has is given in
// any case: also with the error that ended the reading.
func gather(ctx context.Context, reader journal.Reader) ([]*journal.Record, error) {
	first, err := reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	records := []*journal.Record{first}
	waiting, cancel := context.WithTimeoutCause(ctx, mostWait-margin, errLongEnough)
	defer cancel()
	for len(records) < MostRecords {
		next, err := reader.Next(waiting)
		if errors.Is(err, errLongEnough) {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		records = append(records, next)
	}
	return records, nil
}

var errLongEnough = errors.New("the batch has waited long enough")

// settle stores records and acknowledges them. While the database is away it tries again, until ctx ends: what is not stored then is told
// again to whoever reads next.
func (l *Ledger) settle(ctx context.Context, records []*journal.Record) {
	final, cancel := parting(ctx)
	defer cancel()
	for retry := firstRetry; ; retry = min(2*retry, mostRetry) {
		err := l.store(final, records)
		if err == nil {
			break
		}
		if ctx.Err() != nil || !pause(ctx, retry) {
			return
		}
	}
	for _, r := range records {
		if err := r.Ack(); err != nil {
			l.cfg.Log.Debug("a record of the ledger is not acknowledged; it comes again, and does no harm", "feed", r.Feed, "error", err)
		}
	}
}

// parting is a context that goes on for a little after ctx has ended.
func parting(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(partingTime, cancel)
		context.AfterFunc(longer, func() { timer.Stop() })
	})
	return longer, func() {
		stop()
		cancel()
	}
}

// store stores records: together, or, where the database takes offence at some, apart. What it takes in no form is a reject, with the reason.
// The error says that nothing of them may be stored, and that it is to be tried again.
func (l *Ledger) store(ctx context.Context, records []*journal.Record) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	err := l.apart(ctx, records)
	if err != nil {
		l.troubled(ctx, err)
		return err
	}
	l.stored(len(records))
	return nil
}

func (l *Ledger) apart(ctx context.Context, records []*journal.Record) error {
	offence, err := l.attempt(ctx, records, false)
	switch {
	case err != nil || offence == nil:
		return err
	case len(records) > 1:
		half := len(records) / 2
		if err := l.apart(ctx, records[:half]); err != nil {
			return err
		}
		return l.apart(ctx, records[half:])
	}
	r := records[0]
	if r.Execution != nil {
		switch again, err := l.attempt(ctx, records, true); {
		case err != nil:
			return err
		case again == nil:
			l.cfg.Log.Warn("the ledger took an execution without its texts", "subject", r.Subject, "error", offence)
			return nil
		}
	}
	return l.reject(ctx, r, offence)
}

// reject keeps that a record could not be kept.
func (l *Ledger) reject(ctx context.Context, r *journal.Record, offence error) error {
	l.cfg.Log.Warn("the ledger does not take a record", "feed", r.Feed, "subject", r.Subject, "sequence", r.Sequence, "error", offence)
	bad := &journal.Record{Feed: r.Feed, Sequence: r.Sequence, Stored: r.Stored, Subject: r.Subject, Bad: offence}
	again, err := l.attempt(ctx, []*journal.Record{bad}, false)
	if err == nil && again != nil {
		err = fmt.Errorf("%w: %w", ErrRefused, again)
	}
	return err
}

// attempt tries one transaction. offence is what the database holds against the records; err anything else.
func (l *Ledger) attempt(ctx context.Context, records []*journal.Record, bare bool) (offence, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchWait)
	defer cancel()
	conn, err := l.connection(ctx)
	if err != nil {
		return nil, err
	}
	err = keep(ctx, conn, records, bare)
	switch {
	case err == nil:
		return nil, nil
	case isOfData(err), sqlState(err) == "" && ctx.Err() == nil && !conn.IsClosed():
		return fmt.Errorf("%s", oneLine(err.Error())), nil //nolint:err113 // it becomes the text of a row
	}
	if conn.IsClosed() || sqlState(err) == "" {
		l.drop(ctx)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: no answer in %s", ErrUnreachable, batchWait)
	}
	return nil, explained(err)
}

// connection gives the connection, and makes one where there is none. The tables are made or checked with each one.
func (l *Ledger) connection(ctx context.Context) (*pgx.Conn, error) {
	if l.conn != nil && !l.conn.IsClosed() {
		return l.conn, nil
	}
	conn, err := l.cfg.Database.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, conn, func(s Step) { l.cfg.Log.Info("the ledger's tables are changed", "version", s.Version, "name", s.Name) }); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	l.conn = conn
	return conn, nil
}

func (l *Ledger) drop(ctx context.Context) {
	if l.conn != nil {
		closeConn(ctx, l.conn)
		l.conn = nil
	}
}

func (l *Ledger) hangUp(ctx context.Context) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.drop(ctx)
}

// ready waits until the database can be written to, and tells whether ctx goes on.
func (l *Ledger) ready(ctx context.Context) bool {
	for retry := firstRetry; ctx.Err() == nil; retry = min(2*retry, mostRetry) {
		if err := l.store(ctx, nil); err == nil {
			return true
		}
		pause(ctx, retry)
	}
	return false
}
