package frame

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// ErrDifferentDuplicates is wrapped when rows of one key differ and the shape says that they must not.
var ErrDifferentDuplicates = errors.New("rows of the same key differ")

// duplicates finds rows of the same key. Key parts compare as values of their types: timestamps as instants, numbers by
// value, texts by bytes. It sorts the keys, in bounded memory, and looks at neighbours.
type duplicates struct {
	columns []storedColumn
	key     []int // the columns of the key; none: no row has one
	rule    DuplicateRule
	newest  int      // the column of Shape.NewestBy, -1 when there is none
	runs    []uint64 // numbers behind the last row of each run but the newest; none: all rows are of one run
	sorter  *sorter
	scratch []byte
	payload []byte
}

// digestBytes of a SHA-256 stand for a key or a row. Half of it holds 2^64 tries of collisions on purpose and spares bytes.
const digestBytes = sha256.Size / 2

func newDuplicates(shape Shape, l *layout, keys *sorter) *duplicates {
	d := &duplicates{columns: l.columns, rule: shape.OnDuplicate, newest: -1, sorter: keys}
	if i, found := l.index[shape.NewestBy]; found && i != dropped && shape.OnDuplicate == KeepNewest {
		d.newest = i
	}
	behind := uint64(0)
	for _, rows := range shape.Runs[:max(0, len(shape.Runs)-1)] {
		behind += uint64(rows)
		d.runs = append(d.runs, behind)
	}
	for _, name := range shape.Key {
		i, found := l.index[name]
		switch {
		case found && i != dropped && l.seen[name]:
			d.key = append(d.key, i)
		case shape.OnDuplicate != FailIfDifferent:
			// Without this part rows that differ would have one key, and be left out in silence.
			d.key = nil
			return d
		}
	}
	return d
}

// add notes the row of a number; the numbers grow. The record is the row as it is stored.
func (d *duplicates) add(ctx context.Context, number uint64, row Row, record []byte) error {
	has := d.appendKeyOf(row)
	if !has && len(d.runs) == 0 {
		return nil
	}
	sum := sha256.Sum256(record)
	d.payload = append(d.payload[:0], sum[:digestBytes]...)
	if has {
		d.payload = append(d.payload, keyed)
		sum = sha256.Sum256(d.scratch)
	} else {
		// The row itself is all by which it is known again in another run.
		d.payload = append(d.payload, keyless)
		sum = sha256.Sum256(append(d.scratch[:0], sum[:]...))
	}
	d.scratch = binary.BigEndian.AppendUint64(append(d.scratch[:0], sum[:digestBytes]...), number)
	if d.newest >= 0 && !row[d.newest].Null {
		d.payload = appendKey(d.payload, d.columns[d.newest].Type, row[d.newest])
	}
	return d.sorter.add(ctx, d.scratch, d.payload)
}

// What a payload says of its row's key.
const (
	keyless byte = iota
	keyed
)

// appendKeyOf puts the key of a row into scratch; it is false for a row without one.
func (d *duplicates) appendKeyOf(row Row) bool {
	d.scratch = d.scratch[:0]
	for _, i := range d.key {
		if row[i].Null {
			return false
		}
		d.scratch = appendKey(d.scratch, d.columns[i].Type, row[i])
	}
	return len(d.key) > 0
}

// twins are two rows of one key that differ.
type twins struct{ first, second uint64 }

// outcome is what the duplicates of a table come to.
type outcome struct {
	leftOut   *roaring64.Bitmap // numbers of rows
	replaced  int64             // of these, such as gave way to a row of another run
	different int64             // of the others, such as are not equal to the row that they gave way to
	lowest    *twins            // that with the lowest second row
}

