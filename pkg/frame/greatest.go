package frame

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Greatest gives the latest time in a column of rows, as the service sent them; the zero time when no row has one. The column is of the
// type date or timestamp. Errors are those of Build.
func Greatest(ctx context.Context, shape Shape, seen []string, chunks iter.Seq2[[]byte, error], column string) (time.Time, error) {
	l, err := newLayout(shape, seen)
	if err != nil {
		return time.Time{}, fmt.Errorf("latest time: %w", err)
	}
	at, found := l.index[column]
	if !found || at == dropped || l.columns[at].Type != Date && l.columns[at].Type != Timestamp {
		return time.Time{}, fmt.Errorf("latest time: %w: %q is no column of dates or timestamps", ErrShape, column)
	}
	reader, read := newRowReader(l), 0
	var latest extreme
	for line, err := range lines(chunks) {
		if err == nil && read%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		var row Row
		if err == nil {
			row, err = reader.read(line)
		}
		if err != nil {
			return time.Time{}, fmt.Errorf("latest time: %w", err)
		}
		read++
		if v := row[at]; !v.Null {
			latest.take(v, keyOf(l.columns[at].Type, v), false)
		}
	}
	if !latest.found {
		return time.Time{}, nil
	}
	return time.UnixMicro(latest.key).UTC(), nil
}