// resolve decides which rows stay. The keys are gone afterwards.
func (d *duplicates) resolve(ctx context.Context) (outcome, error) {
	found := outcome{leftOut: roaring64.New()}
	stays := candidate{}
	var err error
	seen := 0
	d.sorter.sorted(func(e entry, failed error) bool {
		if err = failed; err == nil && seen%checkEvery == 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return false
		}
		seen++
		next := newCandidate(e)
		switch sameRun := d.run(stays) == d.run(next); {
		case !bytes.Equal(next.key, stays.key):
			stays.become(next)
			stays.copies = copies{run: d.run(next), here: 1, all: 1}
		case !next.keyed:
			if !stays.again(d.run(next)) {
				found.leaveOut(next, stays, false)
			}
		case d.replaces(next, stays, sameRun):
			found.leaveOut(stays, next, sameRun)
			stays.become(next)
		default:
			found.leaveOut(next, stays, sameRun)
		}
		return true
	})
	return found, errors.Join(err, d.sorter.close())
}

// replaces tells whether a row takes the place of one before it.
func (d *duplicates) replaces(next, stays candidate, sameRun bool) bool {
	if d.rule != KeepNewest {
		return !sameRun
	}
	newer := bytes.Compare(next.newest, stays.newest)
	return newer > 0 || newer == 0 && !sameRun
}

// run is the run that a row is of; 0 is the oldest.
func (d *duplicates) run(c candidate) int {
	i, _ := slices.BinarySearchFunc(d.runs, c.number, func(behind, number uint64) int {
		if behind <= number {
			return -1
		}
		return 1
	})
	return i
}

// candidate is one of the rows of a key.
type candidate struct {
	key    []byte
	number uint64
	row    [digestBytes]byte
	keyed  bool
	copies copies // of a row without a key
	newest []byte // its time as a key; empty for a row without one, which is thus older than every row that has one
}

// copies counts the equal rows of a run, and those that stay of all runs: as many as the run has that has the most.
type copies struct{ run, here, before, all int }

// again counts one more and tells whether it stays.
func (c *candidate) again(run int) bool {
	n := &c.copies
	if n.run != run {
		n.run, n.here, n.before = run, 0, n.all
	}
	n.here++
	if n.here <= n.before {
		return false
	}
	n.all++
	return true
}

func newCandidate(e entry) candidate {
	return candidate{
		key: e.key[:digestBytes], number: binary.BigEndian.Uint64(e.key[digestBytes:]),
		row: [digestBytes]byte(e.payload), keyed: e.payload[digestBytes] == keyed, newest: e.payload[digestBytes+1:],
	}
}

// become copies next, whose bytes are used again.
func (c *candidate) become(next candidate) {
	c.key, c.newest = append(c.key[:0], next.key...), append(c.newest[:0], next.newest...)
	c.number, c.row, c.keyed = next.number, next.row, next.keyed
}

func (o *outcome) leaveOut(out, stays candidate, sameRun bool) {
	o.leftOut.Add(out.number)
	if !sameRun {
		o.replaced++
		return
	}
	if out.row == stays.row {
		return
	}
	o.different++
	pair := twins{min(out.number, stays.number), max(out.number, stays.number)}
	if o.lowest == nil || pair.second < o.lowest.second {
		o.lowest = &pair
	}
}

// difference says in what two rows of one key differ.
func (d *duplicates) difference(first, second Row) error {
	var parts []string
	for _, i := range d.key {
		parts = append(parts, fmt.Sprintf("%s=%q", d.columns[i].Name, clip(second[i].Text)))
	}
	for i, v := range second {
		if v != first[i] {
			return fmt.Errorf("%w: key %s, column %q is %s and %s; name the column that tells them apart in key, or change on_duplicate",
				ErrDifferentDuplicates, strings.Join(parts, ", "), d.columns[i].Name, shown(first[i]), shown(v))
		}
	}
	return fmt.Errorf("%w: key %s", ErrDifferentDuplicates, strings.Join(parts, ", "))
}

func shown(v Value) string {
	if v.Null {
		return "null"
	}
	return fmt.Sprintf("%q", clip(v.Text))
}
